"""Folders of `rewind train` that nobody trained."""

from rewind.evaluation.rows import group_rows, write_jsonl
from rewind.run_spec import RunSpec

ABOUT = {"seconds_per_update": None, "group_seconds": 0.0, "device": "cpu", "versions": '{"rewind": "test"}'}


def write_train_folder(path, name="mine", algorithm="td3_bc", figures=None, alive=True, **settings):
    """What `rewind train` writes, as far as a report reads it; a real one is tested with the command itself.

    figures: of each run at its end, instead of scores
    """
    path.mkdir(parents=True, exist_ok=True)
    specs, records = [], []
    for sampler, beta, start in (("baseline", 1.0, 0.0), ("tr", 0.5, 20.0)):
        for seed in (0, 1):
            common = {"settings": tuple(settings.items()), "steps": 20, "batch_size": 8, "seed": seed}
            specs.append(RunSpec(name, algorithm, sampler, beta, **common))
            scores = (start + 10, start + 10 + 20 * seed if start else 0.0)
            records.append([{"step": step, "score": score} for step, score in zip((10, 20), scores, strict=True)])
    if figures is not None:
        records = [[{"step": 20, **run}] for run in figures]
    about = {"alive": [alive] * len(specs), "data": {name: "f"}, **ABOUT}
    write_jsonl(path / "rows.jsonl", group_rows(specs, records, about))
