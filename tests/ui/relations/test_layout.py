"""Boxes of a diagram never meet, and lines go past them."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella.ui.relations.layout import Point, arrange, free_place
from lamella.ui.relations.routing import Anchor, route
from tests.slow_tests import examples

SIZES = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2),
    st.tuples(st.integers(100, 260), st.integers(40, 300)),
    min_size=1,
    max_size=24,
)


def meet(left_box: tuple[Point, Point], right_box: tuple[Point, Point]) -> bool:
    (x, y), (width, height) = left_box
    (left, top), (across, down) = right_box
    return x < left + across and left < x + width and y < top + down and top < y + height


@given(st.data())
@settings(max_examples=examples(full=60))
def test_no_two_boxes_meet_whatever_points_at_what(data: st.DataObject) -> None:
    sizes = data.draw(SIZES)
    names = st.sampled_from(sorted(sizes))
    edges = data.draw(st.lists(st.tuples(names, names), max_size=40))
    places = arrange(sizes, edges)
    assert places.keys() == sizes.keys()
    boxes = [(places[name], sizes[name]) for name in places]
    assert not any(meet(a, b) for a, b in combinations(boxes, 2))
    assert min(x for x, _ in places.values()) >= 0 and min(y for _, y in places.values()) >= -1e-6
    assert arrange(dict(reversed(sizes.items())), edges[::-1]) == places


def test_tables_that_point_stand_left_of_those_they_point_at() -> None:
    sizes = dict.fromkeys(["flights", "weather", "airports", "airlines", "alone"], (200, 100))
    edges = [
        ("flights", "airlines"),
        ("flights", "airports"),
        ("flights", "weather"),
        ("weather", "airports"),
    ]
    places = arrange(sizes, edges)
    assert places["flights"][0] < places["weather"][0] < places["airports"][0]
    assert places["flights"][0] < places["airlines"][0]


def test_a_circle_of_relations_is_arranged() -> None:
    sizes = dict.fromkeys("abc", (200, 100))
    places = arrange(sizes, [("a", "b"), ("b", "c"), ("c", "a"), ("a", "a")])
    assert len({x for x, _ in places.values()}) == 3


def test_a_new_box_stands_beside_what_it_belongs_to() -> None:
    sizes = {"a": (200, 100), "b": (200, 100), "new": (200, 100)}
    places = {"a": (0.0, 0.0), "b": (330.0, 0.0)}
    place = free_place(sizes["new"], sizes, places, beside=["b"])
    assert place[1] == 0 and place[0] > 530
    assert free_place(sizes["new"], sizes, places)[1] > 100
    assert free_place(sizes["new"], sizes, {}) == (0, 0)


def test_lines_go_around_boxes_at_right_angles() -> None:
    boxes = [(0, 0, 200, 100), (300, 0, 200, 100), (600, 0, 200, 100)]
    corners = np.array([(x, y, x + w, y + h) for x, y, w, h in boxes], float)
    way = route(Anchor(boxes[0], 50), Anchor(boxes[2], 60), corners)
    assert way[0] == (200, 50) and way[-1] == (600, 60)
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(way))
    inside = [(x, y) for x, y in way if 300 < x < 500 and 0 < y < 100]
    assert not inside and any(y < 0 or y > 100 for _, y in way), "past the box between, not through it"


def test_a_line_to_the_same_box_is_a_loop_beside_it() -> None:
    box = (0.0, 0.0, 200.0, 100.0)
    way = route(Anchor(box, 30), Anchor(box, 70), np.array([(0.0, 0.0, 200.0, 100.0)]))
    assert way[0] == (200, 30) and way[-1] == (200, 70) and all(x >= 200 for x, _ in way)
