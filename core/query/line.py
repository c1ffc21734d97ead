"""The steps that a tab works on: a pipeline whose steps may be off, unfinished or broken."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from lamella.core.errors import LamellaError
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import And, Filter, Predicate, all_of, columns_read
from lamella.core.jobs import Job
from lamella.core.query.builder import Query, query_of
from lamella.core.query.computed_view import ComputedView, computed_on_pages
from lamella.core.query.group_levels import (
    GroupLevels,
    shown_group,
    shows_totals,
    totals_steps,
    without_totals,
)
from lamella.core.query.scan_query import ScanQuery, as_scan
from lamella.core.query.source import (
    Engine,
    FetchedRows,
    Remote,
    SnapshotSource,
    Source,
    engine_of,
    whole_snapshot,
)
from lamella.core.query.steps import Compute, Limit, Pipeline, Sample, Select, Sort, Step, Where
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot, SortKey, snapshot_of_rows


@dataclass(frozen=True)
class LineStep:
    """`step` is None until the editor has produced one. `draft` is extra state of the editor, such as
    conditions that are off: JSON, or None."""

    kind: type[Step]
    step: Step | None
    on: bool = True
    draft: Any = field(default=None, compare=False)

    @property
    def is_active(self) -> bool:
        return self.on and self.step is not None


@dataclass(frozen=True)
class Line:
    """`sources` are the datasets that joins refer to, by name."""

    steps: tuple[LineStep, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict, hash=False, compare=False)

    @classmethod
    def of(cls, steps: Sequence[Step], sources: Mapping[str, Source] | None = None) -> Line:
        return cls(tuple(LineStep(type(step), step) for step in steps), sources or {})

    @property
    def active(self) -> tuple[Step, ...]:
        """The steps that are on."""
        return tuple(step.step for step in self.steps if step.on and step.step is not None)

    def insert(self, place: int, kind: type[Step], step: Step | None, draft: Any = None) -> Line:
        return self._with(*self.steps[:place], LineStep(kind, step, True, draft), *self.steps[place:])

    def edit(self, place: int, step: Step | None, draft: Any = None) -> Line:
        """Replace the step at `place`, which stays on or off."""
        edited = replace(self.steps[place], step=step, draft=draft)
        return self._with(*self.steps[:place], edited, *self.steps[place + 1 :])

    def remove(self, place: int) -> Line:
        return self._with(*self.steps[:place], *self.steps[place + 1 :])

    def switch(self, place: int) -> Line:
        """Turn the step at `place` off if it is on, and on if it is off."""
        step = self.steps[place]
        return self._with(*self.steps[:place], replace(step, on=not step.on), *self.steps[place + 1 :])

    def move(self, place: int, before: int) -> Line:
        """Move the step at `place` to before the step that is at `before` now, or to the end."""
        steps = [step for number, step in enumerate(self.steps) if number != place]
        steps.insert(before - (before > place), self.steps[place])
        return self._with(*steps)

    @property
    def grouping(self) -> int | None:
        """The index of the grouping whose rows are shown; None if no grouping's rows are."""
        on = [place for place, step in enumerate(self.steps) if step.is_active]
        group = shown_group(self.active)
        return on[group[0]] if group is not None and group[1].keys else None

    def inside_group(self, values: Mapping[str, Any]) -> Line:
        """The rows of one group: a filter replaces the grouping and every step after it."""
        place = self.grouping
        assert place is not None
        parts = [Predicate(name, "is_null") if value is None else Predicate(name, "eq", (value,))
                 for name, value in values.items()]  # fmt: skip
        condition = parts[0] if len(parts) == 1 else all_of(parts)
        return self._with(*self.steps[:place]).insert(place, Where, Where(condition))

    def with_sources(self, sources: Mapping[str, Source]) -> Line:
        """Add datasets that joins refer to."""
        return replace(self, sources={**self.sources, **sources})

    # ------------------------------------------------------------------- the tail

    @property
    def tail(self) -> int:
        """The index from which on all active steps only filter, sort, choose columns or limit."""
        on = [place for place, step in enumerate(self.steps) if step.is_active]
        computed_steps, _ = split_steps(self.active)
        return on[len(computed_steps)] if len(computed_steps) < len(on) else len(self.steps)

    def last_of(self, kind: type[Step]) -> int | None:
        """The index of the last active step of a kind in the tail; None if there is none."""
        places = range(len(self.steps) - 1, self.tail - 1, -1)
        return next((n for n in places if self.steps[n].on and self.steps[n].kind is kind), None)

    @property
    def filter_place(self) -> int | None:
        """The index of the last filter that applies to the rows as shown: no later step turns them into other
        rows. None if there is none."""
        for place in range(len(self.steps) - 1, -1, -1):
            if self.steps[place].kind is Where:
                return place
            if self.steps[place].kind not in (Sort, Select, Limit, Sample, Compute):
                return None
        return None

    def place_of_new(self, kind: type[Step]) -> int:
        """The index at which to insert a new step of a kind: a filter before sorts and column choices, a sort
        before column choices, both after any limit, and every other step at the end."""
        later: tuple[type[Step], ...] = {Where: (Sort, Select), Sort: (Select,)}.get(kind, ())
        place = len(self.steps)
        while place > self.tail and self.steps[place - 1].kind in later:
            place -= 1
        return place

    @property
    def sort(self) -> tuple[SortKey, ...]:
        """The keys by which the final rows are sorted."""
        return split_steps(self.active)[1].sort

    def with_sort(self, keys: Sequence[SortKey]) -> Line:
        """Replace the sort keys; without keys, remove the sort."""
        place = self.last_of(Sort)
        if place is None:
            return self.insert(self.place_of_new(Sort), Sort, Sort(tuple(keys))) if keys else self
        return self.edit(place, Sort(tuple(keys))) if keys else self.remove(place)

    def _with(self, *steps: LineStep) -> Line:
        return replace(self, steps=steps)


def split_steps(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ScanQuery]:
    """Split the steps into those that must be computed for all rows, and those after them that a view
    applies."""
    for place in range(len(steps)):
        scan = as_scan(steps[place:])
        if scan is not None:
            return tuple(steps[:place]), scan
    return tuple(steps), ScanQuery()


@dataclass(frozen=True)
class RunnableLine:
    """The steps of a line that can run. `schemas` are the columns before each step of the line, and after the
    last one. `problems` maps the index of each step that cannot run, and is therefore skipped, to the
    reason."""

    steps: tuple[Step, ...]
    schemas: tuple[pa.Schema, ...]
    problems: Mapping[int, str]


def check_line(line: Line, source: Source, schema: pa.Schema, job: Job | None = None) -> RunnableLine:
    """Check which steps can run. `schema` is the source's. Reads no rows unless the columns of a step depend
    on them, as those of a pivot do. Blocks."""
    steps, schemas, problems = list[Step](), [schema], {}
    for place, step in enumerate(line.steps):
        if step.on and step.step is not None:
            try:
                schema = _schema_after(source, line, steps, schema, step.step)
                steps.append(step.step)
            except LamellaError as error:
                problems[place] = str(error)
        schemas.append(schema)
        if job is not None:
            job.check()
    return RunnableLine(tuple(steps), tuple(schemas), problems)


def _schema_after(
    source: Source, line: Line, before: Sequence[Step], schema: pa.Schema, step: Step
) -> pa.Schema:
    if isinstance(step, Where):
        bind(step.condition, schema, source.name)
        return schema
    if isinstance(step, Sort) and all(key.column in schema.names for key in step.keys):
        return schema
    if isinstance(step, Limit | Sample):
        return schema
    if isinstance(step, Select) and all(name in schema.names for name in step.columns):
        return pa.schema([schema.field(name) for name in step.columns])
    return query_of_line(line, source, (*before, step)).schema


def query_of_line(line: Line, source: Source, steps: Sequence[Step]) -> Query:
    """The steps as a query of the source and of the datasets that are joined."""
    return Query({**line.sources, source.name: source}, Pipeline(source.name, tuple(steps)))


MOST_ANSWERS = 4
MOST_TREE_GROUPS = 2_000_000
"""The largest number of groups that is shown as a tree."""


class LineAnswers:
    """Runs lines of one dataset, and keeps the last answers, so that another filter or sort of a grouping
    does not group again. Any thread."""

    def __init__(self) -> None:
        self._answers: dict[tuple[object, ...], Snapshot] = {}
        self._totals: dict[tuple[object, ...], Snapshot] = {}
        self._levels: dict[Snapshot, GroupLevels] = {}
        self._fetched_answers: dict[tuple[object, ...], FetchedRows] = {}
        self._tokens: dict[tuple[object, ...], object] = {}
        """Identify the rows of remote answers, for as long as figures computed from them may be cached."""

    def view(self, line: Line, source: Source, job: Job) -> LineView:
        """Run the line. Blocks. Raises like `Query.read`."""
        start = time.perf_counter()
        if isinstance(source, Remote):
            return self._remote_view(line, source, source.engine, job)
        snapshot = source.snapshot()
        runnable = check_line(line, source, snapshot.schema, job)
        computed_steps, scan = split_steps(runnable.steps)
        paged = computed_on_pages(runnable.steps) if computed_steps else None
        if paged is not None:
            plain, computed = paged
            pages = ComputedView(View(snapshot, plain, job), computed, runnable.schemas[-1])
            return LineView(pages, runnable, True, snapshot, time.perf_counter() - start)
        if not computed_steps:
            view = View(snapshot, scan, job)
            return LineView(view, runnable, False, snapshot, time.perf_counter() - start)
        query = self._freeze(line, source, without_totals(computed_steps), job)
        view = View(self._answer(self._answers, query, job), scan, job)
        levels = self._levels_of(view, runnable, query, job) if tree_problem(view, runnable) == "" else None
        return LineView(view, runnable, True, snapshot, time.perf_counter() - start, levels)

    def _remote_view(self, line: Line, source: Source, engine: Engine, job: Job) -> LineView:
        """Compute all steps on the server that holds the rows, and fetch the answer up to a limit."""
        start = time.perf_counter()
        columns = source.snapshot()
        runnable = check_line(line, source, columns.schema, job)
        query = query_of_line(line, source, without_totals(runnable.steps))
        key = _answer_key(query)
        fetched = self._fetched_answers.pop(key, None) or engine.fetch(query, job)
        self._fetched_answers[key] = fetched
        for old in list(self._fetched_answers)[:-MOST_ANSWERS]:
            self._fetched_answers.pop(old, None)
        view, levels = self._fetched_view(fetched, query), None
        if fetched.is_whole and tree_problem(view, runnable) == "":
            levels = self._levels_of(view, runnable, query, job)
        seconds = time.perf_counter() - start
        return LineView(view, runnable, True, columns, seconds, levels, fetched, query)

    def _fetched_view(self, fetched: FetchedRows, query: Query) -> View:
        """A view whose figures cover all rows that the last steps filter and sort. If the steps limit the
        rows, the figures cover the limited rows."""
        from lamella.core.query.engine_figures import EngineRows, FetchedView

        computed_steps, scan = split_steps(query.pipeline.steps)
        where = None
        if scan.limit is None and not scan.offset:
            query, where = query.with_steps(computed_steps), scan.where
        if fetched.is_whole and where is None:
            return View(fetched.snapshot)
        key = _answer_key(query)
        token = self._tokens.setdefault(key, object())
        for old in list(self._tokens)[:-MOST_ANSWERS]:
            self._tokens.pop(old, None)
        rows = EngineRows(query, fetched.snapshot.schema, token)
        return FetchedView(fetched.snapshot, rows, where, fetched.is_whole)

    def fetch_more(self, lines: LineView, job: Job) -> None:
        """Fetch further rows of an answer that was not fetched whole; the next `view` has them. Blocks."""
        query, fetched = lines.remote, lines.fetched_rows
        assert query is not None and fetched is not None
        engine = engine_of(query)
        assert engine is not None
        self._fetched_answers[_answer_key(query)] = engine.fetch(query, job, fetched)

    def forget(self) -> None:
        """Drop the remote answers, so that they are fetched again next time."""
        self._fetched_answers.clear()
        self._tokens.clear()

    def totals(self, line: Line, source: Source, steps: tuple[Step, ...], job: Job) -> pa.Table:
        """Read the totals of the groups that the steps give, as one row. Blocks."""
        totals = totals_steps(steps)
        assert totals is not None
        if isinstance(source, Remote):
            return source.engine.read(query_of_line(line, source, totals), job)
        rows = self._answer(self._totals, self._freeze(line, source, totals, job), job)
        return View(rows).page(0, 1)

    def _freeze(self, line: Line, source: Source, steps: tuple[Step, ...], job: Job) -> Query:
        """A query of the datasets as they are now, so that several queries read the same rows."""
        pipeline = Pipeline(source.name, steps)
        sources = {**line.sources, source.name: source}
        return Query(
            {name: SnapshotSource(whole_snapshot(sources[name], job)) for name in pipeline.sources()},
            pipeline,
        )

    @staticmethod
    def _answer(answers: dict[tuple[object, ...], Snapshot], query: Query, job: Job) -> Snapshot:
        tokens = tuple(source.snapshot().token for source in query.sources.values())
        key = (query.pipeline, repr(query.pipeline), tokens)  # 1, 1.0 and True are equal in Python
        answer = answers.pop(key, None)
        if answer is None:
            answer = snapshot_of_rows(query.read(job), query.name)
        answers[key] = answer
        for old in list(answers)[:-MOST_ANSWERS]:
            answers.pop(old, None)
        return answer

    def _levels_of(self, view: View, runnable: RunnableLine, query: Query, job: Job) -> GroupLevels:
        answer = view.snapshot
        levels = self._levels.get(answer)
        if levels is None:
            levels = GroupLevels.read(
                query.pipeline.steps, lambda steps: query.with_steps(steps).read(job), answer, job
            )
        self._levels = {answer: levels}
        return levels


@dataclass(frozen=True)
class LineView:
    """`is_computed` is whether the rows are computed rather than the dataset's own, which are in `source`.
    `levels` is set if groups are shown as a tree."""

    view: View | ComputedView
    runnable: RunnableLine
    is_computed: bool
    source: Snapshot
    seconds: float
    levels: GroupLevels | None = None
    fetched_rows: FetchedRows | None = None
    remote: Query | None = None
    """The query that the engine holding the rows runs."""

    @property
    def rows(self) -> Query:
        """The rows that are shown, as a query to build on; all rows if the answer was not fetched whole."""
        if self.remote is not None and self.fetched_rows is not None:
            return query_of(SnapshotSource(self.view.snapshot)) if self.fetched_rows.is_whole else self.remote
        computed_steps, _ = split_steps(self.runnable.steps)
        answered = self.is_computed and not isinstance(self.view, ComputedView)
        steps = self.runnable.steps[len(computed_steps) :] if answered else self.runnable.steps
        return query_of(SnapshotSource(self.view.snapshot)).with_steps(steps)

    @property
    def shows_totals(self) -> bool:
        """Whether totals of the groups are shown."""
        return shows_totals(self.runnable.steps)

    @property
    def tree_problem(self) -> str | None:
        """Why groups are not shown as a tree: "" if they are, None if no tree is wanted."""
        return tree_problem(self.view, self.runnable)


def _answer_key(query: Query) -> tuple[object, ...]:
    """The `repr` tells 1, 1.0 and True apart, which are equal in Python."""
    return (query.sources[query.name], query.pipeline, repr(query.pipeline))


def tree_problem(view: View | ComputedView, runnable: RunnableLine) -> str | None:
    """Why groups cannot be shown as a tree: "" if they can, None if no tree is wanted."""
    _place, group = shown_group(runnable.steps) or (0, None)
    if group is None or not group.subtotals or not group.keys:
        return None
    left_out = next((key for key in group.keys if key not in view.schema.names), None)
    if left_out is not None:
        return f"no subtotals: a later step leaves out '{left_out}'"
    if view.num_rows > MOST_TREE_GROUPS:
        return f"no subtotals of more than {MOST_TREE_GROUPS:,} groups"
    return ""


def fitting_line(line: Line, names: set[str]) -> Line:
    """The line without conditions and sort keys on columns that no longer exist. A line with computed steps
    stays as it is: its steps that cannot run report why."""
    computed_steps, _ = split_steps(line.active)
    if computed_steps:
        return line
    place = 0
    while place < len(line.steps):
        step = line.steps[place].step
        fitting: Step | None = step
        if isinstance(step, Where):
            condition = _fitting_conditions(step.condition, names)
            fitting = None if condition is None else Where(condition)
        elif isinstance(step, Sort):
            keys = tuple(key for key in step.keys if key.column in names)
            fitting = Sort(keys) if keys else None
        if step is not None and fitting is None:
            line = line.remove(place)
            continue
        if fitting != step:
            line = line.edit(place, fitting)
        place += 1
    return line


def _fitting_conditions(where: Filter | None, names: set[str]) -> Filter | None:
    """The conditions that read these columns only."""
    if where is None or all(_holds(names, name) for name in columns_read(where)):
        return where
    if isinstance(where, And):
        parts = (_fitting_conditions(child, names) for child in where.children)
        conditions = [part for part in parts if part is not None]
        return conditions[0] if len(conditions) == 1 else all_of(conditions) if conditions else None
    return None


def _holds(names: set[str], name: str) -> bool:
    """Whether a column has this name, or may contain the field at this path."""
    return name in names or any(name.startswith(f"{column}.") for column in names)


MOST_VISITS = 200


class LineVisits:
    """The history of lines that were shown, with back and forward as in a browser."""

    def __init__(self, first: Line = Line()) -> None:
        self._lines = [first]
        self._place = 0
        self._session = 0

    @property
    def can_go_back(self) -> bool:
        return self._place > 0

    @property
    def can_go_forward(self) -> bool:
        return self._place + 1 < len(self._lines)

    def visit(self, line: Line, session: int = 0) -> None:
        """Add a line to the history, and drop those ahead of it. A visit in the same session (other than 0)
        as the last one replaces it."""
        if session and session == self._session:
            self._lines[self._place :] = [line]
        else:
            self._lines[self._place + 1 :] = [line]
            self._place += 1
        self._session = session
        if len(self._lines) > MOST_VISITS:
            del self._lines[0]
            self._place -= 1

    def change_lines(self, change: Callable[[Line], Line]) -> None:
        """Change every line of the history, for example after datasets have moved."""
        self._lines = [change(line) for line in self._lines]

    def back(self) -> Line:
        return self._go(-1)

    def forward(self) -> Line:
        return self._go(1)

    def _go(self, by: int) -> Line:
        self._place, self._session = self._place + by, 0
        return self._lines[self._place]
