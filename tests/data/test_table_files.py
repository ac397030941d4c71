"""What a table's file holds: kinds of columns, those of other libraries, and errors that name their place."""

import numpy as np
import pytest
from tests.data.layouts import NAMED, steps, text, write

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet

from rewind import load
from rewind.errors import DataError


def test_one_column_of_whole_numbers_is_a_discrete_action(tmp_path):
    columns = steps([40_000, 40_000], [True, False])
    del columns["u1"], columns["u2"]
    columns["u"] = np.arange(80_000) % 3
    path, named = tmp_path / "log.csv", NAMED | {"actions": "u"}
    data = load(write(path, columns), **named)
    assert data.actions.dtype == np.int64 and data.actions[:4].tolist() == [0, 1, 2, 0]
    assert load(path, **named, discrete=False).actions.shape == (80_000, 1)
    columns["t"] = pa.array([*map(str, columns["t"][:-1]), "39999.5"])
    assert load(write(path, columns), **named).actions.dtype == np.int64
    columns["u"] = columns["u"].astype(float)
    columns["u"][-1] = 0.5  # far behind the piece that the kinds of columns are taken from
    assert "continuous" not in data.notes
    data = load(write(path, columns), **named)
    assert data.actions.dtype == np.float32 and data.actions.shape == (80_000, 1)
    assert data.notes["continuous"] == "79,999 of 80,000 actions are whole numbers; discrete=True if all should be"
    with pytest.raises(DataError, match=r"line 80001, column u: 0\.5 is not a whole number"):
        load(path, **named, discrete=True)


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.bool_(), pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_(pa.int64(), 1), "csv", "True"],
    ids=str,
)
def test_whole_numbers_and_booleans_are_discrete_actions_whatever_holds_them(tmp_path, kind):
    columns = steps([4, 3], [True, False])
    del columns["u1"], columns["u2"]
    columns["u"] = np.array([0, 1, 1, 0, 1, 0, 1])
    named, expected = NAMED | {"actions": "u"}, columns["u"].copy()
    if isinstance(kind, str):
        columns["u"] = columns["u"] == 1 if kind == "True" else columns["u"]
        path = write(tmp_path / "log.csv", columns)
    else:
        values = [[action] for action in expected] if "list" in str(kind) else expected.tolist()
        values = [value == 1 for value in values] if kind == pa.bool_() else values
        table = pa.table({**columns, "u": pa.array(values, kind)})
        parquet.write_table(table, path := tmp_path / "log.parquet")
    data = load(path, **named)
    assert data.actions.dtype == np.int64 and data.actions.tolist() == expected.tolist()
    assert load(path, **named, discrete=False).actions.shape == (7, 1)


HEAD = "id,t,obs_a,obs_b,u1,u2,r,over"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEAD, "1,0,1,2,3,4,5,0", "1,1,1,x,3,4,5,0"], r"log\.csv, line 3, column obs_b: 'x' is not a number$"),
        (
            [HEAD, "1,0,1,2,open,4,5,0"],
            r"line 2, column u1: 'open' is not a number; code categories as 0, 1, 2$",
        ),
        ([HEAD, "1,0,1,2,3,4,5,0", "", "1,1,1,,3,4,5,0"], r"line 4, column obs_b: missing, NaN or infinite"),
        ([HEAD, "1,0,1,2,3,4,5,0", "1,1,1,inf,3,4,5,0"], r"line 3, column obs_b: missing, NaN or infinite"),
        ([HEAD, "1,0,1,2,3,4,5,0", "1,1,1,2"], r"line 3: 4 fields; expected 8 as in the first line"),
        ([HEAD, "1,0,1,2,3,4,5,maybe"], r"line 2, column over: 'maybe' is not a flag; expected true or false"),
        ([HEAD, ",0,1,2,3,4,5,0"], r"line 2, column id: no value; expected the episode"),
        ([HEAD, "1,,1,2,3,4,5,0"], r"line 2, column t: missing; expected a time"),
        (
            [HEAD, "1,0,1,2,3,4,5,0", "1,0,1,9,3,4,5,0"],
            r"line 3: the same episode and time as line 2, but other values",
        ),
        ([HEAD, "1,0,1,2,3,4,5,0", "1,01.02.2024,1,2,3,4,5,0"], r"line 3, column t: '01.02.2024' is not a time; .*ISO"),
        (
            [HEAD, "1,2024-02-28,1,2,3,4,5,0", "1,2024-02-30,1,2,3,4,5,0"],
            r"line 3, column t: '2024-02-30' is not a time",
        ),
        (
            [HEAD, "1,0,1,2,3,4,5,0", '1,1,1,"2,3,4,5,0', "1,2,1,2,3,4,5,0"],
            r"line 3: 4 fields; .*is a quote not closed",
        ),
        ([HEAD], "the table has no rows"),
        ([""], r"log\.csv is not a readable CSV file"),
        (["1,2,3", "4,5,6"], "first line has numbers only; expected the names of the columns"),
        ([HEAD.replace("obs_b", "obs_a"), "1,0,1,2,3,4,5,0"], "several columns are named obs_a"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line_with_its_place(tmp_path, lines, message):
    with pytest.raises(DataError, match=message) as caught:
        load(text(tmp_path, *lines), **NAMED)
    assert "\n" not in str(caught.value) and "log.csv" in str(caught.value)


def test_a_broken_line_far_behind_is_named(tmp_path):
    path = write(tmp_path / "log.csv", steps([50_000], [True]))
    lines = path.read_text().splitlines()
    lines[45_000] = lines[45_000][:9]
    path.write_text("\n".join(lines))
    assert path.stat().st_size > 2 << 20  # several pieces
    with pytest.raises(DataError, match=r"line 45001: 3 fields; expected 8"):
        load(path, **NAMED)


def test_an_unclosed_quote_and_finer_times_far_behind_are_no_riddles(tmp_path):
    path = write(tmp_path / "log.csv", steps([50_000], [True]))
    lines = path.read_text().splitlines()
    (tmp_path / "quote.csv").write_text("\n".join([*lines[:40_000], '"' + lines[40_000], *lines[40_001:]]))
    with pytest.raises(DataError, match=r"quote\.csv, line 40001: .*; is a quote not closed\?"):
        load(tmp_path / "quote.csv", **NAMED)
    columns = steps([50_000], [True])
    seconds = np.datetime64("2024-01-01") + columns["t"].astype("timedelta64[s]")
    columns["t"] = [f"{time}{'.5' * (row > 49_000)}".replace("T", " ") for row, time in enumerate(seconds)]
    assert load(write(path, columns), **NAMED).lengths.tolist() == [50_000]
    columns["t"][49_500] = "2024-01-01 99:00:00"
    with pytest.raises(DataError, match=r"line 49502, column t: '2024-01-01 99:00:00' is not a time"):
        load(write(path, columns), **NAMED)


def test_a_half_written_parquet_file_is_one_line(tmp_path):
    path = write(tmp_path / "log.parquet", steps([40, 30], [True, False]))
    content = path.read_bytes()
    for size in (0, 3, 100, len(content) // 2, len(content) - 4):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"log\.parquet is not a readable Parquet file") as caught:
            load(path, **NAMED)
        assert "\n" not in str(caught.value)


def test_all_that_a_table_lacks_is_asked_for_at_once(tmp_path):
    path = write(tmp_path / "log.csv", {name: np.arange(4.0) for name in ("flat", "temp", "valve", "cost")})
    asked = (
        r"which columns are the observations, actions, reward and episode\? .*--observations --actions --reward --ep"
    )
    with pytest.raises(DataError, match=asked):
        load(path)
    with pytest.raises(
        DataError, match=r"no column 'tmp', .*; which columns are the actions and reward\? .*the table has"
    ):
        load(path, episode="flat", observations="tmp")
    with pytest.raises(DataError, match=r"which column is the reward\? Name it, such as reward='r'"):
        load(path, episode="flat", observations="temp", actions="valve")
    padded = text(tmp_path, "episode,t, temp,valve ,reward", "1,0,1,2,3")
    with pytest.raises(DataError, match=r"no column 'temp', .*; the table has: episode, t, ' temp', 'valve ', reward$"):
        load(padded, observations="temp", actions="valve")


def test_an_id_of_rows_is_not_taken_for_one_of_episodes(tmp_path):
    columns = steps([4, 3], [True, False])
    columns["id"] = np.arange(7)
    path = write(tmp_path / "log.csv", columns)
    with (
        pytest.warns(UserWarning, match="guessed episode=id"),
        pytest.raises(DataError, match="column id, guessed as the episode, is different in every row: name another"),
    ):
        load(path, terminal="over")
    assert len(load(path, **NAMED | {"episode": ""})) == 2


# Columns of other libraries


def chained(lengths, terminated):
    rng = np.random.default_rng(0)
    rows, last = sum(lengths), np.cumsum(lengths) - 1
    seen = rng.normal(size=(rows + 1, 3)).astype(np.float32)
    after = seen[1:].copy()
    after[last] = rng.normal(size=(len(last), 3))
    ends = np.zeros(rows, bool)
    ends[last] = terminated
    return seen[:-1], after, ends, last


def test_rllib_columns_are_read_as_they_are(tmp_path):
    seen, after, terminated, last = chained([4, 3], [True, False])
    truncated = np.zeros(7, bool)
    truncated[6] = True
    columns = {
        "eps_id": np.repeat([2**60, 2**61], [4, 3]), "obs": seen, "actions": np.array([0, 1, 1, 0, 2, 2, 1]),
        "rewards": np.ones(7), "new_obs": after, "terminateds": terminated, "truncateds": truncated,
        "action_logp": np.zeros(7), "action_dist_inputs": np.zeros((7, 3)),
    }  # fmt: skip
    with pytest.warns(UserWarning, match="guessed episode=eps_id, .*next_observations=new_obs"):
        data = load(write(tmp_path / "rllib.parquet", columns))
    assert data.lengths.tolist() == [4, 3] and data.terminated.tolist() == [True, False] and data.final_known.all()
    assert data.actions.dtype == np.int64 and np.array_equal(data.final_observations, after[last])
    assert data.notes["not_used"] == ["action_logp", "action_dist_inputs"]


def test_neorl_columns_end_where_the_next_row_is_not_the_successor(tmp_path):
    seen, after, terminated, last = chained([4, 3, 5], [False, True, False])
    columns = {
        "observations": seen, "actions": np.linspace(-1, 1, 24).reshape(12, 2), "rewards": np.ones(12),
        "next_observations": after, "terminals": terminated.astype(float),
    }  # fmt: skip
    with pytest.warns(UserWarning, match="guessed"):
        data = load(write(tmp_path / "neorl.parquet", columns))
    assert data.lengths.tolist() == [4, 3, 5] and data.terminated.tolist() == [False, True, False]
    assert np.array_equal(data.final_observations, after[last]) and data.actions.shape == (12, 2)
    odd = [list(row) for row in seen]
    odd[5] = odd[5][:2]
    parquet.write_table(pa.table({**{n: list(c) for n, c in columns.items()}, "observations": odd}), tmp_path / "o.pq")
    with pytest.raises(DataError, match=r"o\.pq, row 5, column observations: lists of different lengths"):
        load(tmp_path / "o.pq", observations="observations")


def test_images_stay_whole_numbers(tmp_path):
    images = np.arange(4 * 2 * 3, dtype=np.uint8).reshape(4, 2, 3)
    table = pa.table({"ep": [0, 0, 1, 1], "obs": images.tolist(), "action": [0.5] * 4, "reward": [1.0] * 4})
    table = table.set_column(1, "obs", table["obs"].cast(pa.list_(pa.list_(pa.uint8()))))
    parquet.write_table(table, tmp_path / "images.parquet")
    with pytest.warns(UserWarning, match="guessed"):
        data = load(tmp_path / "images.parquet")
    assert data.observations.dtype == np.uint8 and np.array_equal(data.observations, images)
