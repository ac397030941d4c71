"""The policies of finished runs, saved as folders that need only NumPy."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rewind.agents.agent import Agent
from rewind.data import Trajectories
from rewind.data.parts import lazy
from rewind.errors import UsageError
from rewind.guard import DataSupport, support_of
from rewind.policy import Policy
from rewind.progress import say
from rewind.training.options import Options, Trained
from rewind.version import __version__

# Random observations, and how far the two policies may differ, relative to the range of actions
PROBES, NEAR = 64, 1e-4


def save_policies(trained: Sequence[Trained], out: Path, provenance: Mapping[str, Any]) -> dict[int, Path]:
    """Save the policies of the runs as OUT/policies/NNN, and return the folders by the number of the run.

    A policy that cannot be saved is left out, with a line that says why.

    provenance: facts about all of them
    """
    folders: dict[int, Path] = {}
    supports: dict[int, DataSupport] = {}  # of the data sets, which runs share
    for number, result in enumerate(trained):
        about = {**provenance, **result.run.describe(), "alive": result.alive, "rewind": __version__}
        data = result.data
        if data is not None and id(data) not in supports:
            supports[id(data)] = support_of(lazy(data.observations), lazy(data.actions))
        try:
            policy = to_policy(result, about, supports.get(id(data)))
            folders[number] = policy.save(out / "policies" / f"{number:03d}")
        except UsageError as error:
            say(f"rewind: run {number}: {error}")
    return folders


def save_trained(trained: Sequence[Trained], data: Trajectories, options: Options) -> None:
    """Save the policies of a training in its folder, if it has one. What fails here does not cost what was trained."""
    if options.out is None:
        return
    about = {"name": data.name, "fingerprint": data.fingerprint, "notes": data.notes}
    try:
        save_policies(trained, options.out, {"data": about, "steps": options.steps, "batch_size": options.batch_size})
    except OSError as error:
        where = f"{error.filename or options.out}: {error.strerror}"
        say(f"rewind: {where}; make room, and the same training with resume=True saves its policies", sys.stderr)
    except (TypeError, ValueError) as error:  # what data says of itself may be anything
        say(f"rewind: the policies are not saved: {error}", sys.stderr)


def to_policy(trained: Trained, provenance: Mapping[str, Any], support: DataSupport | None = None) -> Policy:
    """The policy of a run, without its agent. Raises an error if it does not act as a `Policy` does.

    support: what its data covers, to be saved with it
    """
    agent = trained.run.agent
    network = layers(agent, trained.policy)
    if network is None:
        raise UsageError(f"a policy of {type(agent).__name__} cannot be saved: it is not max_action * tanh(MLP)")
    mean, scale = trained.normaliser
    low, high = (trained.actions.undo(np.float32(bound)) for bound in (-agent.max_action, agent.max_action))
    policy = Policy(*network, mean, scale, low, high, provenance, agent.discrete, support)
    probes = np.random.default_rng(0).standard_normal((PROBES, policy.observation_size), np.float32) * scale + mean
    with jax.default_matmul_precision("highest"):
        acted = trained.act(probes)
    expected = np.eye(policy.action_size)[policy(probes)] if policy.discrete else policy(probes)
    if (np.abs(acted - expected) > NEAR * policy.half_range).any():
        raise UsageError(f"{type(agent).__name__} does not act as max_action * tanh(network): it cannot be saved")
    return policy


def layers(agent: Agent[Any], policy: Any) -> tuple[list[Any], list[Any]] | None:
    """Weights and biases of the network whose tanh is the action, of one policy or of several stacked ones.

    None for a policy that acts in another way.
    """
    network = agent.network(policy)
    if network is None:
        return None
    return [np.asarray(leaf) for leaf in network.weights], [np.asarray(leaf) for leaf in network.biases]
