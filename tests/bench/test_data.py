from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.workloads.model import Pick
from lamella.core.bench.workloads.table_rows import (
    BLOCK_ROWS,
    LARGEST_VALUE,
    blocks,
    checksum,
    pick_rows,
    python_rows,
    right_answer,
    rows_at,
)
from lamella.core.bench.workloads.tables import (
    CELL_PICK,
    DELETE_PICK,
    FLOATS,
    GET_PICK,
    NEEDLE,
    PARTIAL,
    SCATTERED_UPDATES,
    SINGLE,
    SMALL,
    UPDATE_ALL,
    UPDATE_PICK,
)

small_tables = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 9)), max_size=8)


def digest(rows: list[tuple[int, ...]]) -> str:
    return checksum([np.array(rows, np.int64).reshape(len(rows), -1).T]) if rows else checksum([])


def test_a_larger_size_begins_with_the_smaller_one() -> None:
    assert python_rows(SMALL, 30)[:7] == python_rows(SMALL, 7)
    assert python_rows(SMALL, BLOCK_ROWS + 2)[:BLOCK_ROWS] == python_rows(SMALL, BLOCK_ROWS)


def test_another_version_has_the_same_keys_and_other_values() -> None:
    first, second = python_rows(UPDATE_ALL, 50), python_rows(UPDATE_ALL, 50, version=1)
    assert [row["id"] for row in first] == [row["id"] for row in second] == list(range(50))
    assert all(a != b for a, b in zip(first, second, strict=True))


def test_the_columns_are_named_and_bounded_as_published() -> None:
    row = python_rows(SMALL, 1)[0]
    assert list(row) == [f"col{number}" for number in range(100)]
    assert list(python_rows(UPDATE_ALL, 1)[0]) == ["id", *row]
    values = np.concatenate([np.stack(list(block.values())) for block in blocks(SMALL, 500)])
    assert values.min() >= 0 and values.max() <= LARGEST_VALUE


@pytest.mark.slow
@given(small_tables, st.randoms(use_true_random=False))
def test_the_checksum_does_not_care_for_the_order_of_rows(rows: list[tuple[int, int]], chance) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert digest(shuffled) == digest(rows)


@pytest.mark.slow
@given(small_tables.filter(bool), st.data())
def test_the_checksum_sees_one_changed_value(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    changed = [*rows[:place], (rows[place][0], rows[place][1] + 1), *rows[place + 1 :]]
    assert digest(changed) != digest(rows)


def test_the_checksum_sees_swapped_columns_and_values_swapped_between_rows() -> None:
    assert digest([(1, 2), (3, 4)]) != digest([(2, 1), (4, 3)])
    assert digest([(1, 2), (3, 4)]) != digest([(1, 4), (3, 2)])
    assert digest([(1, 2)]) != digest([(1, 2), (1, 2)])


def test_the_checksum_does_not_care_how_rows_are_cut_into_blocks() -> None:
    rows = np.arange(60, dtype=np.int64).reshape(3, 20)
    assert checksum([rows[:, :7], rows[:, 7:]]) == checksum([rows])


@pytest.mark.slow
def test_the_expected_query_is_the_filter_in_plain_python() -> None:
    size = 20_000
    hits = [row for row in python_rows(SMALL, size) if row["col1"] > 100 and row["col97"] < 1000]
    assert 0 < len(hits) < size
    query = SMALL.operation("query")
    assert right_answer(SMALL, query, size) == digest([tuple(row.values()) for row in hits])


def test_every_operation_expects_what_its_steps_leave_behind() -> None:
    versions = {operation.id: operation.answer.version for operation in UPDATE_ALL.operations}
    assert versions["create"] == versions["read"] == versions["index"] == 0
    assert len({versions[name] for name in ("create", "update", "update_by_row_id")}) == 3
    assert versions["vacuum"] == versions["update_by_row_id"]


def test_picked_rows_are_many_different_ones_but_never_over_half() -> None:
    for pick in (GET_PICK, UPDATE_PICK, CELL_PICK, DELETE_PICK):
        numbers = pick_rows(pick, SINGLE, 1000).tolist()
        assert len(set(numbers)) == 100 and set(numbers) <= set(range(1000))
        assert numbers != sorted(numbers)
    assert len(pick_rows(SCATTERED_UPDATES, SINGLE, 500)) == 250
    assert pick_rows(DELETE_PICK, SINGLE, 1).tolist() == [0]
    assert len(pick_rows(Pick("some"), PARTIAL, 7)) == 7
    assert pick_rows(Pick("some"), PARTIAL, 7).max() > 7


@pytest.mark.slow
def test_rows_at_scattered_places_are_those_of_the_whole() -> None:
    size = 2 * BLOCK_ROWS + 5
    numbers = np.array([size - 1, 3, BLOCK_ROWS, 4, BLOCK_ROWS - 1])
    all_rows = python_rows(UPDATE_ALL, size, version=1)
    assert rows_at(UPDATE_ALL, size, 1, numbers) == [all_rows[number] for number in numbers]


def test_the_right_answer_after_single_changes_is_the_plain_python_one() -> None:
    rows, size = python_rows(SINGLE, 300), 300
    first_version, cells = python_rows(SINGLE, size, version=1), python_rows(SINGLE, size, version=2)
    for number in pick_rows(UPDATE_PICK, SINGLE, size):
        rows[number] = first_version[number]
    assert right_answer(SINGLE, SINGLE.operation("update_one"), size) == digest(
        [(*row.values(),) for row in rows]
    )
    for number in pick_rows(CELL_PICK, SINGLE, size):
        rows[number] = rows[number] | {"col1": cells[number]["col1"]}
    assert right_answer(SINGLE, SINGLE.operation("update_cell"), size) == digest(
        [(*r.values(),) for r in rows]
    )
    gone = set(pick_rows(DELETE_PICK, SINGLE, size).tolist())
    left = [tuple(row.values()) for number, row in enumerate(rows) if number not in gone]
    assert right_answer(SINGLE, SINGLE.operation("delete_one"), size) == digest(left)


@pytest.mark.slow
def test_there_is_one_needle_and_its_place_depends_on_the_size() -> None:
    places = set()
    for size in (10, 100, 1000, 20_000):
        actual = [n for n, row in enumerate(python_rows(NEEDLE, size)) if row["col0"] == -1]
        assert len(actual) == 1
        places.add(actual[0] / size)
        assert right_answer(NEEDLE, NEEDLE.operation("find"), size) == digest([(-1,)])
    assert len(places) > 1


def test_floats_are_random_python_floats_from_0_to_below_1() -> None:
    rows = python_rows(FLOATS, 2_000)
    values = [value for row in rows for value in row.values()]
    assert all(type(value) is float and 0 <= value < 1 for value in values)
    assert len(set(values)) == len(values) == 5 * 2_000
    assert rows[:7] == python_rows(FLOATS, 7)
    assert python_rows(FLOATS, 7, version=1) != rows[:7]


@given(st.floats(allow_nan=False))
def test_floats_are_compared_to_the_last_bit(value: float) -> None:
    assert checksum([[np.array([value])]]) == checksum([[np.array([float(repr(value))])]])
    beside = np.nextafter(value, -np.inf if value > 0 else np.inf)
    assert checksum([[np.array([beside])]]) != checksum([[np.array([value])]])


def test_minus_zero_counts_as_zero_and_every_nan_as_the_same_one() -> None:
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert checksum([[np.array([-0.0])]]) == checksum([[np.array([0.0])]])
    assert checksum([[other_nan]]) == checksum([[np.array([np.nan])]])
    assert checksum([[np.array([np.nan])]]) != checksum([[np.array([0.0])]])


def test_the_small_scale_is_small_for_every_table_and_has_one_repeat() -> None:
    for workload in (workload for workload in WORKLOADS.values() if workload.family == "table"):
        small = workload.at_small_scale()
        sizes = [small.size(rows) for rows in small.small_rows]
        assert max(sizes) <= 10_000 and small.small_repeats == 1
        assert all(rows <= small.size(rows) for rows in small.small_rows)
        assert workload.published_rows
