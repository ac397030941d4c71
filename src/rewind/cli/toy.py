"""`rewind toy`: the paper's motivating example."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.cli.arguments import Rare
from rewind.demos.toy import DISCOUNT, REWARDS, SHARE, ToyCurve, ToyResult, draw_toy, learn
from rewind.files import finite, write_json
from rewind.table import table


@dataclass
class Toy:
    """Run the paper's motivating example: tabular Q-learning with four ways to sample three trajectories.

    Example: rewind toy --seeds 50 --out toy
    """

    seeds: int = 50
    """Runs of each sampler."""
    updates: int | None = None
    """Updates per run, one transition each. Default: 300 / learning rate, enough for the slowest sampler."""
    learning_rate: float = 1.0
    """Learning rate. Everything but the order is deterministic here, so 1 is exact. The smaller it is, the less the
    order matters (docs/toy.md)."""
    seed: Rare[int] = 0
    """Seed of the random streams of all runs."""
    out: Path = Path("toy")
    """Folder for the pictures."""
    plots: Rare[bool] = True
    """Draw no pictures (by default: two curves and the three trajectories, as PNG and SVG)."""
    json: Rare[Path | None] = None
    """Also write all figures to this file, curves included."""

    def run(self) -> None:
        # `learn` checks the learning rate.
        usual = max(1, round(300 / max(self.learning_rate, 1e-3)))
        updates = usual if self.updates is None else self.updates
        result = learn(seeds=self.seeds, updates=updates, learning_rate=self.learning_rate, seed=self.seed)
        print(results_table(result))
        print(f"\n{finding(result)}")
        if self.plots:
            for path in draw_toy(result, self.out):
                print(f"wrote {path}")
        if self.json is not None:
            write_json(self.json, figures(result))
            print(f"wrote {self.json}")


def figures(result: ToyResult) -> dict[str, Any]:
    """All results under stable keys; None for a number that does not exist."""
    return {
        "discount": DISCOUNT,
        "learning_rate": result.learning_rate,
        "updates": result.updates,
        "seeds": result.seeds,
        "seed": result.seed,
        "share_of_oracle": SHARE,
        "rewards": {
            rewards: {
                "oracle": curves["uni_state"].oracle,
                "trajectories": [list(steps) for steps in REWARDS[rewards]],
                "samplers": {name: _curve_figures(curve) for name, curve in curves.items()},
            }
            for rewards, curves in result.curves.items()
        },
    }


def _curve_figures(curve: ToyCurve) -> dict[str, Any]:
    needed = curve.needed
    reached = needed[np.isfinite(needed)]
    return {
        "updates_needed": {
            "mean": float(reached.mean()) if reached.size else None,  # over the seeds that reached it
            "std": float(reached.std()) if reached.size else None,
            "median": finite(np.median(needed)),  # over all seeds
            "reached": len(reached),
            "per_seed": [finite(count) for count in needed],
        },
        "final": {"mean": float(curve.values[-1].mean()), "std": float(curve.values[-1].std())},
        "curve": {"mean": curve.values.mean(axis=1).tolist(), "std": curve.values.std(axis=1).tolist()},
    }


def results_table(result: ToyResult) -> str:
    """Updates until 95% of the oracle, and the final value of s0, sampler by sampler."""
    rows = []
    for rewards, chosen in figures(result)["rewards"].items():
        for name, entry in chosen["samplers"].items():
            needed = {key: _number(entry["updates_needed"][key]) for key in ("mean", "std", "median")}
            final, reached = entry["final"], entry["updates_needed"]["reached"]
            row = {"rewards": rewards, "sampler": name, **needed, "reached": reached}
            row |= {"final": f"{final['mean']:.2f} +- {final['std']:.2f}", "oracle": f"{chosen['oracle']:.2f}"}
            rows.append(row)
    settings = f"{result.seeds} seeds of {result.updates:,} updates, learning rate {result.learning_rate:g}"
    return f"max Q(s0, a): updates to {SHARE:.0%} of the oracle, {settings}\n\n{table(rows)}"


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:.1f}"


def finding(result: ToyResult) -> str:
    """The result in words, compared with the paper."""
    curves = result.curves
    needed = {r: {name: float(c.needed.mean()) for name, c in chosen.items()} for r, chosen in curves.items()}
    if any(math.isinf(mean) for means in needed.values() for mean in means.values()):
        return "Not every run reached 95% of the oracle, so the samplers cannot be compared; use more updates."
    speeds = []
    for name in ("prio_state", "uni_traj", "prio_traj"):
        ratios = (means["uni_state"] / means[name] for means in needed.values())
        speeds.append(f"{name} {' and '.join(f'{ratio:.1f}' for ratio in ratios)}")
    leads = {rewards: _lead(chosen) for rewards, chosen in curves.items()}
    larger = "larger" if leads["sparse"] > leads["dense"] else "not larger"
    return (
        f"Speed relative to uni_state, on {' and '.join(curves)} rewards: {', '.join(speeds)}.\n"
        f"The paper's order, prio_traj before uni_traj before sampling transitions, "
        f"{' and '.join(_verdict(*means) for means in needed.items())}.\n"
        f"Averaged over all updates uni_traj is ahead of uni_state by "
        f"{' and '.join(f'{lead:.0%}' for lead in leads.values())} of the oracle: {larger} on sparse rewards.\n"
        "All of this depends on the learning rate: the smaller it is, the less the order matters (docs/toy.md)."
    )


def _lead(curves: dict[str, ToyCurve]) -> float:
    return float((curves["uni_traj"].values.mean() - curves["uni_state"].values.mean()) / curves["uni_traj"].oracle)


def _verdict(rewards: str, needed: dict[str, float]) -> str:
    order = sorted(needed, key=lambda name: needed[name])
    if order[:2] == ["prio_traj", "uni_traj"]:
        return f"holds on {rewards} rewards"
    return f"does not hold on {rewards} rewards ({' before '.join(order)})"
