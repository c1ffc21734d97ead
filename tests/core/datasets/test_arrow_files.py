"""Arrow's own files, mapped or streamed, compressed or not, damaged, and changed while they are shown."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamella import col
from lamella.core.datasets import blocks, open_dataset
from lamella.core.datasets.formats import recognise
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from tests.slow_tests import examples

ROUNDS = examples(15)

ROWS = 200_000


def table(rows: int = ROWS) -> pa.Table:
    return pa.table({"n": range(rows), "city": [f"Oslo {n % 7}" for n in range(rows)]})


def as_file(path: Path, rows: pa.Table, codec: str | None = None, chunk: int = 30_000) -> Path:
    with ipc.new_file(path, rows.schema, options=ipc.IpcWriteOptions(compression=codec)) as file:
        file.write_table(rows, max_chunksize=chunk)
    return path


def as_stream(path: Path, rows: pa.Table, chunk: int = 30_000) -> Path:
    with ipc.new_stream(path, rows.schema) as file:
        file.write_table(rows, max_chunksize=chunk)
    return path


def opened(path: Path) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache")


def test_a_file_is_mapped_where_it_lies(tmp_path: Path) -> None:
    dataset = opened(as_file(tmp_path / "trips.arrow", table()))
    before = pa.total_allocated_bytes()
    assert dataset.snapshot().complete and dataset.num_rows == ROWS
    assert dataset.read(["n"], limit=3, offset=150_000)["n"].to_pylist() == [150_000, 150_001, 150_002]
    assert pa.total_allocated_bytes() - before < 1 << 20
    assert dataset.read(where=col("n") >= ROWS - 2, sort=["-n"])["n"].to_pylist() == [ROWS - 1, ROWS - 2]
    assert dataset.count(col("city") == "Oslo 3") == len(range(3, ROWS, 7))
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("make", [lambda p: as_file(p, table(), "lz4"), lambda p: as_stream(p, table())])
def test_what_cannot_be_mapped_is_read_through_the_cache(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "trips.data")
    dataset = opened(path)
    assert not dataset.snapshot().complete and dataset.num_rows >= blocks.MOST_ROWS
    dataset.fill(Job())
    assert dataset.read().equals(table())
    monkeypatch.setattr(blocks.ArrowFile, "blocks", None)
    again = opened(path)
    assert again.snapshot().complete and again.read().equals(table())


def test_dictionaries_views_and_seconds_are_what_they_stand_for(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "word": pa.array(["a", None, "b"]).dictionary_encode(),
            "view": pa.array(["x", "y", None], pa.string_view()),
            "at": pa.array([dt.datetime(2020, 1, 1), None, None], pa.timestamp("s")),
            "runs": pc.run_end_encode(pa.array([1, 1, 2])),
            "price": pa.array([Decimal("1.10"), None, Decimal("2.00")]),
        }
    )
    for path in (as_file(tmp_path / "a", rows), as_stream(tmp_path / "b", rows)):
        assert opened(path).read().to_pylist() == rows.to_pylist()


def test_a_column_that_cannot_be_shown_is_left_out_and_named(tmp_path: Path) -> None:
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    rows = pa.table([union, pa.array([1, 2]), pa.array([3, 4])], names=["odd", "n", "n"])
    dataset = opened(as_file(tmp_path / "a.arrow", rows))
    assert dataset.schema.names == ["n", "n_2"]
    assert "'odd' is left out" in dataset.remarks[0] and "called 'n_2'" in dataset.remarks[1]


def test_a_file_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    for path in (as_file(tmp_path / "a", table(0)), as_stream(tmp_path / "b", table(0))):
        assert opened(path).read().equals(table(0))


def test_a_file_or_stream_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    whole = as_file(tmp_path / "a.arrow", table()).read_bytes()
    (tmp_path / "a.arrow").write_bytes(whole[:-100])
    with pytest.raises(FileProblem, match=r"damaged or was cut off.*download it again"):
        opened(tmp_path / "a.arrow")
    whole = as_stream(tmp_path / "b", table()).read_bytes()
    (tmp_path / "b").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileProblem, match="damaged or was cut off"):
        opened(tmp_path / "b").fill(Job())


def test_values_that_are_not_what_their_types_say_are_refused(tmp_path: Path) -> None:
    path = as_file(tmp_path / "a.arrow", pa.table({"s": ["abcdefgh" * 10]}))
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"))
    with pytest.raises(FileProblem, match="damaged values"):
        opened(path).read()


def test_seconds_beyond_milliseconds_are_told_with_their_column(tmp_path: Path) -> None:
    rows = pa.table({"n": [1], "at": pa.array([2**62], pa.timestamp("s"))})
    with pytest.raises(FileProblem, match=r"column 'at' that cannot be shown.*292 million years"):
        opened(as_file(tmp_path / "a.arrow", rows)).read()


def test_a_mapped_file_that_was_cut_short_is_not_touched(tmp_path: Path) -> None:
    dataset = opened(as_file(tmp_path / "a.arrow", table()))
    assert dataset.read(limit=1).num_rows == 1
    with (tmp_path / "a.arrow").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(FileProblem, match=r"changed on disk.*Reload"):
        dataset.read()


def test_a_random_beginning_of_a_stream_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xff\xff\xff" + bytes(range(250)))
    with pytest.raises(FileProblem, match="not in a known data format"):
        recognise(tmp_path / "a")


VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.list_(pa.int32()): st.lists(st.integers(0, 9), max_size=3),
}
COLUMNS = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.lists(st.none() | VALUES[kind], min_size=3, max_size=3).map(lambda v: pa.array(v, kind))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=ROUNDS, deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=4), st.sampled_from(["file", "zstd", "stream"]))
def test_what_pyarrow_writes_is_read_back_equal(tmp_path: Path, columns: list[pa.Array], how: str) -> None:
    rows, path = pa.table(columns, names=[f"c{n}" for n in range(len(columns))]), tmp_path / "x"
    if how == "stream":
        as_stream(path, rows)
    else:
        as_file(path, rows, None if how == "file" else how, chunk=2)
    assert opened(path).read().equals(rows)


@pytest.mark.slow
def test_many_batches_of_one_row_are_put_together(tmp_path: Path) -> None:
    dataset = opened(as_stream(tmp_path / "log.arrows", table(30_000), chunk=1))
    assert dataset.snapshot().complete
    assert dataset.count(col("n") < 10) == 10
    assert len(dataset.snapshot().segments) == 1
