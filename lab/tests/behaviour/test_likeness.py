"""Figures by which a walker's data is compared with the published walker's."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest

from rewind.rebuilt.collect import Episodes, relabelled
from rewind.rebuilt.recipes import find_recipe
from rewind.rebuilt.summary import flag_fragments
from rewind.rebuilt.worker import Job
from rewind_lab.behaviour import measuring
from rewind_lab.behaviour.likeness import (
    PUBLISHED,
    distance,
    ending_table,
    evaluation_goals,
    fragment_sums,
    fragments_per_million,
    mixed,
    walker_figures,
    walker_sums,
)


def wandering(lengths: list[int], seed: int = 0) -> Episodes:
    """Episodes that wander about the evaluation goal of umaze and never stop."""
    stream = np.random.default_rng(seed)
    rows = sum(lengths)
    observations = stream.normal(size=(rows, 29)).astype(np.float32)
    observations[:, :2] = [0.75, 8.75] + 0.6 * observations[:, :2]
    actions = np.clip(stream.normal(size=(rows, 8)), -1.0, 1.0).astype(np.float32)
    finals = observations[stream.integers(rows, size=len(lengths))]
    ended = np.zeros(len(lengths), bool)
    return Episodes(observations, actions, np.zeros(rows, np.float32), np.array(lengths), ended, finals)


def test_fragments_are_those_of_the_data_set_that_never_stops() -> None:
    played, recipe = wandering([40, 25, 60]), find_recipe("rewind/antmaze-umaze-v0")
    assert recipe.maze is not None
    target = np.array([recipe.maze.target])
    sums = fragment_sums(played, np.zeros((3, 2)), target, [None])
    expected = flag_fragments(relabelled(played, recipe, {}))
    assert fragments_per_million(sums)[0, 0] == pytest.approx(1e6 * expected / played.rows)


def test_an_ending_keeps_the_steps_to_the_own_goal_and_those_of_the_dwell() -> None:
    played = wandering([50])
    played.observations[:, :2], played.finals[:, :2] = 0.0, 0.0
    played.observations[11, :2] = [5.0, 5.0]  # reached by step 10, the eleventh row
    sums = fragment_sums(played, np.array([[5.0, 5.0]]), np.array([[9.0, 9.0]]), [0, 3, 100, None])
    assert sums["rows"] == [11, 14, 50, 50]
    assert sums["rewarded"] == [[0]] * 4


def test_figures_of_chunks_add_up() -> None:
    chunks = [wandering([40, 25], 1), wandering([60], 2)]
    whole = Episodes(*(np.concatenate([getattr(c, f) for c in chunks]) for f in Episodes.__dataclass_fields__))
    whole = replace(whole, terminated=np.array([True, False, False]))
    chunks[0] = replace(chunks[0], terminated=np.array([True, False]))
    counted = [walker_sums(chunk) for chunk in chunks]
    summed = {name: sum(one[name] for one in counted) for name in counted[0]}
    assert walker_figures(summed) == pytest.approx(walker_figures(walker_sums(whole)))


def test_published_figures_are_at_no_distance_and_the_limits_at_one() -> None:
    for kind, published in PUBLISHED.items():
        assert list(distance(kind, published).values()) == pytest.approx([0.0, 0.0, 0.0])
        far = {name: published[name] * 4 / 3 for name in ("back", "saturated")} | {
            "reached": published["reached"] - 0.08
        }
        assert list(distance(kind, far).values()) == pytest.approx([-1.0, 1.0, 1.0])


def test_evaluation_goals_lie_where_the_environment_draws_them() -> None:
    goals = evaluation_goals("large-play", 200)
    assert ((goals >= [32.0, 24.0]) & (goals <= [33.5, 25.5])).all()


def test_walkers_that_give_the_same_rows_are_mixed_by_their_rows_and_episodes() -> None:
    quick, slow = wandering([10] * 12, 1), wandering([60, 60], 2)
    ended = (np.arange(12) < 9, np.array([True, False]))
    sums = [walker_sums(replace(p, terminated=t)) for p, t in zip((quick, slow), ended, strict=True)]
    both = mixed([walker_figures(one) for one in sums])
    together = walker_figures({name: sums[0][name] + sums[1][name] for name in sums[0]})
    for name in ("rows", "episodes", "episodes_per_million", "reached", "steps", "back", "saturated"):
        assert both[name] == pytest.approx(together[name]), name
    counted = [fragment_sums(p, np.zeros((len(p.lengths), 2)), np.full((3, 2), 0.75), [0, None]) for p in (quick, slow)]
    never = ending_table([0, None], counted)[1]
    assert never["rows"] == 240 and never["dwell"] is None
    assert never["episodes_per_million"] == round(1e6 * 14 / 240)


def test_likeness_is_measured_alike_at_any_number_of_processes_and_resumes(tmp_path, monkeypatch) -> None:
    """Chunks are played by a stand-in: only which chunks count, and that none is played twice, is tested."""
    asked: list[tuple[bool, int, int]] = []

    class Workers:
        def __init__(self, module: str, count: int) -> None:
            self.count, self.waiting = count, []

        def __enter__(self) -> Workers:
            return self

        def __exit__(self, *exception: object) -> None:
            return None

        def submit(self, message):  # finished at once
            job = Job.read(str(message["job"]))
            asked.append((job.recipe.maze.stop, job.part, job.chunk))
            played = wandering([20 + 7 * job.chunk] * 3, job.chunk)
            if job.recipe.maze.stop:
                line = walker_sums(played)
            else:
                goals = np.full((2, 2), 0.75)
                line = fragment_sums(played, np.zeros((3, 2)), goals, measuring.DWELLS)
            future = Future()
            future.set_result({"line": json.dumps({"played": played.rows, **line})})
            return future

    monkeypatch.setattr(measuring, "Processes", Workers)
    found = [
        measuring.measure_likeness(tmp_path / f"{threads}.json", ["umaze"], 600, 300, threads=threads)["sets"]
        for threads in (1, 5)
    ]
    assert found[0] == found[1]
    walker = found[0]["rewind/antmaze-umaze-v1"]["walker"]
    assert walker["rows"] == 2 * 3 * (20 + 27 + 34 + 41)  # of both walkers, whole chunks until each has half of 600
    asked.clear()
    assert measuring.measure_likeness(tmp_path / "1.json", ["umaze"], 600, 300)["sets"] == found[0]
    assert not asked
    more = measuring.measure_likeness(tmp_path / "1.json", ["umaze"], 900, 300)["sets"]["rewind/antmaze-umaze-v1"]
    assert asked == [(True, part, 4) for part in range(2)] and more["walker"]["rows"] > walker["rows"]
