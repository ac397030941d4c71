"""What is kept of finished runs: their policies, as folders that NumPy alone can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rewind.agents.networks import MLP, TanhGaussianPolicy
from rewind.errors import UsageError
from rewind.policy import Policy
from rewind.training.options import Trained
from rewind.version import __version__

PROBES, NEAR = 64, 1e-4  # random observations, and how far the two policies may be apart, in units of max_action


def save_policies(trained: Sequence[Trained], out: Path, provenance: Mapping[str, Any]) -> list[Path]:
    """Each run's policy in OUT/policies/NNN; returns the folders.

    provenance: what is to be said of all of them
    """
    folders = []
    for number, result in enumerate(trained):
        about = {**provenance, **result.run.describe(), "alive": result.alive, "rewind": __version__}
        folders.append(to_policy(result, about).save(out / "policies" / f"{number:03d}"))
    return folders


def to_policy(trained: Trained, provenance: Mapping[str, Any]) -> Policy:
    """The policy of a run without its agent. One that acts in another way than a `Policy` does is refused."""
    agent: Any = trained.run.agent
    weights, biases = layers(trained.policy, agent.action_size)
    mean, scale = trained.normaliser
    policy = Policy(weights, biases, mean, scale, float(getattr(agent, "max_action", 1.0)), provenance)
    probes = np.random.default_rng(0).standard_normal((PROBES, policy.observation_size)) * scale + mean
    with jax.default_matmul_precision("highest"):
        acted = np.asarray(agent.act(trained.policy, jnp.asarray(trained.normaliser(probes), jnp.float32)))
    if np.abs(acted - policy(probes)).max() > NEAR * policy.max_action:
        raise UsageError(f"{type(agent).__name__} does not act as max_action * tanh(network): it cannot be saved")
    return policy


def layers(policy: Any, action_size: int) -> tuple[list[Any], list[Any]]:
    """Weights and biases of the network whose tanh is the action; of several, where there is an axis before."""
    network = policy.heads if isinstance(policy, TanhGaussianPolicy) else policy
    if not isinstance(network, MLP):
        raise UsageError(f"a policy of {type(policy).__name__} cannot be saved: expected an MLP")
    weights, biases = ([np.asarray(leaf) for leaf in leaves] for leaves in (network.weights, network.biases))
    # EDAC's last layer also gives the standard deviations, which the mode does not need.
    return [*weights[:-1], weights[-1][..., :action_size]], [*biases[:-1], biases[-1][..., :action_size]]
