"""What runs are evaluated by while they are trained: episodes in a simulator, or the data where there is none."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rewind.arrays import Array
from rewind.checked_log import Record
from rewind.envs.make import known_task, make, noted_environment, steps_in_python
from rewind.errors import DataError, RewindError, UsageError
from rewind.evaluation.diagnose import COUNTS, DIAGNOSED, diagnose
from rewind.evaluation.evaluate import Act, Evaluator
from rewind.evaluation.player import Networks, cores_beside, summary
from rewind.policy import named_layers
from rewind.processes import Processes, never
from rewind.progress import say
from rewind.training.engine import current_device, to_host
from rewind.training.evaluations import Figures, Request
from rewind.training.group import Group
from rewind.training.policies import layers
from rewind.training.spec import Run

Rows = Sequence[int]  # of runs in their group


def find_environment(asked: str, name: str | None, notes: Mapping[str, Any]) -> str | None:
    """What to evaluate on: as asked, or what is known of the data; None: nothing.

    asked: an environment, "auto" or "none"
    name, notes: of the data
    """
    if asked == "none":
        return None
    return asked if asked != "auto" else noted_environment(usual_environment(name, notes), f"the data {name or ''}")


def usual_environment(name: str | None, notes: Mapping[str, Any]) -> Any:
    """The environment of data that is known by its name, otherwise what its notes say, unchecked."""
    return name if name is not None and known_task(name) is not None else notes.get("environment")


class Scorer:
    """Plays `episodes` episodes of all runs of a group together, with one policy call per step.

    Runs of the same seed, whatever their sampler, play the same episodes; each evaluation plays new ones.

    environment: of all runs, or of each one by its number; a portable request has its own
    seed: where the episodes come from, along with a run's own seed and the step
    """

    def __init__(self, environment: str | Sequence[str], episodes: int, seed: int = 0) -> None:
        self.environment, self.episodes, self.seed = environment, episodes, seed
        self._evaluators: dict[tuple[str, int], Evaluator] = {}  # by environment and number of runs
        # Evaluations that an earlier training has left are played by a thread, those in between by the training's own.
        self._one_at_a_time = threading.Lock()
        # For portable requests, as long as they can be used.
        self._players: Processes | None = Processes("rewind.evaluation.player", cores_beside())

    def check(self, observation: tuple[int, ...], action: tuple[int, ...]) -> None:
        """Make the environment once: one that cannot be made, or does not fit these shapes, is an error now."""
        assert isinstance(self.environment, str)
        env = make(self.environment, 1)
        env.close()
        for what, expected in (("observation", observation), ("action", action)):
            space = getattr(env, f"single_{what}_space")
            if getattr(space, "n", None) is not None and expected in ((), (1,), (int(space.n),)):
                continue  # discrete actions, as numbers or one-hot
            if space.shape != expected:
                raise DataError(
                    f"{self.environment} has {what}s of shape {space.shape}, the data of {expected}: "
                    "choose the environment the data comes from"
                )

    @property
    def beside(self) -> bool:
        """Whether evaluations run beside training: it has an accelerator, and leaves the cores to them."""
        return bool(current_device().platform != "cpu")

    def request(self, group: Group, step: int) -> Request:
        """The group itself where training waits, or where policies act in a way of their own."""
        networks = networks_of(group) if self.beside else None
        if networks is None:
            return Request(step, group)
        about = {"step": step, "numbers": group.numbers, "episodes": self.episodes}
        about |= {"seeds": self._seeds(group, step), "environments": self._environments(group)}
        about["layers"] = networks.depth  # earlier versions read it
        arrays = {name: np.array(value) for name, value in about.items()}
        return Request(step, arrays={**arrays, **networks.arrays})

    def evaluate(self, request: Request, stop: Callable[[], bool] = never) -> Figures:
        """The mean score and return of each run, and what is needed to play the episodes again.

        The runs of one environment play after those of another.
        """
        group, arrays = request.group, request.arrays
        policies: Callable[[Rows], Any]
        play: Callable[[str, Any, list[int], Callable[[], bool]], Figures]
        if group is not None:
            environments, seeds = self._environments(group), self._seeds(group, request.step)
            policies, play = partial(acting, group), self._play
        else:
            if (asked := int(arrays["episodes"])) != self.episodes:
                wrong = f"step {request.step:,} was to be evaluated with {asked} episodes, not {self.episodes}"
                raise UsageError(f"{wrong}: resume with {asked}")
            environments, seeds = arrays["environments"].tolist(), arrays["seeds"]
            policies = Networks.from_arrays(arrays).of
            play = self._play_elsewhere if self.beside else self._play
        figures = {"episodes": np.full(len(seeds), self.episodes), "evaluation_seed": seeds}
        for environment in dict.fromkeys(environments):
            rows = [row for row, name in enumerate(environments) if name == environment]
            for name, values in play(environment, policies(rows), seeds[rows].tolist(), stop).items():
                figures.setdefault(name, np.empty(len(seeds)))[rows] = values
        return figures

    def _environments(self, group: Group) -> list[str]:
        if isinstance(self.environment, str):
            return [self.environment] * len(group.runs)
        return [self.environment[number] for number in group.numbers]

    def _seeds(self, group: Group, step: int) -> Array:
        return np.array([episode_seed(self.seed, run.seed, step) for run in group.runs])

    def _play_elsewhere(self, environment: str, networks: Any, seeds: list[int], stop: Callable[[], bool]) -> Figures:
        """In processes of their own, so that training continues meanwhile; in this one where that is not possible.

        One steps an array of simulations on many cores. Where the simulator is Python, each has some of the runs.
        """
        if self._players is not None:
            message = {"environment": environment, "episodes": self.episodes}
            try:
                count = min(self._players.count, len(seeds)) if steps_in_python(environment) else 1
                parts = np.array_split(np.arange(len(seeds)), count)
                shares = [{"seeds": np.array(seeds)[part], **networks.of(part).arrays} for part in parts]
                answers = [self._players.submit(message | share, stop) for share in shares]
                figures = [answer.result() for answer in answers]
                return {name: np.concatenate([one[name] for one in figures]) for name in figures[0]}
            except (RewindError, OSError) as error:
                say(f"rewind: evaluating in this process: {error}")
                self._players = None
        return self._play(environment, networks, seeds, stop)

    def _play(self, environment: str, act: Act, seeds: list[int], stop: Callable[[], bool]) -> Figures:
        key = (environment, len(seeds))
        with self._one_at_a_time:
            if key not in self._evaluators:
                self._evaluators[key] = Evaluator(*key, self.episodes)
            return summary(self._evaluators[key], act, seeds, stop)


def acting(group: Group, rows: Rows | None = None) -> Act:
    """Policies of a group as they are now, for an `Evaluator`: one call for all these runs."""
    chosen = np.arange(len(group.runs)) if rows is None else np.array(rows)
    policies = group.policies()
    agents = group.engine.agents
    if len(chosen) < len(group.runs):
        agents, policies = jax.tree.map(lambda leaf: leaf[chosen], (agents, policies))
    normaliser, units = group.normalisers(chosen)

    def act(observations: Array) -> Any:
        return units.undo(group.engine.act(policies, normaliser(observations).astype(np.float32), agents))

    return act


def networks_of(group: Group) -> Networks | None:
    """The policies of a group as they are now.

    None where they act in another way than max_action * tanh(network).
    """
    (mean, scale), (middle, half) = group.normalisers()
    network = layers(group.engine.agent, to_host(group.policies()))
    if network is None or group.engine.agent.discrete:
        return None
    max_action = np.array([run.agent.max_action for run in group.runs], np.float32)
    weights, biases = network
    arrays = named_layers(weights, [bias[:, None] for bias in biases])
    arrays |= {"mean": mean, "scale": scale, "max_action": max_action[:, None, None] * half, "middle": middle}
    return Networks(arrays)


def episode_seed(seed: int, run_seed: int, step: int) -> int:
    """One seed for the episodes of a run at a step."""
    return int(np.random.SeedSequence([seed, run_seed, step]).generate_state(1)[0])


def diagnosed(group: Group, step: int) -> Figures:
    """Critics and policies held against the data; against what was held out, where anything was."""
    figures = [_diagnose(group, at, run) for at, run in enumerate(group.runs)]
    return {name: np.array([one[name] for one in figures]) for name in (*DIAGNOSED, *COUNTS)}


def _diagnose(group: Group, at: int, run: Run) -> dict[str, Any]:
    source = group.sources[at]
    policy = jax.tree.map(lambda leaf: leaf[at], group.policies())

    def act(observations: Array) -> Any:
        return source.actions.undo(run.agent.act(policy, jnp.asarray(source.normaliser(observations), jnp.float32)))

    data = source.data if source.held_out is None else source.held_out
    discount = 0.99 if run.agent.discount is None else float(run.agent.discount)
    return asdict(diagnose(critic_of(group, at), act, data, discount, possible=group.possible[at]))


def critic_of(group: Group, at: int) -> Callable[[Array, Array], Any]:
    """Q(s, a) of one run as it is now, the mean of its critics, (rows,); NaN for an agent without critics."""
    agent, source = group.runs[at].agent, group.sources[at]
    state = jax.tree.map(lambda leaf: leaf[at], group.engine.state)

    def q(observations: Array, actions: Array) -> Any:
        states = jnp.asarray(source.normaliser(observations), jnp.float32)
        values = agent.q_values(state, states, jnp.asarray(source.actions(actions), jnp.float32))
        return np.full(len(observations), np.nan) if values is None else values

    return q


def say_scores(names: Sequence[str]) -> Callable[[list[Record]], None]:
    """For `Options.on_evaluation`: a line with the mean score of each variant.

    names: of the variants, one for each run
    """

    def say_line(records: list[Record]) -> None:
        scores: dict[str, list[float]] = {}
        for record in records:
            if record.get("score") is not None:
                scores.setdefault(names[record["run"]], []).append(record["score"])
        if scores:
            means = "   ".join(f"{name} {np.mean(values):5.1f}" for name, values in scores.items())
            say(f"step {records[0]['step']:>9,}   {means}")

    return say_line
