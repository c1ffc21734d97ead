"""The texts of chips for every kind of step."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import col
from lamella.core.filters import Filter, Predicate
from lamella.core.query import agg
from lamella.core.query.expressions import Call, ColumnReference, Condition, Constant, Expression
from lamella.core.query.steps import Aggregate, Buckets, Compute, Group, Pivot, Step, Where
from lamella.ui.steps.editors import UNWRITTEN, ComputeEditor, StepContext, expression_words
from lamella.ui.steps.kinds import step_words
from tests.core.query.test_expression_text import EXPRESSIONS, FILTERS
from tests.slow_tests import examples

EXAMPLES = examples(40)
SCHEMA = pa.schema({"a": pa.int64(), "odd name": pa.string(), "": pa.float64()})
NAMES = st.sampled_from(["x", "", "odd\u202ename", "x" * 100])


@settings(max_examples=EXAMPLES, deadline=None)
@given(NAMES, EXPRESSIONS)
def test_every_computed_value_has_words(name: str, value: Expression) -> None:
    steps: list[Step] = [
        Compute(((name, value), ("a", ColumnReference("a")))),
        Group((name,), ((name, Aggregate("max", value)),)),
        Pivot((), name, ((name, Aggregate("sum", value)),)),
    ]
    for step in steps:
        assert step_words(type(step), step, SCHEMA).strip()
    assert expression_words(value) != UNWRITTEN


@settings(max_examples=EXAMPLES, deadline=None)
@given(FILTERS)
def test_every_filter_has_words(condition: Filter) -> None:
    assert step_words(Where, Where(condition), SCHEMA).strip()
    assert step_words(Compute, Compute((("x", Condition(condition)),)), SCHEMA).startswith("x = ")


@pytest.mark.parametrize(
    "step",
    [
        Compute((("late", col("a") > 60),)),  # type: ignore[arg-type] -- a condition that is not an expression
        Compute((("x", Constant([1])),)),
        Compute((("x", Call("no such function", ())),)),
        Where(Predicate("a", "eq", ({"x": object()},))),
        Where(Predicate("a", "no such operator")),
        Group((), (("n", Aggregate("max", Constant((1, 2)))),)),
        Buckets("gone", (1.0, 2.0), (("n", agg.count()),)),
    ],
    ids=range(7),
)
def test_a_step_that_cannot_run_has_words(step: Step) -> None:
    assert step_words(type(step), step, SCHEMA).strip()


def test_a_computed_condition_is_edited(qtbot, tasks) -> None:
    step = Compute((("late", Condition(col("a") > 60)),))
    assert step_words(Compute, step, SCHEMA) == "late = a > 60"
    editor = ComputeEditor(StepContext(SCHEMA, tasks, None), step)  # type: ignore[arg-type]
    qtbot.addWidget(editor)
    assert editor.step() == step


def test_a_value_without_a_text_is_typed_anew(qtbot, tasks) -> None:
    editor = ComputeEditor(StepContext(SCHEMA, tasks, None), Compute((("x", Constant([1])),)))  # type: ignore[arg-type]
    qtbot.addWidget(editor)
    row = editor.lines.rows[0]
    assert (row.name.text(), row.expression.text()) == ("x", "")
    assert editor.step() is None
    row.expression.setText('"" / 2')
    assert editor.step() == Compute((("x", ColumnReference("") / 2),))
