"""Reading a table gives the same rows as a plain list, whatever changes were made to it."""

from __future__ import annotations

import datetime as dt
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, StoreProblem, UnknownColumn, UnknownRow
from lamella.core.scan import parquet_file as footers
from lamella.core.store.table import Table

Row = dict[str, Any]
START = dt.datetime(2020, 1, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def place(number: int) -> Row:
    return {"city": f"city {number % 3}", "at": {"lat": number / 2, "lon": None}}


def made(number: int) -> Row:
    """Values that repeat, so that sorts have ties, with nulls and NaN among them."""
    return {
        "n": None if number % 11 == 3 else number % 7,
        "x": math.nan if number % 13 == 5 else None if number % 13 == 6 else (number * 37 % 10) / 4,
        "name": None if number % 9 == 1 else f"row {number * 31 % 17}",
        "yes": None if number % 5 == 4 else number % 2 == 0,
        "day": START + dt.timedelta(days=number * 17 % 29),
        "where": None if number % 8 == 7 else place(number),
        "tags": [number % 3, None][: number % 3],
    }


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    folder = tmp_path_factory.mktemp("worn") / "store"
    with Store.open(folder) as store:
        return folder, wear(store)


@pytest.fixture
def worn(made_once: tuple[Path, list[Row]], tmp_path: Path) -> Iterator[tuple[Table, list[Row]]]:
    """A table of several files with changed cells, deleted rows and rows in memory; and its rows."""
    folder, rows = made_once
    shutil.copytree(folder, tmp_path / "worn")
    with Store.open(tmp_path / "worn") as store:
        yield store["t"], rows


def wear(store: Store) -> list[Row]:
    plain = [made(n) for n in range(4_540)]
    table = store.create_table("t", pa.Table.from_pylist(plain[:1_500]))
    schema = table.schema.remove(0)
    for first in (1_500, 3_000):
        table.insert(pa.Table.from_pylist(plain[first : first + 1_500], schema))
    table.maintenance.flush()
    ids = table.read(["_id"]).column("_id").to_pylist()
    cells: dict[int, Row] = {row_id: {} for row_id in ids}
    for step, name in enumerate(schema.names):
        places = range(step, 4_500, 71 + step)
        cells_of = [{"_id": ids[i], name: made(i + 1)[name]} for i in places]
        table.update(
            pa.Table.from_pylist(cells_of, pa.schema([table.schema.field("_id"), schema.field(name)]))
        )
        for cell in cells_of:
            cells[cell["_id"]] |= cell
    gone = {ids[i] for i in [*range(5, 4_500, 97), *range(2_000, 2_300)]}
    table.delete(ids=gone)
    table.insert(pa.Table.from_pylist(plain[4_500:], schema))
    ids += table.read(["_id"]).column("_id").to_pylist()[-40:]
    return [{"_id": i, **row, **cells.get(i, {})} for i, row in zip(ids, plain, strict=True) if i not in gone]


def same(answer: pa.Table, rows: list[Row]) -> bool:
    return repr(answer.to_pylist()) == repr(rows)


def in_order(rows: list[Row], keys: list[str]) -> list[Row]:
    """Sort by several keys, each with its direction; nulls last, NaN the greatest, ties by `_id`."""
    rows = sorted(rows, key=lambda row: row["_id"])
    for key in reversed(keys):
        name, down = key.removeprefix("-"), key.startswith("-")
        present = [row for row in rows if row[name] is not None]
        rank = [(row[name] != row[name], 0 if row[name] != row[name] else row[name]) for row in present]
        places = sorted(range(len(present)), key=rank.__getitem__, reverse=down)
        if down:  # a reversed sort keeps ties in order only within equal keys, as it is stable
            places = sorted(range(len(present)), key=lambda i: rank[i], reverse=True)
        rows = [present[i] for i in places] + [row for row in rows if row[name] is None]
    return rows


SORTS = [["n"], ["-n"], ["x", "-n"], ["-x", "name"], ["yes", "-name", "x"], ["-day"], ["name", "day", "-x"]]


def test_all_rows_streamed_and_at_once(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    assert same(table.read(), rows)
    assert same(table.batches().read_all(), rows)
    assert same(table.read(), rows)
    assert table.count() == len(rows)


def test_each_row_by_its_id(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    by_id = {row["_id"]: row for row in rows}
    for row_id in [*range(0, max(by_id) + 2, 37), *list(by_id)[::3], -1, 10**12]:
        assert repr(table.get(row_id)) == repr(by_id.get(row_id))


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("sort", SORTS)
def test_sorted_rows_with_a_limit_and_an_offset(worn: tuple[Table, list[Row]], sort: list[str]) -> None:
    table, rows = worn
    expected = in_order(rows, sort)
    assert same(table.read(sort=sort), expected)
    assert same(table.read(sort=sort, limit=7, offset=1_000), expected[1_000:1_007])
    assert same(table.batches(sort=sort).read_all(), expected)
    few = [row for row in expected if row["n"] == 3]
    assert same(table.read(sort=sort, where=col("n") == 3, offset=5), few[5:])


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("offset", [0, 1, 1_499, 2_000, 4_100, 4_200, 10_000])
@pytest.mark.parametrize("limit", [0, 1, 300, None])
def test_a_limit_and_an_offset(worn: tuple[Table, list[Row]], offset: int, limit: int | None) -> None:
    table, rows = worn
    stop = None if limit is None else offset + limit
    assert same(table.read(limit=limit, offset=offset), rows[offset:stop])
    met = [row for row in rows if row["n"] in (1, 2)]
    assert same(table.read(where=col("n").is_in([1, 2]), limit=limit, offset=offset), met[offset:stop])


def test_rows_by_ids_come_once_each_in_id_order(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    ids = [rows[i]["_id"] for i in (-3, 3, 1_600, 3, 0, -41, 1_600)]
    expected = [row for row in rows if row["_id"] in ids]
    assert same(table.read(ids=ids), expected)
    assert same(table.read(ids=np.array(ids)), expected)
    assert same(table.batches(ids=ids).read_all(), expected)
    assert table.read(ids=[]).num_rows == 0
    assert table.read(ids=[]).schema == table.schema
    every_third = [row["_id"] for row in rows][::3]
    met = [row for row in rows[::3] if row["n"] == 3]
    assert same(table.read(ids=every_third, where=col("n") == 3), met)
    assert same(
        table.read(ids=every_third, where=col("n") == 3, sort=["-x"], limit=9), in_order(met, ["-x"])[:9]
    )


def test_an_id_that_is_not_there_is_refused_by_name(worn: tuple[Table, list[Row]]) -> None:
    table, _rows = worn
    with pytest.raises(UnknownRow, match="_id 199"):  # deleted, as is 102
        table.read(ids=[1, 199, 102])
    with pytest.raises(BadData, match="whole number"):
        table.read(ids=["1"])  # type: ignore[list-item]


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"offset": -5}])
def test_less_than_no_rows_is_refused(worn: tuple[Table, list[Row]], wrong: dict[str, int]) -> None:
    with pytest.raises(BadData, match="is negative"):
        worn[0].read(**wrong)  # type: ignore[arg-type]


def paged(table: Table, size: int, **query: Any) -> Iterator[Row]:
    page = table.page(size, **query)
    yield from page.rows.to_pylist()
    while page.next is not None:
        page = table.page(size, page.next, **query)
        assert page.rows.num_rows > 0
        yield from page.rows.to_pylist()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("sort", [None, *SORTS])
@pytest.mark.parametrize("where", [None, col("n").is_in([1, 2, 5])])
def test_pages_follow_each_other_without_gaps_or_repeats(
    worn: tuple[Table, list[Row]], sort: list[str] | None, where: Any
) -> None:
    table, rows = worn
    met = rows if where is None else [row for row in rows if row["n"] in (1, 2, 5)]
    expected = in_order(met, sort) if sort else met
    assert repr(list(paged(table, 333, sort=sort, where=where))) == repr(expected)
    assert table.page(len(expected), sort=sort, where=where).next is None


@pytest.mark.parametrize("sort", [None, ["-n", "x"]])
def test_pages_go_on_behind_a_row_that_was_changed_or_deleted(
    worn: tuple[Table, list[Row]], sort: list[str] | None
) -> None:
    table, rows = worn
    expected = in_order(rows, sort) if sort else rows
    first = table.page(500, sort=sort)
    expected_rows, last = expected[:500], expected[499]
    assert same(first.rows, expected_rows)
    table.delete(ids=[last["_id"], expected[10]["_id"], expected[501]["_id"]])
    table.maintenance.flush()
    table.update([{"_id": expected[498]["_id"], "name": "elsewhere"}])
    second = table.page(500, first.next, sort=sort)
    assert second.rows.column("_id").to_pylist() == [
        r["_id"] for r in expected[500:1_001] if r is not expected[501]
    ]


def test_a_cursor_is_refused_where_it_does_not_fit(worn: tuple[Table, list[Row]]) -> None:
    table, _rows = worn
    cursor = table.page(5, sort=["n"]).next
    with pytest.raises(BadData, match="another order"):
        table.page(5, cursor, sort=["-n"])
    with pytest.raises(BadData, match="not a cursor"):
        table.page(5, "nonsense")
    with pytest.raises(BadData, match="pages cannot be sorted"):
        table.page(5, sort=["where"])
    with pytest.raises(BadData, match="less than 1"):
        table.page(0)


def test_fields_inside_structs_by_their_path(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    expected = []
    for row in rows:
        inside = row["where"] or {"city": None, "at": {"lat": None}}
        expected.append({"where.at.lat": inside["at"]["lat"], "n": row["n"], "where.city": inside["city"]})
    columns = ["where.at.lat", "n", "where.city"]
    assert same(table.read(columns), expected)
    assert same(table.batches(columns).read_all(), expected)
    assert same(table.read(columns, ids=[rows[7]["_id"], rows[3_000]["_id"]]), [expected[7], expected[3_000]])
    assert same(table.read(columns, limit=50, offset=1_490), expected[1_490:1_540])
    assert same(table.read(columns, where=col("n") == 2), [w for w in expected if w["n"] == 2])


def test_structs_flattened(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    flat = table.read(["_id", "where"], flatten=True)
    assert flat.column_names == ["_id", "where.city", "where.at.lat", "where.at.lon"]
    assert flat.column("where.city").to_pylist() == [r["where"] and r["where"]["city"] for r in rows]
    assert table.read(flatten=True).num_columns == table.read().num_columns + 2


def test_an_unknown_path_is_refused_with_the_nearest(worn: tuple[Table, list[Row]]) -> None:
    for wrong, meant in [("where.citty", "where.city"), ("where.at.latt", "where.at.lat"), ("nn", "n")]:
        with pytest.raises(UnknownColumn, match=f"'{meant}'"):
            worn[0].read([wrong])
    with pytest.raises(UnknownColumn):
        worn[0].read(["n.x"])


def test_a_column_whose_name_holds_dots_comes_before_a_path(store: Store) -> None:
    rows = [{"a": {"b": i, "c": -i}, "a.b": 10 * i} for i in range(2_000)]
    table = store.create_table("t", pa.Table.from_pylist(rows))
    assert table.read(["a.b"]).column("a.b").to_pylist() == [10 * i for i in range(2_000)]
    assert table.read(["a.c"]).column("a.c").to_pylist() == [-i for i in range(2_000)]
    with pytest.raises(BadData, match=r"two columns would have the name 'a\.b'"):
        table.read(flatten=True)
    assert table.read(["a"], flatten=True).column("a.b").to_pylist() == list(range(2_000))


def test_two_paths_of_a_hundred_decode_two(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"x": {f"f{i}": n + i for i in range(100)}} for n in range(1_200)]
    table = store.create_table("t", pa.Table.from_pylist(rows))
    requests: list[list[str]] = []
    opened = footers.Footer.open

    class Watched:
        def __init__(self, footer: footers.Footer, *arguments: Any) -> None:
            self.file = opened(footer, *arguments)

        def close(self, force: bool) -> None:
            self.file.close(force)

        def read_row_groups(self, groups: list[int], columns: list[str], use_threads: bool) -> pa.Table:
            columns_read = self.file.read_row_groups(groups, columns=columns, use_threads=use_threads)
            requests.append(
                [
                    field.name
                    for name in columns_read.column_names
                    for field in columns_read.schema.field(name).type
                ]
            )
            return columns_read

    def watched(footer: footers.Footer, *arguments: Any) -> Watched:
        return Watched(footer, *arguments)

    monkeypatch.setattr(footers.Footer, "open", watched)
    assert table.read(["x.f7", "x.f93"]).to_pylist()[5] == {"x.f7": 12, "x.f93": 98}
    assert requests == [["f7", "f93"]]


def test_an_earlier_version_is_read_in_every_way(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    version = table.version
    table.delete(where=col("n") == 3)
    table.update_where(col("n") == 2, {"$set": {"name": "later"}})
    expected = in_order(rows, ["-x"])
    assert same(table.read(as_of=version), rows)
    assert same(table.read(as_of=version, sort=["-x"], limit=30), expected[:30])
    assert same(
        table.batches(as_of=version, where=col("n") == 3).read_all(), [r for r in rows if r["n"] == 3]
    )
    assert table.count(col("n") == 3, as_of=version) == sum(r["n"] == 3 for r in rows)
    assert table.count(col("n") == 3) == 0
    gone = next(r for r in rows if r["n"] == 3)
    assert repr(table.get(gone["_id"], as_of=version)) == repr(gone)
    assert table.get(gone["_id"]) is None
    assert same(table.read(as_of=version, ids=[gone["_id"]]), [gone])
    assert repr(list(paged(table, 999, sort=["-x"], as_of=version))) == repr(expected)
    assert same(table.as_of(version).read(ids=[gone["_id"]]), [gone])
    with pytest.raises(BadData, match="no versions of its own"):
        table.as_of(version).read(as_of=1)
    with pytest.raises(StoreProblem):
        table.read(as_of=10_000)


def test_a_stream_gives_the_version_it_was_begun_with(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    stream = table.batches()
    first = stream.read_next_batch()
    table.delete(where=col("n") == 3)
    table.maintenance.flush()
    later = pa.Table.from_batches([first, *stream])
    assert same(later, rows)


def test_what_was_read_is_not_changed_by_later_commits(store: Store) -> None:
    table = store.create_table("t", pa.table({"n": pa.array(range(5_000))}))
    table.update([{"_id": 7, "n": -7}])
    before = table.read(where=col("n") >= -7)
    whole = table.read()
    table.update([{"_id": i, "n": 0} for i in range(0, 5_000, 10)])
    assert table.read().column("n").to_pylist()[10] == 0
    assert whole.column("n").to_pylist()[10] == before.column("n").to_pylist()[10] == 10
    assert table.read(as_of=2).equals(whole)


@pytest.mark.slow
def test_none_of_it_imports_pandas(worn: tuple[Table, list[Row]]) -> None:
    program = """
import sys
from lamella import Store, col
with Store.open(sys.argv[1]) as store:
    table = store["t"]
    ids = table.read(["_id"], limit=3).column("_id")[:2]
    table.read(ids=[i.as_py() for i in ids], where=col("n") >= 0, sort=["-x", "day"], flatten=True)
    page = table.page(5, sort=["-day", "name", "x"])
    table.page(5, page.next, ["where.city"], sort=["-day", "name", "x"])
    table.page(5, table.page(5).next, where=col("yes") == True)
    table.batches(["where.at.lat"], sort=["n"], as_of=1).read_all()
    table.get(0)
assert "pandas" not in sys.modules
"""
    store = str(worn[0].store.path)
    result = subprocess.run(
        [sys.executable, "-c", program, store], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_ids_alone_are_those_of_the_rows(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table(
            "t", {"n": [i % 10 for i in range(3_000)], "x": [-i for i in range(3_000)]}
        )
        table.maintenance.flush()
        table.indexes.create("n")
        for change in (
            lambda: table.delete(ids=range(5, 3_000, 7)),
            lambda: table.insert({"n": [3, 3], "x": [1, 2]}),
            table.maintenance.compact,
            lambda: table.delete(ids=[3_001]),
        ):
            change()
            for query in (
                {"where": col("n") == 3},
                {"where": col("n") == 99},
                {"where": "n = 3", "sort": ["x"], "limit": 4, "offset": 1},
                {"sort": ["-x"], "limit": 5},
                {"ids": [2, 1]},
                {"ids": []},
            ):
                rows_read = table.read(["_id", "n"], **query)
                assert table.read(["_id"], **query).equals(rows_read.select(["_id"]))
