"""Scores on rebuilt data beside those the paper has on D4RL's: a Markdown page for the docs."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewind.arrays import Array
from rewind.data.catalogue import known_entry
from rewind.errors import DataError
from rewind.files import read_json
from rewind.report.methods import ALGORITHMS, LABELS, Method, short
from rewind.report.runs import FinishedRun, Protocol
from rewind_lab.cards.likeness import CLONED
from rewind_lab.cards.published import published as published_data
from rewind_lab.paper.definitions import RunChoice, load_definitions
from rewind_lab.paper.published import Printed, in_print
from rewind_lab.paper.report.comparisons import printed
from rewind_lab.paper.report.results import PaperResults, method_of

FAR = {"antmaze": 15.0, "mujoco": 10.0}  # points
WHY = {  # by sets
    ("hopper-medium-replay", "walker2d-medium-replay"):
        "the best tenth of our data is worse (10% BC): our replays hold nothing better than the medium policy.",
    ("walker2d-medium-expert",): "the best tenth of our data is worse (10% BC).",
    ("halfcheetah-medium-expert",):
        "our expert scores 114, D4RL's 88, and IQL follows it. Why TD3+BC does not, we do not know.",
    ("hopper-medium", "hopper-medium-expert"):
        "agents learn from the noise in our policy's actions. With a tenth of it the data's mean score is 45.2, not "
        "44.2, and IQL scores 52.5, not 98.0 (2 seeds, 200,000 updates; `lab/results/behaviour/v1_quiet.json`). TD3+BC "
        "scores 56.7, not 63.3, after 100,000, which says little. Measured on hopper-medium alone; how noisy D4RL's "
        "actions are is not known.",
    ("antmaze-umaze", "antmaze-umaze-diverse"):
        "cloning our data scores more too, all of it and its best tenth; but some of TD3+BC's critics diverge on "
        "umaze-diverse and score 0 ([table](agents.md#critics-that-diverge)).",
    ("antmaze-medium-play",): "our TD3+BC has the paper's alpha, 36, and scores as the paper's; the original has 2.5.",
    ("antmaze-large-diverse",):
        "our data leads to its goal less often than large-play's, where IQL scores as published: about a third of the "
        "steps into the goal's cell and of the rewarded rows (`lab/tools/v1/route.py`). Whether that is why has not "
        "been tested, and D4RL's figures are not known.",
}  # fmt: skip
FIRST = " These are runs of our first edition: no claim is judged by them any more."

HEAD = """# {title}

What TD3+BC and IQL score on our [rebuilt data](rebuilt_data.md), beside what they score on D4RL's own files. The data
differs, so the scores may differ too.{edition}

- **data's score**: the mean score of the trajectories themselves, D4RL's and ours.
- **10% BC**: behaviour cloning of the best tenth of the trajectories, D4RL's (published) and ours.
- **paper**: what *Prioritized Trajectory Replay* reports on D4RL's files. **original**: what it quotes from the
  algorithms' own papers.
- **ours**: by the paper's protocol, one million steps and the mean of five evaluations of 10 episodes at 996k, 997k ...
  1,000k steps. Mean and standard deviation over seeds, then the score of each seed.
- **apart**: ours minus original; "far" beyond 15 points on AntMaze or 10 on MuJoCo.

Written by `rewind paper beside`, from `{folder}`{devices}. {far}
{why}
| rebuilt set | data's score: D4RL, ours | 10% BC: both | agent | sampler | original | paper | ours | seeds | apart |
|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class _Line:
    """A line of the table.

    shown: its cells but the last
    apart: ours minus original; None where one of them is missing
    most: what is not far
    """

    dataset: str
    shown: Sequence[str]
    apart: float | None
    most: float

    @property
    def far(self) -> bool:
        return self.apart is not None and abs(self.apart) > self.most

    @property
    def cells(self) -> list[str]:
        last = "-" if self.apart is None else f"{self.apart:+.1f}" + (", far" if self.far else "")
        return [*self.shown, last]


def beside(
    results: PaperResults, behaviour: dict[str, float], table: str = "rebuilt", definitions: Path | None = None,
    folder: Path = Path("lab/results/paper"),
) -> str:  # fmt: skip
    """The page: every variant of a table of the definitions, whether it was run or not.

    behaviour: the mean score of rebuilt sets, by name
    definitions: a file of definitions, None for the paper's
    """
    if different := results.protocol.against(Protocol()):
        raise DataError(f"no run here is by the paper's protocol, which this page is about; they have {different}")
    specs = load_definitions(definitions).wanted(RunChoice([table], "rewind"))[table]
    wanted = dict.fromkeys((spec.dataset, spec.algorithm, Method(spec.sampler, spec.beta)) for spec in specs)
    cloned = {
        name: own[CLONED[1]]["score"] for name, own in cloned_scores(results.every.values()).items() if CLONED[1] in own
    }
    lines = [_line(results, behaviour, cloned, *variant) for variant in sorted(wanted, key=lambda one: one[0])]
    devices = sorted({run.row["device"] for run in results.runs})
    trained = f", trained on: {', '.join(devices)}" if devices else ""
    newest = any(dataset.endswith("-v1") for dataset, _, _ in wanted)
    title = "Scores on rebuilt -v1 data" if newest else "Scores on rebuilt -v0 data (first edition)"
    edition, why = ("", _why(lines)) if newest else (FIRST, "")
    head = HEAD.format(
        title=title, edition=edition, devices=trained, folder=folder.as_posix(), far=_far(lines), why=why
    )
    return head + "".join(f"| {' | '.join(line.cells)} |\n" for line in lines)


def _far(lines: Sequence[_Line]) -> str:
    """How many of the lines that can be compared are far apart."""
    compared = [line for line in lines if line.apart is not None]
    return f"Far from the original: {sum(line.far for line in compared)} of {len(compared)} lines."


def _why(lines: Sequence[_Line]) -> str:
    """What we know of the sets that are far."""
    far = {short(line.dataset) for line in lines if line.far}
    told = [f"- {', '.join(named)}: {why}" for names, why in WHY.items() if (named := [n for n in names if n in far])]
    return "\n".join(["", "**Why some are far:**", "", *told, "", "Lines whose seeds differ widely say little.", ""])


def _line(
    results: PaperResults,
    behaviour: dict[str, float],
    cloned: dict[str, float],
    dataset: str,
    algorithm: str,
    method: Method,
) -> _Line:
    theirs = known_entry(dataset)
    assert theirs is not None, f"{dataset} is rebuilt after a set of the catalogue"
    columns = {method_of(column, dataset): column for column in ("weighted", "tr", "baseline")}
    name = columns.get(method)
    paper = None if name is None else printed(algorithm, name, theirs.name)
    original = printed(algorithm, "original", theirs.name) if name == "baseline" else None
    data = published_data(theirs.name)
    best = None if data.cloned is None else data.cloned[1]
    scores = results.scores(dataset, algorithm, method)
    label = method.label if name != "weighted" else f"{LABELS['weighted']}, β {method.beta:g}"
    cells = [dataset, _both(data.mean_score, behaviour.get(dataset)), _both(best, cloned.get(dataset))]
    cells += [ALGORITHMS[algorithm], label, _cell(original), _cell(paper)]
    cells += [_scores(scores), str(len(scores))]
    return _Line(dataset, cells, _apart(scores, original), FAR.get(theirs.suite, 10.0))


def _both(theirs: float | None, ours: float | None) -> str:
    return f"{_cell(theirs)}, {_cell(ours)}"


def _cell(number: Printed | float | None) -> str:
    if number is None:
        return "-"
    return f"{number:.1f}" if isinstance(number, float) else str(number)


def _apart(scores: Array, original: Printed | None) -> float | None:
    return None if original is None or not len(scores) else float(scores.mean()) - original.mean


def _scores(scores: Array) -> str:
    """Mean and deviation, and each seed's score: few seeds and a wide spread hide in a mean."""
    if not len(scores):
        return "not run yet"
    each = " ".join(f"{score:.0f}" for score in scores)
    return f"**{in_print(scores)}** ({each})"


def behaviour_scores(cards: Path) -> dict[str, float]:
    """The mean scores of rebuilt sets, from the figures of their data cards."""
    if not cards.is_file():
        return {}
    figures = read_json(cards)
    return {name: own["behaviour_score"] for name, own in figures.items() if own.get("behaviour_score") is not None}


def cloned_scores(runs: Iterable[FinishedRun]) -> dict[str, dict[str, dict[str, float]]]:
    """By data set and kind of behaviour cloning: mean score, seeds and updates of the longest runs there are.

    All else is by the paper's protocol.
    """
    kinds = {"{}": CLONED[0], '{"top": 0.1}': CLONED[1]}
    scores: dict[tuple[str, str], dict[int, list[float]]] = {}  # by number of updates
    for run in runs:
        kind = kinds.get(json.dumps(json.loads(run.row["settings"])))
        usual = run.protocol._replace(settings="{}", steps=Protocol().steps) == Protocol() and math.isfinite(run.score)
        if kind is not None and usual and (run.algorithm, run.row["sampler"]) == ("bc", "baseline"):
            scores.setdefault((run.dataset, kind), {}).setdefault(run.protocol.steps, []).append(run.score)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (dataset, kind), by_steps in sorted(scores.items()):
        steps, longest = max(by_steps.items())
        found.setdefault(dataset, {})[kind] = {
            "score": sum(longest) / len(longest), "seeds": len(longest), "steps": steps
        }  # fmt: skip
    return found
