"""Fields inside structs are asked for, sorted by, counted and exported like columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.errors import BadData, BadFilter, UnknownColumn
from lamella.core.filters import Filter
from lamella.core.query.find import Method, count_rows, find_rows
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.core.transfer.exporting import ExportOptions, export

Row = dict[str, Any]


def made(number: int) -> Row:
    place: Row | None = {
        "city": None if number % 4 == 1 else "ABCab"[number % 5],
        "at": None if number % 6 == 5 else {"lat": math.nan if number % 7 == 2 else number % 9 / 2},
    }
    if number >= 40:
        place = {**place, "zip": number % 3} if place else None
    return {"n": number % 5, "place": None if number % 8 == 3 else place, "tags": [number % 3, None]}


@pytest.fixture
def worn(tmp_path: Path) -> Iterator[tuple[Table, list[Row]]]:
    """Files, changed cells, deleted rows, and rows that are in no file; and the rows as they are."""
    rows = [made(number) for number in range(60)]
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", rows[:40])
        table.insert(rows[40:])
        table.maintenance.compact()
        table.insert([made(number) for number in range(60, 64)])
        table.update(
            [{"_id": 2, "place": {"city": "Z", "at": {"lat": 9.0}, "zip": 1}}, {"_id": 5, "place": None}]
        )
        table.update_where(col("place.city") == "b", {"$set": {"place.at.lat": -1.0}})
        table.delete(ids=[7, 45])
        yield table, table.read().to_pylist()


def at(row: Row, path: str) -> Any:
    value: Any = row
    for name in path.split("."):
        value = None if value is None else value[name]
    return value


FILTERS: list[tuple[Filter, Callable[[Row], bool]]] = [
    (col("place.city") == "a", lambda r: at(r, "place.city") == "a"),
    (col("place.city") != "a", lambda r: at(r, "place.city") != "a"),
    (col("place.city").is_in(["A", "Z"]), lambda r: at(r, "place.city") in ("A", "Z")),
    (col("place.city").is_null(), lambda r: at(r, "place.city") is None),
    (col("place.at").is_null(), lambda r: at(r, "place.at") is None),
    (col("place.city").exists(), lambda r: at(r, "place.city") is not None),
    (col("place.at.lat").missing(), lambda r: at(r, "place.at.lat") is None),
    (col("tags.0") == 1, lambda r: r["tags"][0] == 1),
    (col("tags.0") < col("n"), lambda r: r["tags"][0] < r["n"]),
    (col("tags") == [2, None], lambda r: r["tags"] == [2, None]),
    (col("place") != {"city": "a"}, lambda r: r["place"] != {"city": "a", "at": None, "zip": None}),
    (
        col("place.at.lat") < 1,
        lambda r: (at(r, "place.at.lat") or math.nan) < 1 or at(r, "place.at.lat") == 0,
    ),
    (col("place.zip") >= 1, lambda r: (at(r, "place.zip") or 0) >= 1),
    (col("place.zip") < col("n"), lambda r: at(r, "place.zip") is not None and at(r, "place.zip") < r["n"]),
    ((col("n") > 2) & ~(col("place.city") == "b"), lambda r: r["n"] > 2 and at(r, "place.city") != "b"),
    (col("tags").has(1), lambda r: 1 in r["tags"]),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("where", "meets"), FILTERS)
def test_every_way_to_find_rows_finds_the_same(
    worn: tuple[Table, list[Row]], where: Filter, meets: Callable[[Row], bool]
) -> None:
    table, rows = worn
    expected = [row["_id"] for row in rows if meets(row)]
    assert expected
    snapshot = table.snapshot()
    matches = find_rows(snapshot, where, method=Method.DUCKDB)
    assert take_rows(snapshot, matches, snapshot.select(["_id"])).column(0).to_pylist() == expected
    assert table.read(["_id"], where).column(0).to_pylist() == expected
    assert table.count(where) == count_rows(snapshot, where, method=Method.DUCKDB) == len(expected)
    assert len(find_rows(snapshot, where, method=Method.MASKS)) == len(expected)


def _job() -> Any:
    from lamella.core.jobs import Job

    return Job()


def in_order(rows: list[Row], path: str, descending: bool) -> list[int]:
    """Nulls last, NaN the greatest, ties in `_id` order."""

    def key(row: Row) -> tuple[bool, Any]:
        value = at(row, path)
        return (True, math.inf) if isinstance(value, float) and math.isnan(value) else (False, value)

    present = sorted((r for r in rows if at(r, path) is not None), key=key)
    if descending:
        present = sorted(present, key=key, reverse=True)
    return [r["_id"] for r in [*present, *(r for r in rows if at(r, path) is None)]]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("path", ["place.city", "place.at.lat", "place.zip"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_rows_are_sorted_and_paged_by_a_field(worn: tuple[Table, list[Row]], path: str, sign: str) -> None:
    table, rows = worn
    expected = in_order(rows, path, bool(sign))
    assert table.read(["_id"], sort=[sign + path]).column(0).to_pylist() == expected
    assert table.read(["_id"], sort=[sign + path], limit=7).column(0).to_pylist() == expected[:7]
    page, ids_read = table.page(9, columns=["_id", path], sort=[sign + path]), []
    while True:
        ids_read += page.rows.column(0).to_pylist()
        if page.next is None:
            break
        page = table.page(9, after=page.next, columns=["_id", path], sort=[sign + path])
    assert ids_read == expected
    view = View(table.snapshot(), ScanQuery(sort=(SortKey(path, bool(sign)),)))
    assert view.page(5, 10, ["_id", path]).to_pylist() == [
        {"_id": r["_id"], path: pytest.approx(at(r, path), nan_ok=True)}
        for r in sorted(rows, key=lambda r: expected.index(r["_id"]))[5:15]
    ]


def test_a_row_changed_between_pages_stays_behind_the_cursor(worn: tuple[Table, list[Row]]) -> None:
    table, _rows = worn
    first = table.page(5, sort=["place.zip"])
    last = first.rows.to_pylist()[-1]
    table.update([{"_id": last["_id"], "place": {"city": "x", "at": None, "zip": None}}])
    second = table.page(100, after=first.next, sort=["place.zip"])
    ids_read = [r["_id"] for page in (first, second) for r in page.rows.to_pylist()]
    assert sorted(set(ids_read)) == sorted(r["_id"] for r in table.read(["_id"]).to_pylist())


def test_fields_are_exported_and_partitioned_by(worn: tuple[Table, list[Row]], tmp_path: Path) -> None:
    table, rows = worn
    options = ExportOptions(columns=["n", "place.city"], where=col("place.city").not_null())
    export(table, tmp_path / "cities.parquet", options)
    exported = pq.ParquetFile(tmp_path / "cities.parquet").read().to_pylist()
    present = [row for row in rows if at(row, "place.city") is not None]
    assert exported == [{"n": row["n"], "place.city": at(row, "place.city")} for row in present]
    export(table, tmp_path / "by", ExportOptions(columns=["n", "place.zip"], partition_by=["place.zip"]))
    assert open_dataset(tmp_path / "by").count(col("place.zip") == 1) == sum(
        at(row, "place.zip") == 1 for row in rows
    )


def test_rows_are_changed_and_deleted_by_a_field(worn: tuple[Table, list[Row]]) -> None:
    table, rows = worn
    count = sum(at(row, "place.city") == "C" for row in rows)
    assert table.update_where(col("place.city") == "C", {"$set": {"n": 99}}).updated == count
    assert table.delete(where=(col("n") == 99) & (col("place.city") == "C")).deleted == count
    assert table.count(col("place.city") == "C") == 0


def test_a_field_that_no_row_has_makes_one(worn: tuple[Table, list[Row]]) -> None:
    table, _rows = worn
    where = (col("place.city") == "new") & (col("n") == 3) & (col("n") == col("place.zip"))
    assert table.update_where(where, {"$set": {"place.zip": 3}}, upsert=True).inserted == 1
    assert table.read(where=where).to_pylist()[0]["place"] == {"city": "new", "at": None, "zip": 3}
    assert table.update_where(where, {"$set": {"place.zip": 3}}, upsert=True).inserted == 0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.count(col("place.ciyt") == "a"), r"no column 'place\.ciyt'.*'place\.city'"),
        (lambda t: t.count(col("n") < col("place.zp")), r"no column 'place\.zp'.*'place\.zip'"),
        (lambda t: t.read(sort=["-place.zp"]), r"no column 'place\.zp'.*'place\.zip'"),
        (lambda t: t.page(5, sort=["place.at.lon"]), r"no column 'place\.at\.lon'.*'place\.at\.lat'"),
    ],
)
def test_a_misspelt_path_names_the_one_meant(
    worn: tuple[Table, list[Row]], ask: Callable[[Table], object], message: str
) -> None:
    with pytest.raises(UnknownColumn, match=message):
        ask(worn[0])


def test_a_column_with_dots_in_its_name_comes_before_a_path(tmp_path: Path) -> None:
    rows = pa.table({"a": [{"b": 1, "B": 2}, {"b": 3, "B": 4}], "a.b": [10, 20], "A": [{"b": 5}, None]})
    pq.write_table(rows, tmp_path / "t.parquet")
    dataset = open_dataset(tmp_path / "t.parquet")
    for where, count in (
        (col("a.b") == 10, 1),
        (col("a.b") == 1, 0),
        (col("a.B") == 4, 1),
        (col("A.b") == 5, 1),
        (col("a.B") > col("a.b"), 0),
        (col("a.B") < col("a.b"), 2),
    ):
        snapshot = dataset.snapshot()
        assert dataset.count(where) == count_rows(snapshot, where, method=Method.DUCKDB) == count


def test_lists_are_asked_alike_in_files_of_others(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    people = [
        [{"name": "Ada", "age": 36}, {"name": None, "age": 5}],
        [],
        None,
        [{"name": "Bob", "age": None}],
    ]
    polars.DataFrame({"people": people}).write_parquet(tmp_path / "p.parquet")
    dataset = open_dataset(tmp_path / "p.parquet")
    older = (col("age") > 30) | col("name").starts_with("B")
    for where, count in (
        (col("people").elem_match(older), 2),
        (~col("people").elem_match(older), 2),
        (col("people").elem_match((col("age") < 30) & col("name").is_null()), 1),
        (col("people").has_size(0), 1),
        (col("people").elem_match(col("name") != "Ada"), 2),
    ):
        assert dataset.count(where) == count_rows(dataset.snapshot(), where, method=Method.DUCKDB) == count


@pytest.mark.slow(except_every=2)
@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (col("n") < col("place.city"), "One holds whole numbers, the other text"),
        (
            col("n").is_in([1, 2]) & col("place.city").contains(col("n")),
            "cannot be given column 'n'.*taken by: eq",
        ),
        (col("place") == 5, "'eq' does not fit column 'place'"),
        (col("tags").has("x"), "'x' is not a number"),
        (col("tags").has_size(-1), "fewer than 0"),
        (col("tags").has_size(1.5), "whole numbers"),
        (col("tags").elem_match(5), "condition on the items"),
        (col("n").mod(0, 1), "cannot be divided by 0"),
        (col("n").mod(2.5, 1), "whole numbers"),
        (col("n").has_type("numbr"), "Did you mean 'number'"),
        (col("n").has_type(), "asked for no type"),
        (col("n") == (col("n") > 1), "cannot be given a condition"),
    ],
)
def test_what_does_not_fit_is_refused(worn: tuple[Table, list[Row]], tree: Filter, reason: str) -> None:
    with pytest.raises(BadFilter, match=reason):
        worn[0].count(tree)


def test_a_misspelt_field_of_an_item_names_the_one_meant(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", [{"people": [{"name": "Ada"}]}])
        with pytest.raises(UnknownColumn, match=r"an item of 'people' has no column 'nme'.*'name'"):
            table.count(col("people").elem_match(col("nme") == "Ada"))
        assert table.count({"people": {"$elemMatch": {"name": "Ada"}}}) == 1
        assert table.delete(where={"people": {"$size": 1}}).deleted == 1


def test_two_fields_of_one_name_are_refused_but_read_as_a_whole(tmp_path: Path) -> None:
    twins = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(pa.table({"s": twins}), tmp_path / "rows.parquet")
    rows = open_dataset(tmp_path / "rows.parquet")
    questions: list[Callable[[], object]] = [
        lambda: rows.count(col("s.x") == 1),
        lambda: rows.read(["s.x"]),
        lambda: rows.read(flatten=True),
    ]
    for ask in questions:
        with pytest.raises(BadData, match="two fields called 'x'"):
            ask()
    assert rows.read(["s"]).column("s").combine_chunks().flatten()[1].to_pylist() == [2]
