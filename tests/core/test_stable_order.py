"""Numbers of every kind come in order, equal ones as they stood."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from core.stable_order import comparable, stable_order

DTYPES = ["int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]


@given(st.sampled_from(DTYPES).flatmap(lambda name: arrays.arrays(name, st.integers(0, 60))))
def test_numbers_of_any_kind_are_ordered_as_python_orders_them(numbers: np.ndarray) -> None:
    values = numbers.tolist()
    expected = sorted(range(len(values)), key=lambda i: (math.isnan(values[i]), values[i], i))
    ranked = [i for i in expected if not math.isnan(values[i])]
    order = stable_order(comparable(numbers)).tolist()
    assert order[: len(ranked)] == ranked
    assert order[len(ranked) :] == [i for i, value in enumerate(values) if math.isnan(value)]


@pytest.mark.parametrize("different", [3, 300, 100_000], ids=["few", "some", "nearly all"])
def test_numbers_that_differ_only_in_their_last_bits_are_told_apart(different: int) -> None:
    random = np.random.default_rng(different)
    near = np.nextafter(1e300, 2e300) - 1e300
    numbers = np.concatenate([1e300 + near * random.integers(0, different, 100_000), [-1e300, 0.0]])
    order = stable_order(comparable(numbers))
    assert np.array_equal(order, np.argsort(numbers, kind="stable"))


def test_zero_has_no_sign_and_nan_is_the_greatest_whatever_its_sign() -> None:
    numbers = np.array([0.0, -np.nan, -0.0, np.inf, np.nan, 0.0, -np.inf])
    assert stable_order(comparable(numbers)).tolist() == [6, 0, 2, 5, 3, 1, 4]


def test_nothing_and_one_number_are_in_order() -> None:
    assert stable_order(comparable(np.empty(0))).tolist() == []
    assert stable_order(comparable(np.array([7]))).tolist() == [0]
