"""The one table of kinds of steps: the title of each, its icon, the text of its chip, and its editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.errors import LamellaError, visible
from lamella.core.phrases import quantity
from lamella.core.query.expressions import Condition
from lamella.core.query.steps import (
    Buckets,
    Compute,
    Group,
    Join,
    Limit,
    Pivot,
    Sample,
    Select,
    Sort,
    Sql,
    Step,
    Unpivot,
    Unwind,
    Where,
)
from lamella.ui.steps.editors import (
    ComputeEditor,
    LimitEditor,
    SampleEditor,
    SelectEditor,
    SortEditor,
    SqlEditor,
    StepContext,
    StepEditor,
    UnpivotEditor,
    UnwindEditor,
    expression_words,
)
from lamella.ui.steps.join_editor import JoinEditor
from lamella.ui.steps.where_editor import WhereEditor, sentence_of

NAMED_COLUMNS = 4
"""The maximum number of columns that a chip names; more are counted."""


@dataclass(frozen=True)
class StepKind:
    """A kind of step. `words` makes the text of a chip from a step and the columns before it."""

    step: type[Step]
    title: str
    about: str
    icon: str
    words: Callable[[Any, pa.Schema], str]
    editor: Callable[[StepContext, Any], StepEditor]


def _names(names: Sequence[str]) -> str:
    if len(names) > NAMED_COLUMNS:
        return f"{len(names)} columns"
    return ", ".join(map(visible, names))


def _where(step: Where, schema: pa.Schema) -> str:
    try:
        return sentence_of(step.condition, dict(zip(schema.names, schema.types, strict=True)))
    except LamellaError:
        return expression_words(Condition(step.condition))


def _compute(step: Compute, schema: pa.Schema) -> str:
    return ", ".join(f"{visible(name)} = {visible(expression_words(value))}" for name, value in step.values)


def _group(step: Group, schema: pa.Schema) -> str:
    figures = _names([name for name, _ in step.aggregates])
    by = f"by {_names(step.keys)}" if step.keys else "all rows"
    text = f"{by}: {figures}" if figures else by
    levels = {"subtotals": 1, "totals": 0}
    beside = [name for name, keys in levels.items() if len(step.keys) > keys and getattr(step, name)]
    return f"{text} with {' and '.join(beside)}" if beside else text


def _pivot(step: Pivot, schema: pa.Schema) -> str:
    keys = _names(step.keys) or "all rows"
    return f"{keys} × {visible(step.column)}: {_names([name for name, _ in step.aggregates])}"


def _buckets(step: Buckets, schema: pa.Schema) -> str:
    count = step.edges if isinstance(step.edges, int) else len(step.edges) - 1
    return f"{visible(step.column)} in {count:,} ranges"


def _sort(step: Sort, schema: pa.Schema) -> str:
    return ", ".join(f"{visible(key.column)} {'↓' if key.descending else '↑'}" for key in step.keys)


def _limit(step: Limit, schema: pa.Schema) -> str:
    count = "all" if step.count is None else f"{step.count:,}"
    return f"{count} rows from row {step.offset + 1:,}" if step.offset else f"first {count} rows"


def _join(step: Join, schema: pa.Schema) -> str:
    pairs = zip(step.left_on, step.right_on, strict=True)
    on = ", ".join(visible(a) if a == b else f"{visible(a)} = {visible(b)}" for a, b in pairs)
    how = {"inner": "join", "semi": "that have", "anti": "that have no"}.get(step.how, f"{step.how} join")
    return f"{how} {visible(step.other.source.partition('#')[0])} on {on}"


def _group_editor(context: StepContext, step: Group | None) -> StepEditor:
    """The editor, imported late: the table of aggregates needs sqlglot, which takes a tenth of a second."""
    from lamella.ui.steps.grouping import GroupEditor

    return GroupEditor(context, step)


def _pivot_editor(context: StepContext, step: Pivot | None) -> StepEditor:
    from lamella.ui.steps.grouping import PivotEditor

    return PivotEditor(context, step)


def _buckets_editor(context: StepContext, step: Buckets | None) -> StepEditor:
    from lamella.ui.steps.grouping import BucketsEditor

    return BucketsEditor(context, step)


KINDS: Mapping[type[Step], StepKind] = {
    kind.step: kind
    for kind in (
        StepKind(Where, "Filter", "Only the rows that meet conditions", "filter", _where, WhereEditor),
        StepKind(
            Compute, "Computed column", "Further columns, computed from others", "function",
            _compute, ComputeEditor,
        ),
        StepKind(
            Select, "Columns", "Choose columns and their order", "columns",
            lambda step, schema: _names(step.columns), SelectEditor,
        ),
        StepKind(Group, "Group", "One row for each value, with aggregates", "sum", _group, _group_editor),
        StepKind(Sort, "Sort", "Rows in an order", "sort", _sort, SortEditor),
        StepKind(Limit, "Limit", "Some of the rows, counted from the first", "limit", _limit, LimitEditor),
        StepKind(
            Sample, "Sample", "Rows at random", "sample",
            lambda step, schema: f"{quantity(step.count, 'row')} at random", SampleEditor,
        ),
        StepKind(Join, "Join", "Combine with the rows of another dataset", "join", _join, JoinEditor),
        StepKind(Pivot, "Pivot", "A column for each value of one", "pivot", _pivot, _pivot_editor),
        StepKind(
            Unpivot, "Unpivot", "Columns become rows", "unpivot",
            lambda step, schema: f"rows of {_names(step.columns)}", UnpivotEditor,
        ),
        StepKind(
            Unwind, "Unwind", "A row for each item of a list", "unwind",
            lambda step, schema: f"items of {visible(step.column)}", UnwindEditor,
        ),
        StepKind(
            Buckets, "Ranges", "Groups by ranges of a number or time", "histogram", _buckets, _buckets_editor
        ),
        StepKind(
            Sql, "SQL", "One SELECT of the rows before it", "sql",
            lambda step, schema: visible(" ".join(step.text.split())), SqlEditor,
        ),
    )
}  # fmt: skip


def step_words(kind: type[Step], step: Step | None, schema: pa.Schema) -> str:
    """The text of a step's chip; its title while it is unfinished."""
    entry = KINDS.get(kind)
    if entry is None:
        return kind.__name__
    return f"{entry.title} …" if step is None else entry.words(step, schema)
