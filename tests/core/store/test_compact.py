"""Compaction leaves a few plain Parquet files with the table's columns, and the rows unchanged."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, Cancelled
from lamella.core.jobs import Job
from lamella.core.phrases import size_text
from lamella.core.scan.snapshot import FileSegment
from lamella.core.store.commit import ATTEMPTS


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def many(count: int, start: int = 0) -> pa.Table:
    n = pa.array(range(start, start + count))
    return pa.table({"n": n, "label": [f"row {i}" for i in range(start, start + count)]})


def files(table: Any) -> list[Path]:
    """The data files of the newest version, in order; it has nothing else."""
    segments = table.snapshot().segments
    assert all(isinstance(segment, FileSegment) for segment in segments)
    return [segment.path for segment in segments]


def groups(path: Path) -> list[int]:
    metadata = pq.ParquetFile(path).metadata
    return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]


def pieces(store: Store, sizes: list[int]) -> Any:
    """A table after many inserts."""
    table = store.create_table("t", many(sizes[0]))
    for size in sizes[1:]:
        table.insert(many(size, table.num_rows))
    return table


def test_small_files_and_pending_rows_become_one_file(store: Store) -> None:
    table = pieces(store, [3, 1_500, 1_200, 2])
    table.update([{"n": 1, "label": "pending"}, {"n": 1_600, "label": None}], on="n")
    table.delete(where=col("n").is_in([2, 700]))
    rows, version = table.read(), table.version
    compaction = table.maintenance.compact()
    assert table.read().equals(rows)
    assert table.version == version
    assert [groups(path) for path in files(table)] == [[2_703]]
    assert (compaction.files_before, compaction.files_after, compaction.rewritten) == (2, 1, 4)
    assert compaction.bytes_after == files(table)[0].stat().st_size
    size = size_text(compaction.bytes_after)
    assert str(compaction).endswith(f" became 1 file of {size}")
    assert str(table.maintenance.compact()) == "t: nothing to compact, 1 file"
    assert table.snapshot().overlay is None
    assert not len(table.snapshot().deleted_positions)
    assert table.get(1)["label"] == "pending"
    assert table.read(where=col("label").is_null())["n"].to_pylist() == [1_600]


def test_a_table_in_good_order_is_left_alone(store: Store) -> None:
    table = pieces(store, [1_500, 1_200])
    table.maintenance.compact()
    before = files(table)
    again = table.maintenance.compact()
    assert files(table) == before
    assert again.rewritten == 0
    assert "nothing to compact" in str(again)


def test_only_the_files_that_need_it_are_rewritten(store: Store) -> None:
    table = store.create_table("t", many(6_000))
    table.maintenance.compact(rows_a_group=1_000, rows_a_file=2_000)
    before = files(table)
    assert [groups(path) for path in before] == [[1_000, 1_000]] * 3
    table.update([{"_id": 2_500, "n": -1}])
    compaction = table.maintenance.compact(rows_a_group=1_000, rows_a_file=2_000)
    after = files(table)
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != before[1]
    assert compaction.rewritten == 1
    assert table.get(2_500)["n"] == -1


@pytest.mark.parametrize(("group", "file"), [(100, 100), (300, 1_000), (5_000, 5_000)])
def test_row_groups_and_files_get_the_size_asked_for(store: Store, group: int, file: int) -> None:
    table = pieces(store, [1_100, 1_300, 1_200])
    rows = table.read()
    table.maintenance.compact(rows_a_group=group, rows_a_file=file)
    assert table.read().equals(rows)
    sizes = [groups(path) for path in files(table)]
    assert all(size <= group for groups_of in sizes for size in groups_of)
    assert all(size == group for groups_of in sizes for size in groups_of[:-1])
    assert all(sum(groups_of) <= file for groups_of in sizes)
    assert all(sum(a) + sum(b) > file for a, b in itertools.pairwise(sizes))
    assert table.maintenance.compact(rows_a_group=group, rows_a_file=file).rewritten == 0


def test_sizes_that_make_no_sense_are_refused(store: Store) -> None:
    table = store.create_table("t", many(10))
    for group, file in [(0, 10), (20, 10), (-1, None)]:
        with pytest.raises(BadData, match="t: row"):
            table.maintenance.compact(rows_a_group=group, rows_a_file=file)


def test_a_table_whose_rows_are_all_deleted_keeps_its_columns_and_counter(store: Store) -> None:
    table = store.create_table("t", many(3_000))
    table.delete(where=col("n") >= 0)
    table.maintenance.compact()
    assert files(table) == []
    assert table.schema.names == ["_id", "n", "label"]
    table.insert([{"n": 1}])
    assert table.read()["_id"].to_pylist() == [3_000]
    table.history.undo()
    table.history.undo()
    assert table.num_rows == 3_000


def test_deleted_segments_are_not_even_read(store: Store) -> None:
    table = store.create_table("t", many(6_000))
    table.maintenance.compact(rows_a_group=1_000, rows_a_file=2_000)
    gone = files(table)[1]
    table.delete(ids=range(2_000, 4_000))
    assert gone in files(table)
    gone.write_bytes(b"unreadable")
    table.maintenance.compact()
    assert gone not in files(table)
    assert table.num_rows == 4_000


def test_compaction_is_invisible_to_history(store: Store) -> None:
    table = pieces(store, [1_500, 1_200])
    table.update([{"_id": 5, "n": -5}])
    table.delete(ids=[6])
    versions = [c.version for c in table.history.commits()]
    table.maintenance.compact()
    assert [c.version for c in table.history.commits()] == versions
    table.history.undo()
    assert table.get(6)["n"] == 6
    table.maintenance.compact()
    table.history.undo()
    assert table.get(5)["n"] == 5
    table.history.redo()
    table.history.redo()
    assert table.get(5)["n"] == -5
    assert table.get(6) is None
    table.maintenance.compact()
    assert table.get(5)["n"] == -5


SEGMENTS = 2


class Meddling(Job):
    """A job that changes the table at each report, while it is compacted."""

    def __init__(self, change: Callable[[], None], times: int) -> None:
        super().__init__()
        self._change, self.left = change, times

    def report(self, position: int, total: int | None = None, text: str = "") -> None:
        if self.left:
            self.left -= 1
            self._change()


MEDDLING: dict[str, Callable[[Any], Any]] = {
    "an update of what is being rewritten": lambda t: t.update([{"_id": 7, "n": 1000 + t.version}]),
    "rows that come in": lambda t: t.insert([{"n": 1}]),
    "a delete": lambda t: t.delete(ids=[int(t.read(limit=1)["_id"][0].as_py())]),
    "an undo of what is being worked in": lambda t: t.history.undo(),
    "an undo and a redo": lambda t: (t.history.undo(), t.history.redo()),
    "a flush": lambda t: t.maintenance.flush(),
    "a large update": lambda t: t.update_where(None, {"$set": {"n": t.version}}),
    "a renamed column": lambda t: t.columns.rename("n", "m"),
    "another compaction": lambda t: t.maintenance.compact(),
}


ONCE = ("an undo of what is being worked in", "a renamed column")
TIMES = [(name, times) for name in MEDDLING for times in (1, 5) if times == 1 or name not in ONCE]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("meddled", "times"), TIMES)
def test_what_others_commit_meanwhile_is_kept(store: Store, meddled: str, times: int) -> None:
    table, twin = twins(store)
    job = Meddling(lambda: MEDDLING[meddled](table), times)
    table.maintenance.compact(job=job)
    happened = times - job.left
    assert happened
    for _ in range(happened):
        MEDDLING[meddled](twin)
    assert table.read().equals(twin.read())
    table.maintenance.compact()
    assert table.read().equals(twin.read())
    assert len(files(table)) == 1
    while table.history.undoable():
        table.history.undo()
        twin.history.undo()
        assert table.read().equals(twin.read())


def test_a_busy_table_is_compacted_all_the_same(store: Store) -> None:
    table, _ = twins(store)
    busy = Meddling(
        lambda: (table.update([{"_id": 3, "n": table.version}]), table.maintenance.flush()),
        SEGMENTS * ATTEMPTS,
    )
    table.maintenance.compact(job=busy)
    assert busy.left == 0
    assert len(files(table)) == 1
    assert table.get(3)["n"] == table.version - 1


def twins(store: Store) -> tuple[Any, Any]:
    """Two tables with the same rows and history, and this many segments."""
    table, twin = (store.create_table(name, many(1_500)) for name in ("t", "twin"))
    for each in (table, twin):
        each.insert(many(1_300, 1_500))
        each.update([{"_id": 7, "n": -1}, {"_id": 1_000, "label": "x"}])
        each.update([{"_id": 7, "n": -2}])
    assert len(table.snapshot().segments) == SEGMENTS
    return table, twin


def test_a_cancelled_compaction_leaves_no_file_behind(store: Store) -> None:
    table = pieces(store, [1_500, 1_200])
    rows, before = table.read(), set(store.path.rglob("*.parquet"))
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        table.maintenance.compact(job=job)
    assert set(store.path.rglob("*.parquet")) == before
    assert list((store.path / "tmp").iterdir()) == []
    assert table.read().equals(rows)


ODD = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int16()),
        "x": pa.array([1.5, None, float("inf")]),
        "flag": pa.array([True, None, False]),
        "text": pa.array(["a", None, "ä"]),
        "day": pa.array([dt.date(2013, 1, 1), None, dt.date(1970, 1, 1)]),
        "at": pa.array([1, None, 3], pa.timestamp("us")),
        "zoned": pa.array([1, None, 3], pa.timestamp("us", "Europe/Berlin")),
        "price": pa.array([Decimal("1.10"), None, Decimal("-9.99")], pa.decimal128(9, 2)),
        "raw": pa.array([b"\x00\xff", None, b""]),
        "tags": pa.array([["a"], None, []], pa.list_(pa.string())),
        "place": pa.array([{"lat": 1.5, "name": "x"}, None, {"lat": None, "name": "y"}]),
    }
)


def same(actual: list[dict], rows: list[dict]) -> bool:
    """Compare times with a zone as moments, since libraries show them in different zones."""
    plain = [
        {k: v.to_pydatetime() if isinstance(v, pd.Timestamp) else v for k, v in r.items()} for r in actual
    ]
    return plain == rows


def test_the_files_are_the_table_for_every_reader_of_parquet(store: Store) -> None:
    table = store.create_table("t", pa.concat_tables([ODD] * 500))
    table.insert(ODD)
    table.columns.rename({"n": "text", "text": "n"})
    table.columns.cast("x", "float32")
    table.columns.add("new", int)
    table.columns.drop("flag")
    table.columns.reorder(["zoned"])
    table.update([{"_id": 1, "tags": ["set"], "new": 7}])
    table.delete(ids=[0])
    table.maintenance.compact(rows_a_group=400, rows_a_file=800)
    rows, paths = table.read().to_pylist(), [str(path) for path in files(table)]
    assert len(paths) == 2
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Europe/Berlin'")
        listed = connection.sql("select * from read_parquet(?) order by _id", params=[paths])
        assert same(listed.to_arrow_table().to_pylist(), rows)
    assert same(pl.read_parquet(paths).sort("_id").to_dicts(), rows)
    assert same(ds.dataset(paths).to_table().sort_by("_id").to_pylist(), rows)
    frames = [pd.read_parquet(path, dtype_backend="pyarrow") for path in paths]
    assert same(pa.Table.from_pandas(pd.concat(frames), preserve_index=False).to_pylist(), rows)


def test_columns_without_nulls_are_written_as_such_and_compaction_settles(store: Store) -> None:
    table = store.create_table("t", many(1_500))
    table.insert(pa.table({"n": pa.nulls(1_500, pa.int64()), "label": ["x"] * 1_500}))
    table.maintenance.compact()
    schema = pq.ParquetFile(files(table)[0]).schema_arrow
    assert {f.name: f.nullable for f in schema} == {"_id": False, "n": True, "label": False}
    assert table.maintenance.compact().rewritten == 0


def test_only_columns_that_hold_or_gained_a_null_are_nullable_after_compaction(store: Store) -> None:
    data = {"full": range(1_000), "gains": range(1_000), "had": [None, 1] * 500}
    table = store.create_table("t", pa.table(data))
    table.update([{"_id": 7, "gains": None}, {"_id": 8, "gains": 3}])
    table.insert([{"full": 5, "gains": 1, "had": 2}])
    expected = table.read().to_pylist()
    table.maintenance.compact()
    assert table.read().to_pylist() == expected
    schema = pq.ParquetFile(files(table)[0]).schema_arrow
    assert [field.name for field in schema if field.nullable] == ["gains", "had"]
