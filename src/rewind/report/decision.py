"""The first section of a page without a simulator: which policy to choose by the log alone, and what could be wrong."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from rewind.evaluation.offline_table import (
    AGAIN,
    LOG,
    best_supported,
    by_importance,
    how_measured,
    read_offline,
    tied_with_best,
    told,
)
from rewind.evaluation.rows import by_run, diagnostics_of
from rewind.files import file_digest
from rewind.report.document import Block, Cell, Fold, Line, Section, Table
from rewind.report.methods import short
from rewind.report.train_folder import Training
from rewind.table import alike, listed, number

READING = (
    "Policies in the order of their estimates. An interval covers what another log of this size would change. It does "
    "not cover what the log never shows: a policy that acts where the log has no data may be worth anything, so read "
    "the distance and the last column too. Differences are paired: both policies are fitted to the same resamples of "
    "the log. With many policies, some interval is wrong: each holds for its own line."
)
COLUMNS = (
    "Policy", "Value [95%]", "More than the log's own policy [95%]", "Behind the first [95%]",
    "Distance from the log", "Outside the log", "What could be wrong",
)  # fmt: skip
DISTANCE = (
    "Distance: mean over the states of the log between what the policy does and what was done, in half-ranges of the "
    "log's actions (2: from one end to the other); of discrete actions, the share that is another one. Outside: share "
    "of its actions beyond the middle 99% of the log's; of discrete actions, those that are fewer than 0.5% of the log."
)
LEAST_KNOWN = 0.5  # of the rows whose return is known, for critics to be compared with it
CRITICS = "value_bias"  # the criterion that compares critics with the log
CRITERIA = {
    "fqe": "Fitted Q evaluation",
    "fqe_supported": "Fitted Q evaluation, of policies whose actions the log shows",
    "fqe_tr": "Fitted Q evaluation, TR order",
    "fqe_tr_weighted": "Fitted Q evaluation, TR order, beta 0.75",
    "td_error": "TD error (smallest)",
    CRITICS: "Q minus returns (nearest 0)",
    "action_distance": "Distance to actions (smallest)",
}


def decision(trainings: Sequence[Training], warnings: Sequence[Block]) -> Section:
    """Ranked tables of the trainings that were evaluated offline; for the others, how to do that.

    warnings: what stands before all else
    """
    blocks: list[Block] = [*warnings]
    for training in trainings:
        folder = training.folder
        record = read_offline(folder)
        if record is None:
            command = f"`rewind evaluate {folder} --offline`"
            blocks.append(f"The policies in {folder} are not ranked yet: {command} ranks them by the log alone.")
        elif (old := _outdated(record, folder)) is not None:
            blocks.append(f"The ranking in {folder} is of other policies than those there now ({old}): {AGAIN}.")
        else:
            whose = f"{training.rows[0]['dataset']}, {folder}" if len(trainings) > 1 else ""
            blocks += _ranking(record, second_opinion(record, training), whose, folder if whose else Path())
    return Section("decision", "Which policy?", [*blocks, *_evidence()])


def _outdated(record: Mapping[str, Any], folder: Path) -> str | None:
    """The name of a policy that is no longer what was evaluated."""
    for policy in record["policies"]:
        path = folder / "policies" / Path(policy["folder"]).name / "policy.json"
        if path.exists() and file_digest(path) != policy["digest"]:
            return str(policy["name"])
    return None


def _ranking(record: Mapping[str, Any], opinion: str, whose: str, folder: Path) -> list[Block]:
    """whose: what the page must say, where it has several rankings; folder: of the policies, as it is shown"""
    policies, log = record["policies"], record["log"]
    lines = [_line(rank, policy, folder) for rank, policy in enumerate(policies, 1)]
    lines.append(Line(LOG, [_cell(log["estimate"]), *[Cell()] * 5], total=True))
    caption = f"Policies, ranked by the log alone{whose and f': {whose}'}"
    ranked = Table(caption, COLUMNS, lines, DISTANCE, cards=True)
    data = Fold("The log that this rests on", [_data_table(record), *_action_table(record), *_sampled_table(policies)])
    leaves = Fold("Where the policies leave the log most", [_leaves_table(policies)])
    said = " ".join(filter(None, (whose and f"{whose}:", verdict(record), opinion)))
    return [said, ranked, how_measured(record), READING, data, leaves]


def verdict(record: Mapping[str, Any]) -> str:
    """One message: what the log can tell, and what it cannot."""
    best, tied = record["policies"][0], tied_with_best(record)
    low, high = best["against_log"][1:]
    where = "above" if low > 0 else "below" if high < 0 else ""
    against = (
        f"It is estimated {where} the log's own policy: the 95% interval of the difference is {where} 0." if where
        else "The log cannot tell it from the log's own policy: the 95% interval of the difference includes 0."
    )  # fmt: skip
    first = f"The highest estimate is that of {best['name']}: {told(best['estimate'])}."
    if tied:
        concerns = {frozenset(policy["concerns"]) for policy in record["policies"] if policy is best or policy["tied"]}
        how = ": prefer the one with the least that could be wrong"
        if len(concerns) == 1:
            how = ", and what could be wrong is the same for all of them: nothing here separates them"
        first += f" The log cannot tell it from {listed(tied, 5)}{how}."
    elif len(record["policies"]) > 1:
        first += " It is estimated above each of the others."
    return " ".join(filter(None, (first, against, best_supported(record))))


def second_opinion(record: Mapping[str, Any], training: Training) -> str:
    """What the critics say, if they chose better than fitted Q evaluation where we could check; nothing otherwise."""
    regrets = {name: figures["regret"] for name, figures in ranking_evidence()["criteria"].items()}
    if not regrets.get(CRITICS, math.inf) < regrets.get("fqe", math.inf):
        return ""
    runs = by_run(training.rows)
    biases = {f"{number:03}": _bias(diagnostics_of(runs[key][-1])) for key, number in training.numbers.items()}
    policies = {policy["name"]: biases.get(Path(policy["folder"]).name) for policy in record["policies"]}
    sizes = {name: abs(bias) for name, bias in policies.items() if bias is not None}
    if len(sizes) < 2:
        return ""
    first = min(sizes, key=lambda name: sizes[name])
    same = first == record["policies"][0]["name"]
    return (
        "Q minus returns, which chose better than such estimates where we could check (below), "
        + ("puts the same one first." if same else f"puts another one first: {first}.")
        + (" It says nothing of policies without critics." if len(sizes) < len(policies) else "")
    )


def _bias(figures: Mapping[str, float | None]) -> float | None:
    """Q minus returns; None where most rows are cut off by a time-out, so that their return is not known."""
    rows, with_return = figures.get("rows"), figures.get("value_rows")
    return figures.get(CRITICS) if rows and with_return and with_return >= LEAST_KNOWN * rows else None


def _line(rank: int, policy: Mapping[str, Any], folder: Path) -> Line:
    cells = [
        _cell(policy["estimate"]),
        _cell(policy["against_log"]),
        Cell() if rank == 1 else _cell(policy["behind_best"], ", tied" if policy["tied"] else ""),
        Cell(number(policy["distance"])),
        Cell(f"{policy['outside']:.1%}"),
        Cell("; ".join(policy["concerns"]) or "nothing that we look for"),
    ]
    return Line(f"{rank}. {policy['name']} ({folder / 'policies' / Path(policy['folder']).name})", cells)


def _cell(estimate: Sequence[float], more: str = "") -> Cell:
    value, low, high = alike(estimate)
    return Cell(value, f"[{low}, {high}]{more}")


def _data_table(record: Mapping[str, Any]) -> Table:
    log = record["log"]
    lines = [Line(name.capitalize(), [Cell(number(value)) for value in log[name]]) for name in ("lengths", "returns")]
    ends = record["trajectories"] - log["terminated"]
    note = (
        f"{record['trajectories']:,} trajectories, {record['rows']:,} rows; {log['terminated']:,} end by a terminal, "
        f"{ends:,} by a time-out. Returns are sums without a discount."
    )
    return Table("Trajectories", ("", *FIVE), lines, note)


FIVE = ("Smallest", "Lower quarter", "Middle", "Upper quarter", "Largest")


def _action_table(record: Mapping[str, Any]) -> list[Table]:
    log, best = record["log"], record["policies"][0]
    if log["discrete"]:
        lines = [Line(f"action {at}", [Cell(f"{share:.1%}")]) for at, share in enumerate(log["actions"])]
        return [Table("Actions of the log", ("", "Share of the rows"), lines)]
    lines = []
    for column, (logged, chosen) in enumerate(zip(log["actions"], best["actions"], strict=True)):
        for whose, values in (("log", logged), (best["name"], chosen)):
            lines.append(Line(f"column {column}, {whose}", [Cell(number(value)) for value in values]))
    return [Table("Actions of the log, and of the first policy in the same states", ("", *FIVE), lines)]


def _sampled_table(policies: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Weighted importance sampling, where the log has what it needs."""
    sampled = [policy for policy in policies if "importance" in policy]
    if not sampled:
        return []
    lines = [Line(policy["name"], [Cell(by_importance(policy["importance"]))]) for policy in sampled]
    note = "By the log's own action probabilities. It rests on few trajectories: below about ten it means little."
    return [Table("Weighted importance sampling", ("Policy", "Value [95%]"), lines, note)]


def _leaves_table(policies: Sequence[Mapping[str, Any]]) -> Table:
    lines = []
    for policy in policies:
        places = [
            Cell(f"observation {part['column']} {part['side']} {number(part['limit'])}: {number(part['distance'])}")
            for part in policy["leaves"]
        ]
        lines.append(Line(policy["name"], [Cell(number(policy["distance"])), *places, *[Cell()] * (3 - len(places))]))
    note = "Of the lowest and the highest quarter of the rows by each column of the observations."
    columns = ("Policy", "Mean distance", "Largest in", "Then in", "Then in")
    return Table("Mean distance from the log, by where the state is", columns, lines, note, cards=True)


def ranking_evidence() -> dict[str, Any]:
    """How well each criterion ranked policies where there is a simulator: `rewind bench ranking` writes it."""
    text = (resources.files("rewind.report") / "ranking.json").read_text(encoding="utf-8")
    evidence: dict[str, Any] = json.loads(text)
    return evidence


def _evidence() -> list[Block]:
    evidence = ranking_evidence()
    if not evidence["sets"]:
        return ["How well such a ranking agrees with simulators has not been measured yet (`rewind bench ranking`)."]
    criteria = {name: evidence["criteria"][name] for name in CRITERIA if name in evidence["criteria"]}
    forms = {"rank_correlation": ".2f", "regret": ".0%", "value_regret": ".0%"}
    lines = [
        Line(CRITERIA[name], [Cell(_shown(figures.get(key), form)) for key, form in forms.items()])
        for name, figures in criteria.items()
    ]
    note = (
        f"Means over data sets with simulators: {', '.join(evidence['sets'])}; {evidence['policies']} policies in all. "
        "Regret: what choosing the first by this criterion loses against the "
        "truly best, as a share of the spread from the worst to the best, in the whole return and in the discounted "
        "value, which is what is estimated. TD error and Q minus returns rank policies with critics alone. "
        "Nominal 95% intervals of fitted Q evaluation held the true value for "
        f"{_shown(evidence['coverage'], '.0%')} of the policies{_range(evidence)}.{_better_than_fitting(criteria)}"
    )
    columns = ("Criterion", "Rank correlation", "Regret of the first choice", "Regret in the discounted value")
    return [Table("How well criteria ranked policies where we could check", columns, lines, note)]


def _range(evidence: Mapping[str, Any]) -> str:
    """On which set intervals held least often, and how bad the worst first choice was."""
    sets = evidence.get("fqe_by_set", {})
    if len(sets) < 2:
        return ""
    held = min(sets, key=lambda name: sets[name]["coverage"])
    lost = max(sets, key=lambda name: sets[name]["value_regret"])
    return (
        f", on {short(held)} for {sets[held]['coverage']:.0%}; on {short(lost)} its first choice lost "
        f"{sets[lost]['value_regret']:.0%} of the spread"
    )


def _better_than_fitting(criteria: Mapping[str, Any]) -> str:
    """A sentence where other criteria did better than fitted Q evaluation."""
    better: dict[str, list[str]] = {}
    for key, words, sign in (("rank_correlation", "highest rank correlation", 1), ("regret", "smallest regret", -1)):
        scores = {name: sign * figures[key] for name, figures in criteria.items() if figures[key] is not None}
        best = max(scores, key=lambda name: scores[name], default="fqe")
        if best != "fqe" and scores[best] > scores.get("fqe", -math.inf):
            better.setdefault(best, []).append(words)
    return "".join(f" {CRITERIA[best]} had the {' and the '.join(words)}." for best, words in better.items())


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
