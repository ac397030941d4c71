"""TorchRL's TD3+BC loss on a TorchRL buffer that plays trajectories backward.

python examples/torchrl_sampler.py --priority lower_uqm_unc --beta 0.75
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Bounded, LazyTensorStorage, TensorDictReplayBuffer
from torchrl.modules import ValueOperator
from torchrl.objectives import SoftUpdate, TD3BCLoss

from point_data import data_score, point_data, score
from rewind import WeightedTarget
from rewind.integrations.torchrl import TrajectorySampler, batch_of

DISCOUNT = 0.99


def transitions(data: dict[str, Any]) -> TensorDict:
    """D4RL's arrays in TorchRL's form."""
    column = {name: torch.as_tensor(data[name])[:, None] for name in ("rewards", "terminals", "timeouts")}
    following = {
        "observation": torch.as_tensor(data["next_observations"]),
        "reward": column["rewards"],
        "terminated": column["terminals"],
        "truncated": column["timeouts"],
        "done": column["terminals"] | column["timeouts"],
    }
    now = {"observation": torch.as_tensor(data["observations"]), "action": torch.as_tensor(data["actions"])}
    return TensorDict({**now, "next": following}, batch_size=[len(data["rewards"])])


def mlp(inputs: int, outputs: int, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs), *last)


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = mlp(4, 1)

    def forward(self, observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return self.network(torch.cat([observation, action], dim=-1))


def train(
    priority: str = "uniform", beta: float = 1.0, steps: int = 1500, batch_size: int = 64, seed: int = 0
) -> dict[str, Any]:
    """Train on the point task; returns the critics' losses and the scores of the data and of the policy."""
    torch.manual_seed(seed)
    data = point_data()
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(len(data["rewards"])),
        sampler=TrajectorySampler(priority, seed=seed),  # the one line that brings the order
        batch_size=batch_size,
    )
    buffer.extend(transitions(data))

    actor = TensorDictModule(mlp(2, 2, nn.Tanh()), in_keys=["observation"], out_keys=["action"])
    critic = ValueOperator(Critic(), in_keys=["observation", "action"])
    loss = TD3BCLoss(actor, critic, action_spec=Bounded(-1, 1, (2,)), alpha=2.5)
    loss.make_value_estimator(gamma=DISCOUNT)
    if beta < 1:  # the weighted target instead of the one-step target
        target = WeightedTarget(DISCOUNT, beta)
        loss.value_estimator.value_estimate = lambda sampled, **_: target(
            batch_of(sampled), sampled["next", "state_action_value"][:, 0]
        )[:, None]
    soften = SoftUpdate(loss, tau=0.005)
    critic_optimizer = torch.optim.Adam(list(loss.qvalue_network_params.flatten_keys().values()), lr=1e-3)
    actor_optimizer = torch.optim.Adam(list(loss.actor_network_params.flatten_keys().values()), lr=1e-3)

    losses = []
    for step in range(steps):
        batch = buffer.sample()
        critic_loss, info = loss.qvalue_loss(batch)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        buffer.update_priority(batch["index"], info["pred_value"].std(dim=0))  # for the *_unc priorities
        if step % 2:
            actor_loss, _ = loss.actor_loss(batch)
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            soften.step()
        losses.append(critic_loss.item())

    @torch.no_grad()
    def act(observations: Any) -> Any:
        return actor.module(torch.as_tensor(observations)).numpy()

    return {"losses": np.array(losses), "data_score": data_score(data), "score": score(act), "buffer": buffer}


def main() -> None:
    parser = argparse.ArgumentParser(description="TorchRL's TD3+BC on a tiny task, in Rewind's order")
    parser.add_argument("--priority", default="uniform", help="as for TrajectoryReplay, e.g. uqm_reward, lower_uqm_unc")
    parser.add_argument("--beta", type=float, default=1.0, help="weight of the bootstrap in the target, 0 to 1")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the fastest for networks this small
    result = train(options.priority, options.beta, options.steps, seed=options.seed)
    tenth = max(1, options.steps // 10)
    first, last = result["losses"][:tenth].mean(), result["losses"][-tenth:].mean()
    print(f"critic loss: {first:.3f} in the first tenth of {options.steps} steps, {last:.3f} in the last")
    print(f"mean return: {result['data_score']:.1f} in the data, {result['score']:.1f} of the policy")


if __name__ == "__main__":
    main()
