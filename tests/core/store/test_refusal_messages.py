"""Error messages say what would help, and types may be written as they are printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.arrow.types import UnknownType, type_named
from lamella.core.errors import BadData, LamellaError, UnknownRow
from lamella.core.store.table import Table


@pytest.fixture
def table(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", [{"n": 300, "x": float("nan"), "l": [{"a": 2}, {"a": 1}]}])


def test_reasons_and_ways_out_begin_like_sentences() -> None:
    assert str(LamellaError("t: no", "it is not", "leave it out")) == "t: no. It is not. Leave it out."
    assert (
        str(LamellaError("t: no", "'a' is not", "t.read() shows it"))
        == "t: no. 'a' is not. t.read() shows it."
    )
    assert str(LamellaError("t: no", "int64 ends", "t: see above")) == "t: no. int64 ends. t: see above."


@pytest.mark.parametrize("column", ["n", "x"])
@pytest.mark.parametrize("lossy", [False, True])
def test_a_cast_offers_only_what_helps(table: Table, column: str, lossy: bool) -> None:
    with pytest.raises(BadData, match=r"has no value near it\. Cast with on_error='null'") as refusal:
        table.columns.cast(column, "int8", lossy=lossy)
    assert "lossy" not in str(refusal.value)
    table.columns.cast(column, "int8", on_error="null")
    assert table.read([column]).to_pylist() == [{column: None}]


def test_a_cast_offers_to_cut_what_is_too_fine(table: Table) -> None:
    table.update_where(None, {"$set": {"x": 1.7}})
    with pytest.raises(BadData, match="lossy=True to cut off excess precision"):
        table.columns.cast("x", "int8")
    table.columns.cast("x", "int8", lossy=True)
    assert table.read(["x"]).to_pylist() == [{"x": 1}]


def test_two_operators_on_one_place_are_told_from_a_move_to_itself(table: Table) -> None:
    with pytest.raises(BadData, match=r"two operators change 'n'\. The result"):
        table.update_where(None, {"$set": {"n": 1}, "$inc": {"n": 1}})
    with pytest.raises(BadData, match="cannot move 'n' to 'n'"):
        table.update_where(None, {"$rename": {"n": "n"}})


def test_a_field_that_no_item_has_orders_nothing(table: Table) -> None:
    with pytest.raises(BadData, match=r"sort by 'zz', which its items do not have\. There are: a"):
        table.update_where(None, {"$push": {"l": {"$each": [], "$sort": {"zz": -1}}}})
    table.update_where(None, {"$push": {"l": {"$each": [{"a": 9, "b": 1}], "$sort": {"b": -1}}}})
    assert table.read(["l"]).to_pylist()[0]["l"][0] == {"a": 9, "b": 1}


def test_a_new_column_of_the_current_date_is_of_the_type_asked(table: Table) -> None:
    table.update_where(None, {"$currentDate": {"day": {"$type": "date"}, "at": True}})
    assert table.schema.field("day").type == pa.date32()
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")


def test_the_first_unknown_id_that_was_given_is_told(table: Table) -> None:
    with pytest.raises(UnknownRow, match="_id 99"):
        table.delete(ids=[99, 98])


@pytest.mark.parametrize(
    ("column", "value", "text"), [("n", "five", "'five'"), ("n", "x" * 99, "…"), ("l", 5, "5")]
)
def test_a_conflict_of_types_names_a_value(table: Table, column: str, value: Any, text: str) -> None:
    for change in (
        lambda: table.insert([{column: None}, {column: value}]),
        lambda: table.update([{"_id": 0, column: value}]),
        lambda: table.update_where(None, {"$set": {column: value}}),
    ):
        with pytest.raises(BadData, match=f"cannot take .*{text}"):
            change()


def test_summary_counts_one_in_the_singular(table: Table) -> None:
    table.maintenance.flush()
    assert "in 1 row group\n" in table.maintenance.summary()
    table.insert([{"n": 1}])
    assert "1 row, 0 changed cells, 0 deleted rows" in table.maintenance.summary()


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal128(10, 2), pa.decimal256(50, 2), pa.timestamp("us", "UTC"),
        pa.timestamp("ms", "Europe/Vienna"),
        pa.list_(pa.string()), pa.large_list(pa.int8()), pa.list_(pa.list_(pa.decimal128(5, 1))),
        pa.binary(16),
        pa.time32("ms"), pa.time64("us"), pa.duration("ns"), pa.timestamp("s"), pa.date32(), pa.date64(),
        pa.bool_(), pa.large_binary(), pa.large_string(),
    ],
)  # fmt: skip
def test_a_type_may_be_named_as_it_is_printed(kind: pa.DataType) -> None:
    assert type_named(str(kind)) == kind


def test_decimals_may_be_named_by_their_digits_alone() -> None:
    assert type_named("decimal(10,2)") == pa.decimal128(10, 2)
    assert type_named("Decimal(40, 2)") == pa.decimal256(40, 2)
    assert type_named("decimal(5)") == pa.decimal128(5, 0)
    assert type_named("list<int>") == pa.list_(pa.int64())
    for name in ("decimal(99, 2)", "decimal", "list<strng>", "list<decimal(0)>"):
        with pytest.raises(UnknownType):
            type_named(name)


def test_a_list_is_not_filled_up_to_an_item_far_behind_its_end(table: Table) -> None:
    with pytest.raises(BadData, match=r"999,996 items beyond the end.*At most 10,000.*\$push adds"):
        table.update_where(None, {"$set": {"l.999998": {"a": 5}}})
    table.update_where(None, {"$set": {"l.4": {"a": 5}}})
    assert table.get(0)["l"] == [{"a": 2}, {"a": 1}, None, None, {"a": 5}]
