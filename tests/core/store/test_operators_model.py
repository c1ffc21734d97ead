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

    def expected(held: list[Any] | None) -> list[Any]:
        made = list(held or [])
        at = len(made) if position is None else position
        made[at:at] = each
        if order is not None:
            made.sort(key=lambda item: (item is not None, item), reverse=order == -1)
        if size is None:
            return made
        return made[:size] if size >= 0 else made[size:]

    given_ones = {"$position": position, "$sort": order, "$slice": size}
    modifiers = {name: value for name, value in given_ones.items() if value is not None}
    return {"$push": {"x": {"$each": each} | modifiers}}, expected


@st.composite
def others(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    each = draw(st.lists(ITEMS, max_size=3))
    end, item = draw(st.sampled_from([1, -1])), draw(st.integers(0, 4))

    def united(held: list[Any] | None) -> list[Any]:
        made = list(held or [])
        for one in each:
            if one not in made:
                made.append(one)
        return made

    def kept(keep: Any) -> Any:
        return lambda held: None if held is None else [one for one in held if keep(one)]

    return draw(
        st.sampled_from(
            [
                ({"$addToSet": {"x": {"$each": each}}}, united),
                ({"$pullAll": {"x": each}}, kept(lambda one: one not in each)),
                ({"$pull": {"x": item}}, kept(lambda one: one != item)),
                ({"$pull": {"x": {"$gt": item}}}, kept(lambda one: one is None or one <= item)),
                ({"$pop": {"x": end}}, lambda held: held and (held[:-1] if end == 1 else held[1:])),
            ]
        )
    )


@settings(max_examples=examples(full=30))
@given(
    held=st.lists(LISTS, min_size=1, max_size=4), steps=st.lists(st.one_of(pushes(), others()), max_size=4)
)
def test_lists_become_what_python_makes_of_them(
    tmp_path_factory: pytest.TempPathFactory, held: list[Any], steps: list[Any]
) -> None:
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", pa.table({"x": pa.array(held, pa.list_(pa.int64()))}))
        for operators, expected in steps:
            after = [expected(one) for one in held]
            changed = sum(a != b for a, b in zip(held, after, strict=True))
            assert table.update_where(None, operators).updated == changed
            held = after
            assert table.read().column("x").to_pylist() == held


@settings(max_examples=examples(full=40))
@given(
    held=st.lists(st.one_of(st.none(), INT64), min_size=1, max_size=4),
    number=INT64,
    name=st.sampled_from(["$inc", "$mul"]),
)
def test_whole_numbers_are_exact_or_refused(
    tmp_path_factory: pytest.TempPathFactory, held: list[Any], number: int, name: str
) -> None:
    made = [(one or 0) + number if name == "$inc" else (one or 0) * number for one in held]
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", pa.table({"x": pa.array(held, pa.int64())}))
        if all(-(2**63) <= one < 2**63 for one in made):
            table.update_where(None, {name: {"x": number}})
            assert table.read().column("x").to_pylist() == made
        else:
            with pytest.raises(BadData, match="too large for 64-bit integers"):
                table.update_where(None, {name: {"x": number}})
            assert table.read().column("x").to_pylist() == held
