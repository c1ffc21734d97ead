"""Rows are found by an index, masks or DuckDB: the same rows, and `explain` names what really ran."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, agg, col
from lamella.core.filters import Filter
from lamella.core.query import find
from lamella.core.query.explain import Explain
from lamella.core.query.find import Method, RowSearch, count_rows, find_rows
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.cache import cache
from lamella.core.scan.snapshot import SortKey
from lamella.core.store import Table

ROWS = 3_000
WHERE = [
    col("n") == 7,
    col("n").between(100, 130) & (col("word") != "w3"),
    (col("n") < 20) | (col("n") > 480),
    col("word").contains("4"),
    col("x").is_null() | (col("x") > 1.5),
    ~(col("n") == 7),
]
SORTS: list[tuple[SortKey, ...]] = [
    (),
    (SortKey("n"),),
    (SortKey("word", True), SortKey("n")),
    (SortKey("x", True),),
]
FINDS = [Method.INDEX, Method.MASKS, Method.DUCKDB]


def made(store: Store, name: str = "t") -> Table:
    """Rows in files, changed, deleted and pending ones."""
    random = np.random.default_rng(3)
    table = store.create_table(
        name,
        {
            "n": pa.array(random.integers(0, 500, ROWS)),
            "word": pa.array([f"w{n}" for n in random.integers(0, 50, ROWS)]),
            "x": pa.array(
                [None if n % 11 == 0 else float(x) for n, x in enumerate(random.normal(size=ROWS))]
            ),
        },
    )
    table.delete(ids=range(5, ROWS, 70))
    table.update([{"_id": n, "n": 7, "word": None} for n in range(1, ROWS, 303)])
    table.insert([{"n": 7, "word": "w4", "x": None}, {"n": 481, "word": None, "x": 2.0}])
    return table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    with Store.open(tmp_path_factory.mktemp("find") / "s") as store:
        table = made(store)
        table.indexes.create("n")
        yield table


@pytest.fixture
def unindexed(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "s") as store:
        yield made(store)


@dataclass
class Use:
    """The methods that gave an answer while it is installed."""

    methods: set[Method] = field(default_factory=set)

    def noting(self, method: Method, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any, **named: Any) -> Any:
            answer = call(*arguments, **named)
            if answer is not None:
                self.methods.add(method)
            return answer

        return noted


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    methods = Use()
    monkeypatch.setattr(find, "find_by_index", methods.noting(Method.INDEX, find.find_by_index))
    monkeypatch.setattr(find, "mask", methods.noting(Method.MASKS, find.mask))
    monkeypatch.setattr(find, "cursor", methods.noting(Method.DUCKDB, find.cursor))
    find.forget()
    return methods


def expected(table: Table, where: Filter, sort: tuple[SortKey, ...]) -> list[int]:
    return find_rows(table.snapshot(), where, sort, method=Method.DUCKDB).tolist()


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("sort", SORTS, ids=str)
@pytest.mark.parametrize("where", WHERE, ids=str)
def test_every_method_finds_the_same_rows(table: Table, where: Filter, sort: tuple[SortKey, ...]) -> None:
    snapshot = table.snapshot()
    expected_positions = expected(table, where, sort)
    assert expected_positions
    for method in FINDS:
        try:
            search = RowSearch(snapshot, where, sort, method=method)
        except ValueError:
            assert method is Method.INDEX
            continue
        assert search.run().positions.tolist() == expected_positions
        assert search.count() == count_rows(snapshot, where) == len(expected_positions)
        start = expected_positions[len(expected_positions) // 2]
        if not sort:
            behind = RowSearch(snapshot, where, first=3, start=start, method=method).run().positions
            assert (
                behind[:3].tolist() == [position for position in expected_positions if position >= start][:3]
            )
    assert find_rows(snapshot, where, sort).tolist() == expected_positions
    assert find_rows(snapshot, where, sort, first=4)[:4].tolist() == expected_positions[:4]


def view_of(table: Table, where: Filter, sort: list[str]) -> Explain:
    keys = tuple(SortKey(name.removeprefix("-"), name.startswith("-")) for name in sort)
    return View(table.snapshot(), ScanQuery(where=where, sort=keys)).explain


def explain_of(table: Table, where: Filter, sort: list[str]) -> Explain:
    return table.explain(where=where, sort=sort)


@pytest.mark.parametrize("explained", [view_of, explain_of])
@pytest.mark.parametrize(
    ("where", "sort", "method"),
    [
        (col("n") == 7, [], Method.INDEX),
        (col("n") == 7, ["-word"], Method.INDEX),
        (col("word") == "w4", [], Method.MASKS),
        (col("word") == "w4", ["-x"], Method.MASKS),
        (None, ["word"], Method.DUCKDB),
    ],
    ids=str,
)
def test_explain_names_what_ran(
    table: Table,
    use: Use,
    explained: Callable[..., Explain],
    where: Filter | None,
    sort: list[str],
    method: Method,
) -> None:
    (strategy,) = explained(table, where, sort).strategies
    assert strategy.method is method and use.methods == {method}
    use.methods.clear()
    table.read(where=where, sort=sort)
    assert use.methods == {method}


def test_large_tables_are_searched_by_duckdb(
    unindexed: Table, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "MOST_CACHED_ROWS", ROWS // 2)
    explanation = unindexed.explain(where=col("n") == 7)
    assert str(explanation.strategies[0]) == f"DuckDB: there are more than {ROWS // 2:,} rows"
    assert unindexed.count(col("n") == 7) == explanation.rows
    assert use.methods == {Method.DUCKDB}


def test_many_rows_that_masks_find_are_sorted_by_duckdb(
    unindexed: Table, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "FEW_TO_ORDER", 10)
    explanation = unindexed.explain(where=col("n") > 7, sort=["word"])
    assert "DuckDB: more than 10 rows that meet the filter are sorted" in str(explanation)
    assert use.methods == {Method.MASKS, Method.DUCKDB}


def test_texts_are_decoded_the_second_time_that_they_are_searched(
    unindexed: Table, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "MANY_TEXTS", 1_000)
    where, limit = col("word") == "w4", cache.max_bytes
    cache.resize(0)
    cache.resize(limit)
    used = []
    for _ in range(3):
        use.methods.clear()
        actual = RowSearch(unindexed.snapshot(), where).run()
        assert use.methods == {actual.strategy.method}
        used.append(actual.strategy.method)
        assert actual.positions.tolist() == expected(unindexed, where, ())
    assert used == [Method.DUCKDB, Method.MASKS, Method.MASKS]


def test_texts_that_find_no_room_are_not_decoded_for_every_search(
    unindexed: Table, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "MANY_TEXTS", 1_000)
    snapshot, limit = unindexed.snapshot(), cache.max_bytes
    cache.resize(0)
    try:
        methods = [RowSearch(snapshot, col("word") == "w4").strategy.method for _ in range(4)]
    finally:
        cache.resize(limit)
    assert methods == [Method.DUCKDB, Method.MASKS, Method.DUCKDB, Method.MASKS]


def test_parts_of_texts_that_repeat_are_compared_by_duckdb(
    unindexed: Table, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in (col("word").contains("4"), col("word").equals("W4", ignore_case=True)):
        assert RowSearch(unindexed.snapshot(), where).strategy.method is Method.MASKS
    monkeypatch.setattr(find, "MANY_TEXTS", 1_000)
    for where in (col("word").contains("4"), col("word").equals("W4", ignore_case=True)):
        for _ in range(3):
            assert unindexed.count(where) > 0
    assert use.methods == {Method.DUCKDB}


def test_numbers_are_decoded_at_once(unindexed: Table, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MANY_TEXTS", 1)
    unindexed.count(col("x") > 0)
    assert use.methods == {Method.MASKS}


def test_a_cached_order_is_named(unindexed: Table, use: Use) -> None:
    unindexed.read(sort=["-n"], limit=5)
    unindexed.read(sort=["-n"], limit=5, offset=5)
    use.methods.clear()
    explanation = unindexed.explain(sort=["-n"], limit=5, offset=10)
    assert (explanation.strategies[0].method, explanation.rows, explanation.row_groups_read) == (
        Method.ORDER,
        5,
        0,
    )
    assert unindexed.read(["n"], sort=["-n"], limit=5, offset=10)["n"].to_pylist()
    assert use.methods == set()


def test_rows_in_their_own_order_are_not_searched(unindexed: Table, use: Use) -> None:
    for explanation in (
        unindexed.explain(limit=10, offset=20),
        View(unindexed.snapshot()).explain,
        View(unindexed.snapshot(), ScanQuery(limit=10, offset=20)).explain,
    ):
        assert explanation.strategies == (find.OWN_ORDER,)
    assert use.methods == set()


def test_a_page_of_a_limited_view_is_where_it_was(unindexed: Table) -> None:
    view = View(unindexed.snapshot(), ScanQuery(limit=10, offset=20))
    assert view.page(3, 99).equals(unindexed.read(limit=7, offset=23).select(view.schema.names))


def test_pages_are_found_by_masks_too(unindexed: Table, use: Use) -> None:
    where = col("word") == "w4"
    first = unindexed.page(4, where=where)
    second = unindexed.page(4, after=first.next, where=where)
    assert use.methods == {Method.MASKS}
    rows = [*first.rows["_id"].to_pylist(), *second.rows["_id"].to_pylist()]
    assert rows == unindexed.read(["_id"], where=where, limit=8)["_id"].to_pylist()


def test_statements_name_an_index_or_the_engine(table: Table, use: Use) -> None:
    def methods(where: Filter) -> list[Method]:
        grouped = table.where(where).group_by("word").agg(rows=agg.count())
        return [strategy.method for strategy in grouped.explain().strategies]

    assert methods(col("n") == 7) == [Method.INDEX] and use.methods == {Method.INDEX}
    use.methods.clear()
    assert methods(col("word") == "w4") == [Method.DUCKDB] and use.methods == set()
    assert table.group_by("word").agg(rows=agg.count()).explain().strategies == (find.READ_WHOLE,)


def test_a_profile_finds_its_rows_by_an_index(table: Table, use: Use) -> None:
    profile = table.profile("word", where=col("n") == 7)
    assert use.methods == {Method.INDEX}
    assert profile.rows == table.count(col("n") == 7)


def test_an_index_and_statistics_together_leave_out_row_groups(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", {"n": list(range(10_000)), "k": [n * 7 % 100 for n in range(10_000)]})
        table.maintenance.compact(1_000)
        table.indexes.create("k")
        both = (col("k") == 7) & col("n").between(2_500, 3_499)
        explanation = table.explain(where=both)
        assert explanation.strategies[0].method is Method.INDEX
        assert (explanation.row_groups_read, explanation.row_groups_total) == (2, 10)
        assert table.read(["n"], both)["n"].to_pylist() == list(range(2_501, 3_500, 100))
        assert table.explain(where=(col("k") == 7) & (col("n") < 0)).row_groups_read == 0
        assert table.explain(where=(col("k") == 7) & (col("n") != 5)).row_groups_read == 10
        table.update([{"_id": 9_001, "n": 2_600}])
        assert table.read(["n"], both, sort=["n"])["n"].to_pylist()[:3] == [2_501, 2_600, 2_601]
        assert table.explain(where=both).row_groups_read == 3, "a pending change is in none of the statistics"
