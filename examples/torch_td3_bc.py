"""TD3+BC in plain PyTorch, in the style of CORL: one file, its own buffer. Three lines switch to Rewind's memory.

python examples/torch_td3_bc.py --memory own
python examples/torch_td3_bc.py --memory rewind                         # Trajectory Replay
python examples/torch_td3_bc.py --memory rewind --priority lower_uqm_unc --beta 0.75
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from point_data import data_score, point_data, score
from rewind import TrajectoryReplay, WeightedTarget

Target = Callable[[Any, Tensor], Tensor]  # from a batch and the values of its successors to what critics regress to


class ReplayBuffer:
    """The loop's own buffer: transitions, uniformly."""

    def __init__(self, data: dict[str, Any], seed: int) -> None:
        names = ("observations", "actions", "rewards", "next_observations", "terminals")
        self.data = {name: torch.as_tensor(data[name]) for name in names}
        self.generator = torch.Generator().manual_seed(seed)

    def sample(self, batch_size: int) -> Any:
        rows = torch.randint(len(self.data["rewards"]), (batch_size,), generator=self.generator)
        return SimpleNamespace(**{name: values[rows] for name, values in self.data.items()})


def mlp(inputs: int, outputs: int, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs), *last)


class TD3BC:
    """Fujimoto and Gu, 2021. Actions are in [-1, 1]."""

    def __init__(self, observations: int, actions: int, discount: float = 0.99, alpha: float = 2.5) -> None:
        self.actor = mlp(observations, actions, nn.Tanh())
        self.critics = nn.ModuleList(mlp(observations + actions, 1) for _ in range(2))
        self.target_actor, self.target_critics = copy.deepcopy(self.actor), copy.deepcopy(self.critics)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(self.critics.parameters(), lr=1e-3)
        self.discount, self.alpha = discount, alpha
        self.steps = 0

    @staticmethod
    def values(critics: nn.ModuleList, observations: Tensor, actions: Tensor) -> Tensor:
        """(critics, batch)"""
        inputs = torch.cat([observations, actions], dim=1)
        return torch.stack([critic(inputs)[:, 0] for critic in critics])

    def one_step(self, batch: Any, bootstrap: Tensor) -> Tensor:
        """The loop's own target."""
        return batch.rewards + self.discount * ~batch.terminals * bootstrap

    @torch.no_grad()
    def bootstrap(self, batch: Any) -> Tensor:
        """(batch,) Q(s', pi(s')) with target networks and clipped noise."""
        noise = (0.2 * torch.randn_like(batch.actions)).clamp(-0.5, 0.5)
        actions = (self.target_actor(batch.next_observations) + noise).clamp(-1, 1)
        return self.values(self.target_critics, batch.next_observations, actions).min(dim=0).values

    def update(self, batch: Any, target: Target) -> tuple[float, Tensor]:
        """One step. Returns the critics' loss, and how far they disagree at (s, a), (batch,)."""
        self.steps += 1
        y = target(batch, self.bootstrap(batch))
        q = self.values(self.critics, batch.observations, batch.actions)
        critic_loss = sum(F.mse_loss(values, y) for values in q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        if self.steps % 2 == 0:
            self.update_actor(batch)
            for online, slow in ((self.actor, self.target_actor), (self.critics, self.target_critics)):
                for parameter, mean in zip(online.parameters(), slow.parameters(), strict=True):
                    mean.data.lerp_(parameter.data, 0.005)
        return critic_loss.item(), q.detach().std(dim=0, correction=0)

    def update_actor(self, batch: Any) -> None:
        actions = self.actor(batch.observations)
        q = self.values(self.critics[:1], batch.observations, actions)[0]
        loss = -self.alpha / q.abs().mean().detach() * q.mean() + F.mse_loss(actions, batch.actions)
        self.actor_optimizer.zero_grad()
        loss.backward()
        self.actor_optimizer.step()

    @torch.no_grad()
    def act(self, observations: Any) -> Any:
        return self.actor(torch.as_tensor(observations)).numpy()


def train(
    memory: str = "rewind",
    priority: str = "uniform",
    beta: float = 1.0,
    steps: int = 2000,
    batch_size: int = 64,
    seed: int = 0,
) -> dict[str, Any]:
    """Train on the point task; returns the critics' losses and the scores of the data and of the policy."""
    torch.manual_seed(seed)
    data = point_data()
    agent = TD3BC(observations=2, actions=2)
    losses, replay = [], None
    if memory == "own":
        buffer = ReplayBuffer(data, seed)
        for _ in range(steps):
            batch = buffer.sample(batch_size)
            loss, _ = agent.update(batch, agent.one_step)
            losses.append(loss)
    else:
        replay = TrajectoryReplay(priority, seed=seed)  # 1: instead of ReplayBuffer(data, seed)
        replay.load_offline_dataset(data)  # 2
        target = WeightedTarget(agent.discount, beta)  # instead of agent.one_step; beta=1 is the same target
        for _ in range(steps):
            batch = replay.sample(batch_size).as_torch()  # 3: instead of buffer.sample(batch_size)
            loss, disagreement = agent.update(batch, target)
            replay.update_uncertainty(disagreement)  # what the *_unc priorities rank by; the others let it pass
            losses.append(loss)
    return {"losses": np.array(losses), "data_score": data_score(data), "score": score(agent.act), "memory": replay}


def main() -> None:
    parser = argparse.ArgumentParser(description="TD3+BC on a tiny task, with its own buffer or with Rewind's memory")
    parser.add_argument("--memory", choices=("own", "rewind"), default="rewind")
    parser.add_argument("--priority", default="uniform", help="as for TrajectoryReplay, e.g. uqm_reward, lower_uqm_unc")
    parser.add_argument("--beta", type=float, default=1.0, help="weight of the bootstrap in the target, 0 to 1")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the fastest for networks this small
    result = train(options.memory, options.priority, options.beta, options.steps, seed=options.seed)
    tenth = max(1, options.steps // 10)
    first, last = result["losses"][:tenth].mean(), result["losses"][-tenth:].mean()
    print(f"critic loss: {first:.3f} in the first tenth of {options.steps} steps, {last:.3f} in the last")
    print(f"mean return: {result['data_score']:.1f} in the data, {result['score']:.1f} of the policy")


if __name__ == "__main__":
    main()
