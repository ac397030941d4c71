"""TD3+BC as a plain PyTorch loop, to compare our update on a CPU with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewind.data import Trajectories
from rewind.errors import require


def torch_job(data: Trajectories, steps: int, batch_size: int) -> Callable[[], None]:
    """Some updates of one run: uniform rows, two critics, the actor and the targets every second step."""
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
