"""Searching one of many tables or files for a text or for words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError, visible
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job, Progress, SilentJob
from lamella.core.query.cell_search import CellSearch, Hits, TextPattern
from lamella.core.query.view import View
from lamella.core.store.table import Table
from lamella.ui.filters.word_index import FULLTEXT
from lamella.ui.find.result_list import Result, snippet_of
from lamella.ui.find.word_search import search_words

MOST_RESULTS = 20
"""The most results per table; further ones are counted, and found in the table's tab."""
BY_INDEX, BY_SCAN = "full-text index", "all rows"
Key = tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """What can be searched: `open` returns it, and may read to do so. `place` names where it is stored."""

    key: Key
    title: str
    place: str
    open: Callable[[Job], Dataset]


ListSources = Callable[[Job], Sequence[Source]]
"""Lists the sources. Blocks."""


@dataclass(frozen=True)
class TableResults:
    """`count` hits or rows so far, the first of them in `results`; `how` they were found; `problem` says why
    the search did not complete."""

    source: Source
    results: tuple[Result, ...] = ()
    count: int = 0
    how: str = BY_SCAN
    complete: bool = False
    problem: str = ""

    @property
    def heading(self) -> Result:
        title = f"{visible(self.source.title)} · {visible(self.source.place)}"
        if self.problem:
            return Result(f"{title}: {self.problem}", heading=True)
        count_listed = len(self.results)
        count = f"{self.count:,}" if count_listed >= self.count else f"{count_listed:,} of {self.count:,}"
        so_far = "" if self.complete else "…"
        return Result(title, heading=True, detail=f"{count}{so_far} · {self.how}")


class _HitPublisher(SilentJob):
    """Calls `look` at every report of progress, so that it can publish the hits so far."""

    def __init__(self, outer: Job, look: Callable[[], None]) -> None:
        super().__init__(outer)
        self._look = look

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        super().report(done, total, text)
        self.progress = Progress(done, total, text)
        self._look()


def search_source(
    source: Source, pattern: TextPattern, words: bool, job: Job, publish: Callable[[TableResults], None]
) -> TableResults:
    """Search a whole source. `publish` gets the first results before the others are counted. Blocks; errors
    with one table are returned as its `problem`."""
    try:
        dataset = source.open(job)
        if words and isinstance(dataset, Table) and _is_indexed(dataset):
            return _by_words(source, dataset, pattern.text, job)
        return _by_text(source, dataset, pattern, job, publish)
    except LamellaError as error:
        return TableResults(source, problem=error.headline, complete=True)
    except OSError as error:
        return TableResults(source, problem=error.strerror or str(error), complete=True)


def _is_indexed(table: Table) -> bool:
    return any(index.kind == FULLTEXT for index in table.indexes)


def _by_words(source: Source, table: Table, text: str, job: Job) -> TableResults:
    hits = search_words(table, text, None, job, MOST_RESULTS)
    results = tuple(replace(result, key=source.key) for result in hits.results)
    return TableResults(source, results, hits.rows, BY_INDEX, complete=True)


def _by_text(
    source: Source, dataset: Dataset, pattern: TextPattern, job: Job, publish: Callable[[TableResults], None]
) -> TableResults:
    view = View(dataset.snapshot())
    names = [name for name in view.schema.names if name != ID]
    search = CellSearch(view, pattern, names)
    first: list[Result] = []

    def look() -> None:
        if not first and search.hits.count:
            first.extend(_results(source, view, search.hits, pattern, names))
            publish(TableResults(source, tuple(first), search.hits.count))

    hits = search.run(_HitPublisher(job, look))
    results = tuple(_results(source, view, hits, pattern, names))
    return TableResults(source, results, hits.count, complete=True)


def _results(
    source: Source, view: View, hits: Hits, pattern: TextPattern, names: Sequence[str]
) -> Iterator[Result]:
    """The first results, row by row."""
    ids = view.snapshot.ids is not None
    for row, name in _first_cells(hits, names):
        page = view.page(row, 1, [name, ID] if ids else [name])
        text = whole_texts(page.column(0))[0] or ""
        row_id = page.column(1)[0].as_py() if ids else None
        place = f"{visible(name)} · row {row + 1:,}"
        yield Result(place, snippet_of(text, pattern), name, row, row_id, key=source.key)


def _first_cells(hits: Hits, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    at = (0, -1)
    for _ in range(MOST_RESULTS):
        step = hits.after(at, names)
        if step is None or step[1]:
            return
        yield step[0]
        at = step[0][0], names.index(step[0][1])
