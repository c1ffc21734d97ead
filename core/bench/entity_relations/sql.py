"""The same questions as SQL, where related rows are found by subqueries and joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from lamella.core.bench.entity_relations import data
from lamella.core.bench.questions.backend import Question, Questions
from lamella.core.bench.workloads.entity_relations import (
    BILLED_BEFORE,
    CHECK,
    COUNTS_OF_ALL,
    IMPORTANT,
    INDEX,
    PAGE,
    UNINDEXED,
)

COUNT = "SELECT max(_id) + 1 FROM titles"
"""Ids have no gaps."""

ENTRIES = 'SELECT * FROM "cast" WHERE person = ?'
IN_ORDER = f"ORDER BY _id LIMIT {PAGE}"
ENTRY = 'SELECT {} FROM "cast" WHERE _id = ?'
COUNTS = 'SELECT _id, (SELECT count(*) FROM "cast" WHERE person = people._id) FROM people'
SKILL_COUNTS = """
SELECT _id, (SELECT count(*) FROM occupation_skills WHERE occupation = occupations._id) FROM occupations
"""
SKILLS = "SELECT * FROM skills WHERE _id IN (SELECT skill FROM occupation_skills WHERE occupation = ?)"
OCCUPATIONS = f"""
SELECT * FROM occupations WHERE _id IN
  (SELECT occupation FROM occupation_skills WHERE skill = ? AND importance > {IMPORTANT})
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


class Related:
    """`ask` takes a statement and its values, and answers in tuples; `run` is for those without an answer."""

    def __init__(self, ask: Callable[..., list[Any]], run: Callable[[str], object]) -> None:
        self.ask, self.run = ask, run

    def questions(self) -> Questions:
        ((titles,),) = self.ask(COUNT)
        return {
            **self._films(titles),
            **self._occupations(titles),
            **self._products(titles),
            CHECK: Question(self._check),
        }

    def _each(self, statement: str, of: list[int]) -> Question:
        return Question(partial(self.ask, statement), of)

    def _films(self, titles: int) -> Questions:
        people, entries = data.some_people(titles), data.some_entries(titles)
        first = self._each(f"{ENTRIES} {IN_ORDER}", people)
        title = 'SELECT * FROM "cast" WHERE title = (SELECT code FROM titles WHERE _id = ?)'
        return {
            UNINDEXED: first,
            "entries": first,
            "entries_page": first,
            "entries_sorted": self._each(f"{ENTRIES} ORDER BY billing, _id LIMIT {PAGE}", people),
            "entries_filtered": self._each(f"{ENTRIES} AND billing < {BILLED_BEFORE}", people),
            "entries_next_page": self._next_page(people),
            "title_entries": self._each(title, data.some_titles(titles)),
            "entry_title": self._each(
                f"SELECT * FROM titles WHERE code = ({ENTRY.format('title')})", entries
            ),
            "entry_person": self._each(
                f"SELECT * FROM people WHERE _id = ({ENTRY.format('person')})", entries
            ),
            "counts": self._page_of(COUNTS, data.people_count(titles)),
            COUNTS_OF_ALL: Question(partial(self.ask, COUNTS)),
            INDEX: self._built(people[0]),
        }

    def _next_page(self, people: list[int]) -> Question:
        """Where the first pages end is found out before the clock runs."""

        @cache
        def ends() -> Mapping[int, int]:
            pages = {number: self.ask(f"{ENTRIES} {IN_ORDER}", number) for number in people}
            return {number: page[-1][0] if page else -1 for number, page in pages.items()}

        behind = f"{ENTRIES} AND _id > ? {IN_ORDER}"
        return Question(lambda number: self.ask(behind, number, ends()[number]), people, before=ends)

    def _occupations(self, titles: int) -> Questions:
        return {
            "skills": self._each(SKILLS, data.some_occupations(titles)),
            "occupations": self._each(OCCUPATIONS, data.some_skills()),
            "skill_counts": self._page_of(SKILL_COUNTS, data.occupation_count(titles)),
        }

    def _products(self, titles: int) -> Questions:
        products = data.some_products(titles)
        return {
            "children": self._each(CHILDREN, data.some_classes(titles)),
            "parent": self._each(f"SELECT * FROM products WHERE code = {PARENT}", products),
            "ancestors": self._each(ANCESTORS, products),
            "grandchildren": self._each(GRANDCHILDREN, data.some_families(titles)),
        }

    def _page_of(self, statement: str, most: int) -> Question:
        """Of as many rows as a page has, one after the other."""
        within = f"{statement} WHERE _id BETWEEN ? AND ?"
        return Question(lambda number: self.ask(within, number, number + PAGE - 1), data.some_pages(most))

    def _built(self, person: int) -> Question:
        found = partial(self.ask, f"{ENTRIES} {IN_ORDER}", person)
        return Question(self._index, before=self._drop, told=lambda _: found())

    def _index(self) -> None:
        for table, column in data.INDEXED:
            self.run(f'CREATE INDEX {table}_{column} ON "{table}" ({column})')

    def _drop(self) -> None:
        for table, column in data.INDEXED:
            self.run(f"DROP INDEX IF EXISTS {table}_{column}")

    def _check(self) -> list[tuple[str, int]]:
        ends = (("title", "titles", "code"), ("person", "people", "_id"))
        return [(f"cast_{column}", self.ask(_dangling(column, *of))[0][0]) for column, *of in ends]


def _dangling(column: str, of: str, key: str) -> str:
    there = f'SELECT 1 FROM {of} WHERE {of}.{key} = "cast".{column}'
    return f'SELECT count(*) FROM "cast" WHERE {column} IS NOT NULL AND NOT EXISTS ({there})'
