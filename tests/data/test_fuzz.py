"""Files from anywhere: each is read, or refused in one line, without more memory than it can fill."""

import io
import json
import os
import shutil
import tracemalloc
import zipfile

import numpy as np
import pytest
from tests.data.logs import assert_equal, flat_log

from rewind import Policy, load_policy
from rewind.data import from_d4rl, load, save_hdf5, save_minari, save_npz
from rewind.errors import DataError, RewindError
from rewind.files import read_json

JUNK = (
    np.array(3), np.array("False"), np.zeros(0), np.zeros((0, 3)), np.zeros((7, 0)), np.full(7, np.nan),
    np.arange(-2, 5),
    np.full((7, 3), "x"), np.zeros(7, complex), np.zeros(7, "i4,f4"), np.zeros((7, 3, 0, 2)), np.array([3, 4], "u8"),
    np.array([2**63, 7], "u8"), np.full(2, 2**62), np.zeros(7, "S3"), np.zeros(7, "M8[s]"), np.array([b"{}"]),
)  # fmt: skip
VALUES = (None, True, -1, 1e400, "x", [], {}, [[]], {"a": 1}, "9" * 50, [1] * 3)


def outcome(read):
    """Whether it was read; anything but a one-line error of ours fails the test."""
    try:
        read()
    except RewindError as error:
        assert str(error) and "\n" not in str(error), repr(str(error))
        return False
    return True


def mutations(content, rng, count):
    """Bytes changed, cut, zeroed, doubled."""
    for number in range(count):
        changed = bytearray(content)
        begin = int(rng.integers(len(content)))
        end = begin + int(rng.integers(1, 40))
        if number % 4 == 0:
            for place in rng.integers(len(content), size=rng.integers(1, 20)):
                changed[place] = rng.integers(256)
        elif number % 4 == 1:
            del changed[begin:]
        elif number % 4 == 2:
            changed[begin:end] = bytes(end - begin)
        else:
            changed[begin:begin] = changed[begin:end]
        yield bytes(changed)


def small():
    return from_d4rl(flat_log([3, 4], [True, False]), "small")


def own_columns():
    return {**small().arrays(), "header": np.array(json.dumps({"name": "x", "notes": {}}))}


def ogbench_columns():
    log = flat_log([3, 4], [True, False])
    names = ("observations", "actions", "rewards", "terminals")
    return {name: log[name] for name in names} | {"masks": np.ones(7), "valids": np.arange(7) % 3 > 0}


@pytest.mark.parametrize(
    "columns", [flat_log([3, 4], [True, False]), own_columns(), ogbench_columns()], ids=["flat", "own", "ogbench"]
)
def test_npz(tmp_path, columns):
    rng, path = np.random.default_rng(0), tmp_path / "x.npz"
    for key in columns:
        for junk in (*JUNK, None):
            np.savez(path, **{name: value for name, value in {**columns, key: junk}.items() if value is not None})
            outcome(lambda: load(path))
    for header in ("", "[]", "{}", "3", '"x"', "[" * 5000, '{"notes": 3}', '{"name": 3}', '{"notes": {"digest": []}}'):
        np.savez(path, **{**columns, "header": np.array(header)})
        outcome(lambda: load(path))
    for save in (np.savez, np.savez_compressed):
        save(path, **columns)
        assert outcome(lambda: load(path))
        for content in mutations(path.read_bytes(), rng, 200):
            path.write_bytes(content)
            outcome(lambda: load(path))


@pytest.mark.parametrize("own", [False, True], ids=["flat", "own"])
def test_hdf5(tmp_path, own):
    h5py = pytest.importorskip("h5py")
    rng, path, good = np.random.default_rng(1), tmp_path / "x.hdf5", tmp_path / "good.hdf5"
    save_hdf5(small(), good)
    with h5py.File(good, "a") as file:
        if not own:
            del file["rewind"]
        keys = [*file, *(f"rewind/{key}" for key in file.get("rewind", ())), "lengths"]
    for key in keys:
        for junk in (*JUNK, None):
            shutil.copy(good, path)
            with h5py.File(path, "a") as file:
                if key in file:
                    del file[key]
                if junk is not None and junk.dtype.kind not in "UM":
                    file[key] = junk
            outcome(lambda: load(path))
    assert outcome(lambda: load(good))
    for content in mutations(good.read_bytes(), rng, 400):
        path.write_bytes(content)
        outcome(lambda: load(path))


def test_minari(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    folder = save_minari(small(), "small-v0") / "data"
    rng = np.random.default_rng(2)
    for name, count in (("metadata.json", 60), ("main_data.hdf5", 60)):
        whole = (folder / name).read_bytes()
        for content in (b"", b"{}", b"[]", b"\xff", *mutations(whole, rng, count)):
            (folder / name).write_bytes(content)
            outcome(lambda: load(folder))
            outcome(lambda: load("x/../small-v0"))
        (folder / name).write_bytes(whole)
        assert outcome(lambda: load(folder))
    about = json.loads((folder / "metadata.json").read_text())
    for key in about:
        for value in VALUES:
            (folder / "metadata.json").write_text(json.dumps({**about, key: value}))
            outcome(lambda: load(folder))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables(tmp_path, kind):
    pytest.importorskip("pyarrow")
    from tests.data.layouts import NAMED, steps, write

    columns, path = steps([3, 4], [True, False]), tmp_path / f"x.{kind}"
    whole = write(path, columns).read_bytes()
    for content in (b"", b"\n", b"\xff", b'"', *mutations(whole, np.random.default_rng(4), 250)):
        path.write_bytes(content)
        outcome(lambda: load(path, **NAMED))
        outcome(lambda: load(path, time="t", terminal="over"))
    for key in columns:
        for junk in (*JUNK, ["a"] * 7, [None] * 7, [b"x"] * 7, [{"a": 1}] * 7):
            try:
                write(path, {**columns, key: junk})
            except Exception:  # no such column can be written
                continue
            outcome(lambda: load(path, **NAMED))


@pytest.mark.filterwarnings("ignore")
def test_demos_and_folders_of_robots(tmp_path):
    pytest.importorskip("pyarrow"), pytest.importorskip("h5py")
    from tests.data.layouts import lerobot, robomimic

    rng = np.random.default_rng(5)
    demos = robomimic(tmp_path / "demos.hdf5")
    for content in mutations(demos.read_bytes(), rng, 60):
        demos.write_bytes(content)
        outcome(lambda: load(demos, keys=["object"], mask="train"))
    folder, _ = lerobot(tmp_path / "folder", "v3.0")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole = path.read_bytes()
        for content in (b"", b"{}", b"[]", b"3", *mutations(whole, rng, 25)):
            path.write_bytes(content)
            outcome(lambda: load(folder))
        path.write_bytes(whole)
    about = json.loads((folder / "meta/info.json").read_text())
    for value in VALUES:
        (folder / "meta/info.json").write_text(json.dumps({**about, "features": value}))
        outcome(lambda: load(folder))


def test_policies(tmp_path):
    rng = np.random.default_rng(3)
    made = Policy(
        [rng.normal(size=(4, 8)), rng.normal(size=(8, 2))], [np.zeros(8), np.zeros(2)], np.zeros(4), np.ones(4)
    )
    folder = made.save(tmp_path / "policy")
    about, arrays = json.loads((folder / "policy.json").read_text()), dict(np.load(folder / "policy.npz"))
    for key in about:
        for value in VALUES:
            (folder / "policy.json").write_text(json.dumps({**about, key: value}))
            outcome(lambda: repr(load_policy(folder)(np.zeros(4))))
    for content in (b"", b"{}", b"[]", b"\xff", b"[" * 5000, *mutations(json.dumps(about).encode(), rng, 200)):
        (folder / "policy.json").write_bytes(content)
        outcome(lambda: load_policy(folder))
        outcome(lambda: read_json(folder / "policy.json"))
    (folder / "policy.json").write_text(json.dumps(about))
    for key in arrays:
        for junk in JUNK:
            np.savez(folder / "policy.npz", **{**arrays, key: junk})
            outcome(lambda: load_policy(folder))


# One by one


def refused(path, match):
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=match) as raised:
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24, "refused before it is allocated"
    finally:
        tracemalloc.stop()
    assert "\n" not in str(raised.value) and str(raised.value).count(path.name) == 1


def test_a_small_file_that_declares_much_is_refused_before_it_is_allocated(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.hdf5"
    for rows, match in ((10**9, "declares .* bytes of arrays in a file of"), (7, "actions has 1,000,000,000 rows")):
        with h5py.File(path, "w") as file:
            for key, width in (("observations", (3,)), ("rewards", ()), ("terminals", ()), ("timeouts", ())):
                file.create_dataset(key, (rows, *width), "f4", chunks=True)
            file.create_dataset("actions", (10**9, 2), "f4", chunks=True)
        refused(path, match)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**10,)})
    np.savez(tmp_path / "x.npz", **{key: value for key, value in flat_log([7], [True]).items() if key != "rewards"})
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("rewards.npy", header.getvalue())
    refused(tmp_path / "x.npz", r"rewards declares float32\(10000000000,\), but has 128 bytes")


def test_only_columns_of_use_are_read(tmp_path):
    log = flat_log([3, 4], [True, False])
    np.savez(tmp_path / "x.npz", **log, infos=np.array([{"a": 1}], object))
    assert_equal(load(tmp_path / "x.npz"), from_d4rl(log))


def test_data_in_another_file_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    log = flat_log([3, 4], [True, False])
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(28))
    os.mkfifo(tmp_path / "pipe")
    for kind, match in (
        ("external", "rewards is stored in another file"),
        ("link", "rewards is a link"),
        ("soft", "link"),
    ):
        with h5py.File(tmp_path / "x.hdf5", "w") as file:
            for key in log.keys() - {"rewards"}:
                file[key] = log[key]
            if kind == "external":
                file.create_dataset("rewards", (7,), "f4", external=[(str(secret), 0, 28)])
            else:
                file["rewards"] = h5py.SoftLink("/x") if kind == "soft" else h5py.ExternalLink(tmp_path / "pipe", "x")
        refused(tmp_path / "x.hdf5", match)


@pytest.mark.parametrize("suffix", [".npz", ".hdf5", ".csv", ".parquet"])
def test_a_pipe_is_not_waited_for(tmp_path, suffix):
    pytest.importorskip("h5py")
    os.mkfifo(tmp_path / f"x{suffix}")
    refused(tmp_path / f"x{suffix}", "is not a regular file")


@pytest.mark.parametrize("write", [save_npz, save_hdf5])
def test_a_digest_is_compared_with_the_arrays(tmp_path, write):
    h5py = pytest.importorskip("h5py")
    data, path = small(), tmp_path / ("x.npz" if write is save_npz else "x.hdf5")
    data.notes["digest"] = data.digest
    write(data, path)
    assert load(path).notes["digest"] == data.digest
    if write is save_npz:
        np.savez(path, **{**dict(np.load(path)), "rewards": data.rewards + 1})
    else:
        with h5py.File(path, "a") as file:
            file["rewards"][2] += 1
    with pytest.raises(DataError, match="altered or damaged"):
        load(path)
    write(data.map_rewards(lambda rewards: rewards - 1, "r - 1"), path)
    assert "digest" not in load(path).notes, "that of other data is left out"
