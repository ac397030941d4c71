"""The same groups on the workers of a Ray cluster; results come back to this process, which alone writes them.

Between the processes travel strings of JSON. When a worker is killed, Ray gives its group to another one, which
resumes from the checkpoint where it is on the same machine.
"""

import json
import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rewind.errors import RewindError, UsageError, one_line, require
from rewind.progress import say
from rewind.run_spec import RunSpec, digest, from_record, group_name
from rewind.training import Stopped
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.costs import SpecGroup, datasets_of
from rewind_lab.paper.job import JobOptions, check_datasets, train_group
from rewind_lab.paper.results import read_index
from rewind_lab.paper.runner import Runner, RunnerOptions, in_words, named_sets
from rewind_lab.paper.work import is_trained, only_runner, work_folder, write_work

RETRIES = 5  # of a group whose worker dies
PATIENCE = 10.0  # seconds for a cluster to answer


class RayRunner(Runner):
    """Works through the wanted runs on a cluster.

    address: of the cluster, "auto", or "local" for one of this machine alone
    """

    def __init__(
        self, out: Path, wanted: Sequence[RunSpec], deadline: Deadline, options: RunnerOptions, address: str
    ) -> None:
        super().__init__(out, wanted, deadline, options)
        self.address = address
        self.flying: dict[Any, SpecGroup] = {}

    def run(self) -> None:
        with only_runner(self.out), cluster(self.address) as ray:
            self.index = read_index(self.out)
            self._finish_trained()
            gpus = int(ray.cluster_resources().get("GPU", 0))
            slots = gpus or max(1, int(ray.cluster_resources().get("CPU", 1)))
            self.options = replace(self.options, device="gpu" if gpus else "cpu")
            train = ray.remote(num_gpus=min(gpus, 1), num_cpus=1, max_retries=RETRIES)(train_there)
            while self._send(train, slots) or self.flying:
                ready, _ = ray.wait(list(self.flying), num_returns=1)
                self._receive(ray, ready[0])
        self.conclude()

    def _finish_trained(self) -> None:
        """Groups that were trained here, and have evaluations left: no worker has their folders."""
        try:
            while self._is_trained(group := self.begun_group(self.left)) and not self.deadline.over():
                self._take(group)
            self._wait()
        finally:
            self._abandon()

    @property
    def waiting(self) -> list[RunSpec]:
        away = {spec for group in self.flying.values() for spec in group}
        return [spec for spec in self.left if spec not in away]

    def _all_there(self, group: SpecGroup) -> bool:
        """Workers look for themselves."""
        return True

    def _send(self, train: Any, slots: int) -> bool:
        """Fill the free slots; whether anything was sent."""
        sent = False
        while len(self.flying) < slots and not self.deadline.passed and (group := self._next()):
            self.announce(group)
            write_work(work_folder(self.out, group), group)
            self.flying[train.remote(self._request(group))] = group
            sent = True
        return sent

    def _request(self, group: SpecGroup) -> str:
        """A worker's folder is named after the results it works for, so that a retry finds what is left of it."""
        folder = work_folder(Path(digest([str(self.out.resolve())])), group)
        end = time.time() + self.deadline.left if self.deadline.left < float("inf") else None
        content = {"runs": [spec.record() for spec in group], "folder": str(folder), "end": end}
        return json.dumps({**content, "options": {**asdict(self.job(group)), "progress": False}})

    def _receive(self, ray: Any, ready: Any) -> None:
        group = self.flying.pop(ready)
        try:
            answer = json.loads(ray.get(ready))
        except ray.exceptions.RayTaskError as error:  # an exception there; it ends the group, not the others
            say(f"{_named(group)}:\n{error}")  # with the worker's traceback
            answer = {"error": f"{type(error.cause).__name__}: {one_line(error.cause)}"}
        except ray.exceptions.RayError as error:
            answer = {"error": f"its worker failed {RETRIES + 1} times: {str(error).splitlines()[0]}"}
        if "rows" in answer:
            self.finish(group, answer["rows"])
        elif "refused" in answer:
            self.refused |= answer["refused"]
        elif "error" in answer:
            self.refused[named_sets(group)] = f"{_named(group)}: {answer['error']}"
            self.failed |= {spec.run for spec in group}
        else:
            self.deadline.passed = True
            say(f"the time is over for {named_sets(group)}; the next call on the same machines continues from here")


def _named(group: SpecGroup) -> str:
    return f"group {group_name(group)}, {in_words(group)}"


def train_there(request: str) -> str:
    """On a worker: a group, from JSON to JSON."""
    content = json.loads(request)
    specs = [from_record(record) for record in content["runs"]]
    folder = scratch_folder() / content["folder"]
    deadline = Deadline() if content["end"] is None else Deadline(content["end"] - time.time())
    refused = {} if is_trained(folder) else check_datasets(datasets_of(specs))
    if refused:
        return json.dumps({"refused": refused})
    try:
        trained = train_group(specs, folder, deadline, JobOptions(**content["options"]))
        in_time = trained.wait(deadline)
        trained.journal.close()
    except Stopped:
        in_time = False
    except RewindError as error:
        return json.dumps({"error": str(error)})
    if not in_time:
        return json.dumps({"stopped": True})
    shutil.rmtree(folder, ignore_errors=True)
    return json.dumps({"rows": trained.rows()})


def scratch_folder() -> Path:
    """Where workers of this user keep their groups, and nobody else can put or read anything."""
    folder = Path(tempfile.gettempdir()) / f"rewind-paper-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise UsageError(f"{folder} is not a folder of this user alone: remove it, or set TMPDIR to another place")
    return folder


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """A connection to a cluster."""
    ray = require("ray", "ray", "rewind-lab")
    try:
        host, _, port = address.rpartition("/")[2].rpartition(":")
        if host and port.isdigit():  # where nobody answers, Ray itself would try for minutes
            socket.create_connection((host, int(port)), timeout=PATIENCE).close()
        ray.init(address=address, include_dashboard=False if address == "local" else None, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"no Ray cluster at {address!r} ({str(error).splitlines()[0]}); `ray start --head` starts one, "
            "--ray local uses this machine alone"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()
