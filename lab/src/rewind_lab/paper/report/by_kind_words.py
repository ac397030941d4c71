"""What the differences by kind of data say: the README's evidence, and the first lines of the report."""

from collections import Counter
from collections.abc import Sequence

from rewind.memory.choice import caution, recommended
from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS
from rewind.statistics import LEVEL, holm
from rewind_lab.paper.halves import choosing_half
from rewind_lab.paper.published import ALL_SUITES
from rewind_lab.paper.report.by_kind import (
    METHODS,
    RANKED,
    WITH_NORM,
    Gain,
    clear,
    gains_by_kind,
    gains_with_norm,
    resting,
)
from rewind_lab.paper.report.claims import Finding
from rewind_lab.paper.report.comparisons import points
from rewind_lab.paper.report.controls import progress
from rewind_lab.paper.report.results import PaperResults

PLAIN = "TR"
MOST_NAMED = 2  # clear gains in the README, and clear losses


def evidence(results: PaperResults, findings: Sequence[Finding]) -> list[Block]:
    """A caption of the figure, what was measured, how the claims stand, and what to do."""
    head, *rest = clear_blocks(results, brief=True)
    return [f"*{_caption(results)}*", f"**{head}**", *rest, _claims(findings), _advice()]


def clear_blocks(results: PaperResults, *, brief: bool = False) -> list[Block]:
    """Whether plain TR differs from uniform sampling, and a table of the methods that clearly do.

    brief: the largest gains and losses alone
    """
    known = known_gains(results)
    if not known:
        return ["Not measured yet: no data set has enough runs of TR and of uniform sampling."]
    found = _clear(known)
    plain = [gain for gain in found if gain.method == PLAIN]
    variants = [gain for gain in found if gain.method != PLAIN]
    words = [_plain_words(plain), f"{_variant_words(variants)}." if variants else ""]
    return [" ".join(filter(None, words)), *_table(known, found, brief=brief)]


def known_gains(results: PaperResults) -> list[Gain]:
    """Those with runs. Of priorities that rank all trajectories alike, and so have the same runs, one counts."""
    methods = METHODS | RANKED
    every = [*gains_by_kind(results, methods), *gains_with_norm(results, methods)]
    first: dict[object, Gain] = {}
    for gain in every:
        if gain.difference is not None:
            first.setdefault((gain.agent, gain.kind, gain.difference), gain)
    return list(first.values())


def _clear(known: Sequence[Gain]) -> list[Gain]:
    """Those that chance alone seldom makes: p values are corrected for the number of all that are compared."""
    return [gain for gain, p in zip(known, holm([gain.p for gain in known]), strict=True) if p <= 1 - LEVEL]


def _plain_words(clear: Sequence[Gain]) -> str:
    if not clear:
        return "Plain TR does not clearly differ from uniform sampling on any kind of data."
    gained = any(_value(gain) > 0 for gain in clear)
    words = " and ".join(f"{word}s on {_places(side)}" for word, side in _sides(clear))
    return f"Plain TR {words}{'' if gained else ', and clearly gains nowhere'}."


def _variant_words(clear: Sequence[Gain]) -> str:
    """Which of them gain where, and which lose."""
    words = []
    for word, side in _sides(clear):
        by_place: dict[str, dict[str, None]] = {}
        for gain in side:
            by_place.setdefault(_places([gain]), {})[gain.method] = None
        for place, methods in by_place.items():
            words.append(f"{_methods(list(methods))} {word}{'s' * (len(methods) == 1)} on {place}")
    return "; ".join(words)


def _methods(names: Sequence[str]) -> str:
    """Where all of several have layer norm, that is said once."""
    if len(names) > 1 and all(name.endswith(WITH_NORM) for name in names):
        which = "both" if len(names) == 2 else "all"
        return f"{' and '.join(name.removesuffix(WITH_NORM) for name in names)}, {which} with layer norm,"
    return " and ".join(name.replace(WITH_NORM, " with layer norm") for name in names)


def _sides(gains: Sequence[Gain]) -> list[tuple[str, list[Gain]]]:
    """Those that score more and those that score less, as far as there are any."""
    above, below = ([gain for gain in gains if _value(gain) * sign > 0] for sign in (1, -1))
    return [(word, side) for word, side in (("gain", above), ("lose", below)) if side]


def _places(gains: Sequence[Gain]) -> str:
    """Kinds of data, the agents there, and the one set without which the difference is not clear."""
    agents: dict[tuple[str, str], list[str]] = {}
    for gain in gains:
        place = (ALL_SUITES[gain.kind], resting(gain.strongest) if gain.rests_on_one else "")
        agents.setdefault(place, []).append(ALGORITHMS[gain.agent])
    return " and ".join(f"{kind} ({', '.join(names)}{rests})" for (kind, rests), names in agents.items())


def _table(known: Sequence[Gain], clear: Sequence[Gain], *, brief: bool) -> list[Block]:
    """The clear differences, the largest gain first; below, how many are not, and what flatters."""
    unclear = len(known) - len(clear)
    note = f"Not clear after Holm's correction: {unclear} of {len(known)} comparisons." if unclear else ""
    if not clear:
        return [note]
    ordered = sorted(clear, key=lambda gain: -abs(_value(gain)))
    shown = [gain for _, side in _sides(ordered) for gain in side[: MOST_NAMED if brief else None]]
    lines = [
        Line(gain.method, [*map(Cell, (_where(gain), points(gain.difference), sets, points(gain.without)))])
        for gain in sorted(shown, key=_value, reverse=True)
        for sets in [f"{gain.used} of {gain.planned}" if brief else gain.span]
    ]
    columns = (
        "Method",
        "Data (agent)",
        "Points",
        "Sets counted" if brief else "Sets counted: range",
        "Without the strongest set",
    )
    note = " ".join(filter(None, (note, _flattered(shown))))
    most = f"The largest clear differences from uniform sampling ({len(shown)} of {len(clear)})"
    title = "Clear differences from uniform sampling" if len(shown) == len(clear) else most
    return [Table(title, columns, lines, note)]


def _flattered(shown: Sequence[Gain]) -> str:
    """A setting is chosen because it scored well: where it was chosen, chance speaks for it."""
    half = set(choosing_half())
    gains = [gain for gain in shown if WITH_NORM in gain.method and _value(gain) > 0]
    if not any(half & gain.sets.keys() for gain in gains):
        return ""
    only = all(half >= gain.sets.keys() for gain in gains)
    return f"Gains with layer norm {'are on' if only else 'include'} sets that chose the setting: expect less."


def _where(gain: Gain) -> str:
    return f"{ALL_SUITES[gain.kind]} ({ALGORITHMS[gain.agent]})"


def _caption(results: PaperResults) -> str:
    _, done, wanted = progress(results)
    sets = len({run.dataset for run in results.every.values()})
    swept = len({run.dataset for run in results.every.values() if run.method.sampler != "baseline"})
    share = f"{done:,} of {wanted:,} planned runs" if done < wanted else f"All {wanted:,} planned runs"
    return f"{share}, on {sets} rebuilt data sets (TR: {swept}), with 95% intervals over seeds."


def _value(gain: Gain) -> float:
    assert gain.difference is not None
    return float(gain.difference.value)


def _claims(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict for finding in findings if finding.contrast is not None)
    words = {"holds": "hold", "fails": "do not hold", "undecided": "are undecided", "open": "lack runs"}
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])
    return f"Of the paper's {counts.total()} claims about scores (by agent), {told}.{_on_other_sets(findings)}"


def _on_other_sets(findings: Sequence[Finding]) -> str:
    """How many verdicts are clear if the data sets, too, had been others."""
    decided = [finding.contrast for finding in findings if finding.contrast and finding.verdict in ("holds", "fails")]
    if not decided:
        return ""
    count = sum(clear(contrast.other_sets) for contrast in decided)
    return f" On other data sets {count or 'none'} of these {len(decided)} verdicts would be clear."


def _advice() -> str:
    """As the library recommends; until that has passed its test, to compare."""
    setting = recommended_words()
    if caution():
        row = recommended()["sparse"]
        samplers = " ".join(dict.fromkeys(["baseline", "tr", str(row["sampler"])]))
        norm = " --layer-norm" if row["layer_norm"] is True else ""
        return (
            f"**What to use:** compare on your own data: `rewind train --dataset log.npz --samplers {samplers} "
            f"--betas 1 0.75{norm} --hold-out 0.1`. `--recommended` sets {setting}.{caution()}"
        )
    return (
        f"**What to use:** start with `rewind train --recommended`. It sets {setting}, and has passed its test on "
        "other data sets."
    )


def recommended_words() -> str:
    """What `rewind train --recommended` sets."""
    sparse, dense = (_words(recommended()[kind]) for kind in ("sparse", "dense"))
    return sparse if sparse == dense else f"{sparse} on sparse rewards, {dense} on dense ones"


def _words(row: dict[str, object]) -> str:
    if row["sampler"] == "baseline":
        words = ["uniform sampling"]
    else:
        words = ["TR" if row["sampler"] == "tr" else f"TR by `{row['sampler']}`"]
        words += [f"a weighted target (beta {row['beta']:g})"] if row["beta"] != 1 else []
        words += ["staggered starts"] if row["stagger"] is True else []
    words += [
        word for name, word in (("bounded", "bounded targets"), ("layer_norm", "layer norm")) if row[name] is True
    ]
    return " with ".join([words[0], " and ".join(words[1:])] if words[1:] else words)
