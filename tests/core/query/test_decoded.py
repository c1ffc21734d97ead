"""Columns that are asked for again and again are answered from memory: the same answers as from the files,
whatever becomes of those."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, col, open_dataset, sql
from lamella.core.errors import Cancelled, FileProblem, LamellaError
from lamella.core.jobs import Job
from lamella.core.scan import cache as caches
from lamella.core.scan import chunks as whole
from lamella.core.scan.chunks import is_coded
from lamella.core.scan.parquet_file import footer_of
from lamella.core.store import Table

NAN = float("nan")
DAY = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["a", "b", None, "", "ä", "a"]),
    "large_text": (pa.large_string(), ["x", "y" * 40, None, "x", "", "z"]),
    "whole": (pa.int64(), [1, -(2**63), 2**63 - 1, None, 1, 0]),
    "small": (pa.int8(), [1, 2, None, -128, 127, 1]),
    "unsigned": (pa.uint64(), [2**64 - 1, 0, None, 1, 1, 7]),
    "real": (pa.float64(), [NAN, -0.0, 0.0, None, NAN, float("inf")]),
    "single": (pa.float32(), [NAN, -0.0, 0.5, None, NAN, float("-inf")]),
    "half": (pa.float16(), [1.5, 2.5, None, 1.5, 0.0, -1.0]),
    "truth": (pa.bool_(), [True, False, None, True, True, False]),
    "decimal": (pa.decimal128(20, 2), [Decimal("1.10"), Decimal("-2.50"), None, Decimal("1.10"), None, None]),
    "long_decimal": (pa.decimal256(50, 2), [Decimal("1.10"), None, Decimal("-2.50"), None, None, None]),
    "date": (pa.date32(), [DAY.date(), None, dt.date(1960, 1, 1), DAY.date(), None, None]),
    "time_s": (pa.timestamp("s"), [DAY.replace(microsecond=0), None, None, None, None, None]),
    "time_ms": (pa.timestamp("ms"), [DAY.replace(microsecond=123000), None, None, None, None, None]),
    "time_us": (pa.timestamp("us"), [DAY, None, DAY, None, None, dt.datetime(1960, 1, 1)]),
    "time_ns": (pa.timestamp("ns"), [DAY, None, DAY, None, None, None]),
    "time_zone": (pa.timestamp("us", "UTC"), [DAY.replace(tzinfo=dt.UTC), None, None, None, None, None]),
    "duration": (pa.duration("us"), [dt.timedelta(days=1), None, None, None, None, None]),
    "bytes": (pa.binary(), [b"\0\xff", None, b"", b"a", b"a", None]),
    "list": (pa.list_(pa.int64()), [[1, 2], [], None, [None], [1, 2], [3]]),
}  # fmt: skip
TIMES = 6
"""From the files, decoded, from memory, and from memory again."""


@pytest.fixture(autouse=True)
def empty_caches() -> Iterator[None]:
    caches.limit(0)
    caches.limit(64 << 20)
    yield
    caches.limit(0)
    caches.limit(caches.DEFAULT_CACHE_BYTES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def table_of(store: Store, count: int = 3, name: str = "t") -> Table:
    """Several files, all of them with the same few rows many times."""
    rows = pa.table([pa.array(values * 40, kind) for kind, values in COLUMNS.values()], list(COLUMNS))
    table = store.create_table(name, rows)
    for _ in range(count - 1):
        table.insert(rows)
        table.maintenance.flush()
    return table


def held() -> int:
    return caches.cache.held_bytes + caches.text_cache.held_bytes


def alike(ask: Callable[[], pa.Table]) -> list[dict[str, Any]]:
    """The answer, which is the same each time."""
    answers = [ask() for _ in range(TIMES)]
    texts = [str(rows.to_pylist()) for rows in answers]
    assert texts == texts[:1] * TIMES
    assert all(rows.schema.equals(answers[0].schema) for rows in answers)
    rows: list[dict[str, Any]] = answers[0].to_pylist()
    return rows


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_is_answered_from_memory_as_from_its_files(store: Store, name: str) -> None:
    table = table_of(store)
    alike(lambda: store.sql(f"select {name}, count(*) from t group by 1 order by 1, 2"))
    alike(
        lambda: store.sql(
            f"select typeof({name}), any_value({name} order by _id), count({name}) from t group by 1"
        )
    )
    alike(lambda: table.group_by(name).agg(n=agg.count()).read())
    alike(lambda: table.agg(first=agg.first(name), last=agg.last(name), n=agg.count(name)).read())
    alike(lambda: table.where(col(name).is_null()).agg(n=agg.count(name), rows=agg.count()).read())


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "condition", ["real > 0", "real = 'nan'::double", "real < 1", "not real <= 1", "real != 0"]
)
def test_nan_and_both_zeros_are_compared_alike(store: Store, condition: str) -> None:
    table_of(store)
    (row,) = alike(lambda: store.sql(f"select count(*) n from t where {condition}"))
    with duckdb_of(COLUMNS["real"][1] * 120) as connection:
        assert row["n"] == connection.sql(f"select count(*) from t where {condition}").fetchall()[0][0]


def duckdb_of(values: list[Any]) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("create table t (real double)")
    connection.executemany("insert into t values (?)", [[value] for value in values])
    return connection


def test_what_is_asked_for_once_is_not_kept(store: Store) -> None:
    table_of(store)
    for name, kept_in in (("text", caches.text_cache), ("whole", caches.cache)):
        store.sql(f"select {name}, count(*) from t group by 1")
        assert kept_in.held_bytes == 0
        store.sql(f"select {name}, sum(1) from t group by 1")
        assert kept_in.held_bytes > 0


def test_rows_that_are_joined_or_sorted_are_read_from_files(store: Store) -> None:
    """Files have statistics, which save memory."""
    table = store.create_table("t", {"n": list(range(1000))})
    table.maintenance.flush()
    alike(lambda: store.sql("select a.n, count(*) c from t a join t b using (n) group by 1 order by 1"))
    alike(lambda: store.sql("select n from t order by n desc"))
    alike(lambda: table.join(table, on="n").group_by("n").agg(c=agg.count()).read())
    alike(lambda: table.compute(m=col("n") % 7).sort("m").limit(9).group_by("m").agg(c=agg.count()).read())
    assert held() == 0


def test_texts_that_repeat_are_kept_as_codes(store: Store) -> None:
    table = table_of(store)
    footers = [footer_of(segment.path) for segment in table.snapshot().segments]
    assert all(is_coded(footer, "text") and not is_coded(footer, "whole") for footer in footers)
    assert alike(lambda: store.sql("select text from t where text > 'a' order by 1"))[-1]["text"] == "ä"


def test_changes_are_seen(store: Store) -> None:
    table = store.create_table("t", {"kind": ["a", "b"] * 500, "n": list(range(1000))})
    table.maintenance.flush()
    text = "select kind, count(*) c, sum(n) s from t group by 1 order by 1"
    before = alike(lambda: store.sql(text))
    assert before[0] == {"kind": "a", "c": 500, "s": 249_500}
    table.update([{"_id": 0, "n": 10_000}])
    assert alike(lambda: store.sql(text))[0] == {"kind": "a", "c": 500, "s": 259_500}
    table.delete(ids=[0, 2])
    assert alike(lambda: store.sql(text))[0] == {"kind": "a", "c": 498, "s": 249_498}
    table.insert([{"kind": "c", "n": 1}])
    assert alike(lambda: table.group_by("kind").agg(c=agg.count(), s=agg.sum("n")).read())[2] == {
        "kind": "c", "c": 1, "s": 1,
    }  # fmt: skip
    table.history.undo(), table.history.undo(), table.history.undo()
    assert alike(lambda: store.sql(text)) == before


def test_changes_to_columns_are_seen(store: Store) -> None:
    table = store.create_table("t", {"a": [1, 1, 2], "b": ["x", "y", "y"]})
    table.maintenance.flush()
    assert alike(lambda: store.sql("select a, count(*) n from t group by 1 order by 1"))[0]["n"] == 2
    table.columns.rename("a", "c")
    table.columns.rename("b", "a")
    assert alike(lambda: store.sql("select a, count(*) n from t group by 1 order by 1"))[0] == {
        "a": "x",
        "n": 1,
    }
    table.insert([{"c": 2.5, "a": "z"}])  # widens what the file holds as whole numbers
    assert alike(lambda: store.sql("select sum(c) s from t")) == [{"s": 6.5}]
    table.columns.add("later", pa.int64())
    assert alike(lambda: store.sql("select later, count(*) n from t group by 1")) == [{"later": None, "n": 4}]


@pytest.mark.slow
def test_a_change_in_another_process_is_seen(store: Store) -> None:
    table = store.create_table("t", {"kind": ["a"] * 100})
    table.maintenance.flush()
    assert alike(lambda: store.sql("select kind, count(*) n from t group by 1")) == [{"kind": "a", "n": 100}]
    change = "import sys; from lamella import Store; Store.open(sys.argv[1])['t'].insert([{'kind': 'a'}])"
    subprocess.run([sys.executable, "-c", change, str(store.path)], check=True)
    assert alike(lambda: store.sql("select kind, count(*) n from t group by 1")) == [{"kind": "a", "n": 101}]
    assert alike(lambda: table.group_by("kind").agg(n=agg.count()).read()) == [{"kind": "a", "n": 101}]


def test_memory_that_is_taken_back_changes_no_answer(store: Store) -> None:
    table_of(store)
    table = store["t"]
    for ask in (
        lambda: store.sql("select text, sum(real) from t group by 1 order by 1"),
        lambda: table.group_by("text").agg(n=agg.sum("small")).read(),
    ):
        before = alike(ask)
        assert held() > 0
        caches.limit(0)
        assert held() == 0
        assert str(alike(ask)) == str(before)
        assert held() == 0
        caches.limit(64 << 20)
        assert str(alike(ask)) == str(before)


def test_a_file_in_place_that_changed_is_not_answered_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"kind": ["a", "b"] * 100}), path)
    dataset = open_dataset(path)
    ask = lambda: sql("select kind, count(*) n from t group by 1 order by 1", {"t": dataset})  # noqa: E731
    assert alike(ask)[0] == {"kind": "a", "n": 100}
    pq.write_table(pa.table({"kind": ["a", "b"] * 101}), path)
    for _ in range(TIMES):
        with pytest.raises(FileProblem, match="changed on disk"):
            ask()
        with pytest.raises(FileProblem, match="changed on disk"):
            dataset.group_by("kind").agg(n=agg.count()).read()
    dataset = open_dataset(path)
    assert alike(ask)[0] == {"kind": "a", "n": 101}


def test_texts_that_are_none_are_refused_each_time(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"], pa.binary()).buffers())
    for kinds in ([], ["t"]):
        path = tmp_path / f"bad{len(kinds)}.parquet"
        pq.write_table(pa.table({"t": bad}), path, use_dictionary=kinds)
        for _ in range(TIMES):
            with pytest.raises(LamellaError):
                sql("select t, count(*) from bad group by 1", {"bad": path})


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("name", ["t", "a.b", 'q"uote', "select", "main.t", "Großes T"])
def test_tables_of_any_name_are_read_from_memory(store: Store, name: str) -> None:
    store.create_table(name, {"Kind": ["a", "b", "a"], 'o"dd name': [1, 2, 3]}).maintenance.flush()
    written = '"' + name.replace('"', '""') + '"'
    text = f'select kind, sum("o""dd name") s from {written} x group by 1 order by 1'
    assert alike(lambda: store.sql(text)) == [{"Kind": "a", "s": 4}, {"Kind": "b", "s": 2}]
    assert held() > 0


def test_one_statement_may_read_a_table_twice_and_at_two_versions(store: Store) -> None:
    table = store.create_table("t", {"n": list(range(10))})
    table.maintenance.flush()
    table.insert([{"n": 100}])
    table.maintenance.flush()
    text = (
        "select (select sum(n) from t) a, (select sum(n) from t at (version => 1)) b,"
        " (select max(n) from t) c"
    )
    assert alike(lambda: store.sql(text)) == [{"a": 145, "b": 45, "c": 100}]
    assert alike(lambda: store.sql("select count(*) n from t a join t b using (n)")) == [{"n": 11}]


def test_a_column_that_is_nowhere_is_said_as_before(store: Store) -> None:
    store.create_table("t", {"n": [1, 2]}).maintenance.flush()
    alike(lambda: store.sql("select n, count(*) from t group by 1 order by 1"))
    with pytest.raises(LamellaError, match="other"):
        store.sql("select n, other from t")
    assert alike(lambda: store.sql("select * from t order by n"))[1]["n"] == 2


class Impatient(Job):
    """A job that somebody cancels once so many row groups were decoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        super().__init__()
        self._decoded = 0
        real = whole._keep

        def noted(*arguments: Any) -> None:
            real(*arguments)
            self._decoded += 1
            if self._decoded == most:
                self.cancel()

        monkeypatch.setattr(whole, "_keep", noted)


def test_decoding_ends_with_the_row_group_at_which_it_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    rows = {"kind": ["a", "b"] * 500, "n": list(range(1000))}
    pq.write_table(pa.table(rows), path, row_group_size=100)
    dataset = open_dataset(path)
    grouped = dataset.group_by("kind").agg(n=agg.sum("n"))
    text = "select kind, sum(n) n from t group by 1 order by 1"
    for ask in (
        lambda job=None: grouped.read(job),
        lambda job=None: sql(text, {"t": dataset}, job=job),
    ):
        expected = ask()
        with monkeypatch.context() as patch:
            with pytest.raises(Cancelled):
                ask(Impatient(patch, 3))
            held_groups = caches.cache.get([(footer_of(path), group, ("n",)) for group in range(10)])
            assert [chunk is not None for chunk in held_groups] == [True] * 3 + [False] * 7
        assert alike(ask) == expected.to_pylist()
        caches.limit(0)
        caches.limit(64 << 20)
