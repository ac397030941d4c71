"""A small training with many checkpoints, and processes that train it: forks, which need not import JAX again.

In most of them a little arithmetic of NumPy on the same rows stands for the networks: JAX takes seconds to compile,
and what is tested is all around it (memories, plans, metrics, evaluations, checkpoints, files).
"""

import hashlib
import json
import os
import sys
import time
import traceback
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
from tests.helpers import make

from rewind.errors import Abandoned, RewindError
from rewind.training import Options, Trainer, group, make_runs
from rewind.training.engine import Engine, Outcome
from rewind.training.evaluations import Request
from rewind.training.planner import Planner

DATA = make(np.random.default_rng(0).integers(5, 25, 40), known=1.0)
STEPS, BLOCK = 1200, 10

Planner([DATA], make_runs(DATA, "bc", samplers=["lower_uqm_unc"]), 8).plan(BLOCK)  # compiled once, for all forks
PATIENCE = 1200  # seconds for one process


class Evaluator:
    """Every second evaluation is kept in a file and done beside the training; the others are done at once.

    left: steps whose evaluations are not done before the training is stopped
    """

    def __init__(self, left=()):
        self.left = left

    def request(self, group, step):
        if step % 200 == 0:
            return Request(step, group)
        return Request(step, arrays={"scores": scores(group)})

    def evaluate(self, request, stop):
        while request.step in self.left:
            if stop():
                raise Abandoned
            time.sleep(0.01)
        return {"score": scores(request.group) if request.group else request.arrays["scores"]}


def scores(group):
    observations = np.broadcast_to(DATA.observations[:4], (len(group.runs), 4, 3)).astype(np.float32)
    return np.asarray(group.engine.act(group.policies(), observations, group.engine.agents)).mean(axis=(1, 2))


class Arithmetic:
    """In place of the engine: numbers that depend on every row that was planned, and on their order."""

    def __init__(self, agents, seeds, table, batch_size, *, firsts, uncertainty, fused):
        import jax.numpy as jnp

        self.agents, self.firsts, self.uncertainty = agents, np.array(firsts), list(uncertainty)
        self.rows, self.alive = np.asarray(table.rows), jnp.ones(len(agents), bool)
        self.state = {"sums": np.stack([np.full(self.rows.shape[1], seed, np.float32) for seed in seeds])}

    def run(self, indices, fresh, rows=None):
        sums = np.array(self.state["sums"])
        found = self.rows[self.firsts[:, None, None] + indices]  # (runs, steps, batch, width)
        disagreement = np.empty(indices.shape, np.float32)
        for step in range(indices.shape[1]):
            disagreement[:, step] = np.abs(found[:, step] - sums[:, None]).mean(-1)
            sums += 0.1 * (np.tanh(found[:, step]).mean(1) - sums) + 0.01 * fresh[:, step].mean(1)[:, None]
        self.state = {"sums": sums}
        given = disagreement[self.uncertainty] if self.uncertainty else None
        return Outcome({"q": sums.mean(1)}, self.alive, given)

    def policies(self):
        return dict(self.state)

    def act(self, policies, observations, agents):
        return observations.mean(-1, keepdims=True) * np.asarray(policies["sums"])[:, None]


def go(out, seed=0, left=(), real=False, **settings):
    """Train in the folder, or continue; the digest of all that came of it is written beside the folder, or above it.

    left: see `Evaluator`
    real: with networks
    """
    group.Engine = Engine if real else Arithmetic
    runs = make_runs(DATA, "td3_bc", samplers=["tr", "lower_uqm_unc"], betas=[0.5], seeds=[seed], hidden=(8, 8))
    usual = {"steps": STEPS, "batch_size": 8, "block": BLOCK, "log_every": 2 * BLOCK, "evaluate_every": 100}
    usual |= {"progress": False, "checkpoint_minutes": 0, "resume": True}
    with closing(Trainer(DATA, runs, Evaluator(left), Options(out=out, **{**usual, **settings}))) as trainer:
        trainer.train()
        trained = trainer.finish()
    result_path(out).write_text(told(trained))


def told(trained):
    import jax

    digest = hashlib.blake2b(digest_size=16)
    for result in trained:
        records = sorted(result.records, key=lambda record: (record["step"], "alive" in record))
        digest.update(json.dumps(records, sort_keys=True).encode())
        for leaf in jax.tree.leaves(result.policy):
            digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()


def result_path(out):
    """Not on a disk that is full."""
    return Path(f"{out}.result") if out.parent.name != "disk" else out.parent.parent / "disk.result"


def result_of(out):
    path = result_path(out)
    return path.read_text() if path.exists() else None


class Child:
    """A function in a process of its own; errors of Rewind are one line and status 2, as in the command."""

    def __init__(self, function, *arguments, log, **named):
        self.log = Path(log)
        self.pid = os.fork()
        if self.pid == 0:
            self._run(function, arguments, named)
        self.status = None

    def _run(self, function, arguments, named):
        status = 1
        try:
            descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            function(*arguments, **named)
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except RewindError as error:
            os.write(2, f"rewind: {error}\n".encode())
            status = error.exit_status
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stderr.flush()
            os._exit(status)

    def poll(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status

    def wait(self):
        """Its status; one that does not end is killed, which is a failure."""
        begun = time.monotonic()
        while self.poll() is None:
            if time.monotonic() - begun > PATIENCE:
                self.signal(9)
            time.sleep(0.01)
        return self.status

    def signal(self, number):
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    @property
    def said(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def one_line(said):
    """Whether a process ended with a line of ours and no traceback."""
    lines = [line for line in said.strip().splitlines() if line]
    return bool(lines) and lines[-1].startswith("rewind: ") and "Traceback" not in said
