"""The policies of the Adroit sets: python lab/tools/adroit.py FOLDER OUT [TASK ...]

FOLDER has the DAPG experts (adroit-TASK-expert-policy.npz, Apache-2.0), OUT is src/rewind/rebuilt/policies/adroit.

    TASK-expert.npz          a network of our own, fitted to the expert's mean actions in the states of its episodes,
                             with the expert's noise
    TASK-demonstrator.npz    the same with more noise: it makes the 25 episodes of rewind/TASK-demos-v0
    TASK-clone.npz           fitted to the actions of those 25 episodes, with noise as large as its errors
"""

import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rewind.rebuilt.build import build, read_built
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour

EPISODES = 150  # of the expert
NOISE = (
    2.0  # of the demonstrator, in units of the expert's: of 1, 1.5, 2 and 3 nearest to the return of door-human (794)
)
HIDDEN = (128, 128)
STEPS, BATCH, RATE = 20_000, 512, 2e-3
HORIZONS = {"pen": 100, "door": 200, "hammer": 200, "relocate": 200}
SOURCE = "DAPG experts (hand_dapg, Apache-2.0)"


def fit(observations, actions, seed=0):
    """A network with tanh layers that minimises the squared error. Inputs are normalised."""
    shift, scale = observations.mean(axis=0), observations.std(axis=0) + 1e-3
    inputs = jnp.asarray((observations - shift) / (scale + 1e-8), jnp.float32)
    targets = jnp.asarray(actions, jnp.float32)
    sizes = [inputs.shape[1], *HIDDEN, targets.shape[1]]
    keys = jax.random.split(jax.random.key(seed), len(sizes))
    layers = [
        (jax.random.normal(key, (one, two)) / jnp.sqrt(one), jnp.zeros(two))
        for key, one, two in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]

    def network(layers, x):
        for weight, bias in layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        return x @ layers[-1][0] + layers[-1][1]

    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))

    @jax.jit
    def train(layers):
        def step(carry, key):
            layers, state = carry
            rows = jax.random.randint(key, (BATCH,), 0, len(inputs))
            loss = lambda layers: ((network(layers, inputs[rows]) - targets[rows]) ** 2).mean()  # noqa: E731
            value, gradients = jax.value_and_grad(loss)(layers)
            updates, state = optimiser.update(gradients, state)
            return (optax.apply_updates(layers, updates), state), value

        (layers, _), losses = jax.lax.scan(step, (layers, optimiser.init(layers)), jax.random.split(keys[-1], STEPS))
        return layers, losses

    layers, losses = train(layers)
    print(f"  squared error {float(losses[-500:].mean()):.5f}, variance {float(targets.var(axis=0).mean()):.3f}")
    weights, biases = ([np.asarray(part) for part in parts] for parts in zip(*layers, strict=True))
    return {"weights": weights, "biases": biases, "in_shift": shift, "in_scale": scale}


def make(task, folder, out):
    path = folder / f"adroit-{task}-expert-policy.npz"
    given = load_behaviour(path)
    data = read_built(build(f"rewind/{task}-expert-v0", policy=path, size=EPISODES * HORIZONS[task], progress=False))
    meta = {"task": task, "source": SOURCE, "source_sha256": given.digest, "episodes": EPISODES}
    means = given._distribution(data.observations)[0]  # not clipped: its noise is added before that
    expert = BehaviourPolicy(**fit(data.observations, means), log_std=given.log_std, meta=meta)
    expert.save(out / f"{task}-expert.npz")
    louder = replace(expert, log_std=given.log_std + np.log(NOISE), meta={**meta, "noise": NOISE})
    louder.save(out / f"{task}-demonstrator.npz")
    demos = read_built(build(f"rewind/{task}-demos-v0", progress=False, force=True))
    fitted = fit(demos.observations, demos.actions)
    clone = BehaviourPolicy(**fitted, log_std=np.zeros(demos.actions.shape[1]), meta={})
    errors = np.asarray(clone.mode(demos.observations)) - demos.actions
    meta = {"task": task, "cloned": f"rewind/{task}-demos-v0", "data_digest": demos.digest, "source": SOURCE}
    replace(clone, log_std=np.log(errors.std(axis=0) + 1e-3), meta=meta).save(out / f"{task}-clone.npz")
    figures = {"task": task, "expert given": data.returns.mean(), "demos": demos.returns.mean()}
    for name, version in (("expert", "expert-v1"), ("clone", "cloned-v0")):
        played = _returns(task, out / f"{task}-{name}.npz")
        figures |= {f"{version} policy": played.mean(), f"{version} error": played.std() / np.sqrt(len(played))}
    print(json.dumps({key: value if isinstance(value, str) else round(float(value)) for key, value in figures.items()}))


def _returns(task, path, episodes=48):
    """Of a policy, as `rewind/TASK-expert-v0` plays one that is given."""
    size = episodes * HORIZONS[task]
    return read_built(build(f"rewind/{task}-expert-v0", policy=path, size=size, progress=False, force=True)).returns


def main():
    folder, out, *tasks = sys.argv[1:]
    Path(out).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["REWIND_DATA"] = cache
        for task in tasks or HORIZONS:
            print(task, flush=True)
            make(task, Path(folder), Path(out))


if __name__ == "__main__":
    main()
