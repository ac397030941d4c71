"""Fill `q_excess` into rows of results from before it was logged: python tools/fill_q_excess.py results/paper

Needs the data sets where `rewind data build` puts them; their content must be what the rows were trained on.
"""

import sys
from pathlib import Path

from rewind.data import load
from rewind.experiments.paper.results import read_rows, write_parquet
from rewind.training import make_runs
from rewind.training.bounds import excess, possible_q


def main(folder: Path) -> None:
    rows, ranges = read_rows(folder), {}
    for row in rows:
        if row["q"] is None or row["q_excess"] is not None:
            continue
        key = (row["dataset"], row["algorithm"])
        if key not in ranges:
            data = load(row["dataset"])
            if data.fingerprint != row["data_fingerprint"]:
                raise SystemExit(f"{row['dataset']} here is {data.fingerprint}, not {row['data_fingerprint']}")
            (run,) = make_runs(data, row["algorithm"], samplers=["baseline"])
            ranges[key] = possible_q(run.view.apply(data), run.agent)
            print(*key, *ranges[key], flush=True)
        row["q_excess"] = excess(row["q"], ranges[key])
    write_parquet(folder, rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
