"""The initial layout of a diagram: tables are to the left of those that they point at.

It is a layered drawing: cycles are broken, layers are the longest paths from tables that nothing points at,
the order in a layer follows the mean position of the neighbours, and unconnected parts are side by side.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

GAP_ACROSS, GAP_DOWN = 128, 28
"""The gaps between layers, where the lines bend, and between the boxes of a layer."""
GAP_BETWEEN_PARTS = 64
SWEEPS = 8
TALLEST = 2_400
"""The maximum height of a layer; higher ones are split into several side by side."""
WIDE = 1.6
"""The approximate ratio of width to height of the whole diagram."""

Size = tuple[float, float]
Point = tuple[float, float]
Edge = tuple[str, str]


def arrange(sizes: Mapping[str, Size], edges: Iterable[Edge]) -> dict[str, Point]:
    """The upper left corner of each box; the smallest coordinates are 0. The result does not depend on the
    order of tables and edges."""
    pairs = sorted({(a, b) for a, b in edges if a != b and a in sizes and b in sizes})
    parts, lonely = [], []
    for names in _parts(sorted(sizes), pairs):
        if len(names) == 1:
            lonely += names
        else:
            inside = [edge for edge in pairs if edge[0] in names]
            parts.append(_lay_out_layers(names, inside, sizes))
    blocks = [(part, _extent(part, sizes)) for part in parts]
    blocks.sort(key=lambda block: -block[1][1])
    if lonely:
        grid = _grid(lonely, sizes)
        blocks.append((grid, _extent(grid, sizes)))
    return _pack(blocks)


def free_place(
    size: Size, sizes: Mapping[str, Size], places: Mapping[str, Point], beside: Iterable[str] = ()
) -> Point:
    """A free place for a box that is added later: beside the boxes in `beside`, or below all."""
    boxes = [(*places[name], *sizes[name]) for name in places if name in sizes]
    around = [places[name] + sizes[name] for name in beside if name in places and name in sizes]
    for x, y, width, _ in around:
        for left in (x + width + GAP_ACROSS, x - size[0] - GAP_ACROSS):
            if not any(_meet((left, y, *size), box) for box in boxes):
                return left, y
    if not boxes:
        return 0.0, 0.0
    return min(box[0] for box in boxes), max(box[1] + box[3] for box in boxes) + GAP_BETWEEN_PARTS


def _meet(left_box: tuple[float, float, float, float], right_box: tuple[float, float, float, float]) -> bool:
    x, y, width, height = left_box
    left, top, across, down = right_box
    return (
        x < left + across + GAP_DOWN
        and left < x + width + GAP_DOWN
        and y < top + down + GAP_DOWN
        and top < y + height + GAP_DOWN
    )


def _parts(names: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    """The connected components."""
    root = {name: name for name in names}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for source, target in edges:
        root[find(source)] = find(target)
    parts: dict[str, list[str]] = defaultdict(list)
    for name in names:
        parts[find(name)].append(name)
    return list(parts.values())


def _without_circles(names: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges, with those reversed that would close a cycle."""
    following: dict[str, list[str]] = defaultdict(list)
    for source, end in edges:
        following[source].append(end)
    state: dict[str, int] = {}
    acyclic = []
    for first in names:
        if first in state:
            continue
        state[first] = 1
        stack = [(first, iter(following[first]))]
        while stack:
            name, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                state[name] = 2
                stack.pop()
            elif state.get(target) == 1:
                acyclic.append((target, name))
            else:
                acyclic.append((name, target))
                if target not in state:
                    state[target] = 1
                    stack.append((target, iter(following[target])))
    return acyclic


def _layers(names: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    incoming: dict[str, int] = dict.fromkeys(names, 0)
    following: dict[str, list[str]] = defaultdict(list)
    for source, end in edges:
        incoming[end] += 1
        following[source].append(end)
    layer = dict.fromkeys(names, 0)
    ready = [name for name in names if not incoming[name]]
    while ready:
        name = ready.pop()
        for target in following[name]:
            layer[target] = max(layer[target], layer[name] + 1)
            incoming[target] -= 1
            if not incoming[target]:
                ready.append(target)
    for name in reversed(_by_layer(names, layer)):  # as close as possible to what it points at
        if following[name]:
            layer[name] = min(layer[target] for target in following[name]) - 1
    layers: dict[int, list[str]] = defaultdict(list)
    for name in names:
        layers[layer[name]].append(name)
    return [layers[number] for number in sorted(layers)]


def _by_layer(names: Sequence[str], layer: Mapping[str, int]) -> list[str]:
    return sorted(names, key=lambda name: layer[name])


def _lay_out_layers(
    names: Sequence[str], edges: Sequence[Edge], sizes: Mapping[str, Size]
) -> dict[str, Point]:
    """The layout of one connected component."""
    straight = _without_circles(names, edges)
    layers = _layers(names, straight)
    neighbours: dict[str, list[str]] = defaultdict(list)
    for source, target in straight:
        neighbours[source].append(target)
        neighbours[target].append(source)
    middle = {name: float(place) for layer in layers for place, name in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wish = {name: _mean([middle[neighbour] for neighbour in neighbours[name]]) for name in layer}
            layer.sort(key=lambda name: (wish[name], name))
            for place, name in enumerate(layer):
                middle[name] = place * (len(names) / max(1, len(layer)))
    return _spread([part for layer in layers for part in _break_layer(layer, sizes)], neighbours, sizes)


def _break_layer(layer: list[str], sizes: Mapping[str, Size]) -> list[list[str]]:
    height = sum(sizes[name][1] + GAP_DOWN for name in layer)
    pieces = max(1, math.ceil(height / TALLEST))
    length = math.ceil(len(layer) / pieces)
    return [layer[start : start + length] for start in range(0, len(layer), length)]


def _spread(
    layers: Sequence[list[str]], neighbours: Mapping[str, list[str]], sizes: Mapping[str, Size]
) -> dict[str, Point]:
    """Place each box at the height of its neighbours, as far as the boxes above leave room."""
    left, tops, lefts = 0.0, dict[str, float](), dict[str, float]()
    for layer in layers:
        top = 0.0
        for name in layer:
            tops[name], lefts[name] = top, left
            top += sizes[name][1] + GAP_DOWN
        left += max(sizes[name][0] for name in layer) + GAP_ACROSS
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            _settle(layer, tops, neighbours, sizes)
    highest = min(tops.values())
    return {name: (lefts[name], tops[name] - highest) for name in tops}


def _settle(
    layer: Sequence[str],
    tops: dict[str, float],
    neighbours: Mapping[str, list[str]],
    sizes: Mapping[str, Size],
) -> None:
    """Move the boxes of a layer towards their neighbours: first down without overlaps, then the whole layer
    by its mean deviation."""
    wishes = [
        _mean([tops[neighbour] + sizes[neighbour][1] / 2 for neighbour in neighbours[name]])
        - sizes[name][1] / 2
        if neighbours[name]
        else tops[name]
        for name in layer
    ]
    placed, lowest = [], -math.inf
    for name, wish in zip(layer, wishes, strict=True):
        top = max(wish, lowest)
        placed.append(top)
        lowest = top + sizes[name][1] + GAP_DOWN
    shift = _mean([wish - top for wish, top in zip(wishes, placed, strict=True)])
    for name, top in zip(layer, placed, strict=True):
        tops[name] = top + shift


def _grid(names: Sequence[str], sizes: Mapping[str, Size]) -> dict[str, Point]:
    """Place boxes in rows that form about a square."""
    area = sum((sizes[name][0] + GAP_DOWN) * (sizes[name][1] + GAP_DOWN) for name in names)
    width = math.sqrt(area * WIDE)
    x = y = tallest = 0.0
    places = {}
    for name in names:
        across, down = sizes[name]
        if x and x + across > width:
            x, y, tallest = 0.0, y + tallest + GAP_DOWN, 0.0
        places[name] = (x, y)
        x += across + GAP_DOWN
        tallest = max(tallest, down)
    return places


def _pack(blocks: Sequence[tuple[dict[str, Point], Size]]) -> dict[str, Point]:
    """Place blocks from left to right, in rows."""
    area = sum((width + GAP_BETWEEN_PARTS) * (height + GAP_BETWEEN_PARTS) for _, (width, height) in blocks)
    widest = max((size[0] for _, size in blocks), default=0.0)
    room = max(widest, math.sqrt(area * WIDE))
    x = y = tallest = 0.0
    places: dict[str, Point] = {}
    for part, (width, height) in blocks:
        if x and x + width > room:
            x, y, tallest = 0.0, y + tallest + GAP_BETWEEN_PARTS, 0.0
        places |= {name: (x + left, y + top) for name, (left, top) in part.items()}
        x += width + GAP_BETWEEN_PARTS
        tallest = max(tallest, height)
    return places


def _extent(places: Mapping[str, Point], sizes: Mapping[str, Size]) -> Size:
    right = max(places[name][0] + sizes[name][0] for name in places)
    bottom = max(places[name][1] + sizes[name][1] for name in places)
    return right, bottom


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
