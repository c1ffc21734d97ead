"""Questions about entities: the filters, sorts, pages, scale and projections on ParqueDB's page."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from statistics import fmean
from typing import Any

import pyarrow as pa

from lamella.core.bench.registry import workload_named
from lamella.core.bench.systems.base import FIELDS, Entity, Question, Questions, QuestionSystem
from lamella.core.bench.workloads.entities import SCHEMA, STATUSES, entities, fingerprint
from lamella.core.bench.workloads.model import Operation, Pick, Workload
from lamella.core.bench.workloads.questions import digest, digest_in_order
from lamella.core.bench.workloads.table_rows import pick_rows

PAGE = 20
DEPTHS = (1, 10, 100, 500)
PAGE_ORDER = ("-rating",)
INDEXED_ORDER = ("views",)

FILTERS = {
    "equality": ("Equality", "status = draft: a quarter of the entities"),
    "range": ("Range", "1,000 < views < 5,000: 4 % of them"),
    "in": ("$in", "status is draft or review: half of them"),
    "and": ("$and", "status = draft and views > 90,000: 2.5 % of them"),
    "or": ("$or", "views < 1,000 or rating = 5: 6 % of them"),
    "nested": (
        "Nested",
        "profile.city = Lagos and (profile.age < 30 or rating > 4): a nested condition on nested fields",
    ),
    "regex": ("Regex", "name matches ^amber .*7$: 1 % of them"),
}

SORTS = {
    "sort_number": ("-views",),
    "sort_text": ("name",),
    "sort_two": ("status", "-views"),
    "sort_three": ("status", "-rating", "views"),
}

PROJECTIONS: dict[str, tuple[str, ...]] = {
    "project_two": ("status", "views"),
    "project_four": ("name", "status", "views", "rating"),
    "project_index": ("_id", "views"),
}

_WHOLE = "All columns of the matching rows. "
_ANEW = "Of all rows. Before each time, the database is reopened, untimed, with nothing in memory."
_TIES = " Ties are in the order of their ids. When repeated, a system may reuse a sort order that it kept."


def by_offset(depth: int) -> str:
    return f"page_{depth}"


def by_cursor(depth: int) -> str:
    return f"cursor_{depth}"


def _filter(name: str) -> Operation:
    title, meant = FILTERS[name]
    return Operation(name, title, f"filters {{rows}} ({title.lower()})", f"{_WHOLE}{meant}.")


def _sort(name: str, title: str) -> Operation:
    keys = ", ".join(SORTS[name])
    about = f"The first {PAGE} by {keys} (- means descending), all columns, no index.{_TIES}"
    return Operation(name, f"Sort, {title}", f"sorts {{rows}} by {title} for the first {PAGE}", about)


def _page(name: str, depth: int, how: str, meant: str) -> Operation:
    place = "the first" if depth == 1 else f"number {depth}, or the last if there are fewer,"
    about = f"A page of {PAGE} by descending rating, {place} {meant}. All columns, no index.{_TIES}"
    return Operation(name, f"Page {depth} by {how}", f"turns {{rows}} to page {depth} by {how}", about)


def _projection(name: str, title: str, does: str) -> Operation:
    names = ", ".join(PROJECTIONS.get(name, ("all columns",)))
    return Operation(name, title, f"reads {does} of {{rows}}", f"{names}. {_ANEW}")


_OPERATIONS = (
    Operation(
        "find_all",
        "Full scan",
        "finds all of {rows}",
        "All rows and columns, without a filter. Polars and pandas return a frame that is already in memory.",
    ),
    *map(_filter, FILTERS),
    Operation(
        "point",
        "Point lookup, no index",
        "finds one of {rows} by its name",
        "All columns of the one row with a name, another name each time, no index.",
    ),
    *(
        _sort(name, title)
        for name, title in zip(SORTS, ("one number", "one text", "two keys", "three keys"), strict=True)
    ),
    *(_page(by_offset(depth), depth, "offset", "by the number of its first row") for depth in DEPTHS),
    *(_page(by_cursor(depth), depth, "cursor", "from the end of the previous page") for depth in DEPTHS),
    Operation("count", "Count", "counts {rows}", "The number of rows."),
    Operation(
        "group_by",
        "Group by",
        "groups {rows}",
        "For each status, the number of entities and the mean of their views.",
    ),
    _projection("project_all", "All columns, reopened", "all columns"),
    _projection("project_two", "2 columns, reopened", "two columns"),
    _projection("project_four", "4 columns, reopened", "four columns"),
    _projection("project_index", "Index columns, reopened", "the id and an indexed column"),
    Operation(
        "sort_indexed",
        "Sort, indexed",
        f"sorts {{rows}} by an indexed number for the first {PAGE}",
        f"The first {PAGE} by views, all columns; building the index on views is not timed.{_TIES}",
    ),
)

ENTITY_QUERIES = Workload(
    id="entity-queries",
    title="Questions about entities",
    about="Entities filtered, sorted, paged, counted, grouped, and some of their columns read.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    family="entity-queries",
    asks_only=True,
    published_rows=(1_000, 10_000, 100_000),
)

_WORKLOAD_ID = "entity-queries"
LOOKUP_PICK = Pick("looked up by name", 50)

CONDITIONS: dict[str, Callable[[Entity], bool]] = {
    "equality": lambda entity: bool(entity["status"] == "draft"),
    "range": lambda entity: 1_000 < entity["views"] < 5_000,
    "in": lambda entity: entity["status"] in ("draft", "review"),
    "and": lambda entity: entity["status"] == "draft" and entity["views"] > 90_000,
    "or": lambda entity: entity["views"] < 1_000 or entity["rating"] == 5.0,
    "nested": lambda entity: (
        entity["profile"]["city"] == "Lagos" and (entity["profile"]["age"] < 30 or entity["rating"] > 4.0)
    ),
    "regex": lambda entity: re.search("^amber .*7$", entity["name"]) is not None,
}

PAGES = {name(depth): depth for depth in DEPTHS for name in (by_offset, by_cursor)}
ORDERS = {**SORTS, **dict.fromkeys(PAGES, PAGE_ORDER), "sort_indexed": INDEXED_ORDER}


def right_answer(_workload: Workload, operation: Operation, rows: int) -> str:
    """Return the digest of an operation's right answer, as `QuestionCycle` computes those of systems."""
    data, name = _entities(rows), operation.id
    if name == "count":
        return digest(rows)
    if name == "group_by":
        return digest(_group(data))
    if name == "point":
        digests = [
            digest(_rows_fingerprint([entity for entity in data if entity["name"] == sought_name]))
            for sought_name in names(rows)
        ]
        return digests[0] if len(set(digests)) == 1 else digest_in_order(digests)
    if name in ORDERS:
        start = page_start(PAGES.get(name, 1), rows)
        return digest(
            _rows_fingerprint(sort_entities(data, ORDERS[name])[start : start + PAGE], in_order=True)
        )
    if name in FILTERS:
        return digest(_rows_fingerprint([entity for entity in data if CONDITIONS[name](entity)]))
    columns = PROJECTIONS.get(name, tuple(SCHEMA.names))
    return digest(_rows_fingerprint(data, [column for column in columns if column in SCHEMA.names]))


def names(rows: int) -> list[str]:
    """Return the names to look up."""
    places = pick_rows(LOOKUP_PICK, workload_named(_WORKLOAD_ID), rows).tolist()
    return [entities(number, 1)[0]["name"] for number in places]


def page_start(depth: int, rows: int) -> int:
    """Return the number of a page's first row; of the last page if there are fewer."""
    return min(depth - 1, (rows - 1) // PAGE) * PAGE


def sort_entities(data: Sequence[Entity], keys: Sequence[str]) -> list[Entity]:
    """Sort entities; ties keep their order, since Python's sort is stable, also in reverse."""
    rows = list(data)
    for key in reversed(keys):
        name = key.removeprefix("-")
        rows.sort(key=lambda entity: entity[name], reverse=key.startswith("-"))
    return rows


def _group(data: Sequence[Entity]) -> list[list[Any]]:
    views = {
        status: [entity["views"] for entity in data if entity["status"] == status] for status in STATUSES
    }
    return [[status, len(group), fmean(group)] for status, group in views.items() if group]


def _rows_fingerprint(
    rows: Sequence[Entity], columns: Sequence[str] = SCHEMA.names, in_order: bool = False
) -> Any:
    return fingerprint(pa.Table.from_pylist(list(rows), SCHEMA).select(list(columns)), in_order)


@lru_cache(maxsize=1)
def _entities(rows: int) -> list[Entity]:
    return entities(0, rows)


ID = "_id"
COLUMNS = (ID, *FIELDS)


def arrow(rows: int) -> pa.Table:
    """Return the entities with a column that numbers them, the form that most systems take."""
    table = pa.Table.from_pylist(entities(0, rows), SCHEMA)
    return table.add_column(0, ID, pa.array(range(rows), pa.int64()))


class EntityQueries(QuestionSystem):
    """A system that answers questions about entities, in its own form. Answers are rows with all columns,
    unless stated otherwise.

    Sort keys are names, with - for descending order; ties are in the order of their ids.
    """

    columns = len(COLUMNS)

    @abstractmethod
    def count(self) -> int: ...

    @abstractmethod
    def find_all(self) -> Any: ...

    @abstractmethod
    def matching(self, name: str) -> Any:
        """Return the rows that match one of the filters."""

    @abstractmethod
    def find_by_name(self, name: str) -> Any: ...

    @abstractmethod
    def page(self, keys: Sequence[str], start: int = 0) -> Any:
        """Return a page of rows, from row number `start` on."""

    @abstractmethod
    def place_before(self, start: int) -> Any:
        """Return a cursor for the row before `start`, in the order of pages."""

    @abstractmethod
    def page_after(self, place: Any) -> Any:
        """Return the page after a cursor; the first page for None."""

    @abstractmethod
    def groups(self) -> Any:
        """Return each status with its count and the mean of its views."""

    @abstractmethod
    def project(self, names: Sequence[str]) -> Any:
        """Return some columns of all rows, from the disk."""

    @abstractmethod
    def index_views(self) -> None:
        """Create the index on views unless it exists."""

    @abstractmethod
    def as_table(self, answer: Any, names: Sequence[str]) -> pa.Table:
        """Return the rows of an answer, whose columns are `names`."""

    def as_groups(self, answer: Any) -> Any:
        """Convert the answer of `groups` to rows or an Arrow table."""
        return answer

    def reopen(self) -> None:
        """Reopen the database, with nothing in memory."""
        self.close()
        self.open(writing=False)

    def questions(self) -> Questions:
        by_name = {
            "find_all": self._question(self.find_all),
            **{name: self._question(partial(self.matching, name)) for name in FILTERS},
            "point": Question(self.find_by_name, names(self.count()), comparable=self._comparable),
            **{name: self._ordered_question(partial(self.page, keys)) for name, keys in SORTS.items()},
            **{by_offset(depth): self._by_offset(depth) for depth in DEPTHS},
            **{by_cursor(depth): self._by_cursor(depth) for depth in DEPTHS},
            "count": Question(self.count),
            "group_by": Question(self.groups, comparable=self.as_groups),
            "project_all": self._projection(COLUMNS),
            **{name: self._projection(columns) for name, columns in PROJECTIONS.items()},
            "sort_indexed": self._ordered_question(partial(self.page, INDEXED_ORDER), self.index_views),
        }
        return {name: question for name, question in by_name.items() if name not in self.cannot}

    def _question(self, ask: Any) -> Question:
        return Question(ask, comparable=self._comparable)

    def _ordered_question(self, ask: Any, before: Any = None) -> Question:
        return Question(ask, before=before, comparable=partial(self._comparable, in_order=True))

    def _by_offset(self, depth: int) -> Question:
        start = cache(lambda: page_start(depth, self.count()))
        return self._ordered_question(lambda: self.page(PAGE_ORDER, start()), before=start)

    def _by_cursor(self, depth: int) -> Question:
        @cache
        def place() -> Any:
            start = page_start(depth, self.count())
            return self.place_before(start) if start else None

        return self._ordered_question(lambda: self.page_after(place()), before=place)

    def _projection(self, columns: Sequence[str]) -> Question:
        fingerprint = partial(self._comparable, columns=columns)
        return Question(partial(self.project, columns), before=self.reopen, comparable=fingerprint)

    def _comparable(
        self, answer: Any, *_about: Any, columns: Sequence[str] = COLUMNS, in_order: bool = False
    ) -> list[list[Any]]:
        return fingerprint(self.as_table(answer, columns), in_order)
