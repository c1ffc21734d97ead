"""Numbers of every kind come in order, equal ones as they stood."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lamella.core.arrow import sorted_ids as module
from lamella.core.arrow.sorted_ids import comparable, in_key_order, stable_order

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


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in {"LARGEST_SORT": 8, "BLOCK": 4, "RUNS_AT_ONCE": 2}.items():
        monkeypatch.setattr(module, name, most)


KEYS = st.lists(
    st.builds(lambda high, low: high << 60 | low, st.sampled_from([0, 1, 8]), st.integers(0, 40)), max_size=80
)


@pytest.mark.usefixtures("small_pieces")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=KEYS)
def test_an_order_made_piece_by_piece_is_the_same(keys: list[int]) -> None:
    """Runs of equal highest bits are shorter and longer than a piece."""
    expected = sorted(range(len(keys)), key=lambda place: (keys[place], place))
    assert stable_order(np.array(keys, np.uint64)).tolist() == expected


@pytest.mark.usefixtures("small_pieces")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.one_of(KEYS, st.lists(st.integers(0, 9)), st.lists(st.integers(0, 2**64 - 1))),
    first=st.sampled_from([0, 7, 2**40]),
    gaps=st.sampled_from([1, 3, 2**50]),
)
def test_ids_come_in_the_order_of_their_keys(keys: list[int], first: int, gaps: int) -> None:
    """This holds even if key and id do not fit into one number, and if ids count on."""
    ids = first + gaps * np.arange(len(keys), dtype=np.int64)
    expected = sorted(range(len(keys)), key=lambda place: (keys[place], place))
    actual = in_key_order(ids, np.array(keys, np.uint64))
    assert actual.dtype == np.int64 and actual.tolist() == ids[expected].tolist()


@pytest.mark.usefixtures("small_pieces")
def test_what_a_check_raises_ends_it_wherever_it_is() -> None:
    keys = np.random.default_rng(7).integers(0, 40, 100).astype(np.uint64) | np.uint64(1 << 63)
    keys[:50] &= np.uint64(63)
    called: list[int] = []
    stable_order(keys, lambda: called.append(0))
    assert len(called) > 50
    for last in range(len(called)):
        left = iter(range(last))
        with pytest.raises(StopIteration):
            stable_order(keys, lambda left=left: next(left))  # type: ignore[misc]


def test_zero_has_no_sign_and_nan_is_the_greatest_whatever_its_sign() -> None:
    numbers = np.array([0.0, -np.nan, -0.0, np.inf, np.nan, 0.0, -np.inf])
    assert stable_order(comparable(numbers)).tolist() == [6, 0, 2, 5, 3, 1, 4]


def test_nothing_and_one_number_are_in_order() -> None:
    assert stable_order(comparable(np.empty(0))).tolist() == []
    assert stable_order(comparable(np.array([7]))).tolist() == [0]
