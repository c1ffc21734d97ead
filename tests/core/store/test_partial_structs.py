"""Rows with a partial struct change only the fields that they contain, in update and in upsert."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.arrow.documents import whole
from lamella.core.errors import BadData, LamellaError, TypeConflict
from lamella.core.store import Table
from tests.slow_tests import examples

ROWS = [
    {"k": 1, "b": {"x": 1, "y": {"p": 1, "q": [1, 2]}}, "l": [{"m": 1, "n": 2}]},
    {"k": 2, "b": None, "l": None},
    {"k": 3, "b": {"x": None, "y": None}, "l": []},
]
CHANGES: list[tuple[str, list[dict[str, Any]], dict[int, Any]]] = [
    ("a field", [{"k": 1, "b": {"x": 9}}], {1: {"x": 9, "y": {"p": 1, "q": [1, 2]}}}),
    (
        "a field of a struct in a struct",
        [{"k": 1, "b": {"y": {"p": 9}}}, {"k": 2, "b": {"y": {"p": 8}}}, {"k": 3, "b": {"y": {"p": 7}}}],
        {
            1: {"x": 1, "y": {"p": 9, "q": [1, 2]}},
            2: {"x": None, "y": {"p": 8, "q": None}},
            3: {"x": None, "y": {"p": 7, "q": None}},
        },
    ),
    (
        "other fields in each row",
        [{"k": 1, "b": {"x": 9}}, {"k": 3, "b": {"y": {"q": [3]}}}],
        {1: {"x": 9, "y": {"p": 1, "q": [1, 2]}}, 3: {"x": None, "y": {"p": None, "q": [3]}}},
    ),
    ("null for a field", [{"k": 1, "b": {"y": None}}], {1: {"x": 1, "y": None}}),
    (
        "null for the struct",
        [{"k": 1, "b": None}, {"k": 3, "b": {"x": 2}}],
        {1: None, 3: {"x": 2, "y": None}},
    ),
    ("no field", [{"k": 1, "b": {}}, {"k": 2, "b": {}}], {2: {"x": None, "y": None}}),
    ("a dotted key", [{"k": 1, "b.x": 9}], {1: {"x": 9, "y": {"p": 1, "q": [1, 2]}}}),
    (
        "dotted keys of several depths",
        [{"k": 1, "b.x": 9, "b.y.p": 8}, {"k": 2, "b.y.p": 7}],
        {1: {"x": 9, "y": {"p": 8, "q": [1, 2]}}, 2: {"x": None, "y": {"p": 7, "q": None}}},
    ),
    ("a dict behind a dotted key", [{"k": 1, "b.y": {"p": 9}}], {1: {"x": 1, "y": {"p": 9, "q": [1, 2]}}}),
    ("an item of a list", [{"k": 1, "b.y.q.1": 9}], {1: {"x": 1, "y": {"p": 1, "q": [1, 9]}}}),
    ("null at a dotted key", [{"k": 1, "b.x": None}, {"k": 2, "b.x": None}], {1: ROWS[0]["b"] | {"x": None}}),
    (
        "a dict in one row and a dotted key in another",
        [{"k": 1, "b": {"x": 9}}, {"k": 3, "b.x": 8}],
        {1: ROWS[0]["b"] | {"x": 9}, 3: {"x": 8, "y": None}},
    ),
    ("a wider value", [{"k": 1, "b": {"x": 1.5}}], {1: ROWS[0]["b"] | {"x": 1.5}}),
]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("t", ROWS)


def held(table: Table) -> list[dict[str, Any]]:
    return [whole(row) for row in table.read().drop_columns(["_id"]).to_pylist()]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("change", [Table.update, Table.upsert])
@pytest.mark.parametrize(("about", "rows", "expected"), CHANGES, ids=[about for about, *_ in CHANGES])
def test_update_and_upsert_keep_fields_that_are_not_given(
    table: Table, change: Callable[..., Any], about: str, rows: list[dict[str, Any]], expected: dict[int, Any]
) -> None:
    commit = change(table, rows, on="k")
    assert commit.updated == len(rows)
    assert held(table) == [row | {"b": expected.get(row["k"], row["b"])} for row in ROWS]
    assert table.schema.names == ["_id", "k", "b", "l"]


def test_update_by_id_and_with_a_dict_of_columns_keeps_fields(table: Table) -> None:
    table.update([{"_id": 0, "b": {"x": 5}}])
    table.update({"k": [1, 2], "b": [{"y": {"p": 6}}, {"x": 7}]}, on="k")
    assert [row["b"] for row in held(table)[:2]] == [
        {"x": 5, "y": {"p": 6, "q": [1, 2]}},
        {"x": 7, "y": None},
    ]


def test_update_adds_a_field_that_the_struct_lacks(table: Table) -> None:
    table.update([{"k": 1, "b": {"z": "new"}}, {"k": 2, "b.z": "too"}], on="k")
    assert [row["b"] for row in held(table)] == [
        ROWS[0]["b"] | {"z": "new"},
        {"x": None, "y": None, "z": "too"},
        {"x": None, "y": None, "z": None},
    ]


@pytest.mark.parametrize("make", [pa.Table.from_pylist, pd.DataFrame])
def test_update_replaces_structs_of_arrow_and_pandas_whole(table: Table, make: Callable[..., Any]) -> None:
    table.update(make([{"k": 1, "b": {"x": 9}}]), on="k")
    assert held(table)[0]["b"] == {"x": 9, "y": None}
    table.update(make([{"k": 1, "b.y.p": 4}]), on="k")
    assert held(table)[0]["b"] == {"x": 9, "y": {"p": 4, "q": None}}


def test_update_replaces_lists_of_structs_whole(table: Table) -> None:
    table.update([{"k": 1, "l": [{"m": 5}]}], on="k")
    assert held(table)[0]["l"] == [{"m": 5, "n": None}]


def test_update_where_set_replaces_a_struct_and_reaches_a_field(table: Table) -> None:
    table.update_where(col("k") == 1, {"$set": {"b": {"x": 9}}})
    assert held(table)[0]["b"] == {"x": 9, "y": None}
    table.update_where(col("k") == 1, {"$set": {"b.y.p": 4}})
    assert held(table)[0]["b"] == {"x": 9, "y": {"p": 4, "q": None}}


def test_upsert_makes_new_rows_of_dotted_keys(table: Table) -> None:
    rows = [{"k": 1, "b.x": 9}, {"k": 4, "b.x": 8}]
    commit = table.upsert(rows, on="k", set_on_insert={"b.y.p": 6})
    assert (commit.inserted, commit.updated) == (1, 1)
    assert [row["b"] for row in held(table)] == [
        ROWS[0]["b"] | {"x": 9},
        None,
        ROWS[2]["b"],
        {"x": 8, "y": {"p": 6, "q": None}},
    ]


def test_insert_puts_dotted_keys_inside_a_struct_that_is_there(table: Table) -> None:
    table.insert([{"k": 4, "b.x": 5}, {"k": 5, "b": {"x": 6}}, {"k": 6, "b.y.p": None}])
    assert [row["b"] for row in held(table)[3:]] == [{"x": 5, "y": None}, {"x": 6, "y": None}, None]
    table.insert({"k": range(10, 3_010), "b.x": range(3_000)})
    assert table.read(where="k = 3009").to_pylist()[0]["b"] == {"x": 2_999, "y": None}
    assert table.read(flatten=True).column_names == ["_id", "k", "b.x", "b.y.p", "b.y.q", "l"]


def test_dotted_names_of_an_arrow_table_are_columns(table: Table) -> None:
    table.insert(pa.table({"k": [4], "k.x": [5], "new.x": [6]}))
    assert table.schema.names[-2:] == ["k.x", "new.x"]
    table.update([{"k": 1, "new.x": 7}], on="k")
    assert held(table)[0]["new.x"] == 7
    table.insert([{"k": 5, "k.x": 8}])
    assert held(table)[4]["k.x"] == 8


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "a key of the rows is empty"),
        (" ", "a key of the rows is empty"),
        ("b.", "has no column 'b.'. Did you mean 'b"),
        (".b", "has no column '.b'"),
        ("b..x", "has no column 'b..x'. Did you mean 'b.x'"),
        ("k.x", "has no column 'k.x'. Did you mean 'b.x'"),
        ("nope.b", "has no column 'nope.b'. There are: k, b, l"),
    ],
)
def test_a_key_that_leads_into_no_column_is_refused(table: Table, key: str, reason: str) -> None:
    before, version = table.read(), table.version
    for change in (
        lambda: table.update([{"k": 1, key: 5}], on="k"),
        lambda: table.update({"k": [1, 2], key: [5, 6]}, on="k"),
        lambda: table.update({key: 5}, where="k = 1"),
        lambda: table.upsert([{"k": 9, key: 5}], on="k"),
        lambda: table.upsert([{"k": 9}], on="k", set_on_insert={key: 5}),
        lambda: table.insert([{"k": 9, key: 5}]),
        lambda: table.insert({"k": range(3_000), key: range(3_000)}),
    ):
        with pytest.raises(LamellaError) as refused:
            change()
        assert reason in str(refused.value)
    assert table.version == version
    assert table.read().equals(before)


def test_update_where_gives_one_dict_to_every_row_chosen(table: Table) -> None:
    before = held(table)
    commit = table.update({"b": {"x": 50}}, where="k <= 2")
    assert commit.updated == 2
    assert [row["b"] for row in held(table)[:2]] == [
        before[0]["b"] | {"x": 50},
        {"x": 50, "y": None},
    ]
    assert held(table)[2] == before[2]
    assert table.update({"b": {"x": 50}}, where=[0, 1]).updated == 0
    assert table.update({"b.x": None, "new": 7}, where="k = 1").updated == 1
    assert (held(table)[0]["b"]["x"], [row["new"] for row in held(table)]) == (None, [7, None, None])
    assert table.update({"k": 0}, where="k > 1000").updated == 0


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        ([{"b": {"x": 1}}], {}, "takes one dict"),
        ({"b": {"x": 1}}, {"on": "k"}, "takes one dict"),
        ({"_id": 5}, {}, "_id cannot be changed"),
    ],
)
def test_update_where_refuses_what_is_no_dict_of_values(
    table: Table, data: Any, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadData, match=reason):
        table.update(data, where="k = 1", **options)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"k": 1, "b": {"x": 2}, "b.y": None}], "'b' and 'b.y' are given together"),
        ([{"k": 1, "b.y": {"p": 2}, "b.y.q": [1]}], "'b.y' and 'b.y.q' are given together"),
        ([{"k": 1, "b.x": "text"}], "column 'b.x': it holds int64 and cannot take string values"),
        ([{"k": 1, "b._rest": "{}"}], "'b._rest' cannot be changed"),
        ([{"k": 1, "l.x": 1}], "'x' is not the number of an item in a list"),
    ],
)
@pytest.mark.parametrize("change", [Table.update, Table.upsert])
def test_update_refuses_what_is_given_twice_or_does_not_fit(
    table: Table, change: Callable[..., Any], rows: list[dict[str, Any]], reason: str
) -> None:
    with pytest.raises(BadData, match=reason):
        change(table, rows, on="k")
    with pytest.raises(TypeConflict):
        change(table, [{"k": 1, "b": 5}], on="k")
    assert table.version == 1 and held(table) == ROWS


def test_upsert_refuses_constants_inside_what_the_rows_give(table: Table) -> None:
    for constants in ({"b": {"y": None}}, {"b.x.deep": 1}):
        with pytest.raises(BadData, match="are given together"):
            table.upsert([{"k": 9, "b.x": 1}], on="k", set_on_insert=constants)
    assert held(table) == ROWS


def test_update_keeps_the_rest_of_documents(tmp_path: Path) -> None:
    given_rows = [
        {"k": 1, "d": {"a": 1, "o": {"x": 1, "z": 2}}},
        {"k": 2, "d": {"a": "s", "o": {"x": "odd", "z": 3}}},
        {"k": 3, "d": None},
    ]
    with Store.open(tmp_path / "documents") as store:
        table = store.create_table("t", given_rows)
        table.update([{"k": 1, "d": {"o": {"z": 20}}}, {"k": 2, "d": {"a": 7, "b": 1}}], on="k")
        table.update([{"k": 2, "d.o.x": 5}, {"k": 3, "d": {}}], on="k")
        assert [row["d"] for row in held(table)] == [
            {"a": 1, "o": {"x": 1, "z": 20}},
            {"a": 7, "o": {"x": 5, "z": 3}, "b": 1},
            {},
        ]
        table.update([{"k": 1, "d": {"o": {"z": "text"}}}, {"k": 2, "d": {"o": {"z": 30}}}], on="k")
        assert [row["d"] and row["d"].get("o") for row in held(table)[:2]] == [
            {"x": 1, "z": "text"},
            {"x": 5, "z": 30},
        ]
        assert table.count("d.o.z = 30") == 1


@pytest.mark.slow
def test_update_of_every_row_keeps_fields_in_files(tmp_path: Path) -> None:
    """This many complete rows are written to files as they arrive."""
    count = 30_000
    with Store.open(tmp_path / "many") as store:
        table = store.create_table("t", [{"n": i, "b": {"x": i, "y": i}} for i in range(count)])
        table.update([{"_id": i, "n": i, "b": {"x": 0} if i % 2 else {"y": 0}} for i in range(count)])
        assert [row["b"] for row in table.read(limit=2).to_pylist()] == [{"x": 0, "y": 0}, {"x": 0, "y": 1}]
        table.update([{"_id": i, "n": i, "b": {"y": -1}} for i in range(count)])
        assert table.count("b.y = -1") == count and table.count("b.x > 0") == count // 2 - 1


VALUES = st.none() | st.integers(0, 9)
INNER = st.none() | st.dictionaries(st.sampled_from("pq"), VALUES)
STRUCTS = st.none() | st.fixed_dictionaries({}, optional={"x": VALUES, "y": INNER, "z": VALUES})
ROWS_OF_STRUCTS = st.fixed_dictionaries({}, optional={"b": STRUCTS}) | st.fixed_dictionaries(
    {}, optional={"b.x": VALUES, "b.y.p": VALUES, "b.z": VALUES}
)


def merged(before: Any, new: Any) -> Any:
    if not isinstance(new, dict) or not isinstance(before, dict):
        return new
    return before | {key: merged(before.get(key), value) for key, value in new.items()}


def reached(before: Any, steps: list[str], value: Any) -> Any:
    """Structs that would contain only nulls are not created."""
    if not steps:
        return value
    inside = reached((before or {}).get(steps[0]), steps[1:], value)
    return before if before is None and inside is None else (before or {}) | {steps[0]: inside}


def full(value: Any) -> Any:
    """The value with all fields, as the columns have them."""
    if value is None:
        return None
    inner = value.get("y")
    y = None if inner is None else {"p": inner.get("p"), "q": inner.get("q")}
    return {"x": value.get("x"), "y": y, "z": value.get("z")}


@settings(deadline=None, max_examples=examples(full=60))
@given(
    st.lists(STRUCTS, min_size=1, max_size=4),
    st.lists(ROWS_OF_STRUCTS, min_size=1, max_size=4),
    st.booleans(),
)
def test_partial_structs_match_merged_dicts(
    tmp_path_factory: pytest.TempPathFactory, before: list[Any], changes: list[Any], upsert: bool
) -> None:
    with Store.open(tmp_path_factory.mktemp("model") / "store") as store:
        shape = {"k": -1, "b": {"x": 1, "y": {"p": 1, "q": 1}, "z": 1}}
        table = store.create_table("t", [shape, *({"k": i, "b": b} for i, b in enumerate(before))])
        known = {i: full(b) for i, b in enumerate(before)}
        rows = [{"k": k, **change} for k, change in enumerate(changes) if upsert or k in known]
        for row in rows:
            value = known.get(row["k"])
            for name, new in row.items():
                if name == "b":
                    value = merged(value, new)
                elif name != "k":
                    value = reached(value, name.split(".")[1:], new)
            known[row["k"]] = full(value)
        (table.upsert if upsert else table.update)(rows, on="k")
        assert {r["k"]: r["b"] for r in held(table) if r["k"] >= 0} == known
