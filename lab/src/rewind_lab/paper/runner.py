"""The runner: the next groups, one after another, until all is done or the time is over."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rewind.errors import RewindError
from rewind.evaluation.rows import Row, write_jsonl
from rewind.progress import say
from rewind.run_spec import RunSpec, group_name
from rewind.training import Stopped
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.costs import CostEstimate, SpecGroup, datasets_of, next_group
from rewind_lab.paper.job import JobOptions, TrainedGroup, check_datasets, train_group
from rewind_lab.paper.results import Index, gather, index_of, read_index
from rewind_lab.paper.work import begun, forget_work, is_trained, only_runner, work_folder

MOST_BEHIND = 2  # groups whose last evaluations are under way while the next one is trained
CAUTION = 0.9  # of the time that is left, what an estimate may fill


@dataclass(frozen=True)
class RunnerOptions:
    """How much goes into a group.

    group_seconds: what a group may take by the estimate
    runs_per_group: at most
    groups: that are trained in this call, at most
    device: of the estimates, as in the results
    jsonl: after every group, all rows that have not been folded go to this file too
    """

    group_seconds: float = 8 * 60.0
    runs_per_group: int = 132  # multiprocessors of an H200, each of which takes a network of the fused kernels
    groups: float = float("inf")
    device: str = "gpu"
    job: JobOptions = field(default_factory=JobOptions)
    jsonl: Path | None = None


class Runner:
    """Works through the wanted runs in a folder of results.

    wanted: the most valuable first
    """

    def __init__(self, out: Path, wanted: Sequence[RunSpec], deadline: Deadline, options: RunnerOptions) -> None:
        self.out, self.wanted, self.deadline, self.options = out, list(wanted), deadline, options
        self.index = Index()
        self.taken = 0  # groups of this call
        self.started = 0  # those of them that it has trained, or trains
        self.refused: dict[str, str] = {}  # data sets that cannot be had, and why
        self.failed: set[str] = set()  # runs of groups that ended in an error
        self.problems: list[str] = []  # with trained groups
        self.behind: list[TrainedGroup] = []  # groups that are trained: their last evaluations are under way

    def run(self) -> None:
        """Until nothing is left or the deadline comes; the next call resumes a group that is cut then.

        While the last evaluations of a group are under way, the next ones are trained; the next call does what is left.
        """
        with only_runner(self.out):
            self.index = read_index(self.out)
            for group in begun(self.out):  # work whose results are there already: it was killed between the two
                if all(spec.run in self.index.runs for spec in group):
                    forget_work(self.out, group)
            try:
                while (group := self._next()) and self._take(group):
                    pass
                self._wait()
            finally:
                self._abandon()
        self.conclude()

    def _take(self, group: SpecGroup) -> bool:
        """Train a group, or evaluate what is left of it; False where the time was over before its last update."""
        self.announce(group)
        self.taken += 1
        if self._is_trained(group):
            with self._may_fail(group):
                self.behind.append(self._train(group))
            if self.options.device.startswith("cpu"):
                self._wait()  # otherwise it would share the cores with the next group
            return True
        try:
            trained = self._train(group)
        except Stopped as stopped:
            self._look_back()
            if not self.deadline.passed:
                what = f"stopped while {named_sets(group)} was trained; it is saved"
                raise Stopped(f"{what}, and the same command resumes it") from stopped
            say("the time is over; the next call continues from here")
            return False
        self.behind.append(trained)
        with self._may_fail(trained.specs):
            left = trained.journal.poll()
            more = f"; {left} evaluation{'s are' if left > 1 else ' is'} left" if left else ""
            say(f"trained; planning waited for the device in {trained.waited:.0%} of the time{more}")
        self._look_back()
        self._wait(MOST_BEHIND)
        return True

    def _train(self, group: SpecGroup) -> TrainedGroup:
        folder = work_folder(self.out, group)
        return train_group(group, folder, self.deadline, self.job(group), meanwhile=self._look_back)

    def _look_back(self) -> None:
        """Keep the results of trained groups, once they are there."""
        for trained in list(self.behind):
            with self._may_fail(trained.specs):
                if trained.journal.poll() == 0:
                    self.behind.remove(trained)
                    self.finish(list(trained.specs), trained.rows())

    def _wait(self, most: int = 0) -> None:
        """For the evaluations of trained groups, until there are no more than so many, or the time is over."""
        while len(self.behind) > most:
            first = self.behind[0]
            with self._may_fail(first.specs):
                if not first.wait(self.deadline):
                    break
            self._look_back()

    def _abandon(self) -> None:
        """What is left of trained groups is kept for the next call."""
        for trained in self.behind:
            trained.journal.close()
            kept = self._is_trained(list(trained.specs))
            rest = "does the evaluations that are left" if kept else "resumes from its last checkpoint"
            say(f"{named_sets(trained.specs)}: trained; the next call {rest}")
        self.behind = []

    @contextmanager
    def _may_fail(self, group: Sequence[RunSpec]) -> Iterator[None]:
        """What is wrong with one trained group is said at the end, and costs the others nothing."""
        try:
            yield
        except RewindError as error:
            for trained in [each for each in self.behind if each.specs is group]:
                self.behind.remove(trained)
                trained.journal.close()
            self.problems.append(str(error))
            self.failed |= {spec.run for spec in group}

    def job(self, group: SpecGroup) -> JobOptions:
        return replace(self.options.job, evaluation_seconds=self._estimate().evaluation(group[0], len(group)))

    def conclude(self) -> None:
        """Say how it stands; what could not be done is an error, after all else is done."""
        problems = [*(f"{name} was left out: {why}" for name, why in self.refused.items()), *self.problems]
        if not self.left:
            say("all other runs are finished" if problems else "all runs are finished")
        if problems:
            raise RewindError("; ".join(problems))

    @property
    def left(self) -> list[RunSpec]:
        there = {*self.index.runs, *self.failed, *(spec.run for group in self.behind for spec in group.specs)}
        return [spec for spec in self.wanted if spec.run not in there and spec.dataset not in self.refused]

    @property
    def waiting(self) -> list[RunSpec]:
        """Those of the runs left that nobody works on."""
        return self.left

    def finish(self, group: SpecGroup, rows: Sequence[Row]) -> None:
        """Keep the results of a group; only then is it over."""
        write_jsonl(self.out / "groups" / f"{group_name(group)}.jsonl", rows)
        forget_work(self.out, group)
        if self.options.jsonl is not None:
            gather(self.out, self.options.jsonl)
        self._check_data(rows)
        new = index_of(rows)
        self.index = Index({**self.index.runs, **new.runs}, {**self.index.groups, **new.groups})
        took = next(iter(new.groups.values()))
        say(f"finished in {took.seconds / 60:.1f} min; {len(self.left):,} runs left")

    def _next(self) -> SpecGroup:
        """What was begun, or the next group on data that can be had, as large as the time allows."""
        if self.taken and (self.deadline.passed or self.deadline.left <= 0):
            return []
        while left := self.waiting:
            group = self.begun_group(left)
            if self._is_trained(group):
                return group
            if self.started >= self.options.groups:
                say(f"{self.started} group{'s' if self.started > 1 else ''} of this call: done")
                break
            if self.too_late(group or left[:1]):
                break
            chosen = group or self.new_group(left)
            if not chosen:
                break
            if self._all_there(chosen):
                return group or self.new_group(left)  # anew: data may have taken time to be built
        return []

    def _all_there(self, group: SpecGroup) -> bool:
        """Whether all data of a group can be had; what cannot be is refused from now on."""
        self.refused |= check_datasets(datasets_of(group))
        return not self.refused.keys() & datasets_of(group)

    def begun_group(self, left: Sequence[RunSpec]) -> SpecGroup:
        """One that an earlier call has left: some of its runs are wanted, and it is not larger than groups may be.

        Where some of its data can no longer be had, its other runs go into new groups. One that is trained comes first,
        and needs neither.
        """
        wanted, most = {spec.run for spec in left}, self.options.runs_per_group
        groups = [each for each in begun(self.out) if wanted & {spec.run for spec in each}]
        trained = [each for each in groups if self._is_trained(each)]
        usable = [each for each in groups if len(each) <= most and not self.refused.keys() & datasets_of(each)]
        return next(iter([*trained, *usable]), [])

    def _is_trained(self, group: SpecGroup) -> bool:
        return bool(group) and is_trained(work_folder(self.out, group))

    def too_late(self, group: SpecGroup) -> bool:
        """Whether the time that is left is not worth the start of the group; the first of a call always is."""
        if not self.started or self._estimate().least(group[0], len(group)) < self.deadline.left:
            return False
        say(f"the time that is left is too short to start with {named_sets(group)}; the next call continues from here")
        return True

    def new_group(self, left: Sequence[RunSpec]) -> SpecGroup:
        """Of these runs; none where the time that is left is too short to be worth it."""
        most, seconds, estimate = self.options.runs_per_group, self.options.group_seconds, self._estimate()
        if not left:
            return []
        time_left = CAUTION * self.deadline.left
        full = next_group(left, estimate, seconds, most) or list(left[:1])
        if estimate.seconds(full[0], len(full)) <= time_left:
            return full
        fitting = next_group(left, estimate, time_left, most)
        if not self.started:
            return fitting or full  # the first of a call begins even what only later calls will finish
        if 2 * len(fitting) >= len(full):
            return fitting
        say("the time that is left is too short for another group")
        return []

    def announce(self, group: SpecGroup) -> None:
        if self._is_trained(group):
            say(f"{named_sets(group)}, {in_words(group)}: trained; doing the evaluations that are left")
            return
        self.started += 1
        minutes = self._estimate().seconds(group[0], len(group)) / 60
        how = "resuming" if (work_folder(self.out, group) / "config.json").exists() else "training"
        say(f"{how}: {named_sets(group)}, {in_words(group)}, {group[0].steps:,} steps, about {minutes:.1f} min")

    def _estimate(self) -> CostEstimate:
        job = self.options.job
        return CostEstimate(self.index.shared(), self.options.device, job.points, fused=job.fused)

    def _check_data(self, rows: Sequence[Row]) -> None:
        """Results on one data set should be of the same data."""
        for name, own in {row["dataset"]: row["data_fingerprint"] for row in rows}.items():
            other = {group.data[name] for group in self.index.groups.values() if name in group.data} - {own}
            if other:
                earlier = ", ".join(sorted(each[:8] for each in other))
                say(f"rewind: {name} is now other data ({own[:8]}) than that of earlier results ({earlier})")


def named_sets(group: Sequence[RunSpec]) -> str:
    return ", ".join(datasets_of(group))


def in_words(group: SpecGroup) -> str:
    return f"{len(group)} run{'s' if len(group) > 1 else ''} of {group[0].algorithm}"
