"""Questions to entities: the filters, sorts, pages, scale and projections of ParqueDB's page."""

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
        "profile.city = Lagos and (profile.age < 30 or rating > 4): a condition in another, on nested fields",
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

_WHOLE = "All columns of every row found. "
_ANEW = "Of every row. The database is opened anew before each time, untimed, with nothing kept in memory."
_TIES = " Equal ones come in the order of their ids. Asked again, a system may answer from an order it kept."


def by_offset(depth: int) -> str:
    return f"page_{depth}"


def by_cursor(depth: int) -> str:
    return f"cursor_{depth}"


def _filter(name: str) -> Operation:
    title, meant = FILTERS[name]
    return Operation(name, title, f"filters {{rows}} ({title.lower()})", f"{_WHOLE}{meant}.")


def _sort(name: str, title: str) -> Operation:
    keys = ", ".join(SORTS[name])
    about = f"The first {PAGE} by {keys} (- descends), all columns, no index.{_TIES}"
    return Operation(name, f"Sort, {title}", f"sorts {{rows}} by {title} for the first {PAGE}", about)


def _page(name: str, depth: int, how: str, meant: str) -> Operation:
    place = "the first" if depth == 1 else f"number {depth}, or the last where there are fewer,"
    about = f"A page of {PAGE} by falling rating, {place} {meant}. All columns, no index.{_TIES}"
    return Operation(name, f"Page {depth} by {how}", f"turns {{rows}} to page {depth} by {how}", about)


def _projection(name: str, title: str, does: str) -> Operation:
    names = ", ".join(PROJECTIONS.get(name, ("all columns",)))
    return Operation(name, title, f"reads {does} of {{rows}}", f"{names}. {_ANEW}")


_OPERATIONS = (
    Operation(
        "find_all",
        "Full scan",
        "finds all of {rows}",
        "Every row, all columns, no filter. Polars and pandas give a frame that is in memory already.",
    ),
    *map(_filter, FILTERS),
    Operation(
        "point",
        "Point lookup, no index",
        "finds one of {rows} by its name",
        "All columns of the one row of a name, another name each time, no index.",
    ),
    *(
        _sort(name, title)
        for name, title in zip(SORTS, ("one number", "one text", "two keys", "three keys"), strict=True)
    ),
    *(_page(by_offset(depth), depth, "offset", "by where it begins") for depth in DEPTHS),
    *(_page(by_cursor(depth), depth, "cursor", "from where the one before ended") for depth in DEPTHS),
    Operation("count", "Count", "counts {rows}", "How many rows there are."),
    Operation(
        "group_by",
        "Group by",
        "groups {rows}",
        "For each status how many there are and the mean of their views.",
    ),
    _projection("project_all", "All columns, opened anew", "all columns"),
    _projection("project_two", "2 columns, opened anew", "two columns"),
    _projection("project_four", "4 columns, opened anew", "four columns"),
    _projection("project_index", "Index columns, opened anew", "the id and an indexed column"),
    Operation(
        "sort_indexed",
        "Sort, indexed",
        f"sorts {{rows}} by an indexed number for the first {PAGE}",
        f"The first {PAGE} by views, all columns; the index on views is made before the clock runs.{_TIES}",
    ),
)

ENTITY_QUERIES = Workload(
    id="entity-queries",
    title="Questions to entities",
    about="Entities filtered, sorted, paged, counted, grouped and read by some of their columns.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    family="entity-queries",
    asks_only=True,
    published_rows=(1_000, 10_000, 100_000),
)

_WORKLOAD_ID = "entity-queries"
LOOKED_UP = Pick("looked up by name", 50)

CONDITIONS: dict[str, Callable[[Entity], bool]] = {
    "equality": lambda one: bool(one["status"] == "draft"),
    "range": lambda one: 1_000 < one["views"] < 5_000,
    "in": lambda one: one["status"] in ("draft", "review"),
    "and": lambda one: one["status"] == "draft" and one["views"] > 90_000,
    "or": lambda one: one["views"] < 1_000 or one["rating"] == 5.0,
    "nested": lambda one: (
        one["profile"]["city"] == "Lagos" and (one["profile"]["age"] < 30 or one["rating"] > 4.0)
    ),
    "regex": lambda one: re.search("^amber .*7$", one["name"]) is not None,
}

PAGES = {name(depth): depth for depth in DEPTHS for name in (by_offset, by_cursor)}
ORDERS = {**SORTS, **dict.fromkeys(PAGES, PAGE_ORDER), "sort_indexed": INDEXED_ORDER}


def expected(_workload: Workload, operation: Operation, rows: int) -> str:
    """As `QuestionCycle` tells the answers of systems."""
    data, name = _entities(rows), operation.id
    if name == "count":
        return digest(rows)
    if name == "group_by":
        return digest(_grouped(data))
    if name == "point":
        digests = [
            digest(_rows_fingerprint([one for one in data if one["name"] == wanted]))
            for wanted in names(rows)
        ]
        return digests[0] if len(set(digests)) == 1 else digest_in_order(digests)
    if name in ORDERS:
        start = page_start(PAGES.get(name, 1), rows)
        return digest(_rows_fingerprint(ordered(data, ORDERS[name])[start : start + PAGE], in_order=True))
    if name in FILTERS:
        return digest(_rows_fingerprint([one for one in data if CONDITIONS[name](one)]))
    columns = PROJECTIONS.get(name, tuple(SCHEMA.names))
    return digest(_rows_fingerprint(data, [column for column in columns if column in SCHEMA.names]))


def names(rows: int) -> list[str]:
    """That are looked up, one after the other."""
    places = pick_rows(LOOKED_UP, workload_named(_WORKLOAD_ID), rows).tolist()
    return [entities(number, 1)[0]["name"] for number in places]


def page_start(depth: int, rows: int) -> int:
    """Of the last page that there is, where there are not so many."""
    return min(depth - 1, (rows - 1) // PAGE) * PAGE


def ordered(data: Sequence[Entity], keys: Sequence[str]) -> list[Entity]:
    """Python's sort leaves equal ones as they were, backwards too."""
    rows = list(data)
    for key in reversed(keys):
        name = key.removeprefix("-")
        rows.sort(key=lambda one: one[name], reverse=key.startswith("-"))
    return rows


def _grouped(data: Sequence[Entity]) -> list[list[Any]]:
    views = {status: [one["views"] for one in data if one["status"] == status] for status in STATUSES}
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
    """The entities with a number for each, as most systems take them."""
    table = pa.Table.from_pylist(entities(0, rows), SCHEMA)
    return table.add_column(0, ID, pa.array(range(rows), pa.int64()))


class EntityQueries(QuestionSystem):
    """Answers are in the system's own form: rows with all columns, unless it says otherwise.

    Sort keys are names, with - for falling ones; equal rows come in the order of their ids.
    """

    columns = len(COLUMNS)

    @abstractmethod
    def count(self) -> int: ...

    @abstractmethod
    def find_all(self) -> Any: ...

    @abstractmethod
    def matching(self, name: str) -> Any:
        """One of the filters."""

    @abstractmethod
    def named(self, name: str) -> Any: ...

    @abstractmethod
    def page(self, keys: Sequence[str], start: int = 0) -> Any:
        """So many as a page has, from the row at `start` on."""

    @abstractmethod
    def place_before(self, start: int) -> Any:
        """What the row before `start` is found again by, in the order of pages."""

    @abstractmethod
    def page_after(self, place: Any) -> Any:
        """The page behind that place; the first one for None."""

    @abstractmethod
    def groups(self) -> Any:
        """Each status with its count and the mean of its views."""

    @abstractmethod
    def project(self, names: Sequence[str]) -> Any:
        """Some columns of every row, from the disk."""

    @abstractmethod
    def index_views(self) -> None:
        """Unless it is there."""

    @abstractmethod
    def as_table(self, answer: Any, names: Sequence[str]) -> pa.Table:
        """Rows of an answer, whose columns are `names`."""

    def as_groups(self, answer: Any) -> Any:
        """What `groups` gave, as rows or Arrow."""
        return answer

    def reopen(self) -> None:
        """With nothing kept in memory."""
        self.close()
        self.open(writing=False)

    def questions(self) -> Questions:
        by_name = {
            "find_all": self._question(self.find_all),
            **{name: self._question(partial(self.matching, name)) for name in FILTERS},
            "point": Question(self.named, names(self.count()), comparable=self._comparable),
            **{name: self._ordered(partial(self.page, keys)) for name, keys in SORTS.items()},
            **{by_offset(depth): self._by_offset(depth) for depth in DEPTHS},
            **{by_cursor(depth): self._by_cursor(depth) for depth in DEPTHS},
            "count": Question(self.count),
            "group_by": Question(self.groups, comparable=self.as_groups),
            "project_all": self._projection(COLUMNS),
            **{name: self._projection(columns) for name, columns in PROJECTIONS.items()},
            "sort_indexed": self._ordered(partial(self.page, INDEXED_ORDER), self.index_views),
        }
        return {name: question for name, question in by_name.items() if name not in self.cannot}

    def _question(self, ask: Any) -> Question:
        return Question(ask, comparable=self._comparable)

    def _ordered(self, ask: Any, before: Any = None) -> Question:
        return Question(ask, before=before, comparable=partial(self._comparable, in_order=True))

    def _by_offset(self, depth: int) -> Question:
        start = cache(lambda: page_start(depth, self.count()))
        return self._ordered(lambda: self.page(PAGE_ORDER, start()), before=start)

    def _by_cursor(self, depth: int) -> Question:
        @cache
        def place() -> Any:
            start = page_start(depth, self.count())
            return self.place_before(start) if start else None

        return self._ordered(lambda: self.page_after(place()), before=place)

    def _projection(self, columns: Sequence[str]) -> Question:
        fingerprint = partial(self._comparable, columns=columns)
        return Question(partial(self.project, columns), before=self.reopen, comparable=fingerprint)

    def _comparable(
        self, answer: Any, *_about: Any, columns: Sequence[str] = COLUMNS, in_order: bool = False
    ) -> list[list[Any]]:
        return fingerprint(self.as_table(answer, columns), in_order)
