"""Sets of ascending numbers answer as Python's sets do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.arrow.sorted_ids import among, distinct, union, without

SETS = st.sets(st.integers(-40, 40), max_size=20)


def ascending(values: set[int]) -> np.ndarray:
    return np.array(sorted(values), np.int64)


@given(SETS, SETS, SETS)
def test_union_and_difference(a: set[int], b: set[int], c: set[int]) -> None:
    assert union(*map(ascending, (a, b, c))).tolist() == sorted(a | b | c)
    assert without(ascending(a), ascending(b)).tolist() == sorted(a - b)


@given(st.lists(st.integers(-40, 40)), SETS)
def test_membership_in_any_order(values: list[int], a: set[int]) -> None:
    assert among(np.array(values, np.int64), ascending(a)).tolist() == [value in a for value in values]


@given(st.lists(st.integers(-5, 5), max_size=20))
def test_distinct_values_are_each_there_once(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
