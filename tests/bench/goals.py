"""The goals of the store: ratios within one run, and a few absolute times."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from lamella.core.bench.registry import entry_named, workload_named
from lamella.core.bench.results.figures import ReportTable, shown_bytes, shown_seconds, shown_share
from lamella.core.bench.results.records import FIRST, Point, Record, Summary, by_call, summaries
from lamella.core.bench.workloads.entity_queries import DEPTHS

OURS = "lamella"
LARGE, MIDDLE = 1_000_000, 100_000
BEST = {"duckdb": 1 / 1.2, "polars": 1 / 1.2, "sqlite": 60}
"""At most 1.2 times as long as the fastest engines on their own files; 60 times as fast as SQLite."""


@dataclass(frozen=True)
class Goal:
    """A goal: Lamella's statistic is at most `limit` times that of `rival`, or `limit` seconds without one.

    For a question, the statistic is that of repeated calls, on both sides; the first call since opening never
    counts. `rows` are the sizes of the goal; if empty, all. `rival_operation` is by default the same
    operation.
    """

    workload: str
    operation: str
    limit: float
    rival: str | None = None
    rows: tuple[int, ...] = ()
    rival_operation: str | None = None
    quantity: str = "seconds"
    percent: float = 50


@dataclass(frozen=True)
class Verdict:
    """The measured result of a goal at one size."""

    goal: Goal
    rows: int
    ours: float
    theirs: float | None

    @property
    def counts(self) -> bool:
        """Whether the goal was set for this size."""
        return not self.goal.rows or self.rows in self.goal.rows

    @property
    def met(self) -> bool:
        return self.ours <= self.goal.limit * (1.0 if self.theirs is None else self.theirs)


def _faster(workload: str, operation: str, times: dict[str, float], rows: Sequence[int]) -> list[Goal]:
    return [Goal(workload, operation, 1 / factor, rival, tuple(rows)) for rival, factor in times.items()]


def _entity(operation: str) -> list[Goal]:
    return [Goal("entity-changes", operation, 0.001), Goal("entity-changes", operation, 0.005, percent=99)]


def _at_most(seconds: float, workload: str, *operations: str) -> list[Goal]:
    return [Goal(workload, operation, seconds, rows=(MIDDLE,)) for operation in operations]


GOALS: tuple[Goal, ...] = (
    *_faster("small", "create", {"sqlite": 1.8, "parquetdb": 10}, [MIDDLE]),
    *_faster("small", "create", {"sqlite": 2.2}, [LARGE]),
    *_faster("small", "read", {"sqlite": 50, "pyarrow": 3}, [MIDDLE]),
    *_faster("small", "read", {"sqlite": 40, "pyarrow": 4}, [LARGE]),
    *_faster("small", "read_again", {"sqlite": 50, "pyarrow": 3}, [MIDDLE]),
    *_faster("small", "read_again", {"sqlite": 40, "pyarrow": 4}, [LARGE]),
    *_faster("small", "query", {"sqlite": 1.5}, [MIDDLE]),
    *_faster("small", "query", {"sqlite": 2.5}, [LARGE]),
    *_faster("small", "query_again", {"sqlite": 30}, [LARGE]),
    *_faster("update", "update_by_row_id", {"sqlite": 1.3, "parquetdb": 8}, [MIDDLE]),
    Goal("single", "update_one", 3.0, "sqlite-wal"),
    Goal("single", "update_cell", 3.0, "sqlite-wal"),
    Goal("single", "delete_one", 3.0, "sqlite-wal"),
    Goal("single", "update_one", 1 / 1000, "parquetdb", (LARGE,)),
    Goal("single", "delete_one", 1 / 1000, "parquetdb", (LARGE,)),
    Goal("single", "get", 0.015, rows=(LARGE,)),
    Goal("single", "get_again", 0.0003, rows=(LARGE,)),
    Goal("small", "create", 0.65, "sqlite", (LARGE,), quantity="disk_bytes"),
    Goal("scattered", "read_updated", 1.3, OURS, (LARGE,), "read"),
    Goal("scattered", "read_updated_again", 1.3, OURS, (LARGE,), "read_again"),
    Goal("scattered", "read_deleted", 1.8, OURS, (LARGE,), "read"),
    Goal("scattered", "read_deleted_again", 1.8, OURS, (LARGE,), "read_again"),
    *(goal for name in ("create_one", "update_set", "update_inc", "update_push") for goal in _entity(name)),
    *_entity("delete_one"),
    Goal("entity-changes", "get_again", 0.0002),
    Goal("entity-changes", "create_batch", 0.030),
    *_at_most(0.008, "entity-queries", "equality", "range", "in", "and", "or", "nested"),
    *_at_most(0.040, "entity-queries", "regex"),
    *_at_most(0.015, "entity-queries", "sort_number", "sort_text", "sort_two", "sort_three"),
    *_at_most(0.002, "entity-queries", *(f"{by}_{depth}" for by in ("page", "cursor") for depth in DEPTHS)),
    *_at_most(0.005, "entity-queries", "group_by"),
    *_at_most(0.0002, "entity-queries", "count"),
    Goal("entity-queries", "project_two", 1 / 10, OURS, (MIDDLE,), "project_all"),
    Goal("entity-storage", "write", 1 / 12, "jsonl", (MIDDLE,), quantity="disk_bytes"),
    *_at_most(0.0002, "entity-indexes", "equality_keys", "point_keys", "range_keys", "prefix_keys"),
    *_at_most(0.002, "entity-indexes", "equality_rows", "point_rows", "range_rows", "prefix_rows", "in_rows"),
    *_at_most(0.002, "entity-indexes", "sort_number", "sort_code", "next_rows"),
    *_at_most(0.060, "entity-indexes", "build_number", "build_owner", "build_code"),
    *_at_most(0.0005, "entity-text", "single_term", "common_term", "rare_term"),
    *_at_most(0.005, "entity-text", "phrase", "common_phrase"),
    *_at_most(0.002, "entity-text", "single_term_rows"),
    *_at_most(0.500, "entity-text", "build_words", "build_stems"),
    *_at_most(0.002, "entity-relations", "entries", "entries_sorted", "entries_filtered", "entries_page"),
    *_at_most(0.002, "entity-relations", "entries_next_page", "title_entries", "entry_title", "entry_person"),
    *(goal for name in ("Q1", "Q2", "Q3", "Q4") for goal in _faster("taxi", name, BEST, ())),
    *_at_most(0.002, "entity-relations", "skills", "occupations", "children", "parent"),
)


def verdicts(records: Sequence[Record]) -> list[Verdict]:
    """Return the result of every goal at its sizes; if none of them was measured, at the largest size."""
    return [verdict for goal in GOALS for verdict in _of_goal(goal, records)]


def goal_table(all_verdicts: Sequence[Verdict]) -> ReportTable:
    header = ("workload", "operation", "rows", "Lamella", "rival", "ratio", "goal", "")
    return ReportTable("Goals (medians, or the percentile named)", header, tuple(map(_line, all_verdicts)))


def missed_and_met(all_verdicts: Sequence[Verdict]) -> list[ReportTable]:
    """Return the lines for a page: missed goals one by one; for met goals, one line for all sizes of a goal,
    and for operations of one workload that may take the same time."""
    header = ("workload", "operation", "rows", "Lamella", "rival", "ratio", "goal")
    missed = tuple(_line(verdict)[:-1] for verdict in all_verdicts if verdict.counts and not verdict.met)
    met: dict[Hashable, list[Verdict]] = {}
    for verdict in all_verdicts:
        if verdict.counts and verdict.met:
            goal = verdict.goal
            alike = (goal.workload, goal.limit, goal.percent, goal.quantity, verdict.rows)
            met.setdefault(goal if goal.rival else alike, []).append(verdict)
    lines = tuple(
        _line_of_sizes(group) if group[0].goal.rival else _line_of_times(group) for group in met.values()
    )
    titles = "(medians, or the percentile named)"
    tables = [ReportTable(f"Missed {titles}", header, missed), ReportTable(f"Met {titles}", header, lines)]
    return [table for table in tables if table.lines]


def _line_of_sizes(group: Sequence[Verdict]) -> tuple[str, ...]:
    """Return a line with the first and the last size, and their measurements."""
    first, last = _line(group[0])[:-1], _line(group[-1])[:-1]
    return tuple(
        start if start == end else f"{start} to {end.removeprefix(_shared(start, end))}"
        for start, end in zip(first, last, strict=True)
    )


def _line_of_times(group: Sequence[Verdict]) -> tuple[str, ...]:
    """Return a line with the operations, and the shortest and longest time of one of them."""
    lines = [_line(verdict)[:-1] for verdict in sorted(group, key=lambda verdict: verdict.ours)]
    times = dict.fromkeys((lines[0][3], lines[-1][3]))
    percentile = lines[0][1].rpartition(", ")[2]
    titles = "; ".join(_line(verdict)[1].rpartition(", ")[0] for verdict in group)
    return lines[0][0], f"{titles}: {percentile}", lines[0][2], " to ".join(times), *lines[0][4:]


def _shared(start: str, end: str) -> str:
    """Return the rival's name, which appears once per line."""
    name = start.rsplit(" ", 2)[0] + " "
    return name if start.count(" ") > 1 and end.startswith(name) else ""


def _of_goal(goal: Goal, records: Sequence[Record]) -> list[Verdict]:
    calls = by_call([record for record in records if record.workload == goal.workload])
    judged = [record for (_, call), group in calls.items() if call != FIRST for record in group]
    points = summaries(judged, quantity=goal.quantity)
    sizes = sorted({rows for _, _, rows in points})
    results = [verdict for rows in sizes if (verdict := _verdict(goal, rows, points))]
    return [verdict for verdict in results if verdict.counts] or results[-1:]


def _verdict(goal: Goal, rows: int, points: Mapping[Point, Summary]) -> Verdict | None:
    ours = points.get((goal.operation, OURS, rows))
    theirs = points.get((goal.rival_operation or goal.operation, goal.rival or "", rows))
    if ours is None or (goal.rival and theirs is None):
        return None
    percent = goal.percent
    return Verdict(goal, rows, ours.percentile(percent), theirs.percentile(percent) if theirs else None)


def _line(verdict: Verdict) -> tuple[str, ...]:
    goal, theirs = verdict.goal, verdict.theirs
    in_words = shown_bytes if goal.quantity == "disk_bytes" else shown_seconds
    title = workload_named(goal.workload).operation(goal.operation).title
    what = ", bytes on disk" if goal.quantity == "disk_bytes" else f", p{goal.percent:.0f}"
    return (
        goal.workload,
        title + (what if what != ", p50" or theirs is None else ""),
        f"{verdict.rows:,}",
        in_words(verdict.ours),
        _rival(goal, in_words(theirs)) if theirs is not None else "–",
        shown_share(verdict.ours / theirs) if theirs else "–",
        _wanted(goal),
        _mark(verdict),
    )


def _rival(goal: Goal, in_words: str) -> str:
    if goal.rival_operation:
        return f"{workload_named(goal.workload).operation(goal.rival_operation).title} {in_words}"
    return f"{entry_named(goal.rival or OURS).title} {in_words}"


def _wanted(goal: Goal) -> str:
    if not goal.rival:
        return f"at most {shown_seconds(goal.limit)}"
    return f"{'at least' if goal.limit < 1 else 'at most'} {shown_share(goal.limit)}"


def _mark(verdict: Verdict) -> str:
    if not verdict.counts:
        return "(set for another size)"
    return "met" if verdict.met else "MISSED"
