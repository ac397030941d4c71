"""`rewind bench ranking`, without the imports that measuring needs."""

from dataclasses import dataclass
from pathlib import Path

from rewind.errors import unknown_name
from rewind.files import read_json, write_json
from rewind.report.document import Document, Section
from rewind.report.output import write_into
from rewind_lab.bench.ranking_figures import overview, summarise


@dataclass
class BenchRanking:
    """Measure how well fitted Q evaluation, TD error and others rank policies where a simulator knows the truth.

    Example: rewind bench ranking --sets rewind/cartpole-mixed-v0
    """

    sets: tuple[str, ...] = ()
    """Data sets of ranking.toml; default: all. One that has its file in --out is not measured again."""
    out: Path = Path("lab/results/ranking")
    """Folder for the results, a file for each set."""
    work: Path = Path("runs/ranking")
    """Folder for the policies: a set that was stopped continues from them."""
    summary: Path | None = None
    """Also write the means over all sets in --out to this file: src/rewind/report/ranking.json is what pages show."""
    into: Path | None = None
    """Also write the table of all sets in --out into this page, between the marks of a report named ranking."""

    def run(self) -> None:
        from rewind_lab.bench.ranking import definition, measure, print_figures  # imports JAX

        known = definition()["sets"]
        for name in self.sets or known:
            if name not in known:
                raise unknown_name("set of ranking.toml", name, known)
            path = self.out / f"{name.replace('/', '-')}.json"
            if not path.exists():
                write_json(path, measure(name, self.work / name.replace("/", "-")))
            print_figures(read_json(path))
        measured = [read_json(path) for path in sorted(self.out.glob("*.json"))]
        if self.summary is not None:
            write_json(self.summary, summarise(measured))
            print(f"wrote {self.summary}")
        if self.into is not None:
            document = Document("", "", (), [Section("ranking", "", [overview(measured, len(known))])])
            write_into(document, self.into)
