"""Several questions of the same rows, put together into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lamella.core.arguments import names_of
from lamella.core.errors import BadQuery
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.asking import Asking
from lamella.core.query.pipeline import Pipeline
from lamella.core.query.query import SortKey
from lamella.core.query.steps import Facets, Group, Sort, Step
from lamella.core.query.together import steps_renamed, together

Question = str | Iterable[str] | Callable[[Asking], Asking]


def faceted(rows: Asking, queries: Mapping[str, Question]) -> Asking:
    sources, found = dict(rows.sources), []
    for name, query in queries.items():
        if not callable(query):
            found.append((name, _counted(names_of(query, f"{rows.name}: facets"), rows.name)))
            continue
        answer = query(rows)
        if not isinstance(answer, Asking):
            raise BadQuery(
                f"{rows.name}: a facet gives {answer!r}", fix="Give a question of the rows it is given"
            )
        sources, names = together(sources, answer.sources)
        found.append((name, steps_renamed(_behind(rows, answer), names)))
    if not found:
        raise BadQuery(f"{rows.name}: no facets", fix="Name at least one: facets(carrier='carrier')")
    return Asking(sources, Pipeline(rows.pipeline.source, (*rows.pipeline.steps, Facets(tuple(found)))))


def _counted(keys: list[str], place: str) -> tuple[Step, ...]:
    """Each value with its count, the most frequent first."""
    if "n" in keys:
        raise BadQuery(
            f"{place}: a facet counts as 'n', which is a column of it too",
            fix="Give a function that names its count: lambda r: r.group_by('n').agg(times=agg.count())",
        )
    return (Group(tuple(keys), (("n", Aggregate("count")),)), Sort((SortKey("n", True),)))


def _behind(rows: Asking, answer: Asking) -> tuple[Step, ...]:
    """The steps that a facet adds."""
    before, asked = rows.pipeline, answer.pipeline
    if asked.source != before.source or asked.steps[: len(before.steps)] != before.steps:
        raise BadQuery(f"{rows.name}: a facet asks something else", fix="Add steps to the rows it is given")
    return asked.steps[len(before.steps) :]
