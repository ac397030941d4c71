"""`rewind paper`: what its commands take. What trains is in `runner`, which needs JAX."""

import json
import os
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Literal

from rewind.cli.arguments import Rare
from rewind.errors import UsageError, require, require_training
from rewind.progress import say
from rewind.run_spec import RunSpec
from rewind.table import table
from rewind_lab.paper.definitions import Definitions, RunChoice, in_order, load_definitions


@dataclass
class Chosen:
    """Which runs, and where their results are."""

    tables: tuple[str, ...] = ()
    """Tables and figures, by the names that `rewind paper list` shows. Default: all."""
    data: Literal["rewind", "d4rl"] = "rewind"
    """Rebuilt data sets, or D4RL's own."""
    datasets: tuple[str, ...] | None = None
    """Only these data sets or suites (mujoco, antmaze, adroit), in this order."""
    algorithms: tuple[str, ...] | None = None
    """Only these agents: td3_bc, iql, edac, rebrac, bc."""
    samplers: tuple[str, ...] | None = None
    """Only these samplers: baseline, tr, a priority of the paper."""
    seeds: tuple[int, ...] | None = None
    """Seeds. Default: the definition's, which are 0 to 2, and 0 to 7 on AntMaze."""
    steps: int | None = None
    """Updates of each run. Default: the definition's million. Runs of another length are separate runs."""
    out: Path = Path("lab/results/paper")
    """Folder of results."""
    definitions: Rare[Path | None] = None
    """A file to use instead of the package's definitions.toml."""
    group_minutes: Rare[float] = 25.0
    """Estimated device minutes of one group, at most. A shorter --budget makes smaller groups."""
    runs_per_group: Rare[int] = 132
    """Runs trained together, at most. The default is the number of multiprocessors of an H200."""

    def read(self) -> tuple[Definitions, dict[str, list[RunSpec]]]:
        """The definitions, and the wanted runs by table."""
        for name in ("steps", "group_minutes", "runs_per_group"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UsageError(f"--{name.replace('_', '-')} is {value:g}; expected more than 0")
        if self.seeds and min(self.seeds) < 0:
            raise UsageError(f"--seeds has {min(self.seeds)}; expected 0 or more")
        definitions = load_definitions(self.definitions)
        choice = RunChoice(
            self.tables, self.data, self.datasets, self.algorithms, self.samplers, self.seeds, self.steps
        )
        return definitions, definitions.wanted(choice)


@dataclass
class PaperRun(Chosen):
    """Train the next unfinished runs until all are done or --budget is used up. Call it again to continue.

    Example: rewind paper run --tables 1 --budget 1h30m --dry-run
    """

    budget: str | None = None
    """Time that this call may take: 9m, 1h30m. Default: until all is done."""
    groups: int | None = None
    """Groups that this call may train. Default: as many as there is time for."""
    checkpoint_minutes: Rare[float] = 2.0
    """Minutes between checkpoints, which is what a killed process loses at most."""
    device: Rare[str | None] = None
    """cpu or gpu. Default: JAX's choice."""
    fused: bool = False
    """Compute networks as single GPU kernels in bfloat16: faster, on NVIDIA GPUs. The results record it."""
    ray: str | None = None
    """Train on a Ray cluster: its address, auto, or local for one on this machine."""
    jsonl: Rare[Path | None] = None
    """After every group, also write all rows that have not been collected to this one file."""
    dry_run: bool = False
    """Show the groups that would be trained, and stop."""

    def run(self) -> None:
        if self.groups is not None and self.groups < 1:
            raise UsageError(f"--groups is {self.groups}; expected 1 or more")
        if self.dry_run:
            self._show()
            return
        _require_all()
        self._train()

    def _train(self) -> None:
        """Groups first, then the costs, if they are wanted."""
        import jax

        from rewind.training.engine import device_kind
        from rewind.training.session import find_device
        from rewind_lab.paper.clock import until
        from rewind_lab.paper.costs import measure_cost
        from rewind_lab.paper.job import JobOptions
        from rewind_lab.paper.runner import Runner, RunnerOptions

        deadline = until(self.budget)
        definitions, wanted = self.read()
        job = JobOptions(definitions.points(wanted), self.checkpoint_minutes, self.device, fused=self.fused)
        groups = float("inf") if self.groups is None else self.groups
        options = RunnerOptions(self.group_minutes * 60, self.runs_per_group, groups, "gpu", job, self.jsonl)
        runs = in_order(wanted)
        if self.ray is not None:
            from rewind_lab.paper.ray_runner import RayRunner

            RayRunner(self.out, runs, deadline, options, self.ray).run()
            return
        with jax.default_device(find_device(self.device)):
            device = device_kind()
            Runner(self.out, runs, deadline, replace(options, device=device)).run()
            for name in wanted:
                if definitions.tables[name].kind == "cost" and not deadline.passed:
                    measure_cost(definitions.tables[name], self.out, deadline, device)

    def _show(self) -> None:
        from rewind_lab.paper.clock import parse_duration
        from rewind_lab.paper.costs import CostEstimate, cost_done, pack
        from rewind_lab.paper.results import read_index
        from rewind_lab.paper.status import plan_text

        definitions, wanted = self.read()
        index = read_index(self.out)
        estimate = CostEstimate(index, self.device or "gpu", definitions.points(wanted), fused=self.fused)
        left = [spec for spec in in_order(wanted) if spec.run not in index.runs]
        groups = list(pack(left, estimate, self.group_minutes * 60, self.runs_per_group))[: self.groups]
        tables = [definitions.tables[name] for name in wanted]
        costs = [each.name for each in tables if each.kind == "cost" and not cost_done(each, self.out)]
        lines = [f"table {name}: costs, which `rewind bench train` measures" for name in costs]
        if self.budget is not None and groups:
            ends = list(accumulate(estimate.seconds(group[0], len(group)) for group in groups))
            whole = sum(end <= parse_duration(self.budget) for end in ends)
            lines.append(f"--budget {self.budget}: by the estimate {whole} of {len(groups)} as they are here")
        print("\n".join([plan_text(groups, estimate), *lines] if groups or not costs else lines))


@dataclass
class PaperFinish:
    """Run the evaluations that trained groups have left. Trains nothing and needs no data.

    Example: rewind paper finish --budget 30m
    """

    out: Path = Path("lab/results/paper")
    """Folder of results, with the groups in work/, of this machine or copied from another one."""
    budget: str | None = None
    """Time that this call may take: 9m, 1h30m. Default: until all is done."""
    jsonl: Rare[Path | None] = None
    """After every group, also write all rows that have not been collected to this one file."""

    def run(self) -> None:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # an accelerator has nothing to do here
        _require_all()
        from rewind.training.engine import device_kind
        from rewind_lab.paper.clock import until
        from rewind_lab.paper.runner import Runner, RunnerOptions
        from rewind_lab.paper.work import begun, is_trained, work_folder

        left = [spec for group in begun(self.out) if is_trained(work_folder(self.out, group)) for spec in group]
        if not left:
            say(f"no trained group in {self.out / 'work'} has evaluations left")
            return
        options = RunnerOptions(device=device_kind(), jsonl=self.jsonl)
        Runner(self.out, left, until(self.budget), options).run()


@dataclass
class PaperStatus(Chosen):
    """Show what is done, what is left, and how many device hours that will take.

    Example: rewind paper status
    """

    fused: bool = False
    """Estimate the time with fused kernels."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from rewind_lab.paper.status import Sizes, status, status_text

        definitions, wanted = self.read()
        sizes = Sizes(self.group_minutes * 60, self.runs_per_group, fused=self.fused)
        figures = status(definitions, wanted, self.out, sizes)
        if not self.json and not self.out.exists():
            print(f"{self.out} is not there yet: nothing is done\n")
        print(json.dumps(figures, indent=2) if self.json else status_text(figures))


@dataclass
class PaperCollect:
    """Collect all finished groups in one table, or in one file if the machine has no pyarrow.

    Example: rewind paper collect
    """

    out: Path = Path("lab/results/paper")
    """Folder of results."""
    add: tuple[Path, ...] = ()
    """Also collect these files of rows, from other machines."""
    jsonl: Rare[Path | None] = None
    """Write what has not been collected yet to this file instead."""

    def run(self) -> None:
        from rewind_lab.paper.results import collect, gather

        if self.jsonl is not None and self.add:
            raise UsageError("--jsonl takes rows out of the folder and --add puts some in: one at a time")
        rows = collect(self.out, self.add) if self.jsonl is None else gather(self.out, self.jsonl)
        path = self.out / "results.parquet" if self.jsonl is None else self.jsonl
        print(f"{len({row['run'] for row in rows}):,} runs, {len(rows):,} evaluations in {path}")


@dataclass
class PaperAside(Chosen):
    """Move finished runs to another folder of results, so that they can be trained again.

    Example: rewind paper aside --algorithms edac --to lab/results/aside
    """

    to: Path = Path("lab/results/aside")
    """The other folder."""
    kernels: Rare[Literal["xla", "fused"] | None] = None
    """Only runs with these kernels."""

    def run(self) -> None:
        from rewind.evaluation.rows import kernels_of
        from rewind_lab.paper.results import set_aside

        runs = {spec.run for spec in in_order(self.read()[1])}
        moved = set_aside(self.out, self.to, lambda row: row["run"] in runs and self.kernels in (None, kernels_of(row)))
        print(f"{len({row['run'] for row in moved}):,} runs moved from {self.out} to {self.to}")


@dataclass
class PaperList(Chosen):
    """List the tables and figures, in the order of the work, with their numbers of runs.

    Example: rewind paper list
    """

    def run(self) -> None:
        definitions, wanted = self.read()
        rows = [{"table": n, "runs": len(specs), "": definitions.tables[n].title} for n, specs in wanted.items()]
        print(table(rows))
        print(f"\n{len(in_order(wanted)):,} runs in all, each counted once")


@dataclass
class PaperSettings:
    """Show the hyper-parameters of the paper's data sets.

    Example: rewind paper settings
    """

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from rewind_lab.paper.datasets import hyper_parameters

        rows = hyper_parameters()
        print(json.dumps(rows, indent=2) if self.json else table(rows))


def _require_all() -> None:
    require_training()
    require("gymnasium", "envs")
