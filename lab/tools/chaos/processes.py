"""Processes that are killed, interrupted, short of disk, or two in one folder: in the end all is as if undisturbed."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from small import Child, go, one_line, result_of, result_path

OPERATIONS = ("fsync", "replace", "unlink", "open")  # of files; Python's own files are opened elsewhere


def undisturbed(folder, real):
    """What the small training comes to, by seed; and with networks."""
    results = {}
    for seed in (0, 1, "real") if real else (0, 1):
        out, chosen = folder / f"undisturbed-{seed}", {"real": True} if seed == "real" else {"seed": seed}
        child = Child(go, out, log=folder / "undisturbed.log", **chosen)
        assert child.wait() == 0, child.said
        results[seed] = result_of(out)
    return results


# Kills


def killed_at(operation, before, out, **named):
    """Train, and die of SIGKILL at the n-th operation on files."""
    left = [operation]

    def counting(real):
        def call(*arguments, **named):
            left[0] -= 1
            if left[0] == 0 and before:
                os.kill(os.getpid(), signal.SIGKILL)
            done = real(*arguments, **named)
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return call

    for name in OPERATIONS:
        setattr(os, name, counting(getattr(os, name)))
    go(out, **named)


def kills(count, folder, rng, expected, real=False):
    """Half of them at random operations on files, half at random times; each training ends as if undisturbed."""
    tried, log, out = 0, folder / "killed.log", folder / "killed"
    while tried < count:
        before = tried
        while True:
            if tried >= count or tried - before == 20:
                child = Child(go, out, log=log, real=real)
            elif rng.random() < 0.5:
                child = Child(killed_at, rng.randrange(1, 150), rng.random() < 0.5, out, log=log, real=real)
            else:
                child = Child(go, out, log=log, real=real)
                wait_for_files(child, out)
                time.sleep(rng.uniform(0, 0.3))
                child.signal(signal.SIGKILL)
            if child.wait() == 0:
                break
            assert child.status == -signal.SIGKILL, f"status {child.status}: {child.said}"
            tried += 1
        yield from [result_of(out) == expected["real" if real else 0]] * (tried - before)
        shutil.rmtree(out)
        result_path(out).unlink()


def wait_for_files(child, out):
    """Until this process has written a checkpoint, or is over."""
    before = newest(out)
    while child.poll() is None and newest(out) == before:
        time.sleep(0.005)


def newest(out):
    with suppress(OSError):
        return max((path.name for path in (out / "group-0").glob("step-*.checkpoint")), default="")
    return ""


# Signals: the command itself, in a process that imports everything


def signals(count, folder, rng, data):
    """One or two of SIGINT and SIGTERM at random times: status 130, no crash; and all continues to the same results."""
    arguments = ["--dataset", data, "--env", "none", "--hidden", "8", "8", "--batch-size", "8", "--steps", "3000"]
    arguments += ["--log-every", "100", "--block", "20", "--checkpoint-minutes", "0", "--evaluate-every", "1000"]

    def start(out):
        command = [sys.executable, "-m", "rewind.cli", "train", *map(str, arguments), "--out", str(out), "--resume"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def finished(out):
        process = start(out)
        error = process.communicate()[1]
        assert process.returncode == 0, error
        return {path.relative_to(out): path.read_bytes() for path in sorted(out.glob("policies/*/policy.npz"))}

    begun = time.monotonic()
    expected, seconds = finished(folder / "signals"), time.monotonic() - begun
    out = folder / "signalled"
    for number in range(count):
        process, twice = start(out), rng.random() < 0.5
        time.sleep(rng.uniform(0.5, seconds))
        for _ in range(1 + twice):
            process.send_signal(rng.choice((signal.SIGINT, signal.SIGTERM)))
            time.sleep(rng.uniform(0.0, 0.2))
        error = process.communicate()[1]
        died = process.returncode in (-signal.SIGINT, -signal.SIGTERM)
        outside = died and ("stopping" not in error or "rewind: stopped" in error)  # Python was starting or ending
        held = outside or process.returncode in (0, 130)
        if not held:
            print(f"signals: status {process.returncode}: {error[-500:]}", file=sys.stderr)
        if process.returncode == 0 or number == count - 1:
            held = held and finished(out) == expected
            shutil.rmtree(out)
        yield held


# Full disks


@contextmanager
def small_disk(folder, size):
    """A file system of so many bytes; or None where none can be mounted."""
    folder.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    try:
        yield folder if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=True)


def can_mount():
    with tempfile.TemporaryDirectory() as folder, small_disk(Path(folder) / "disk", 1 << 20) as disk:
        return disk is not None


def go_within(size, out):
    """Where no small disk can be had: no file may be larger than this."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    go(out)


def full_disks(count, folder, rng, expected):
    """Filled and emptied while training goes on, mostly killed then: in the end all is as if undisturbed."""
    for _ in range(count):
        with small_disk(folder / "disk", 2 << 20) as disk:
            out = (disk or folder) / "run"
            if disk is None:
                child = Child(go_within, rng.randrange(2_000, 60_000), out, log=folder / "full.log")
                child.wait()
            else:
                child = Child(go, out, log=folder / "full.log")
                _fill_and_empty(child, disk, out, rng)
            held = child.status in (0, -signal.SIGKILL) or (child.status == 2 and one_line(child.said))
            if not held:
                print(f"full disk: status {child.status}: {child.said[-800:]}", file=sys.stderr)
            again = Child(go, out, log=folder / "full.log")
            again.wait()
            held = held and again.status == 0 and result_of(out) == expected[0]
            if again.status:
                print(f"after a full disk: status {again.status}: {again.said[-800:]}", file=sys.stderr)
            shutil.rmtree(out, ignore_errors=True)
            result_path(out).unlink(missing_ok=True)
        yield held


def _fill_and_empty(child, disk, out, rng):
    wait_for_files(child, out)
    filler, kill = disk / "filler", rng.random() < 0.8
    for _ in range(rng.randrange(1, 4)):
        time.sleep(rng.uniform(0, 0.2))
        left = rng.choice((0, 0, rng.randrange(100_000)))
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            size = shutil.disk_usage(disk).free - left
            while size > 0:
                size -= file.write(bytes(min(size, 4096)))
        time.sleep(rng.uniform(0, 0.4))
        if rng.random() < 0.5:
            filler.unlink(missing_ok=True)
    if kill:
        child.signal(signal.SIGKILL)
    child.wait()
    filler.unlink(missing_ok=True)


# Races


def races(count, folder, rng, expected):
    """Three processes, two configurations, one folder: one trains, the others get a line; nothing is mixed."""
    for number in range(count):
        out = folder / f"race-{number}"
        chosen = [(rng.choice((0, 0, 1)), rng.random() < 0.5) for _ in range(3)]
        children = [
            Child(go, out, seed, resume=resume, log=folder / f"race-{place}.log")
            for place, (seed, resume) in enumerate(chosen)
        ]
        ends = [child.wait() for child in children]
        held = all(end == 0 or (end == 2 and one_line(child.said)) for end, child in zip(ends, children, strict=True))
        winners = {seed for end, (seed, _) in zip(ends, chosen, strict=True) if end == 0}
        held = held and len(winners) == 1 and result_of(out) == expected[winners.pop()]
        if not held:
            print(f"race: {chosen} {ends}", *(child.said[-300:] for child in children), file=sys.stderr)
        shutil.rmtree(out)
        yield held
