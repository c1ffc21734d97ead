"""The work that a filter needs once for all rows is not repeated for each block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.arrow.arrays import from_numpy
from lamella.core.errors import Cancelled
from lamella.core.filters import bind, mask, parse, to_sql
from lamella.core.filters import to_arrow as operands
from lamella.core.filters.expr import predicates
from lamella.core.filters.to_arrow import ROWS_AT_ONCE, items_of
from lamella.core.jobs import Job
from lamella.core.query.expressions import col

ROWS = 3 * ROWS_AT_ONCE


def test_many_values_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Any] = []
    real = operands.narrow_values
    monkeypatch.setattr(
        operands, "narrow_values", lambda values, *ends: (requests.extend(values), real(values, *ends))[1]
    )
    rows = pa.table({"n": from_numpy(np.arange(ROWS))})
    expected = list(range(0, ROWS, 1000))
    actual = mask(bind(col("n").is_in(expected), rows.schema, "rows"), rows)
    assert np.flatnonzero(np.asarray(actual)).tolist() == expected
    assert requests == expected


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)])
def test_a_block_of_lists_has_its_own_items_alone(kind: pa.DataType) -> None:
    lists = pa.array([[number, -number] for number in range(10)], kind)[4:7]
    items, starts, stops = items_of(lists)
    assert items.to_pylist() == [4, -4, 5, -5, 6, -6]
    assert (starts.tolist(), stops.tolist()) == ([0, 2, 4], [2, 4, 6])


def test_distinct_values_that_outnumber_the_rows_are_not_all_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    tested: list[int] = []
    real = operands.ArrowOperand.contains
    monkeypatch.setattr(
        operands.ArrowOperand, "contains", lambda x, text: (tested.append(len(x.array)), real(x, text))[1]
    )
    words = pa.DictionaryArray.from_arrays(
        from_numpy(np.array([3, 1], np.int32)), pa.array(["a", "b", "ab", "c"])
    )
    rows = pa.table({"word": words})
    assert mask(bind(col("word").contains("b"), rows.schema, "rows"), rows).to_pylist() == [False, True]
    assert tested == [2]


def test_values_of_one_column_are_asked_for_together() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string()), ("ok", pa.bool_())])
    for apart, together in [
        ("a = 1 or b = 'x' or a in (2, 3) or a = 1.5", "a in (1, 2, 3, 1.5) or b = 'x'"),
        ("a != 1 and b != 'x' and a not in (2)", "a not in (1, 2) and b != 'x'"),
        ("ok = true or ok = false or a = 1", "ok in (true, false) or a = 1"),
        ("b = 'x' or b = 'y' in any case or b = 'z'", "b in ('x', 'z') or b = 'y' in any case"),
    ]:
        assert bind(parse(apart), schema, "rows") == bind(parse(together), schema, "rows")
    for text in ("a = 1 and a = 2", "a != 1 or a != 2", "a = 1 or a > 2"):
        bound = bind(parse(text), schema, "rows")
        assert [p.operator for p in predicates(bound)] == [p.operator for p in predicates(parse(text))]


@pytest.mark.slow
def test_a_thousand_conditions_are_answered_by_either_engine() -> None:
    rows = pa.table({"a": from_numpy(np.arange(9_000)), "b": [f"x{number % 7}" for number in range(9_000)]})
    where = " or ".join(f"a = {number} and b like 'x{number % 2}%'" for number in range(0, 9_000, 9))
    bound = bind(parse(where), rows.schema, "rows")
    sql = to_sql(bound, {"a": "a", "b": "b"}).sql("duckdb")
    with duckdb.connect() as engine:
        engine.register("rows", rows)
        actual = [a for (a,) in engine.sql(f"SELECT a FROM rows WHERE {sql} ORDER BY a").fetchall()]
    assert actual == np.flatnonzero(np.asarray(mask(bound, rows))).tolist()
    assert actual == [number for number in range(0, 9_000, 9) if number % 7 == number % 2]


class Impatient(Job):
    """Cancelled as soon as the work asks for the first time."""

    def check(self) -> None:
        super().check()
        self.cancel()


def test_a_filter_is_cancelled_between_its_conditions(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", {"a": [1, 2, 3]})
        with pytest.raises(Cancelled):
            table.count("a > 1 and a < 3", job=Impatient())
