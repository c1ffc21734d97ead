"""Random list operators and sums against plain Python."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store
from lamella.core.errors import BadData
from tests.slow_tests import examples

ITEMS = st.one_of(st.none(), st.integers(0, 4))
LISTS = st.one_of(st.none(), st.lists(ITEMS, max_size=5))
PLACES = st.one_of(st.none(), st.integers(-6, 6))
INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def pushes(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    each, position, size = draw(st.lists(ITEMS, max_size=3)), draw(PLACES), draw(PLACES)
    order = draw(st.sampled_from([None, 1, -1]))

    def expected(items: list[Any] | None) -> list[Any]:
        new_items = list(items or [])
        at = len(new_items) if position is None else position
        new_items[at:at] = each
        if order is not None:
            new_items.sort(key=lambda item: (item is not None, item), reverse=order == -1)
        if size is None:
            return new_items
        return new_items[:size] if size >= 0 else new_items[size:]

    given_ones = {"$position": position, "$sort": order, "$slice": size}
    modifiers = {name: value for name, value in given_ones.items() if value is not None}
    return {"$push": {"x": {"$each": each} | modifiers}}, expected


@st.composite
def others(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    each = draw(st.lists(ITEMS, max_size=3))
    end, item = draw(st.sampled_from([1, -1])), draw(st.integers(0, 4))

    def united(items: list[Any] | None) -> list[Any]:
        union = list(items or [])
        for addition in each:
            if addition not in union:
                union.append(addition)
        return union

    def kept(keep: Any) -> Any:
        return lambda items: None if items is None else [entry for entry in items if keep(entry)]

    return draw(
        st.sampled_from(
            [
                ({"$addToSet": {"x": {"$each": each}}}, united),
                ({"$pullAll": {"x": each}}, kept(lambda entry: entry not in each)),
                ({"$pull": {"x": item}}, kept(lambda entry: entry != item)),
                ({"$pull": {"x": {"$gt": item}}}, kept(lambda entry: entry is None or entry <= item)),
                ({"$pop": {"x": end}}, lambda items: items and (items[:-1] if end == 1 else items[1:])),
            ]
        )
    )


@settings(max_examples=examples(full=30))
@given(
    lists=st.lists(LISTS, min_size=1, max_size=4), steps=st.lists(st.one_of(pushes(), others()), max_size=4)
)
def test_lists_become_what_python_makes_of_them(
    tmp_path_factory: pytest.TempPathFactory, lists: list[Any], steps: list[Any]
) -> None:
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", pa.table({"x": pa.array(lists, pa.list_(pa.int64()))}))
        for operators, expected in steps:
            after = [expected(list_) for list_ in lists]
            changed = sum(a != b for a, b in zip(lists, after, strict=True))
            assert table.update_where(None, operators).updated == changed
            lists = after
            assert table.read().column("x").to_pylist() == lists


@settings(max_examples=examples(full=40))
@given(
    numbers=st.lists(st.one_of(st.none(), INT64), min_size=1, max_size=4),
    number=INT64,
    name=st.sampled_from(["$inc", "$mul"]),
)
def test_whole_numbers_are_exact_or_refused(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[Any], number: int, name: str
) -> None:
    results = [(number_ or 0) + number if name == "$inc" else (number_ or 0) * number for number_ in numbers]
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", pa.table({"x": pa.array(numbers, pa.int64())}))
        if all(-(2**63) <= result < 2**63 for result in results):
            table.update_where(None, {name: {"x": number}})
            assert table.read().column("x").to_pylist() == results
        else:
            with pytest.raises(BadData, match="too large for 64-bit integers"):
                table.update_where(None, {name: {"x": number}})
            assert table.read().column("x").to_pylist() == numbers
