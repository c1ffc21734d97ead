"""Comparisons of random tables, against plain Python: added, removed and changed rows, the positions of
removed rows among the others, and the values of cells.

LAMELLA_LONG_RUNS=3000 runs it longer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella.core.jobs import Job
from lamella.core.query.comparison import ComparedRows, RowChange, compare, read_differences
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows
from tests.slow_tests import examples

RUNS = examples(20)
SCHEMA = pa.schema(
    [("k", pa.int64()), ("word", pa.string()), ("x", pa.float64()), ("l", pa.list_(pa.int8()))]
)
FLOATS = [0.0, -0.0, 1.0, 1.05, 2.5, math.nan, math.inf]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.none() | st.integers(0, 12),
            "word": st.none() | st.sampled_from(["", "a", "A", " a ", "b  c", "b c"]),
            "x": st.none() | st.sampled_from(FLOATS),
            "l": st.none() | st.lists(st.none() | st.integers(0, 2), max_size=2),
        }
    ),
    max_size=14,
)
Row = dict[str, Any]


def source(rows: list[Row], name: str) -> SnapshotSource:
    """The rows in two segments, if there are enough."""
    table = pa.Table.from_pylist(rows, SCHEMA)
    return SnapshotSource(snapshot_of_rows(table, name))


def folded(text: str, case: bool, space: bool) -> str:
    text = " ".join(text.split()) if space else text
    return text.lower() if case else text


def equal(a: Any, b: Any, tolerance: float, case: bool, space: bool) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance
    if isinstance(a, str):
        return folded(a, case, space) == folded(b, case, space)
    return bool(a == b)


def paired(before: list[Row], after: list[Row], by_key: bool) -> dict[int, int]:
    """The number of the matching earlier row by that of each later row, if there is one."""
    if not by_key:
        return {n: n for n in range(min(len(before), len(after)))}
    waiting = defaultdict(list)
    for number, row in enumerate(before):
        waiting[row["k"]].append(number)
    return {n: waiting[row["k"]].pop(0) for n, row in enumerate(after) if waiting[row["k"]]}


@settings(max_examples=RUNS, deadline=None)
@given(
    ROWS, ROWS, st.booleans(), st.sampled_from([0.0, 0.1]), st.booleans(), st.booleans(), st.integers(1, 5)
)
def test_a_comparison_is_what_plain_python_says(before, after, by_key, tolerance, case, space, size):
    actual = compare(
        source(before, "before"), source(after, "after"), "k" if by_key else [],
        tolerance=tolerance, ignore_case=case, ignore_space=space,
    )  # fmt: skip
    partner = paired(before, after, by_key)
    cells = {
        number: {
            name
            for name in SCHEMA.names
            if not equal(before[number_before][name], after[number][name], tolerance, case, space)
        }
        for number, number_before in partner.items()
    }
    changed = [number for number, names in sorted(cells.items()) if names]
    assert actual.changed.tolist() == changed
    assert actual.changed_before.tolist() == [partner[number] for number in changed]
    assert actual.added.tolist() == [n for n in range(len(after)) if n not in partner]
    gone = sorted(set(range(len(before))) - set(partner.values()))
    assert sorted(actual.removed.tolist()) == gone
    for column in actual.columns:
        assert column.rows == sum(column.name in names for names in cells.values())
        assert actual.rows_changed_in(column.name).tolist() == [n for n in changed if column.name in cells[n]]
    look_at_rows(ComparedRows(actual), before, after, partner, cells, size)
    table = read_differences(actual)
    assert table.num_rows == actual.num_rows
    words = table["_change"].to_pylist()
    assert words.count("removed") == len(gone) and words.count("changed") == len(changed)


def look_at_rows(
    rows: ComparedRows,
    before: list[Row],
    after: list[Row],
    partner: dict[int, int],
    cells: dict[int, set[str]],
    size: int,
) -> None:
    """Pages of any size have the later rows in order, and each removed row after the row it followed."""
    kinds, rows_shown, earlier = [], [], {}
    for offset in range(0, rows.num_rows, size):
        rows_shown += rows.page(offset, size).to_pylist()
        kinds += rows.kinds(offset, size).tolist()
        for name, cells_before in rows.cells_before(offset, size, SCHEMA.names).items():
            for place, value in zip(
                cells_before.places.tolist(), cells_before.values.to_pylist(), strict=True
            ):
                earlier[offset + place, name] = value
    later = [number for number, kind in enumerate(kinds) if kind != RowChange.REMOVED]
    assert len(later) == len(after)
    for number, row in zip(later, after, strict=True):
        assert told(rows_shown[number]) == told(row)
    gone = [rows_shown[number] for number, kind in enumerate(kinds) if kind == RowChange.REMOVED]
    lost = [row for number, row in enumerate(before) if number not in partner.values()]
    assert sorted(map(told, gone)) == sorted(map(told, lost))
    for number, after_row in zip(later, range(len(after)), strict=True):
        names = cells.get(after_row, set())
        assert {name for place, name in earlier if place == number} == names
        for name in names:
            assert repr(earlier[number, name]) == repr(before[partner[after_row]][name])
    assert rows.differences.tolist() == [n for n, kind in enumerate(kinds) if kind != RowChange.SAME]


def told(row: Row) -> str:
    """Compare texts, since NaN does not equal itself."""
    return repr(sorted(row.items()))


@settings(max_examples=RUNS // 3, deadline=None)
@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True))
def test_removed_rows_follow_the_row_they_followed(before, after):
    tables = [pa.table({"k": pa.array(keys, pa.int64())}) for keys in (before, after)]
    source_before, source_after = (SnapshotSource(snapshot_of_rows(table, "t")) for table in tables)
    rows = ComparedRows(compare(source_before, source_after, "k", job=Job()))
    keys_shown = rows.page(0, rows.num_rows)["k"].to_pylist()
    removed = [key for key, kind in zip(keys_shown, rows.kinds(0, rows.num_rows), strict=True)
               if kind == RowChange.REMOVED]  # fmt: skip
    assert sorted(removed) == sorted(set(before) - set(after))
    for key in removed:
        ahead = [k for k in before[: before.index(key)] if k in after]
        place = keys_shown.index(key) - 1
        while place >= 0 and keys_shown[place] in removed:
            place -= 1
        assert (keys_shown[place] if place >= 0 else None) == (ahead[-1] if ahead else None)
    for row in range(-1, rows.num_rows):
        behind = [n for n in rows.differences if n > row]
        assert rows.next_difference(row) == (behind[0] if behind else None)
        ahead = rows.differences[rows.differences < row]
        assert rows.previous_difference(row) == (ahead[-1] if len(ahead) else None)
    assert np.all(np.diff(rows.differences) > 0)
