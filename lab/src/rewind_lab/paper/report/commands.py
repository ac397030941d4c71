"""`rewind paper report`, `beside`, `cloned` and `choice`: what is written and said from a folder of results."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rewind.cli.arguments import Positional, Rare
from rewind.errors import DataError, UsageError, unknown_name
from rewind.files import whole_file, write_json
from rewind.report.output import write_document
from rewind.report.runs import runs_of
from rewind_lab.paper import halves
from rewind_lab.paper.choice import Setting, choice_text, read_choice, way_of
from rewind_lab.paper.datasets import Data
from rewind_lab.paper.definitions import SAMPLERS
from rewind_lab.paper.report import recommended
from rewind_lab.paper.report.beside import behaviour_scores, beside, cloned_scores
from rewind_lab.paper.report.beside_ogbench import beside_ogbench
from rewind_lab.paper.report.by_kind import figure_gains
from rewind_lab.paper.report.by_kind_plot import by_kind_figure
from rewind_lab.paper.report.comparisons import told
from rewind_lab.paper.report.cost import read_costs
from rewind_lab.paper.report.glance import glance_figure, glance_panels
from rewind_lab.paper.report.recommendation import KINDS, by_rule, candidates, outcome_of, outcome_text, so_far
from rewind_lab.paper.report.recommended import write_recommended
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.results import read_rows


@dataclass
class PaperReport:
    """Write one HTML page, in a single file: our numbers beside the paper's, and verdicts on its claims.

    Example: rewind paper report lab/results/paper --out report.html
    """

    folder: Positional[Path] = Path("lab/results/evidence")
    """Folder of results of `rewind paper run`."""
    first: Path | None = None
    """Folder of results of the first edition, shown apart: no claim is judged by it."""
    figure: Path | None = None
    """Also draw all data sets at a glance (reproduction.png and .svg) and kinds of data (evidence.png and .svg) in this
    folder. Needs matplotlib."""
    out: Path | None = None
    """The page. Default: report.html in the folder."""
    markdown: Rare[Path | None] = None
    """Also write the tables and verdicts as Markdown to this file."""
    into: Rare[tuple[Path, ...]] = ()
    """Also update sections of these Markdown pages, between `<!-- report: claims -->` and `<!-- end of report -->`."""
    data: Data | None = None
    """The data sets to compare: d4rl or rewind. Default: those with the most runs."""
    cost: Rare[tuple[Path, ...]] = ()
    """Figures of `rewind bench train --json` for table 5. Default: the folder's cost.json."""

    def run(self) -> None:
        if not self.folder.is_dir():
            raise UsageError(f"no folder {self.folder}: expected one that `rewind paper run` has written")
        rows = read_rows(self.folder)
        if not rows:
            raise DataError(f"nothing to report in {self.folder}: expected groups/*.jsonl or results.parquet")
        results = PaperResults(runs_of(rows), self.data)
        if self.data is not None and self.data not in results.sources:
            raise UsageError(
                f"{self.folder} has no runs on {self.data} data; leave --data out, or choose another folder"
            )
        measured = self.folder / "cost.json"  # of `rewind paper run --tables 5`
        costs = read_costs(self.cost or ([measured] if measured.exists() else []))
        first = None if self.first is None else PaperResults(runs_of(read_rows(self.first)), "rewind")
        document = build(results, costs, first)
        write_document(document, self.out or self.folder / "report.html", self.markdown, self.into)
        if self.figure is not None:
            drawn = glance_figure(glance_panels(results, first), self.figure)
            for path in [*drawn, *by_kind_figure(figure_gains(results), self.figure)]:
                print(f"wrote {path}")


@dataclass
class PaperBeside:
    """Write a Markdown page of scores on rebuilt data beside those on D4RL's.

    Example: rewind paper beside --out docs/rebuilt_scores.md
    """

    results: Path = Path("lab/results/paper")
    """Folder of results."""
    cards: Rare[Path] = Path("docs/data_cards/cards.json")
    """Figures of the data cards."""
    out: Path = Path("docs/rebuilt_scores.md")
    """The page."""
    table: str = "rebuilt"
    """The table of the definitions that lists the runs."""
    ogbench: tuple[str, ...] = ()
    """Tables with runs on OGBench, which the page then shows apart, beside published means."""
    definitions: Rare[Path | None] = None
    """A file to use instead of the package's definitions.toml."""

    def run(self) -> None:
        results = PaperResults(runs_of(read_rows(self.results)), "rewind")
        page = beside(results, behaviour_scores(self.cards), self.table, self.definitions, self.results)
        page += beside_ogbench(results, self.ogbench, self.definitions) if self.ogbench else ""
        with whole_file(self.out) as temporary:
            temporary.write_text(page, encoding="utf-8")
        print(f"wrote {self.out}")


@dataclass
class PaperCloned:
    """Write scores of behaviour cloning, which the data cards show beside published ones.

    Example: rewind paper cloned
    """

    results: Path = Path("lab/results/evidence")
    """Folder of results of `rewind paper run --definitions lab/src/rewind_lab/paper/evidence.toml --tables cloned`."""
    out: Path = Path("docs/data_cards/cloned.json")
    """The file; then: rewind data cards --pages-only."""

    def run(self) -> None:
        scores = cloned_scores(runs_of(read_rows(self.results)))
        if not scores:
            print(f"no runs of behaviour cloning in {self.results} yet: nothing is written")
            return
        write_json(self.out, scores)
        print(f"wrote {self.out}: {len(scores)} data sets")


@dataclass
class PaperChoice:
    """Show what could be chosen, choose the recommended setting once, and show its test on the held-back half.

    What is chosen, and how its test stands, goes into the library's table (`rewind train --recommended`, `auto`).

    Example: rewind paper choice
    """

    results: Path = Path("lab/results/evidence")
    """Folder of results."""
    write: bool = False
    """Write the choice below with today's date. Runs on the held-back half may start once it is committed."""
    by_rule: bool = False
    """Choose by the rule that evidence.toml states, and not by --sparse, --dense and --because."""
    sparse: str = "tr"
    """What to do on sparse rewards, as the rows of the list have it: "tr, beta 0.75, layer_norm"."""
    dense: str = "baseline"
    """Likewise on dense ones."""
    because: str = ""
    """The evidence, in a sentence."""

    def run(self) -> None:
        results = PaperResults(runs_of(read_rows(self.results)), "rewind")
        if self.write:
            self._write(results)
        setting = read_choice()
        if setting is None:
            chosen, because = by_rule(results)
            ways = "; ".join(f"{way} on {kind} rewards" for kind, way in chosen.items())
            print(f"{candidates(results)}\n\nNo setting is chosen yet. The rule would choose {ways}, {because}.")
        else:
            print(f"Chosen on {setting.date} from {setting.runs:,} runs: {setting}, {setting.because}.")
        outcome = outcome_of(results)
        if setting is not None and write_recommended(setting, outcome):
            print(f"wrote {recommended.RECOMMENDED}, which `rewind train --recommended` and `auto` read; commit it too")
        print(outcome_text(outcome))
        for name, one in so_far(results).items() if isinstance(outcome, str) else ():
            print(f"{name}: {told(one.estimate, '+.1f')}")

    def _write(self, results: PaperResults) -> None:
        if read_choice() is not None:
            raise UsageError(f"{halves.CHOICE} is written: a choice is made once")
        ways, because = [way_of(text) for text in (self.sparse, self.dense)], self.because
        if self.by_rule:
            chosen, because = by_rule(results)
            ways = [chosen[kind] for kind in KINDS]
        for way in ways:
            if way.sampler not in SAMPLERS:
                raise unknown_name("sampler", way.sampler, SAMPLERS)
        if not because:
            raise UsageError("--because is empty; expected the evidence for this choice, in a sentence")
        choosing = set(halves.choosing_half())
        runs = sum(run.dataset in choosing for run in results.every.values())
        setting = Setting(datetime.now(UTC).date().isoformat(), because, runs, *ways)
        with whole_file(Path(str(halves.CHOICE))) as temporary:
            temporary.write_text(choice_text(setting), encoding="utf-8")
        print(f"wrote {halves.CHOICE}; commit it before any run on the held-back half")
