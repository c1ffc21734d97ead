"""Update operators mean what MongoDB's documentation says, exactly, or are refused with nothing changed."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, LamellaError, TypeConflict, UnknownColumn, UnknownName, UnknownRow
from lamella.core.store import Table
from lamella.core.store.operators import OPERATORS

NAN = math.nan
LARGEST = 2**63 - 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def one_column(store: Store, values: list[Any], kind: pa.DataType | None = None) -> Table:
    return store.create_table("t", pa.table({"x": pa.array(values, kind)}))


def column(table: Table, name: str = "x") -> list[Any]:
    return table.read().column(name).to_pylist()


NUMBERS = [
    ("$inc", pa.int64(), [1, None, -5], 3, [4, 3, -2]),
    ("$inc", pa.int64(), [1, None], 3.0, [4, 3]),
    ("$inc", pa.int32(), [2**31 - 1, 0], 1, [2**31, 1]),
    ("$inc", pa.int64(), [1, None], 0.5, [1.5, 0.5]),
    ("$inc", pa.uint64(), [2**63, None], -1, [Decimal(2**63 - 1), Decimal(-1)]),
    ("$inc", pa.int64(), [-5], 2**63, [2**63 - 5]),
    ("$inc", pa.uint8(), [3], -5, [-2]),
    ("$inc", pa.float64(), [0.5, None, NAN], 1, [1.5, 1.0, NAN]),
    ("$inc", pa.float32(), [0.5, None], 0.25, [0.75, 0.25]),
    ("$inc", pa.decimal128(5, 2), [Decimal("1.10"), None], 0.15, [Decimal("1.25"), Decimal("0.15")]),
    ("$inc", pa.decimal128(5, 2), [Decimal("999.99")], Decimal("0.01"), [Decimal("1000.00")]),
    ("$inc", pa.int64(), [1], Decimal("0.5"), [Decimal("1.5")]),
    ("$mul", pa.int64(), [4, None, -5], 3, [12, 0, -15]),
    ("$mul", pa.int64(), [4, None], 1.5, [6, 0]),
    ("$mul", pa.int64(), [5, 4], 0.5, [2.5, 2.0]),
    ("$mul", pa.float64(), [0.5, None], 4, [2.0, 0.0]),
    ("$mul", pa.int8(), [100], 100, [10_000]),
    ("$mul", pa.decimal128(5, 2), [Decimal("1.10"), None], 2, [Decimal("2.20"), Decimal("0.00")]),
    ("$min", pa.int64(), [4, None, -5], 3, [3, 3, -5]),
    ("$min", pa.int64(), [5, 4], 4.5, [4.5, 4.0]),
    ("$max", pa.int64(), [2**53 + 1, None], float(2**53), [2**53 + 1, 2**53]),
    ("$max", pa.float64(), [1.0, NAN, None], 2.0, [2.0, NAN, 2.0]),
    ("$min", pa.float64(), [1.0, NAN, None], 2.0, [1.0, 2.0, 2.0]),
    ("$max", pa.string(), ["b", None, "d"], "c", ["c", "c", "d"]),
    ("$min", pa.date32(), [dt.date(2020, 1, 2), None], dt.date(2020, 1, 1), [dt.date(2020, 1, 1)] * 2),
    ("$bit", pa.int64(), [0b1101, None], {"and": 0b1010}, [0b1000, 0]),
    ("$bit", pa.int64(), [0b0011, None], {"or": 0b0101}, [0b0111, 0b0101]),
    ("$bit", pa.int8(), [0b0011, -1], {"xor": 0b0101}, [0b0110, ~0b0101]),
    ("$bit", pa.uint64(), [2**64 - 1], {"and": 2**63}, [2**63]),
]


@pytest.mark.slow(except_every=9)
@pytest.mark.parametrize(("operator", "kind", "values", "operand", "expected"), NUMBERS)
def test_scalars_are_computed_exactly_and_null_counts_as_missing(
    store: Store, operator: str, kind: pa.DataType, values: list[Any], operand: Any, expected: list[Any]
) -> None:
    table = one_column(store, values, kind)
    table.update_where(None, {operator: {"x": operand}})
    assert repr(column(table)) == repr(expected)


LISTS: list[tuple[dict[str, Any], Any, Any]] = [
    ({"$push": {"x": 9}}, [1, 2], [1, 2, 9]),
    ({"$push": {"x": 9}}, None, [9]),
    ({"$push": {"x": None}}, [1], [1, None]),
    ({"$push": {"x": {"$each": [8, 9]}}}, [1], [1, 8, 9]),
    ({"$push": {"x": {"$each": []}}}, None, []),
    ({"$push": {"x": {"$each": [8, 9], "$position": 0}}}, [1, 2], [8, 9, 1, 2]),
    ({"$push": {"x": {"$each": [9], "$position": -1}}}, [1, 2, 3], [1, 2, 9, 3]),
    ({"$push": {"x": {"$each": [9], "$position": 7}}}, [1], [1, 9]),
    ({"$push": {"x": {"$each": [2], "$sort": 1}}}, [3, None, 1], [None, 1, 2, 3]),
    ({"$push": {"x": {"$each": [2], "$sort": -1, "$slice": 2}}}, [3, 1], [3, 2]),
    ({"$push": {"x": {"$each": [9], "$slice": -2}}}, [1, 2, 3], [3, 9]),
    ({"$push": {"x": {"$each": [], "$slice": 0}}}, [1, 2, 3], []),
    ({"$addToSet": {"x": 2}}, [1, 2], [1, 2]),
    ({"$addToSet": {"x": {"$each": [2, 3, 3]}}}, [1, 2, 2], [1, 2, 2, 3]),
    ({"$addToSet": {"x": 2}}, None, [2]),
    ({"$pull": {"x": 2}}, [1, 2, 3, 2], [1, 3]),
    ({"$pull": {"x": 2}}, None, None),
    ({"$pull": {"x": None}}, [1, None], [1]),
    ({"$pull": {"x": {"$gte": 2, "$lt": 4}}}, [1, 2, 3, 4], [1, 4]),
    ({"$pull": {"x": {"$in": [1, 4]}}}, [1, 2, 3, 4], [2, 3]),
    ({"$pullAll": {"x": [1, 3]}}, [1, 2, 3, 1], [2]),
    ({"$pop": {"x": 1}}, [1, 2, 3], [1, 2]),
    ({"$pop": {"x": -1}}, [1, 2, 3], [2, 3]),
    ({"$pop": {"x": 1}}, [], []),
    ({"$pop": {"x": 1}}, None, None),
    ({"$set": {"x.1": 9}}, [1, 2, 3], [1, 9, 3]),
    ({"$set": {"x.3": 9}}, [1], [1, None, None, 9]),
    ({"$set": {"x.0": 9}}, None, [9]),
    ({"$inc": {"x.0": 5}}, [1, 2], [6, 2]),
    ({"$unset": {"x.0": ""}}, [1, 2], [None, 2]),
    ({"$unset": {"x.5": ""}}, [1, 2], [1, 2]),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int32())])
@pytest.mark.parametrize(("operators", "value", "expected"), LISTS)
def test_lists_are_edited_item_by_item(
    store: Store, operators: dict[str, Any], value: Any, expected: Any, kind: pa.DataType
) -> None:
    table = one_column(store, [[7], value, [0, 0]], kind)
    table.update_where([1], operators)
    assert column(table) == [[7], expected, [0, 0]]
    assert table.schema.field("x").type.equals(kind)
    assert table.version == (1 if value == expected else 2)


PEOPLE = [
    {
        "name": "Ada",
        "home": {"city": "London", "visits": 3},
        "jobs": [{"at": "a", "n": 2}, {"at": "b", "n": 1}],
    },
    {"name": "Grace", "home": None, "jobs": []},
    {"name": "Alan", "home": {"city": None, "visits": None}, "jobs": None},
]


@pytest.mark.parametrize(
    ("operators", "row", "expected"),
    [
        ({"$set": {"home.city": "Paris"}}, 0, {"home": {"city": "Paris", "visits": 3}}),
        ({"$set": {"home.city": "Paris"}}, 1, {"home": {"city": "Paris", "visits": None}}),
        ({"$inc": {"home.visits": 2}}, 0, {"home": {"city": "London", "visits": 5}}),
        ({"$inc": {"home.visits": 2}}, 1, {"home": {"city": None, "visits": 2}}),
        ({"$unset": {"home.city": ""}}, 0, {"home": {"city": None, "visits": 3}}),
        ({"$unset": {"home.city": ""}}, 1, {"home": None}),
        ({"$set": {"home": {"city": "Rome"}}}, 0, {"home": {"city": "Rome", "visits": None}}),
        ({"$rename": {"home.city": "city"}}, 0, {"home": {"city": None, "visits": 3}, "city": "London"}),
        ({"$push": {"jobs": {"at": "c", "n": 3}}}, 1, {"jobs": [{"at": "c", "n": 3}]}),
        ({"$pull": {"jobs": {"at": "a"}}}, 0, {"jobs": [{"at": "b", "n": 1}]}),
        ({"$pull": {"jobs": {"n": {"$lt": 2}}}}, 0, {"jobs": [{"at": "a", "n": 2}]}),
        ({"$addToSet": {"jobs": {"at": "a", "n": 2}}}, 0, {"jobs": PEOPLE[0]["jobs"]}),
        (
            {"$push": {"jobs": {"$each": [{"at": "c", "n": 0}], "$sort": {"n": 1}}}},
            0,
            {"jobs": [{"at": "c", "n": 0}, {"at": "b", "n": 1}, {"at": "a", "n": 2}]},
        ),
        ({"$set": {"jobs.1.at": "z"}}, 0, {"jobs": [{"at": "a", "n": 2}, {"at": "z", "n": 1}]}),
        ({"$max": {"jobs.0.n": 9}}, 0, {"jobs": [{"at": "a", "n": 9}, {"at": "b", "n": 1}]}),
    ],
)
def test_a_path_changes_one_place_inside_a_nested_value(
    store: Store, operators: dict[str, Any], row: int, expected: dict[str, Any]
) -> None:
    table = store.create_table("people", PEOPLE)
    table.update_where([row], operators)
    rows = table.read().drop_columns(["_id"]).to_pylist()
    assert {name: rows[row][name] for name in expected} == expected
    for unchanged_row in {0, 1, 2} - {row}:
        assert {name: rows[unchanged_row][name] for name in PEOPLE[unchanged_row]} == PEOPLE[unchanged_row]


def test_a_field_that_no_row_had_appears_in_its_struct(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.update_where(col("name") == "Ada", {"$set": {"home.zip": "W1"}})
    assert [home and home["zip"] for home in column(table, "home")] == ["W1", None, None]
    assert table.count(col("name") == "Ada") == 1


def test_a_new_path_makes_nested_columns(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.update_where(
        [2], {"$set": {"seen.first.year": 1912}, "$push": {"tags": "x"}, "$currentDate": {"at": True}}
    )
    assert column(table, "seen") == [None, None, {"first": {"year": 1912}}]
    assert column(table, "tags") == [None, None, ["x"]]
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")


def test_a_column_whose_name_holds_a_dot_comes_before_a_path(store: Store) -> None:
    table = store.create_table("t", [{"a": {"b": 1}, "a.b": 10, "c.d": {"e": 100}}])
    table.update_where(None, {"$inc": {"a.b": 1, "c.d.e": 1}})
    assert table.read().drop_columns(["_id"]).to_pylist() == [{"a": {"b": 1}, "a.b": 11, "c.d": {"e": 101}}]


def test_rename_moves_values_from_column_to_column(store: Store) -> None:
    table = store.create_table("t", [{"a": 1, "b": 10}, {"a": None, "b": 20}, {"a": 3, "b": None}])
    assert table.update_where(None, {"$rename": {"a": "b"}}).updated == 2
    assert (column(table, "a"), column(table, "b")) == ([None] * 3, [1, 20, 3])


def test_current_date_fits_the_column_it_goes_to(store: Store) -> None:
    long_ago = dt.datetime(2000, 1, 1)
    kinds = {"day": pa.date32(), "at": pa.timestamp("ms"), "zoned": pa.timestamp("ns", "Asia/Tokyo")}
    table = store.create_table(
        "t",
        pa.table(
            {
                n: pa.array([long_ago], pa.timestamp("us")).cast(k)
                if k != kinds["zoned"]
                else pa.array([0], k)
                for n, k in kinds.items()
            }
        ),
    )
    before = dt.datetime.now(dt.UTC)
    table.update_where(
        None, {"$currentDate": {"day": True, "at": {"$type": "date"}, "zoned": {"$type": "timestamp"}}}
    )
    after = dt.datetime.now(dt.UTC)
    assert [table.schema.field(n).type for n in kinds] == list(kinds.values())
    row = (
        table.read()
        .cast(
            pa.schema(
                [
                    ("_id", pa.int64()),
                    ("day", pa.date32()),
                    ("at", pa.timestamp("us")),
                    ("zoned", pa.timestamp("us", "UTC")),
                ]
            ),
            safe=False,
        )
        .to_pylist()[0]
    )
    assert before.date() <= row["day"] <= after.date()
    assert before - dt.timedelta(milliseconds=1) <= row["at"].replace(tzinfo=dt.UTC) <= after
    assert before - dt.timedelta(milliseconds=1) <= row["zoned"] <= after


def test_set_on_insert_changes_no_row_that_is_there(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    assert table.update_where(None, {"$setOnInsert": {"name": "nobody"}}).updated == 0
    assert table.version == 1


@pytest.mark.parametrize(
    ("where", "row"),
    [
        ({"t": 42}, {"t": "42"}),
        ({"n": "42"}, {"n": 42}),
        ({"d": "2024-01-02"}, {"d": dt.date(2024, 1, 2)}),
        ({"l": [1, 2]}, {"l": [1, 2]}),
        ({"s": {"x": 5}}, {"s": {"x": 5, "y": None}}),
        ({"s.x": 5, "l.0": 7}, {"s": {"x": 5, "y": None}, "l": [7]}),
    ],
    ids=str,
)
def test_a_row_that_is_inserted_instead_meets_the_condition(
    store: Store, where: dict[str, Any], row: dict[str, Any]
) -> None:
    first = {"n": 1, "t": "a", "d": dt.date(2000, 1, 1), "l": [3], "s": {"x": 1, "y": 2}}
    table = store.create_table("t", [first])
    assert table.update_where(where, {"$set": {"new": 1}}, upsert=True).inserted == 1
    assert table.get(1) == {"_id": 1, **dict.fromkeys(first), "new": 1, **row}
    assert table.update_where(where, {"$set": {"new": 2}}, upsert=True).updated == 1


def test_several_operators_are_one_commit_told_in_the_history(store: Store) -> None:
    table = store.create_table("t", [{"n": 1, "word": "a"}, {"n": 2, "word": "b"}])
    commit = table.update_where(col("n") > 1, {"$set": {"word": "z", "late": True}, "$inc": {"n": 5}})
    assert (commit.updated, commit.version, commit.message) == (1, 2, "set word, late, increase n")
    table.history.undo()
    assert table.read().drop_columns(["_id"]).to_pylist() == [{"n": 1, "word": "a"}, {"n": 2, "word": "b"}]


@pytest.mark.parametrize(
    "value",
    [
        {"a": [{"b": None}, None]},
        [[1.5, NAN], None, []],
        NAN,
        -0.0,
        "text",
        dt.datetime(2020, 1, 1),
        b"raw",
        None,
    ],
    ids=repr,
)
def test_a_value_that_is_there_already_is_no_change(store: Store, value: Any) -> None:
    different = None if value is not None else 1
    table = store.create_table("t", [{"x": value}, {"x": different}])
    assert table.update_where(None, {"$set": {"x": value}}).updated == 1
    assert table.update_where(None, {"$set": {"x": value}}).updated == 0
    assert table.version == 2


def test_a_minus_zero_is_not_a_zero(store: Store) -> None:
    table = one_column(store, [0.0])
    assert table.update_where(None, {"$set": {"x": -0.0}}).updated == 1
    assert math.copysign(1, column(table)[0]) == -1


EMPTY: dict[str, Any] = {
    "$set": 5, "$unset": "", "$inc": 5, "$mul": 5, "$min": 5, "$max": 5, "$bit": {"and": 7, "or": 8},
    "$currentDate": True, "$push": 5, "$addToSet": 5, "$pull": 5, "$pullAll": [5], "$pop": 1, "$rename": "z",
    "$setOnInsert": 5, "$replace": {"find": "a", "with": "b"}, "$compute": "1 + 4", "$fill": 5, "$round": 1,
    "$trim": True, "$case": "upper",
}  # fmt: skip
STILL_NULL = {
    "$unset", "$pull", "$pullAll", "$pop", "$rename", "$setOnInsert", "$replace", "$round", "$trim", "$case",
}  # fmt: skip


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("place", ["x", "s.x", "l.0"])
@pytest.mark.parametrize("operator", list(OPERATORS))
def test_operators_on_what_holds_nothing_but_nulls(store: Store, operator: str, place: str) -> None:
    operand = "y" if operator == "$rename" and place == "x" else EMPTY[operator]
    table = store.create_table("t", [{"x": None, "s": {"x": None, "k": 1}, "l": [None]}])
    if operator == "$rename" and place == "l.0":
        with pytest.raises(BadData, match="items of lists cannot be moved"):
            table.update_where(None, {operator: {place: operand}})
        return
    assert table.update_where(None, {operator: {place: operand}}).updated == (operator not in STILL_NULL)


@pytest.mark.parametrize("operator", ["$pop", "$pull", "$pullAll"])
def test_lists_that_are_null_stay_null(store: Store, operator: str) -> None:
    table = one_column(store, [None, [1, 5]], pa.list_(pa.int64()))
    table.update_where(None, {operator: {"x": EMPTY[operator]}})
    assert column(table) == [None, [1]]


def test_bit_operations_are_done_in_the_order_given(store: Store) -> None:
    table = one_column(store, [12, None])
    table.update_where(None, {"$bit": {"x": {"and": 7, "or": 8}}})
    assert column(table) == [12 & 7 | 8, 8]
    table.update_where(None, {"$bit": {"x": {"or": 3, "xor": 1}}})
    assert column(table) == [(12 & 7 | 8 | 3) ^ 1, (8 | 3) ^ 1]


def test_no_ids_change_nothing(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    commit = table.update_where([], {"$set": {"fresh": 1, "name": 5.5}})
    assert (commit.updated, table.version, "fresh" in table.schema.names) == (0, 1, False)


REFUSALS: list[tuple[Any, type[LamellaError], str]] = [
    ({"$ste": {"n": 1}}, UnknownName, "Did you mean '\\$set'"),
    ({"n": 1}, UnknownName, "update operator 'n'"),
    ({"$set": 5}, BadData, "takes operands by column"),
    ({"$inc": {"m": 1}}, UnknownColumn, "no column 'm'"),
    ({"$inc": {"wrod": 1}}, UnknownColumn, "Did you mean 'word'"),
    ({"$unset": {"home.ctiy": ""}}, UnknownColumn, "Did you mean 'home.city'"),
    ({"$set": {"wrod": None}}, UnknownColumn, "Did you mean 'word'"),
    ({"$set": {"_id": 5}}, BadData, "_id cannot be changed"),
    ({"$set": {"n": "many"}}, TypeConflict, "column 'n' is int64 and cannot take string"),
    ({"$set": {"home.visits": "many"}}, BadData, "'home.visits': it holds int64 and cannot take string"),
    ({"$inc": {"n": "1"}}, BadData, r"\$inc of column 'n': it takes a number, not '1'"),
    ({"$inc": {"n": None}}, BadData, "takes a number"),
    ({"$inc": {"n": True}}, BadData, "takes a number"),
    ({"$inc": {"word": 1}}, BadData, "for numbers, but this is string"),
    ({"$inc": {"n": LARGEST}}, BadData, "too large for 64-bit integers.*Cast the column"),
    ({"$mul": {"n": 2**62}}, BadData, "too large for 64-bit integers"),
    ({"$mul": {"big": 0.5}}, BadData, "cannot be doubles exactly.*decimal"),
    ({"$mul": {"f": 1e300}}, BadData, "too large for double"),
    ({"$min": {"n": "a"}}, BadData, "cannot be compared with int64"),
    ({"$min": {"n": None}}, BadData, "null is neither"),
    ({"$bit": {"n": {"nand": 1}}}, BadData, "or several of them"),
    ({"$bit": {"n": {}}}, BadData, "or several of them"),
    ({"$bit": {"f": {"and": 1}}}, BadData, "for whole numbers"),
    ({"$push": {"n": 1}}, BadData, "for lists"),
    ({"$push": {"tags": 5}}, BadData, "holds string and cannot take int64"),
    ({"$push": {"tags": {"$position": 0}}}, BadData, r"needs \$each"),
    ({"$push": {"tags": {"$each": [], "$srot": 1}}}, BadData, "no modifier"),
    ({"$push": {"tags": {"$each": "ab"}}}, BadData, "takes a list"),
    ({"$pullAll": {"tags": "a"}}, BadData, "takes a list"),
    ({"$pull": {"tags": {"$like": "a"}}}, BadData, "no condition"),
    ({"$pop": {"tags": 2}}, BadData, "1 for the last"),
    ({"$set": {"tags.first": "a"}}, BadData, "not the number of an item in a list"),
    ({"$set": {"n.first": "a"}}, BadData, "no 'first'"),
    ({"$currentDate": {"n": True}}, BadData, "for timestamps and dates"),
    ({"$currentDate": {"at": "now"}}, BadData, "takes True"),
    ({"$rename": {"n": 5}}, BadData, "takes the new name"),
    ({"$rename": {"nn": "m"}}, UnknownColumn, "no column 'nn'"),
    ({"$rename": {"word": "n"}}, TypeConflict, "column 'n' is int64|cannot take string"),
    ({"$set": {"n": 1}, "$inc": {"n": 1}}, BadData, "two operators change 'n'"),
    ({"$set": {"home.city": "x"}, "$unset": {"home": ""}}, BadData, "two operators change"),
    ({"$rename": {"n": "m"}, "$set": {"m": 1}}, BadData, "two operators change 'm'"),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("operators", "error", "said"), REFUSALS, ids=lambda v: str(v)[:40])
def test_what_does_not_fit_is_refused_by_name_and_changes_nothing(
    store: Store, operators: Any, error: type[LamellaError], said: str
) -> None:
    row = {
        "n": 3,
        "big": 2**53 + 1,
        "f": 1e300,
        "word": "a",
        "tags": ["x"],
        "home": {"city": "a", "visits": 1},
    }
    table = store.create_table("t", [row | {"n": 2**40}, row])
    before = table.read()
    with pytest.raises(error, match=said):
        table.update_where(None, operators)
    assert table.version == 1
    assert table.read().equals(before)


def test_rows_and_columns_to_choose_by_have_to_be_there(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    with pytest.raises(UnknownRow, match="no row with _id 7"):
        table.update_where([0, 7], {"$set": {"name": "x"}})
    with pytest.raises(UnknownColumn, match="Did you mean 'name'"):
        table.update_where(col("nmae") == "Ada", {"$set": {"name": "x"}})
    assert table.version == 1


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("operand", "after"),
    [
        ({"find": "a.b", "with": "x"}, ["x", "A.B x", "aXb", None, ""]),
        ({"find": "a.b", "with": r"\1", "case": False}, [r"\1", r"\1 \1", "aXb", None, ""]),
        ({"find": "A.B", "with": "x", "case": False, "whole": True}, ["x", "A.B a.b", "aXb", None, ""]),
        ({"find": "a.b", "with": "x", "whole": True}, ["x", "A.B a.b", "aXb", None, ""]),
        ({"find": "a.b", "with": "x", "regex": True}, ["x", "A.B x", "x", None, ""]),
        (
            {"find": "(a)(.)b", "with": r"\2-\1", "regex": True, "case": False},
            [".-a", ".-A .-a", "X-a", None, ""],
        ),
        ({"find": "", "with": "x", "regex": True}, None),
        ({"find": "(", "with": "x", "regex": True}, None),
        ({"find": "a", "with": r"\1", "regex": True}, None),
        ({"find": "a", "with": 1}, None),
        ({"find": "a", "with": "b", "case": 1}, None),
        ({"find": "a", "with": "b", "flags": "i"}, None),
        ("a", None),
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_replace_finds_texts_and_patterns(store: Store, operand: Any, after: Any, kind: pa.DataType) -> None:
    before = ["a.b", "A.B a.b", "aXb", None, ""]
    table = one_column(store, before, kind)
    if after is None:
        with pytest.raises(BadData, match=r"\$replace of column 'x'"):
            table.update_where(None, {"$replace": {"x": operand}})
        assert table.version == 1
        return
    commit = table.update_where(None, {"$replace": {"x": operand}})
    assert column(table) == after
    assert commit.updated == sum(a != b for a, b in zip(before, after, strict=True))
    assert commit.message == "replace in x"


def test_replace_is_for_text_and_reaches_inside(store: Store) -> None:
    table = store.create_table("t", [{"n": 1, "s": {"x": "a b"}, "l": ["a"]}])
    with pytest.raises(BadData, match="it is for text, but this is int64"):
        table.update_where(None, {"$replace": {"n": {"find": "a", "with": "b"}}})
    table.update_where(None, {"$replace": {"s.x": {"find": "a", "with": "c"}}})
    assert table.get(0)["s"] == {"x": "c b"}


def test_the_manual_names_every_operator_and_no_other() -> None:
    manual = Path(__file__).parents[3] / "docs" / "update-operators.md"
    rows = [
        line.split("|")[1].strip(" `")
        for line in manual.read_text("utf-8").splitlines()
        if line.startswith("| `$")
    ]
    assert sorted(rows) == sorted(OPERATORS)


@pytest.mark.slow
def test_operators_do_not_import_pandas(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = """
import sys
import numpy as np
from lamella import Store
data = {"n": np.arange(50), "bits": np.arange(50), "f": np.ones(50)}
table = Store.open(sys.argv[1]).create_table("t", data)
for operators in (
    {"$inc": {"n": 4}, "$set": {"word": "y"}, "$currentDate": {"at": True}, "$push": {"tags": "a"}},
    {"$mul": {"n": 1.5}, "$max": {"f": 7.5}, "$addToSet": {"tags": "b"}, "$unset": {"word": ""}},
    {"$bit": {"bits": {"or": 16}}, "$pull": {"tags": "a"}, "$set": {"home.city": "x"}},
):
    table.update_where([3], operators)
assert "pandas" not in sys.modules
assert table.get(3)["tags"] == ["b"]
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "s")], check=True)
