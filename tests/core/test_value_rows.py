"""Values that Python takes for one another, and columns in whatever shape, come in unchanged."""

from __future__ import annotations

import copy
import datetime as dt
import enum
import subprocess
import sys
import uuid
from collections import OrderedDict
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lamella.core.arrow.from_python import to_table
from lamella.core.errors import BadData


class Whole(int):
    pass


class Word(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.StrEnum):
    RED = "red"


class Plain(enum.Enum):
    ONE = 1


NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
PARIS = NOON.astimezone(ZoneInfo("Europe/Paris"))
CASES = [
    ([1, 2.5, None], pa.float64(), [1.0, 2.5, None]),
    ([True, False, None], pa.bool_(), [True, False, None]),
    ([Whole(5), 6, Level.LOW], pa.int64(), [5, 6, 1]),
    ([Word("a"), "b", Colour.RED], pa.string(), ["a", "b", "red"]),
    ([np.int8(5), np.int64(6), 7], pa.int64(), [5, 6, 7]),
    ([np.float32(0.5), 1.5], pa.float64(), [0.5, 1.5]),
    ([np.bool_(True), False], pa.bool_(), [True, False]),
    ([np.str_("a")], pa.string(), ["a"]),
    ([2**63, 1], pa.decimal128(19, 0), [Decimal(2**63), Decimal(1)]),
    ([-(2**200)], pa.decimal256(61, 0), [Decimal(-(2**200))]),
    ([Decimal("1.1"), Decimal("22.333")], pa.decimal128(5, 3), [Decimal("1.100"), Decimal("22.333")]),
    ([NOON, PARIS], pa.timestamp("us", "UTC"), [NOON, NOON]),
    ([dt.time(1, 2, 3, 4)], pa.time64("us"), [dt.time(1, 2, 3, 4)]),
    ([dt.timedelta(days=-1)], pa.duration("us"), [dt.timedelta(days=-1)]),
    ([dt.datetime.min, dt.datetime.max], pa.timestamp("us"), [dt.datetime.min, dt.datetime.max]),
    ([uuid.UUID(int=5), None], pa.uuid(), [uuid.UUID(int=5), None]),
    ([b"\x00", bytearray(b"a"), memoryview(b"b")], pa.binary(), [b"\x00", b"a", b"b"]),
    ([[1], [], None, [2.5, None]], pa.list_(pa.float64()), [[1.0], [], None, [2.5, None]]),
    ([(1, 2), [3]], pa.list_(pa.int64()), [[1, 2], [3]]),
    ([np.array([1, 2]), np.array([3])], pa.list_(pa.int64()), [[1, 2], [3]]),
    ([np.zeros((1, 2))], pa.list_(pa.list_(pa.float64())), [[[0.0, 0.0]]]),
    ([[{"a": 1}, {"b": "x"}]], None, [[{"a": 1, "b": None}, {"a": None, "b": "x"}]]),
    ([OrderedDict(a=1)], pa.struct([("a", pa.int64())]), [{"a": 1}]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0])[:40])
@pytest.mark.parametrize("shape", ["rows", "columns", "late"])
def test_values_come_in_as_they_are(case: tuple, shape: str) -> None:
    values, kind, expected = case
    before = 0 if shape != "late" else 1_000
    column_values = [None] * before + values
    table = to_table(
        {"x": column_values} if shape == "columns" else [{"x": value} for value in column_values]
    )
    assert kind is None or table.schema.field("x").type == kind
    assert table.column("x").to_pylist()[before:] == expected


class Odd:
    def __repr__(self) -> str:
        return "something odd"


REFUSED = [
    ([1, "x"], 1),
    ([b"a", "x"], 1),
    ([NOON, NOON.replace(tzinfo=None)], 1),
    ([dt.time(1, tzinfo=dt.UTC)], 0),
    ([Decimal("NaN")], 0),
    ([Decimal("Infinity")], 0),
    ([Decimal("1.5"), 0.5], 1),
    ([1, 10**80], 1),
    ([1, 1j], 1),
    ([Plain.ONE], 0),
    ([Odd()], 0),
    (["a", "\ud800"], 1),
    ([[1], [1, "a"]], 1),
    ([{1: 2}], 0),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: str(case[0])[:40])
@pytest.mark.parametrize("before", [0, 2_500])
def test_what_cannot_come_in_is_refused_by_row_and_column(case: tuple, before: int) -> None:
    values, bad = case
    rows = [{"x": None}] * before + [{"x": value} for value in values]
    with pytest.raises(BadData, match=f"column 'x' cannot take the value .* of row {before + bad}[.]"):
        to_table(rows)


@pytest.mark.parametrize("lengths", [[1, 3, 2], [2, 2, 2], [0, 6, 0], [6, 0, 0]])
def test_ragged_lists_keep_their_lengths_though_they_add_up(lengths: list[int]) -> None:
    values = [list(range(n)) for n in lengths]
    for data in (
        {"x": values},
        [{"x": value} for value in values],
        {"x": [np.array(v, int) for v in values]},
    ):
        assert to_table(data).column("x").to_pylist() == values


def test_the_data_given_stays_as_it_was() -> None:
    rows = [{"a": 1, "b": [{"c": 2}]}, {"b": [], "d": {"e": 2**70}}]
    columns = {"a": [1, 2.5], "b": np.arange(2), "c": [True, 3]}
    frame = pd.DataFrame({"a": [1, 2]})
    for data in (rows, columns, frame):
        copy_of_data = copy.deepcopy(data)
        table = to_table(data)
        assert str(data) == str(copy_of_data)
        assert table.num_rows == 2
    columns["b"][0] = 99
    assert to_table({"b": np.arange(2)}).column("b").to_pylist() == [0, 1]


def test_a_column_made_from_numpy_is_no_view_of_it() -> None:
    numbers = np.arange(3)
    table = to_table({"x": numbers})
    numbers[0] = 99
    assert table.column("x").to_pylist() == [0, 1, 2]


def test_the_index_of_a_frame_is_a_column_unless_it_only_counts() -> None:
    counted = pd.DataFrame({"a": [1, 2]})
    named = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    assert to_table(counted).to_pydict() == {"a": [1, 2]}
    assert to_table(named).to_pydict() == {"a": [1, 2], "key": ["x", "y"]}


class Foreign:
    """A table of a library that knows Arrow's stream interface and nothing else of ours."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_everything_of_arrow_comes_in() -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    for data in (table, table.to_reader(), Foreign(table), table.combine_chunks().to_batches()[0]):
        assert to_table(data).equals(table)
    empty = table.slice(0, 0)
    for data in (empty, empty.to_reader(), Foreign(empty)):
        assert to_table(data).schema == table.schema


@pytest.mark.slow
def test_lists_and_dicts_come_in_without_pandas() -> None:
    code = (
        "import sys; from lamella.core.arrow.from_python import to_table;"
        "to_table([{'a': 1, 'b': [1, 2], 'c': {'d': 'x', 'e': [0.5]}, 'f': True}]);"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_key_for_the_rest_of_documents_is_refused_by_row() -> None:
    for document in ({"_rest": "mine", "x": 1}, {"x": [{"_rest": None}]}, {"x": {"_rest": "{}"}}):
        with pytest.raises(BadData, match=r"column 'd' cannot take the value .* of row 1.*'_rest'"):
            to_table([{"d": {"x": 1}}, {"d": document}, {"d": {"x": "t"}}])


def test_what_json_has_no_word_for_is_named() -> None:
    with pytest.raises(BadData, match=r"JSON, which cannot represent datetime.date\(2024, 1, 1\)"):
        to_table([{"d": {"x": dt.date(2024, 1, 1)}}, {"d": {"x": Decimal("1.50")}}])


def test_an_index_of_pandas_is_a_column_where_it_has_a_name() -> None:
    frame = pd.DataFrame({"n": [3, 1, 2]}).sort_values("n")
    for data in (frame, pa.Table.from_pandas(frame), pa.Table.from_pandas(frame).to_reader()):
        assert to_table(data).to_pydict() == {"n": [1, 2, 3]}
    assert to_table(frame.rename_axis("was")).to_pydict() == {"n": [1, 2, 3], "was": [1, 2, 0]}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("keys", [1, 2, 7, 8, 9, 20])
@pytest.mark.parametrize("rows", [1, 999, 2_500])
def test_dicts_of_few_and_of_many_keys_come_in_alike(keys: int, rows: int) -> None:
    rows_in = [{f"k{place}": f"{row} {place}" for place in range(keys)} for row in range(rows)]
    nested = [
        {"held": row_in, "all": [row_in, None] if row % 5 else None} for row, row_in in enumerate(rows_in)
    ]
    assert to_table(rows_in).to_pylist() == rows_in
    assert to_table(nested).to_pylist() == nested


@pytest.mark.parametrize("count", [3, 1_500])
@pytest.mark.parametrize(
    "values",
    [
        [["a"], None, []],
        [("a", None), ["b"], None],
        [{"a": 1}, None, {"a": None}],
        [{"a": {"b": [True]}}, {"a": None}, None],
        [["é"], ["ß", "x"], ["漢"]],
        [[1, 2.5], [], [None]],
        [[2**70], [1], None],
    ],
)
def test_nested_values_with_nulls_come_in_as_they_are(values: list[object], count: int) -> None:
    rows_in = [{"v": values[row % len(values)], "n": row} for row in range(count)]
    expected = [list(v) if isinstance(v, tuple) else v for v in (row["v"] for row in rows_in)]
    assert to_table(rows_in)["v"].to_pylist() == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Decimal("Infinity"), "finite numbers. Give None, or floats"),
        (Decimal("NaN"), "finite numbers. Give None, or floats"),
        ("half \ud800", "Remove that half of a character"),
        (1 + 2j, "Give a number, a text, a time, bytes, a list or a dict"),
        (lambda: 1, "Give a number, a text, a time, bytes, a list or a dict"),
    ],
)
def test_a_value_that_fits_no_column_is_told_what_would(value: object, reason: str) -> None:
    with pytest.raises(BadData, match=reason):
        to_table([{"a": value}])


def test_not_a_time_of_numpy_is_missing_beside_times_of_python() -> None:
    noon = dt.datetime(2026, 1, 2, 12)
    assert to_table([{"a": np.datetime64("NaT")}, {"a": noon}]).to_pylist() == [{"a": None}, {"a": noon}]
    spans = [{"a": np.timedelta64("NaT")}, {"a": dt.timedelta(1)}]
    assert to_table(spans).to_pylist() == [{"a": None}, {"a": dt.timedelta(1)}]


D64, T64 = np.datetime64, np.timedelta64
FIVE = "2024-01-01T05:06:07"


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([D64("2024-01-01")], pa.date32(), [dt.date(2024, 1, 1)]),
        ([D64("2024-02")], pa.date32(), [dt.date(2024, 2, 1)]),
        ([D64("2024"), None], pa.date32(), [dt.date(2024, 1, 1), None]),
        ([D64("2024-01-01T05")], pa.timestamp("ms"), [dt.datetime(2024, 1, 1, 5)]),
        ([D64("2024-01-01T05:06")], pa.timestamp("ms"), [dt.datetime(2024, 1, 1, 5, 6)]),
        ([D64(FIVE)], pa.timestamp("ms"), [dt.datetime(2024, 1, 1, 5, 6, 7)]),
        ([D64(f"{FIVE}.123")], pa.timestamp("ms"), [dt.datetime(2024, 1, 1, 5, 6, 7, 123_000)]),
        ([D64(f"{FIVE}.123456")], pa.timestamp("us"), [dt.datetime(2024, 1, 1, 5, 6, 7, 123_456)]),
        ([D64(f"{FIVE}.5", "ns")], pa.timestamp("ns"), [dt.datetime(2024, 1, 1, 5, 6, 7, 500_000)]),
        ([D64(5, "10ms")], pa.timestamp("ms"), [dt.datetime(1970, 1, 1, 0, 0, 0, 50_000)]),
        (
            [D64("2024-01-01"), D64(FIVE)],
            pa.timestamp("ms"),
            [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 5, 6, 7)],
        ),
        ([D64("2024-01-01"), dt.date(2024, 1, 2)], pa.date32(), [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
        (
            [D64("2024-01-01"), dt.datetime(2024, 1, 2)],
            pa.timestamp("us"),
            [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)],
        ),
        ([D64("NaT"), D64("2024-01-01")], pa.date32(), [None, dt.date(2024, 1, 1)]),
        ([D64("NaT")], pa.null(), [None]),
        ([T64(3, "D")], pa.duration("s"), [dt.timedelta(3)]),
        (
            [T64(3, "h"), T64(1, "ms")],
            pa.duration("ms"),
            [dt.timedelta(hours=3), dt.timedelta(milliseconds=1)],
        ),
        ([T64(1, "D"), dt.timedelta(1)], pa.duration("us"), [dt.timedelta(1), dt.timedelta(1)]),
    ],
    ids=str,
)
def test_times_of_numpy_keep_their_units(values: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    for data in ([{"v": value} for value in values], {"v": values}):
        table = to_table(data)
        assert (table.schema.field("v").type, table["v"].to_pylist()) == (kind, expected)
    nested = to_table([{"v": [{"t": value} for value in values]}])
    assert nested["v"].to_pylist() == [[{"t": value} for value in expected]]


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("datetime64[M]", pa.date32()),
        ("datetime64[D]", pa.date32()),
        ("datetime64[h]", pa.timestamp("ms")),
        ("datetime64[us]", pa.timestamp("us")),
        ("timedelta64[D]", pa.duration("s")),
        ("timedelta64[ns]", pa.duration("ns")),
    ],
)
def test_arrays_of_times_of_numpy_keep_their_units(dtype: str, kind: pa.DataType) -> None:
    values = np.array([1, "NaT"], dtype)
    for values_in, rows in ((values, [False, True]), (np.ma.array(values, mask=[True, False]), [True, True])):
        table = to_table({"v": values_in})
        assert (table.schema.field("v").type, table["v"].is_null().to_pylist()) == (kind, rows)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([T64(3, "M")], "has no fixed length"),
        ([D64("30000000-01-01")], "too far away"),
        ([D64("9999-01-01"), D64(0, "ns")], "too far away for the finest unit"),
        ([D64(1, "ps")], "does not fit Arrow's units"),
        ([D64(1, "ns"), dt.datetime(2024, 1, 1)], "finer than the microseconds of Python"),
    ],
    ids=str,
)
def test_times_of_numpy_that_do_not_fit_are_refused(values: list[Any], reason: str) -> None:
    with pytest.raises(BadData, match=reason):
        to_table([{"v": value} for value in values])
