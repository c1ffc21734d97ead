"""The parts that SQL systems share: changes of entities, and questions about entities, indexes and
relations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar

from lamella.core.bench.systems.base import EntitySystem, Question, Questions
from lamella.core.bench.workloads import entity_indexes, entity_relations
from lamella.core.bench.workloads.entity_queries import PAGE, PAGE_ORDER, EntityQueries

ROWS = "SELECT * FROM entities"

SHARED_CONDITIONS = {
    "equality": "status = 'draft'",
    "range": "views > 1000 AND views < 5000",
    "in": "status IN ('draft', 'review')",
    "and": "status = 'draft' AND views > 90000",
    "or": "views < 1000 OR rating = 5.0",
}


class SQLEntities(EntitySystem):
    """Changes single entities in SQL. The expressions for lists differ between systems; each contains %s for
    the list and a placeholder for an item."""

    append_sql: ClassVar[str]
    lacking: ClassVar[str]
    pull_sql: ClassVar[str]

    @abstractmethod
    def change(self, statement: str, values: Sequence[Any]) -> None:
        """Execute a statement in one commit."""

    def set_fields(self, row_id: int, values: Mapping[str, Any]) -> None:
        self._change(", ".join(f"{name} = ?" for name in values), *values.values(), row_id)

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._change(f"{name} = {name} + ?", by, row_id)

    def push(self, row_id: int, name: str, value: str) -> None:
        self._change(f"{name} = {self.append_sql % name}", value, row_id)

    def add_to_set(self, row_id: int, name: str, value: str) -> None:
        assignment, lacking = f"{name} = {self.append_sql % name}", self.lacking % name
        self._change(assignment, value, row_id, value, also=f" AND {lacking}")

    def pull(self, row_id: int, name: str, value: str) -> None:
        self._change(f"{name} = {self.pull_sql % name}", value, row_id)

    def unset(self, row_id: int, name: str) -> None:
        self._change(f"{name} = NULL", row_id)

    def _change(self, assignment: str, *values: Any, also: str = "") -> None:
        """`values` are in the order of the placeholders: those of the assignment, the id, those of `also`."""
        self.change(f"UPDATE entities SET {assignment} WHERE id = ?{also}", values)


class SQLEntityQueries(EntityQueries):
    conditions: ClassVar[Mapping[str, str]]

    @abstractmethod
    def ask(self, sql: str, *values: Any) -> Any:
        """Return all rows of the answer, in the system's own form."""

    def ask_small(self, sql: str, *values: Any) -> Any:
        """Do the same for an answer of few rows."""
        return self.ask(sql, *values)

    @abstractmethod
    def ask_row(self, sql: str) -> tuple[Any, ...]:
        """Return the only row of an answer."""

    def count(self) -> int:
        return int(self.ask_row("SELECT count(*) FROM entities")[0])

    def find_all(self) -> Any:
        return self.ask(ROWS)

    def matching(self, name: str) -> Any:
        return self.ask(f"{ROWS} WHERE {self.conditions[name]}")

    def find_by_name(self, name: str) -> Any:
        return self.ask_small(f"{ROWS} WHERE name = ?", name)

    def page(self, keys: Sequence[str], start: int = 0) -> Any:
        return self.ask_small(f"{ROWS} {order_by(keys)} LIMIT {PAGE} OFFSET {start}")

    def place_before(self, start: int) -> tuple[Any, ...]:
        return self.ask_row(
            f"SELECT rating, _id FROM entities {order_by(PAGE_ORDER)} LIMIT 1 OFFSET {start - 1}"
        )

    def page_after(self, place: tuple[Any, ...] | None) -> Any:
        if place is None:
            return self.page(PAGE_ORDER)
        behind = "rating < ? OR (rating = ? AND _id > ?)"
        rating, row_id = place
        page = f"{ROWS} WHERE {behind} {order_by(PAGE_ORDER)} LIMIT {PAGE}"
        return self.ask_small(page, rating, rating, row_id)

    def groups(self) -> Any:
        return self.ask_small("SELECT status, count(*), avg(views) FROM entities GROUP BY status")

    def project(self, names: Sequence[str]) -> Any:
        return self.ask(f"SELECT {', '.join(names)} FROM entities")


def order_by(keys: Sequence[str]) -> str:
    terms = (f"{key[1:]} DESC" if key.startswith("-") else key for key in keys)
    return f"ORDER BY {', '.join([*terms, '_id'])}"


Ask = Callable[..., Any]
"""Takes a statement and its values, and returns rows."""

COUNT_ITEMS = "SELECT max(_id) + 1 FROM items"
"""Counts the rows: ids have no gaps."""


def sql_questions(rows: int, ask: Ask, run: Callable[[str], object]) -> Questions:
    """Return the questions about indexes. `run` executes statements without an answer."""
    behind = f"SELECT * FROM items WHERE number > ? ORDER BY number LIMIT {entity_indexes.ALIKE}"
    return {
        **entity_indexes.questions(rows, partial(_lookup, ask)),
        **{entity_indexes.build(column): _build(ask, run, column) for column in entity_indexes.INDEX_COLUMNS},
        **{
            entity_indexes.sort(column): Question(
                partial(ask, f"SELECT * FROM items ORDER BY {order} LIMIT {entity_indexes.ALIKE}")
            )
            for column, order in entity_indexes.SORTS.items()
        },
        entity_indexes.NEXT: Question(
            lambda owner: ask(behind, owner * entity_indexes.ALIKE), entity_indexes.owners(rows)
        ),
    }


def _lookup(ask: Ask, lookup: entity_indexes.Lookup, what: str) -> Callable[[int], Any]:
    statement = f"SELECT {'_id' if what == entity_indexes.KEYS else '*'} FROM items WHERE {lookup.sql}"
    return lambda owner: ask(statement, *lookup.values(owner))


def _build(ask: Ask, run: Callable[[str], object], column: str) -> Question:
    lowest = f"SELECT {column} FROM items ORDER BY {column} LIMIT {entity_indexes.ALIKE}"
    return Question(
        partial(run, f"CREATE INDEX items_{column} ON items ({column})"),
        before=partial(run, f"DROP INDEX IF EXISTS items_{column}"),
        comparable=lambda _: ask(lowest),
    )


COUNT_TITLES = "SELECT max(_id) + 1 FROM titles"
"""Counts the rows: ids have no gaps."""

ENTRIES = 'SELECT * FROM "cast" WHERE person = ?'
IN_ORDER = f"ORDER BY _id LIMIT {entity_relations.RELATED_PAGE}"
ENTRY = 'SELECT {} FROM "cast" WHERE _id = ?'
COUNTS = 'SELECT _id, (SELECT count(*) FROM "cast" WHERE person = people._id) FROM people'

SKILL_COUNTS = """
SELECT _id, (SELECT count(*) FROM occupation_skills WHERE occupation = occupations._id) FROM occupations
"""

SKILLS = "SELECT * FROM skills WHERE _id IN (SELECT skill FROM occupation_skills WHERE occupation = ?)"

OCCUPATIONS = f"""
SELECT * FROM occupations WHERE _id IN
  (SELECT occupation FROM occupation_skills WHERE skill = ? AND importance > {entity_relations.IMPORTANT})
{IN_ORDER}
"""

CODE, PARENT = (f"(SELECT {column} FROM products WHERE _id = ?)" for column in ("code", "parent"))
CHILDREN = f"SELECT * FROM products WHERE parent = {CODE}"

GRANDCHILDREN = f"""
SELECT * FROM products WHERE parent IN (SELECT code FROM products WHERE parent = {CODE}) {IN_ORDER}
"""

ANCESTORS = f"""
WITH RECURSIVE above AS (
  SELECT _id, code, parent FROM products WHERE code = {PARENT}
  UNION ALL
  SELECT products._id, products.code, products.parent FROM products JOIN above ON products.code = above.parent
) SELECT _id, code FROM above
"""


class RelationQuestions:
    """The questions about relations. `ask` takes a statement and its values, and returns tuples; `run`
    executes statements without an answer."""

    def __init__(self, ask: Callable[..., list[Any]], run: Callable[[str], object]) -> None:
        self.ask, self.run = ask, run

    def questions(self) -> Questions:
        ((titles,),) = self.ask(COUNT_TITLES)
        return {
            **self._films(titles),
            **self._occupations(titles),
            **self._products(titles),
            entity_relations.CHECK: Question(self._check),
        }

    def _question(self, statement: str, of: list[int]) -> Question:
        return Question(partial(self.ask, statement), of)

    def _films(self, titles: int) -> Questions:
        people, entries = entity_relations.some_people(titles), entity_relations.some_entries(titles)
        first = self._question(f"{ENTRIES} {IN_ORDER}", people)
        title = 'SELECT * FROM "cast" WHERE title = (SELECT code FROM titles WHERE _id = ?)'
        return {
            entity_relations.UNINDEXED: first,
            "entries": first,
            "entries_page": first,
            "entries_sorted": self._question(
                f"{ENTRIES} ORDER BY billing, _id LIMIT {entity_relations.RELATED_PAGE}", people
            ),
            "entries_filtered": self._question(
                f"{ENTRIES} AND billing < {entity_relations.BILLED_BEFORE}", people
            ),
            "entries_next_page": self._next_page(people),
            "title_entries": self._question(title, entity_relations.some_titles(titles)),
            "entry_title": self._question(
                f"SELECT * FROM titles WHERE code = ({ENTRY.format('title')})", entries
            ),
            "entry_person": self._question(
                f"SELECT * FROM people WHERE _id = ({ENTRY.format('person')})", entries
            ),
            "counts": self._page_of(COUNTS, entity_relations.people_count(titles)),
            entity_relations.COUNTS_OF_ALL: Question(partial(self.ask, COUNTS)),
            entity_relations.INDEX: self._entries_question(people[0]),
        }

    def _next_page(self, people: list[int]) -> Question:
        """The ends of the first pages are determined before timing starts."""

        @cache
        def page_ends() -> Mapping[int, int]:
            pages = {number: self.ask(f"{ENTRIES} {IN_ORDER}", number) for number in people}
            return {number: page[-1][0] if page else -1 for number, page in pages.items()}

        behind = f"{ENTRIES} AND _id > ? {IN_ORDER}"
        return Question(
            lambda number: self.ask(behind, number, page_ends()[number]), people, before=page_ends
        )

    def _occupations(self, titles: int) -> Questions:
        return {
            "skills": self._question(SKILLS, entity_relations.some_occupations(titles)),
            "occupations": self._question(OCCUPATIONS, entity_relations.some_skills()),
            "skill_counts": self._page_of(SKILL_COUNTS, entity_relations.occupation_count(titles)),
        }

    def _products(self, titles: int) -> Questions:
        products = entity_relations.some_products(titles)
        return {
            "children": self._question(CHILDREN, entity_relations.some_classes(titles)),
            "parent": self._question(f"SELECT * FROM products WHERE code = {PARENT}", products),
            "ancestors": self._question(ANCESTORS, products),
            "grandchildren": self._question(GRANDCHILDREN, entity_relations.some_families(titles)),
        }

    def _page_of(self, statement: str, most: int) -> Question:
        """Return the question about a page of consecutive rows."""
        within = f"{statement} WHERE _id BETWEEN ? AND ?"
        return Question(
            lambda number: self.ask(within, number, number + entity_relations.RELATED_PAGE - 1),
            entity_relations.some_pages(most),
        )

    def _entries_question(self, person: int) -> Question:
        question = partial(self.ask, f"{ENTRIES} {IN_ORDER}", person)
        return Question(self._index, before=self._drop, comparable=lambda _: question())

    def _index(self) -> None:
        for table, column in entity_relations.INDEX_COLUMNS:
            self.run(f'CREATE INDEX {table}_{column} ON "{table}" ({column})')

    def _drop(self) -> None:
        for table, column in entity_relations.INDEX_COLUMNS:
            self.run(f"DROP INDEX IF EXISTS {table}_{column}")

    def _check(self) -> list[tuple[str, int]]:
        endpoints = (("title", "titles", "code"), ("person", "people", "_id"))
        return [(f"cast_{column}", self.ask(_dangling(column, *of))[0][0]) for column, *of in endpoints]


def _dangling(column: str, of: str, key: str) -> str:
    target_row = f'SELECT 1 FROM {of} WHERE {of}.{key} = "cast".{column}'
    return f'SELECT count(*) FROM "cast" WHERE {column} IS NOT NULL AND NOT EXISTS ({target_row})'
