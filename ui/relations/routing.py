"""Routes the lines of a diagram from the side of one box to that of another, at right angles, around the
boxes between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

STUB = 18.0
"""How far a line goes straight from a box before it can bend: the symbol of its end is there."""
LANE = 8.0
"""The distance between lines that would otherwise coincide."""
CLEARANCE = 10.0
CROSSING, BEND = 4_000.0, 24.0
"""The cost of crossing a box and of a bend, in units of length."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, width, height."""


@dataclass(frozen=True)
class Anchor:
    """A box, and the height on its side at which a line leaves it."""

    box: Box
    y: float

    def at(self, right: bool) -> Point:
        left, _, width, _ = self.box
        return (left + width if right else left), self.y


def plain_route(start: Anchor, end: Anchor, lane: int = 0) -> list[Point]:
    """The corners of a route that ignores other boxes, and is quick to find."""
    return next(_ways(start, end, np.empty((0, 4)), lane * LANE))


def route(start: Anchor, end: Anchor, boxes: np.ndarray, lane: int = 0) -> list[Point]:
    """The corners of the best of some routes from one box to another, or to itself. `boxes` has a row for
    each box: left, top, right, bottom. Lines in different lanes bend at different positions."""
    best, least = [start.at(True), end.at(False)], np.inf
    for way in _ways(start, end, boxes, lane * LANE):
        cost = _cost(way, boxes)
        if cost < least:
            best, least = way, cost
    return best


def _ways(start: Anchor, end: Anchor, boxes: np.ndarray, lane: float) -> Iterator[list[Point]]:
    if start.box == end.box:
        x = start.at(True)[0] + STUB + LANE + abs(lane)
        yield [start.at(True), (x, start.y), (x, end.y), end.at(True)]
        return
    for out_right in (True, False):
        for in_right in (False, True):
            begin, finish = start.at(out_right), end.at(in_right)
            near = begin[0] + (STUB if out_right else -STUB)
            far = finish[0] + (STUB if in_right else -STUB)
            yield from _between(begin, near, far, finish, out_right, in_right, boxes, lane)


def _between(
    begin: Point, near: float, far: float, finish: Point, out_right: bool, in_right: bool,
    boxes: np.ndarray, lane: float,
) -> Iterator[list[Point]]:  # fmt: skip
    """Routes with one vertical segment, or along a lane above or below the boxes between."""
    if out_right == in_right:
        x = (max(near, far) + abs(lane)) if out_right else (min(near, far) - abs(lane))
        yield [begin, (x, begin[1]), (x, finish[1]), finish]
    elif (near <= far) == out_right:
        for x in {(near + far) / 2 + lane, near + abs(lane), far - abs(lane)}:
            if min(near, far) <= x <= max(near, far):
                yield [begin, (x, begin[1]), (x, finish[1]), finish]
    for y in _lanes(near, far, begin[1], finish[1], boxes, lane):
        yield [begin, (near, begin[1]), (near, y), (far, y), (far, finish[1]), finish]


def _lanes(
    near: float, far: float, y: float, other_y: float, boxes: np.ndarray, lane: float
) -> Sequence[float]:  # fmt: skip
    """The heights at which a line can pass the boxes between two vertical segments."""
    left, right = min(near, far), max(near, far)
    between = boxes[(boxes[:, 0] < right) & (boxes[:, 2] > left)]
    heights = np.concatenate([between[:, 1] - CLEARANCE - abs(lane), between[:, 3] + CLEARANCE + abs(lane)])
    middle = (y + other_y) / 2
    nearest = np.unique(heights[np.argsort(np.abs(heights - middle))[:6]]).tolist()
    return [middle + lane, *nearest]


def _cost(way: Sequence[Point], boxes: np.ndarray) -> float:
    length, crossed, bends = 0.0, 0, 0
    last = len(way) - 2
    for place, ((x, y), (to_x, to_y)) in enumerate(pairwise(way)):
        length += abs(to_x - x) + abs(to_y - y)
        bends += (x, y) != (to_x, to_y)
        edge = 1.0 if place in (0, last) else 0.0  # a line touches the boxes that it connects
        left, right = min(x, to_x) + edge, max(x, to_x) - edge
        across = (boxes[:, 0] <= right) & (boxes[:, 2] >= left)
        down = (boxes[:, 1] <= max(y, to_y)) & (boxes[:, 3] >= min(y, to_y))
        crossed += int((across & down).sum())
    return length + CROSSING * crossed + BEND * bends
