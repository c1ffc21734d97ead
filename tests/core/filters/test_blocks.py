"""What a filter has to do for all rows is not done again for each block of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.arrays import from_numpy
from core.filters import arrow_operand as operands
from core.filters import bind, col, mask
from core.filters.arrow_lists import items_of
from core.filters.to_arrow import ROWS_AT_ONCE

ROWS = 3 * ROWS_AT_ONCE


def test_many_values_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    real = operands.narrow
    monkeypatch.setattr(
        operands, "narrow", lambda how, value, *ends: (asked.append(value), real(how, value, *ends))[1]
    )
    rows = pa.table({"n": from_numpy(np.arange(ROWS))})
    wanted = list(range(0, ROWS, 1000))
    found = mask(bind(col("n").is_in(wanted), rows.schema, "rows"), rows)
    assert np.flatnonzero(np.asarray(found)).tolist() == wanted
    assert asked == wanted


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
