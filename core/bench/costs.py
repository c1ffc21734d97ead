"""What child processes of earlier races took, and what another one will take by that.

Known are points: a workload and a backend at a size. Between two of them everything grows with the rows, and
beyond the last as it did between the last two. Small sizes say little of a row: there, and where nothing was
seen, a row costs what the workload says in its option `costs` (by backend: seconds of a step, bytes of memory
and on the disk), or else what its family does. Of a backend that was never seen, the dearest one counts.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from lamella.core.bench.plan import Trial
from lamella.core.bench.protocol import Ended

START_SECONDS = 0.6
"""Of a child: an interpreter and what it imports."""

BYTES_AT_REST = 150_000_000
"""Of a child with nothing in it."""

LEAST_STEP_SECONDS = 0.01

TELLING_ROWS = 1000
"""Fewer take what they take whatever their number."""

ROOM_TO_WORK = 2
"""While a system writes its data anew, the old ones are still there."""


@dataclass(frozen=True)
class Point:
    """One child at `size` rows, of the table and to be changed: seconds of a step, bytes at the most."""

    size: int
    step_seconds: float
    memory_bytes: float
    disk_bytes: float

    @classmethod
    def of(cls, ended: Ended) -> Point:
        steps = ended.repeats * ended.steps
        seconds = max(LEAST_STEP_SECONDS, (ended.seconds - START_SECONDS) / steps)
        memory = max(0, ended.memory_bytes - BYTES_AT_REST)
        return cls(_size(ended.rows, ended.table_rows), seconds, memory, ended.disk_bytes)


FAMILIES = {
    "table": Point(1, 25e-6, 12_000, 2_000),
}
"""Of one row, measured with SQLite: a hundred Python integers in a dict, and once more as an answer."""

ANY_FAMILY = Point(1, 20e-6, 4_000, 1_000)


class Costs:
    def __init__(self, ended: Iterable[Ended]) -> None:
        """Where one size of a workload and backend was measured more than once, the last one counts."""
        found: dict[tuple[str, str], dict[int, Point]] = {}
        for one in ended:
            point = Point.of(one)
            found.setdefault((one.workload, one.backend), {})[point.size] = point
        self._points = {key: [points[size] for size in sorted(points)] for key, points in found.items()}

    def seconds(self, trial: Trial) -> float:
        """Of a whole child, its start included."""
        steps = len(trial.repeats) * len(trial.steps)
        return START_SECONDS + steps * max(
            LEAST_STEP_SECONDS, self._at(trial, lambda point: point.step_seconds)
        )

    def memory_bytes(self, trial: Trial) -> int:
        return BYTES_AT_REST + round(self._at(trial, lambda point: point.memory_bytes))

    def disk_bytes(self, trial: Trial) -> int:
        return ROOM_TO_WORK * round(self._at(trial, lambda point: point.disk_bytes))

    def _at(self, trial: Trial, of: Callable[[Point], float]) -> float:
        size, of_row = _size(trial.rows, trial.table_rows), of(_row(trial))
        own = self._points.get((trial.workload.id, trial.backend))
        others = [points for (name, _), points in self._points.items() if name == trial.workload.id]
        known = [own] if own else others
        return max((_along(_rising(points, of), size, of_row) for points in known), default=of_row * size)


def shipped_costs(newer: Iterable[Ended] = ()) -> Costs:
    """What was measured when this version was made, and over it `newer` ones, the oldest first."""
    return Costs([*shipped(), *newer])


@cache
def shipped() -> Sequence[Ended]:
    source = files("lamella.resources") / "bench" / "costs.json"
    return tuple(Ended(**item) for item in json.loads(source.read_text(encoding="utf-8")))


def to_json(ended: Iterable[Ended]) -> str:
    """For the file that is shipped: a line for each workload, backend and size, the last one measured."""
    last: Mapping[Any, Ended] = {(one.workload, one.backend, one.rows, one.table_rows): one for one in ended}
    lines = (json.dumps(vars(last[key])) for key in sorted(last))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _size(rows: int, table_rows: int) -> int:
    return table_rows if rows == table_rows else table_rows + rows


def _row(trial: Trial) -> Point:
    told = trial.workload.options.get("costs", {}).get(trial.backend)
    return Point(1, *told) if told else FAMILIES.get(trial.workload.family, ANY_FAMILY)


Line = list[tuple[int, float]]
"""Sizes, ascending, and values, none below the one before."""


def _rising(points: Sequence[Point], of: Callable[[Point], float]) -> Line:
    values = accumulate(map(of, points), max)
    return list(zip((point.size for point in points), values, strict=True))


def _along(line: Line, size: int, of_row: float) -> float:
    """The value at a size: on the line, before its beginning, or after its end."""
    (first, least), (last, most) = line[0], line[-1]
    if size >= last:
        return most + _slope(line, of_row) * (size - last)
    if size <= first:
        return least * size / first
    place = bisect_right(line, size, key=lambda known: known[0])
    (low, before), (high, after) = line[place - 1], line[place]
    return before + (after - before) * (size - low) / (high - low)


def _slope(line: Line, of_row: float) -> float:
    """What one more row adds beyond the last size."""
    last, most = line[-1]
    if last < TELLING_ROWS or not most:  # so little that it does not show
        return of_row
    size, value = next((known for known in reversed(line) if known[0] <= last / 2), (0, 0.0))
    slope = (most - value) / (last - size)
    return slope if size else min(slope, of_row)
