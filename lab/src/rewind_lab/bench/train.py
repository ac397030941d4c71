"""`rewind bench train`: the time of a training step, and what trajectory replay adds to it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.cli.arguments import Rare
from rewind.data import Trajectories
from rewind.errors import UsageError, require, unknown_name
from rewind.files import write_json
from rewind.table import table
from rewind_lab.bench.memory import random_trajectories
from rewind_lab.bench.timing import machine, side_by_side

# As in the paper's table of costs: the sampler and the beta of each variant.
VARIANTS: dict[str, tuple[str, float]] = {
    "uniform": ("baseline", 1.0),
    "TR": ("tr", 1.0),
    "weighted target": ("tr", 0.5),
    "PTR (quality)": ("uqm_reward", 1.0),
    "PTR (uncertainty)": ("lower_uqm_unc", 1.0),
}
FUSED = "uniform, fused kernels"
TORCH = "plain PyTorch loop"
PAPER = {"TR": 1.039, "PTR (quality)": 1.029, "PTR (uncertainty)": 1.119}  # times the cost of uniform sampling


@dataclass
class BenchTrain:
    """Measure microseconds per update, and the ratio of TR and PTR to uniform sampling.

    Example: rewind bench train --algorithm td3_bc --runs 1 128
    """

    algorithm: str = "td3_bc"
    """td3_bc, iql, edac, rebrac, bc, dqn, discrete_iql or discrete_bc."""
    runs: tuple[int, ...] = (1,)
    """Number of runs trained together; several numbers are measured one after another."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Variants to measure."""
    size: Rare[int] = 1_000_000
    """Transitions in the data (17 observations, 6 actions, trajectories of about 500 steps)."""
    batch_size: Rare[int] = 256
    """Slots."""
    steps: int = 1000
    """Updates per measurement."""
    rounds: Rare[int] = 7
    """Number of measurements, in turns; the median counts."""
    fused: bool = False
    """Also measure uniform sampling with fused kernels (NVIDIA GPUs)."""
    torch: Rare[bool] = False
    """Also measure TD3+BC as a plain PyTorch loop on the CPU, one run."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""
    settings: Rare[dict[str, Any]] = field(default_factory=dict)
    """Fields of the agent, for example hidden sizes."""

    def run(self) -> None:
        from rewind.agents import AGENTS
        from rewind.training.engine import check_fused, device_kind

        if self.algorithm not in AGENTS:
            raise unknown_name("algorithm", self.algorithm, AGENTS)
        for variant in self.variants:
            if variant not in VARIANTS:
                raise unknown_name("variant", variant, VARIANTS)
        if "uniform" not in self.variants:
            self.variants = ("uniform", *self.variants)  # the others are compared with it
        for name, smallest in (("runs", min(self.runs, default=0)), ("steps", self.steps), ("rounds", self.rounds)):
            if smallest < 1:
                raise UsageError(f"--{name} has {smallest}; expected at least 1")
        if self.fused:
            check_fused()
            self.variants = (*self.variants, FUSED)
        if self.torch and self.algorithm != "td3_bc":
            raise UsageError("the plain PyTorch loop is TD3+BC; leave out --torch for other algorithms")
        data = random_trajectories(self.size, 400, 600)
        if AGENTS[self.algorithm].discrete:
            largest = data.actions.argmax(1)  # one of six
            data = replace(data, actions=np.eye(data.actions.shape[1], dtype=np.float32)[largest])
        figures: dict[str, Any] = {
            "machine": machine(),
            "device": device_kind(),
            "algorithm": self.algorithm,
            "batch_size": self.batch_size,
            "by_runs": {},
        }
        for runs in self.runs:
            figures["by_runs"][str(runs)] = self._measure(data, runs)
            print_figures(figures, runs)
            if self.json is not None:
                write_json(self.json, figures)

    def _measure(self, data: Trajectories, runs: int) -> dict[str, Any]:
        groups, compiled, jobs = {}, {}, {}
        for variant in self.variants:
            groups[variant] = self._group(data, variant, runs)
            jobs[variant] = training_job(groups[variant], self.steps)
            begin = time.perf_counter()
            jobs[variant]()
            compiled[variant] = time.perf_counter() - begin
            jobs[variant]()  # the second call may still be slower than later ones
            groups[variant].planner.seconds = 0.0
        if self.torch:
            jobs[TORCH] = torch_job(data, self.steps, self.batch_size)
            jobs[TORCH]()
        seconds = side_by_side(jobs, self.rounds)
        plain = seconds.pop(TORCH, None)
        per_update = {name: s / self.steps * 1e6 for name, s in seconds.items()}
        return {
            "torch_us_per_update": None if plain is None else plain / self.steps * 1e6,
            "us_per_update": per_update,
            "us_per_run_update": {name: us / runs for name, us in per_update.items()},
            "ratio_to_uniform": {name: us / per_update["uniform"] for name, us in per_update.items()},
            "first_call_seconds": compiled,
            "planning_share": {
                name: group.planner.seconds / self.rounds / seconds[name] for name, group in groups.items()
            },
            "state_bytes_per_run": {name: state_bytes(group) / runs for name, group in groups.items()},
        }

    def _group(self, data: Trajectories, variant: str, runs: int) -> Any:
        from rewind.training import make_runs
        from rewind.training.group import Group

        sampler, beta = VARIANTS["uniform" if variant == FUSED else variant]
        own = make_runs(data, self.algorithm, samplers=[sampler], betas=[beta], seeds=range(runs), **self.settings)
        return Group(data, own, range(runs), self.batch_size, fused=variant == FUSED)


def training_job(group: Any, steps: int) -> Callable[[], None]:
    """Train some steps like the training loop, and wait for the last."""

    def job() -> None:
        until = group.step + steps
        while group.step < until:
            _, outcome = group.advance(until)
            group.plan_ahead(until if group.step < until else until + steps)  # or for the next measurement
        np.asarray(outcome.alive)

    return job


def torch_job(data: Trajectories, steps: int, batch_size: int) -> Callable[[], None]:
    """Some updates of TD3+BC as a plain PyTorch loop: two critics; actor and targets every second step."""
    torch = require("torch", "torch")
    observation, action = data.observations.shape[1], data.actions.shape[1]
    tensors = [torch.from_numpy(array) for array in (data.observations, data.actions, data.rewards)]
    successors = torch.roll(tensors[0], -1, 0)  # not exact: only the time matters

    def network(inputs: int, outputs: int) -> Any:
        layers = [torch.nn.Linear(inputs, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers, torch.nn.Linear(256, outputs))

    actor, target_actor = network(observation, action), network(observation, action)
    critics = [network(observation + action, 1) for _ in range(2)]
    targets = [network(observation + action, 1) for _ in range(2)]
    actor_adam = torch.optim.Adam(actor.parameters(), lr=3e-4)
    critic_adam = torch.optim.Adam([p for critic in critics for p in critic.parameters()], lr=3e-4)

    def update(step: int) -> None:
        rows = torch.randint(len(successors), (batch_size,))
        s, a, r, following = (tensor[rows] for tensor in (*tensors, successors))
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)
            chosen = (target_actor(following).tanh() + noise).clamp(-1, 1)
            both = torch.cat([following, chosen], 1)
            y = r[:, None] + 0.99 * torch.minimum(targets[0](both), targets[1](both))
        pairs = torch.cat([s, a], 1)
        loss = sum(torch.nn.functional.mse_loss(critic(pairs), y) for critic in critics)
        critic_adam.zero_grad()
        loss.backward()
        critic_adam.step()
        if step % 2:
            policy = actor(s).tanh()
            q = critics[0](torch.cat([s, policy], 1))
            actor_loss = -2.5 / q.abs().mean().detach() * q.mean() + torch.nn.functional.mse_loss(policy, a)
            actor_adam.zero_grad()
            actor_loss.backward()
            actor_adam.step()
            for online, target in ((actor, target_actor), *zip(critics, targets, strict=True)):
                for new, old in zip(online.parameters(), target.parameters(), strict=True):
                    old.data.lerp_(new.data, 0.005)

    def job() -> None:
        for step in range(steps):
            update(step)

    return job


def state_bytes(group: Any) -> int:
    import jax

    return sum(leaf.nbytes for leaf in jax.tree.leaves(group.engine.state))


def print_figures(figures: dict[str, Any], runs: int) -> None:
    measured = figures["by_runs"][str(runs)]
    together = f"{runs} run{'s' if runs > 1 else ''} together, batch {figures['batch_size']}"
    print(f"\n{figures['algorithm']}, {together}, {figures['device']}")
    rows = [
        {
            "sampling": name,
            "us per update": f"{us:.1f}",
            "per run": f"{measured['us_per_run_update'][name]:.2f}",
            "to uniform": f"{measured['ratio_to_uniform'][name]:.3f}",
            "paper": f"{PAPER[name]:.3f}" if name in PAPER else "-",
            "planning": f"{measured['planning_share'][name]:.1%}",
            "first call s": f"{measured['first_call_seconds'][name]:.1f}",
            "KB per run": f"{measured['state_bytes_per_run'][name] / 1024:.0f}",
        }
        for name, us in measured["us_per_update"].items()
    ]
    print(table(rows))
    if measured["torch_us_per_update"] is not None:
        print(f"a plain PyTorch loop, one run: {measured['torch_us_per_update']:.1f} us per update")
