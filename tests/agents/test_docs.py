"""The agent that docs/agents.md shows how to write learns."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("equinox")
pytest.importorskip("optax")

import jax
from tests.agents.cases import ACTION, OBSERVATION, ROWS, batch_of

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"


def test_the_worked_example_learns():
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    namespace: dict[str, object] = {}
    exec(compile(source, str(PAGE), "exec", dont_inherit=True), namespace)
    agent = namespace["ClonedValue"](OBSERVATION, ACTION, rate=3e-3, target_rate=0.0)
    state, batch = agent.init(jax.random.key(0), ROWS), batch_of(agent)
    update = jax.jit(type(agent).update)
    history = []
    for _ in range(50):
        state, metrics, uncertainty = update(agent, state, batch)
        history.append({name: float(metric) for name, metric in metrics.items()})
    assert uncertainty.shape == (1, ROWS)
    assert history[-1]["critic_loss"] < 0.5 * history[0]["critic_loss"]
    assert history[-1]["actor_loss"] < history[0]["actor_loss"]
    assert agent.act(agent.policy(state), np.zeros((2, OBSERVATION))).shape == (2, ACTION)
