"""Estimates time, memory and disk space of a benchmark from the child processes of earlier ones, and refuses
what will not fit.

The estimates are based on points: the costs of a workload and a system at one size. They are interpolated
linearly between sizes, and extrapolated from the last two. Small sizes say little about the cost of a row:
there, and without any points, a row costs what the workload's option `costs` says (by system: seconds of a
step, bytes of memory and on disk), or a default of its family. A system without points costs as much as the
most expensive one.
"""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any

import psutil

from lamella.core.bench.engine.choice import Choice, Trial, plan_trials
from lamella.core.bench.engine.protocol import ProcessUsage, StepStart
from lamella.core.bench.registry import entry_named
from lamella.core.bench.results.figures import shown_bytes
from lamella.core.bench.results.records import from_saved_names, to_saved_names
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job

START_SECONDS = 0.6
"""The time to start a child: an interpreter and its imports."""

BYTES_AT_REST = 150_000_000
"""The memory of a child without any data."""

LEAST_STEP_SECONDS = 0.01

TELLING_ROWS = 1000
"""With fewer rows, costs do not depend on their number."""

ROOM_TO_WORK = 2
"""A factor of disk space: while a system rewrites its data, the old data still exists."""


@dataclass(frozen=True)
class Point:
    """The costs of one child at `size` rows (of the table, plus those that change): seconds per step, and
    peaks of memory and disk space."""

    size: int
    step_seconds: float
    memory_bytes: float
    disk_bytes: float

    @classmethod
    def of(cls, step_end: ProcessUsage) -> Point:
        steps = step_end.repeats * step_end.steps
        seconds = max(LEAST_STEP_SECONDS, (step_end.seconds - START_SECONDS) / steps)
        memory = max(0, step_end.memory_bytes - BYTES_AT_REST)
        return cls(_size(step_end.rows, step_end.table_rows), seconds, memory, step_end.disk_bytes)


FAMILIES = {
    "table": Point(1, 25e-6, 12_000, 2_000),
}
"""The costs of one row by family, measured with SQLite: a hundred Python integers in a dict, and again in an
answer."""

ANY_FAMILY = Point(1, 20e-6, 4_000, 1_000)


class Costs:
    def __init__(self, ends: Iterable[ProcessUsage]) -> None:
        """If a size of a workload and system was measured several times, the last measurement counts."""
        by_system: dict[tuple[str, str], dict[int, Point]] = {}
        for end in ends:
            point = Point.of(end)
            by_system.setdefault((end.workload, end.system), {})[point.size] = point
        self._points = {key: [points[size] for size in sorted(points)] for key, points in by_system.items()}

    def seconds(self, trial: Trial) -> float:
        """The time of a whole child, including its start."""
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
        own = self._points.get((trial.workload.id, trial.system))
        workload_points = [points for (name, _), points in self._points.items() if name == trial.workload.id]
        lines = [own] if own else workload_points
        return max((_along(_rising(points, of), size, of_row) for points in lines), default=of_row * size)


def shipped_costs(newer: Iterable[ProcessUsage] = ()) -> Costs:
    """The costs measured for this release, overridden by `newer` ones, which come oldest first."""
    return Costs([*shipped_processes(), *newer])


@cache
def shipped_processes() -> Sequence[ProcessUsage]:
    source = files("lamella.resources") / "bench" / "costs.json"
    return tuple(
        ProcessUsage(**from_saved_names(item)) for item in json.loads(source.read_text(encoding="utf-8"))
    )


def to_json(ends: Iterable[ProcessUsage]) -> str:
    """The text of the shipped file: a line for each workload, system and size, with its last measurement."""
    last: Mapping[Any, ProcessUsage] = {
        (end.workload, end.system, end.rows, end.table_rows): end for end in ends
    }
    lines = (json.dumps(to_saved_names(vars(last[key]))) for key in sorted(last))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _size(rows: int, table_rows: int) -> int:
    return table_rows if rows == table_rows else table_rows + rows


def _row(trial: Trial) -> Point:
    costs = trial.workload.options.get("costs", {}).get(trial.system)
    return Point(1, *costs) if costs else FAMILIES.get(trial.workload.family, ANY_FAMILY)


Line = list[tuple[int, float]]
"""Pairs of sizes, ascending, and values, which never decrease."""


def _rising(points: Sequence[Point], of: Callable[[Point], float]) -> Line:
    values = accumulate(map(of, points), max)
    return list(zip((point.size for point in points), values, strict=True))


def _along(line: Line, size: int, of_row: float) -> float:
    """The value at a size: interpolated, or extrapolated before the first or after the last one."""
    (first, least), (last, most) = line[0], line[-1]
    if size >= last:
        return most + _slope(line, of_row) * (size - last)
    if size <= first:
        return least * size / first
    place = bisect_right(line, size, key=lambda point: point[0])
    (low, before), (high, after) = line[place - 1], line[place]
    return before + (after - before) * (size - low) / (high - low)


def _slope(line: Line, of_row: float) -> float:
    """The cost of each row beyond the last size."""
    last, most = line[-1]
    if last < TELLING_ROWS or not most:  # too little to measure
        return of_row
    size, value = next((point for point in reversed(line) if point[0] <= last / 2), (0, 0.0))
    slope = (most - value) / (last - size)
    return slope if size else min(slope, of_row)


@dataclass(frozen=True)
class Estimate:
    """The costs of a whole benchmark. `memory_bytes` and `disk_bytes` are those of its largest child, since
    only one runs at a time.

    `problems` say what does not fit, without a full stop; `fitting_rows` are the sizes that fit.
    """

    seconds: float
    memory_bytes: int
    disk_bytes: int
    problems: tuple[str, ...]
    fitting_rows: tuple[int, ...]


def estimate(choice: Choice, costs: Costs | None = None) -> Estimate:
    """Estimate a benchmark, and compare it with the memory and disk space that are free now. Reads no data.
    `costs` may include those of saved runs."""
    known_costs = costs or shipped_costs()
    trials = [
        trial for trial in planned_trials(choice) if entry_named(trial.system).takes(trial.workload.family)
    ]
    problems = {trial_key(trial): problem(trial, choice.folder, known_costs) for trial in trials}
    titles = [(_title_of(trial), problems[trial_key(trial)]) for trial in trials]
    missing_rows = {rows for (_, _, rows), reasons in problems.items() if reasons}
    return Estimate(
        seconds=sum(known_costs.seconds(trial) for trial in trials),
        memory_bytes=max(map(known_costs.memory_bytes, trials), default=0),
        disk_bytes=max(map(known_costs.disk_bytes, trials), default=0),
        problems=tuple(dict.fromkeys(f"{title}: {reasons}" for title, reasons in titles if reasons)),
        fitting_rows=tuple(rows for rows in choice.rows if rows not in missing_rows),
    )


def refuse_what_does_not_fit(choice: Choice, costs: Costs | None = None) -> Estimate:
    """Estimate a benchmark. Raises LamellaError with the estimate if memory or disk space is too small."""
    forecast = estimate(choice, costs)
    if not forecast.problems:
        return forecast
    fitting = ", ".join(f"{rows:,}" for rows in forecast.fitting_rows)
    more = len(forecast.problems) - SHOWN_PROBLEMS
    lines = [*forecast.problems[:SHOWN_PROBLEMS], *([f"{more:,} more do not fit"] if more > 0 else [])]
    raise LamellaError(
        "This benchmark does not fit on this computer",
        "; ".join(lines),
        f"Leave these sizes or systems out: {fitting} rows fit" if fitting else "Measure fewer rows",
    )


SHOWN_PROBLEMS = 3


def problem(trial: Trial, folder: Path | None, costs: Costs) -> str:
    """Why a trial does not fit here now; empty if it does."""
    return _memory_problem(trial, costs) or _disk_problem(trial, folder, costs)


def planned_trials(choice: Choice) -> list[Trial]:
    """All child processes of a benchmark, in order."""
    return [trial for trials in planned_trials_by_part(choice) for trial in trials]


def planned_trials_by_part(choice: Choice, first_repeat: int = 0) -> list[list[Trial]]:
    return [
        plan_trials(
            part.workload,
            part.rows,
            list(dict.fromkeys(part.systems)),
            part.repeats,
            choice.fresh,
            choice.seed,
            first_repeat,
        )
        for part in choice.parts
    ]


def trial_key(trial: Trial) -> tuple[str, str, int]:
    return (trial.workload.id, trial.system, trial.rows)


def _memory_problem(trial: Trial, costs: Costs) -> str:
    free, memory = psutil.virtual_memory().available, costs.memory_bytes(trial)
    return _lack("memory", trial, memory, free, "is free")


def _disk_problem(trial: Trial, folder: Path | None, costs: Costs) -> str:
    place = folder or Path(tempfile.gettempdir())
    if not place.exists():
        return ""  # the benchmark itself reports that
    free, size = psutil.disk_usage(str(place)).free, costs.disk_bytes(trial)
    return _lack("disk space", trial, size, free, f"is free in {place}")


def _lack(what: str, trial: Trial, size: int, free: int, where: str) -> str:
    if size <= free:
        return ""
    rows = f"{trial.table_rows:,} rows"
    return f"Not enough {what}: {rows} need about {shown_bytes(size)} and {shown_bytes(free)} {where}"


def _title_of(trial: Trial) -> str:
    return f"{trial.workload.title}, {entry_named(trial.system).title}"


class Clock:
    """Reports progress to a job, in estimated milliseconds. Trials must begin in the order of `trials`."""

    def __init__(self, job: Job, trials: Sequence[Trial], seconds: Sequence[float]) -> None:
        self._job, self._seconds = job, list(zip(trials, seconds, strict=True))
        self._whole = sum(seconds)
        self._before = self._time_of_step = 0.0
        self._trial: Trial | None = None

    def begin(self, trial: Trial) -> None:
        self._before += self._time_of_step
        planned, self._time_of_step = self._seconds.pop(0)
        assert planned is trial
        self._trial = trial
        self._tell(self._before)

    def step(self, doing: StepStart) -> None:
        assert self._trial is not None
        steps, repeats = self._trial.steps, self._trial.repeats
        steps_before = repeats.index(doing.repeat) * len(steps) + steps.index(doing.step)
        self._tell(self._before + self._time_of_step * steps_before / (len(steps) * len(repeats)))

    def end(self) -> None:
        self._tell(self._whole)

    def _tell(self, seconds: float) -> None:
        self._job.report(round(seconds * 1000), round(self._whole * 1000))
