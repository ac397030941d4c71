"""The agents once more, in plain PyTorch and double precision: one module per network, one line per formula.

Each starts from an agent's state and learns from the same batches and noise; nothing of Rewind is used.
"""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import torch
from torch import nn
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution
from torch.nn.functional import mse_loss

DTYPE = torch.float64


def tensor(array):
    return torch.tensor(np.asarray(array), dtype=DTYPE)


def network(mlp, member=None):
    """An nn.Sequential with the parameters of one MLP (of an ensemble)."""
    layers = []
    for weight, bias, *norm in zip_longest(mlp.weights, mlp.biases, mlp.scales, mlp.shifts):
        weight, bias = (np.asarray(x if member is None else x[member]) for x in (weight, bias))
        linear = nn.Linear(*weight.shape, dtype=DTYPE)
        linear.weight.data, linear.bias.data = tensor(weight.T), tensor(bias)
        layers += [linear, nn.ReLU()]
        if norm[0] is not None:
            layers.append(nn.LayerNorm(len(bias), eps=1e-6, dtype=DTYPE))
            layers[-1].weight.data, layers[-1].bias.data = (tensor(x if member is None else x[member]) for x in norm)
    return nn.Sequential(*layers[:-1])


def ensemble(mlp):
    return [network(mlp, member) for member in range(len(mlp.weights[0]))]


def q_values(critics, observations, actions):
    return torch.stack([critic(torch.cat([observations, actions], 1)).squeeze(1) for critic in critics])


class Reference:
    """What the references share: Adam for each learned part, the target, and the targets' slow following."""

    def __init__(self, agent, state):
        self.agent = agent
        self.number = lambda name: float(getattr(agent, name))
        self.targets, self.optimisers = {}, {}
        self.carry = [float(y) for y in state.carry] if hasattr(state, "carry") else None

    def learn(self, name, parameters, rate):
        self.optimisers[name] = torch.optim.Adam(list(parameters), lr=self.number(rate))

    def descend(self, name, loss):
        optimiser = self.optimisers[name]
        optimiser.zero_grad()
        loss.backward(inputs=optimiser.param_groups[0]["params"])
        optimiser.step()

    def target(self, batch, bootstrap):
        """Eq. 2 to 4 of the paper, slot by slot; over a window by the same equations, last row first."""
        discount, beta = self.number("discount"), self.number("beta")
        bounded = hasattr(self.agent, "target_low")
        if batch.window is not None:
            low, high = (self.number("target_low"), self.number("target_high")) if bounded else (-np.inf, np.inf)
            targets = []
            for rewards, terminals, tails, future in zip(*batch.window[:3], bootstrap.tolist(), strict=True):
                y = None
                for r, terminal, tail, b in reversed(list(zip(rewards, terminals, tails, future, strict=True))):
                    ahead = b if tail or y is None else (1 - beta) * y + beta * b
                    y = min(max(float(r) + (0.0 if terminal else discount * ahead), low), high)
                targets.append(y)
            return torch.tensor(targets, dtype=DTYPE)
        for slot, future in enumerate(bootstrap.tolist()):
            if batch.terminals[slot]:
                future = 0.0
            elif not batch.fresh[slot]:
                future = (1 - beta) * self.carry[slot] + beta * future
            self.carry[slot] = float(batch.rewards[slot]) + discount * future
            if bounded:
                self.carry[slot] = min(max(self.carry[slot], self.number("target_low")), self.number("target_high"))
        return torch.tensor(self.carry, dtype=DTYPE)

    def follow(self, target, online):
        for t, o in zip(target.parameters(), online.parameters(), strict=True):
            t.data = (1 - self.number("target_rate")) * t.data + self.number("target_rate") * o.data


class TorchTD3BC(Reference):
    def __init__(self, agent, state):
        super().__init__(agent, state)
        self.actor, self.critics = network(state.actor.params), ensemble(state.critics.params)
        self.target_actor, self.target_critics = network(state.target_actor), ensemble(state.target_critics)
        self.learn("actor", self.actor.parameters(), "actor_rate")
        self.learn("critics", [p for c in self.critics for p in c.parameters()], "critic_rate")

    def update(self, batches, noise):
        limit = self.agent.max_action
        losses, values, targets, spread = [], [], [], []
        for batch, draw in zip(batches, noise, strict=True):
            s, a, s2 = tensor(batch.observations), tensor(batch.actions), tensor(batch.successors).flatten(0, -2)
            with torch.no_grad():
                clip = self.number("noise_clip") * limit
                smoothing = (tensor(draw).flatten(0, -2) * self.number("policy_noise") * limit).clamp(-clip, clip)
                a2 = (limit * torch.tanh(self.target_actor(s2)) + smoothing).clamp(-limit, limit)
                bootstrap = q_values(self.target_critics, s2, a2).min(0).values
                y = self.target(batch, bootstrap.reshape(batch.successors.shape[:-1]))
            q = q_values(self.critics, s, a)
            loss = mse_loss(q[0], y) + mse_loss(q[1], y)
            self.descend("critics", loss)
            losses.append(loss.item()), values.append(q.mean().item()), targets.append(y.mean().item())
            spread.append(q.detach().numpy().std(0))
        pi = limit * torch.tanh(self.actor(s))
        q = q_values(self.critics[:1], s, pi)[0]
        actor_loss = -self.number("alpha") / q.abs().mean().detach() * q.mean() + mse_loss(pi, a)
        self.descend("actor", actor_loss)
        for target, online in zip(self.target_critics, self.critics, strict=True):
            self.follow(target, online)
        self.follow(self.target_actor, self.actor)
        metrics = {"critic_loss": losses, "actor_loss": actor_loss.item(), "q": values, "target": targets}
        return {name: np.mean(x) for name, x in metrics.items()}, np.stack(spread)


class TorchReBRAC(TorchTD3BC):
    """Its own losses; the order of an update is TD3's."""

    def update(self, batches, noise):
        limit = self.agent.max_action
        losses, values, targets, penalties, spread = [], [], [], [], []
        for batch, draw in zip(batches, noise, strict=True):
            s, a, s2 = tensor(batch.observations), tensor(batch.actions), tensor(batch.successors).flatten(0, -2)
            with torch.no_grad():
                clip = self.number("noise_clip") * limit
                smoothing = (tensor(draw).flatten(0, -2) * self.number("policy_noise") * limit).clamp(-clip, clip)
                a2 = (limit * torch.tanh(self.target_actor(s2)) + smoothing).clamp(-limit, limit)
                penalty = torch.zeros(len(a2), dtype=DTYPE)
                following = tensor(batch.next_actions).flatten(0, -2)
                for row, known in enumerate(np.ravel(batch.next_known)):
                    if known:
                        penalty[row] = self.number("critic_penalty") * sum((a2[row] - following[row]) ** 2)
                bootstrap = torch.minimum(*q_values(self.target_critics, s2, a2)) - penalty
                y = self.target(batch, bootstrap.reshape(batch.successors.shape[:-1]))
            q = q_values(self.critics, s, a)
            loss = mse_loss(q[0], y) + mse_loss(q[1], y)
            self.descend("critics", loss)
            losses.append(loss.item()), values.append(q.mean().item()), targets.append(y.mean().item())
            penalties.append(penalty.mean().item()), spread.append(q.detach().numpy().std(0))
        pi = limit * torch.tanh(self.actor(s))
        q = torch.minimum(*q_values(self.critics, s, pi))
        imitation = self.number("actor_penalty") * ((pi - a) ** 2).sum(1).mean()
        actor_loss = imitation - q.mean() / q.abs().mean().detach()
        self.descend("actor", actor_loss)
        for target, online in zip(self.target_critics, self.critics, strict=True):
            self.follow(target, online)
        self.follow(self.target_actor, self.actor)
        metrics = {"critic_loss": losses, "actor_loss": actor_loss.item(), "q": values, "target": targets}
        metrics["penalty"] = penalties
        return {name: np.mean(x) for name, x in metrics.items()}, np.stack(spread)


class TorchIQL(Reference):
    def __init__(self, agent, state):
        super().__init__(agent, state)
        self.mean, self.values = network(state.actor.params.mean), network(state.value.params)
        self.log_std = nn.Parameter(tensor(state.actor.params.log_std))
        self.critics, self.target_critics = ensemble(state.critics.params), ensemble(state.target_critics)
        self.learn("actor", [self.log_std, *self.mean.parameters()], "actor_rate")
        self.learn("critics", [p for c in self.critics for p in c.parameters()], "critic_rate")
        self.learn("value", self.values.parameters(), "value_rate")
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimisers["actor"], self.number("total_steps"))

    def update(self, batches, noise):
        (batch,) = batches
        s, a, s2 = tensor(batch.observations), tensor(batch.actions), tensor(batch.successors).flatten(0, -2)
        with torch.no_grad():
            y = self.target(batch, self.values(s2).reshape(batch.successors.shape[:-1]))
            target_q = q_values(self.target_critics, s, a).min(0).values
        advantage = target_q - self.values(s).squeeze(1)
        value_loss = ((self.number("expectile") - (advantage < 0).to(DTYPE)).abs() * advantage**2).mean()
        self.descend("value", value_loss)
        q = q_values(self.critics, s, a)
        critic_loss = (mse_loss(q[0], y) + mse_loss(q[1], y)) / 2
        self.descend("critics", critic_loss)
        for target, online in zip(self.target_critics, self.critics, strict=True):
            self.follow(target, online)
        weight = torch.exp(self.number("temperature") * advantage.detach()).clamp(max=100.0)
        actor_loss = -(weight * self.log_prob(s, a)).mean()
        self.descend("actor", actor_loss)
        self.schedule.step()
        metrics = {
            "critic_loss": critic_loss,
            "actor_loss": actor_loss,
            "value_loss": value_loss,
            "q": q.mean(),
            "target": y.mean(),
            "advantage": advantage.mean(),
        }
        return {name: x.item() for name, x in metrics.items()}, q.detach().numpy().std(0)[None]

    def log_prob(self, s, a):
        policy = Independent(Normal(torch.tanh(self.mean(s)), self.log_std.clamp(-20, 2).exp()), 1)
        return policy.log_prob(a / self.agent.max_action)


class TorchEDAC(Reference):
    def __init__(self, agent, state):
        super().__init__(agent, state)
        self.actor = network(state.actor.params.heads)
        self.critics, self.target_critics = ensemble(state.critics.params), ensemble(state.target_critics)
        self.log_alpha = nn.Parameter(tensor(state.log_alpha.params))
        self.learn("actor", self.actor.parameters(), "actor_rate")
        self.learn("critics", [p for c in self.critics for p in c.parameters()], "critic_rate")
        self.learn("log_alpha", [self.log_alpha], "alpha_rate")

    def sample(self, s, draw):
        mean, log_std = self.actor(s).chunk(2, 1)
        std = log_std.clamp(-5, 2).exp()
        policy = TransformedDistribution(Independent(Normal(mean, std), 1), TanhTransform(cache_size=1))
        action = torch.tanh(mean + std * tensor(draw))
        return action * self.agent.max_action, policy.log_prob(action)

    def update(self, batches, noise):
        (batch,) = batches
        s, a, s2 = tensor(batch.observations), tensor(batch.actions), tensor(batch.successors).flatten(0, -2)
        with torch.no_grad():
            _, log_prob = self.sample(s, noise[0])
        entropy_target = self.number("target_entropy") * a.shape[1]
        self.descend("log_alpha", -(self.log_alpha * (log_prob + entropy_target)).mean())
        alpha = self.log_alpha.exp().detach()

        pi, log_prob = self.sample(s, noise[0])
        actor_loss = (alpha * log_prob - q_values(self.critics, s, pi).min(0).values).mean()
        self.descend("actor", actor_loss)

        with torch.no_grad():
            a2, log_prob2 = self.sample(s2, noise[1:].reshape(len(s2), -1))
            bootstrap = q_values(self.target_critics, s2, a2).min(0).values - alpha * log_prob2
            y = self.target(batch, bootstrap.reshape(batch.successors.shape[:-1]))
        q = q_values(self.critics, s, a)
        diversity = self.diversity(s, a)
        critic_loss = sum(mse_loss(one, y) for one in q) + self.number("eta") * diversity
        self.descend("critics", critic_loss)
        for target, online in zip(self.target_critics, self.critics, strict=True):
            self.follow(target, online)
        metrics = {
            "critic_loss": critic_loss,
            "actor_loss": actor_loss,
            "diversity": diversity,
            "alpha": alpha,
            "entropy": -log_prob.mean(),
            "q": q.mean(),
            "target": y.mean(),
        }
        return {name: x.item() for name, x in metrics.items()}, q.detach().numpy().std(0)[None]

    def diversity(self, s, a):
        directions = []
        for critic in self.critics:
            action = a.clone().requires_grad_()
            q = q_values([critic], s, action).sum()
            (slope,) = torch.autograd.grad(q, action, create_graph=True)
            directions.append(slope / (slope.norm(dim=1, keepdim=True) + 1e-10))
        total = 0.0
        for i, one in enumerate(directions):
            for j, other in enumerate(directions):
                if i != j:
                    total = total + (one * other).sum(1).mean()
        return total / (len(directions) - 1)


class TorchBC(Reference):
    def __init__(self, agent, state):
        super().__init__(agent, state)
        self.actor = network(state.actor.params)
        self.learn("actor", self.actor.parameters(), "actor_rate")

    def update(self, batches, noise):
        (batch,) = batches
        s, a = tensor(batch.observations), tensor(batch.actions)
        loss = mse_loss(self.agent.max_action * torch.tanh(self.actor(s)), a)
        self.descend("actor", loss)
        return {"actor_loss": loss.item()}, np.zeros((1, len(a)))


class TorchDQN(Reference):
    def __init__(self, agent, state):
        super().__init__(agent, state)
        self.critics, self.target_critics = ensemble(state.critics.params), ensemble(state.target_critics)
        self.learn("critics", [p for c in self.critics for p in c.parameters()], "critic_rate")

    def update(self, batches, noise):
        (batch,) = batches
        s, a = tensor(batch.observations), torch.tensor(np.asarray(batch.actions).argmax(1))
        s2 = tensor(batch.successors).flatten(0, -2)
        with torch.no_grad():
            best = self.critics[0](s2).argmax(1, keepdim=True)
            bootstrap = torch.minimum(*(critic(s2).gather(1, best)[:, 0] for critic in self.target_critics))
            y = self.target(batch, bootstrap.reshape(batch.successors.shape[:-1]))
        loss, values, gaps = 0.0, [], []
        for critic in self.critics:
            q = critic(s)
            values.append(q.gather(1, a[:, None])[:, 0])
            gaps.append(torch.nn.functional.cross_entropy(q, a))  # log sum exp Q - Q(s, a)
            loss = loss + mse_loss(values[-1], y) + self.number("penalty") * gaps[-1]
        self.descend("critics", loss)
        for target, online in zip(self.target_critics, self.critics, strict=True):
            self.follow(target, online)
        q = torch.stack(values).detach()
        metrics = {"critic_loss": loss.item(), "gap": np.mean([gap.item() for gap in gaps])}
        return metrics | {"q": q.mean().item(), "target": y.mean().item()}, q.numpy().std(0)[None]


class TorchDiscreteIQL(TorchIQL):
    def __init__(self, agent, state):
        Reference.__init__(self, agent, state)
        self.mean, self.values = network(state.actor.params), network(state.value.params)
        self.critics, self.target_critics = ensemble(state.critics.params), ensemble(state.target_critics)
        self.learn("actor", self.mean.parameters(), "actor_rate")
        self.learn("critics", [p for c in self.critics for p in c.parameters()], "critic_rate")
        self.learn("value", self.values.parameters(), "value_rate")
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimisers["actor"], self.number("total_steps"))

    def log_prob(self, s, a):
        return torch.distributions.Categorical(logits=self.mean(s)).log_prob(a.argmax(1))


class TorchDiscreteBC(TorchBC):
    def update(self, batches, noise):
        (batch,) = batches
        actions = torch.tensor(np.asarray(batch.actions).argmax(1))
        loss = torch.nn.functional.cross_entropy(self.actor(tensor(batch.observations)), actions)
        self.descend("actor", loss)
        return {"actor_loss": loss.item()}, np.zeros((1, len(actions)))


REFERENCES = {
    "td3_bc": TorchTD3BC,
    "rebrac": TorchReBRAC,
    "iql": TorchIQL,
    "edac": TorchEDAC,
    "bc": TorchBC,
    "dqn": TorchDQN,
    "discrete_iql": TorchDiscreteIQL,
    "discrete_bc": TorchDiscreteBC,
}
