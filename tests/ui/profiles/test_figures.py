"""The order of columns by a figure, and what of each is exported, for any types and odd values."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from lamella.core.query.profile import ColumnProfile, profile
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui.profiles.figures import Figure, ProfileRow, export_table, matches, sort_rows


def rows_of(**columns: pa.Array) -> list[ProfileRow]:
    snapshot = snapshot_of_rows(pa.table(columns), "t")
    return [ProfileRow(name, array.type, profile(snapshot, name)) for name, array in columns.items()]


def test_order_by_extremes_takes_numbers_then_times_then_texts_and_what_is_missing_last():
    rows = rows_of(
        text=pa.array(["b"]),
        day=pa.array([dt.date(2024, 1, 1)]),
        nothing=pa.array([None], pa.int64()),
        number=pa.array([3]),
        moment=pa.array([dt.datetime(2023, 1, 1)], pa.timestamp("us")),
        nan=pa.array([float("nan")]),
    )
    up = [row.name for row in sort_rows(rows, Figure.MAX, False)]
    down = [row.name for row in sort_rows(rows, Figure.MAX, True)]
    assert up[:4] == ["number", "moment", "day", "text"] and set(up[4:]) == {"nothing", "nan"}
    assert down[:4] == ["text", "day", "moment", "number"] and down[4:] == up[4:]


def test_numbers_that_are_no_amounts_have_no_separators_and_frequent_ones_a_share():
    year, pop = rows_of(year=pa.array([1982, 1982, 2007]), pop=pa.array([1982, 1982, 2007]))
    assert [row.text(Figure.MAX) for row in (year, pop)] == ["2007", "2,007"]
    assert year.text(Figure.TOP) == "1982 · 67%" and year.text(Figure.MEAN) == "1990.33"
    assert pop.text(Figure.TOP) == "1,982 · 67%"


def test_columns_that_are_not_read_yet_come_last_whatever_the_order():
    rows = [ProfileRow("a", pa.int64()), *rows_of(b=pa.array([1, 2]), c=pa.array([1, 1]))]
    assert [row.name for row in sort_rows(rows, Figure.DISTINCT, False)] == ["c", "b", "a"]
    assert [row.name for row in sort_rows(rows, Figure.DISTINCT, True)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([], pa.int64()),
        pa.array([None, None], pa.null()),
        pa.array([[1], None], pa.list_(pa.int64())),
        pa.array([{"x": 1}]),
        pa.array([b"\x00\xff"]),
        pa.array([True, None]),
        pa.array([float("inf"), float("nan")]),
        pa.array([dt.timedelta(days=1)]),
        pa.array([dt.time(1, 2)]),
        pa.array(["", " ", "\u202e"]),
        pa.array([2**63 - 1, -(2**63)]),
    ],
)
def test_any_column_has_texts_an_order_and_a_row_to_export(array):
    rows = rows_of(x=array)
    assert all(isinstance(rows[0].text(figure), str) for figure in Figure)
    for figure in Figure:
        assert sort_rows(rows, figure, True) == rows
    assert export_table(rows).num_rows == 1


def test_search_is_by_name_and_type_in_any_case():
    row = ProfileRow("Arrival", pa.timestamp("us"))
    assert matches(row, ["arr", "timestamp"]) and not matches(row, ["int"])


def test_row_without_figures_is_not_exported():
    assert export_table([ProfileRow("a", pa.int64(), None, "why")]).num_rows == 0
    assert isinstance(rows_of(a=pa.array([1]))[0].profile, ColumnProfile)
