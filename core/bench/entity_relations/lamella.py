"""Lamella's relations: declared once, followed both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.lamella import LamellaStore
from lamella.core.bench.entity_relations import data
from lamella.core.bench.questions.backend import Question, QuestionBackend, Questions
from lamella.core.bench.workloads.entity_relations import (
    BILLED_BEFORE,
    CHECK,
    COUNTS_OF_ALL,
    IMPORTANT,
    INDEX,
    PAGE,
    UNINDEXED,
)
from lamella.core.filters import col
from lamella.core.store import Table
from lamella.core.store.store import Store

RELATIONS = (
    ("cast.title", "titles.code"),
    ("cast.person", "people._id"),
    ("occupation_skills.occupation", "occupations._id"),
    ("occupation_skills.skill", "skills._id"),
    ("products.parent", "products.code"),
)


class LamellaRelations(LamellaStore, QuestionBackend):
    @property
    def columns(self) -> int:
        return sum(map(len, data.TYPES.values()))

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for name, columns in data.tables(rows).items():
            self._store.create_table(name, columns)
        for one, other in RELATIONS:
            self._store.relate(one, other)
        self.close()

    def questions(self) -> Questions:
        store = self._store
        titles = store["titles"].num_rows
        return {
            **_films(store, titles),
            **_occupations(store, titles),
            **_products(store["products"], titles),
            **_whole(store),
        }


def _films(store: Store, titles: int) -> Questions:
    people, cast = store["people"], store["cast"]
    entries, asked = partial(people.related, to="cast"), data.some_people(titles)
    first = Question(partial(entries, limit=PAGE), asked)
    return {
        UNINDEXED: first,
        INDEX: Question(
            partial(_index, store),
            before=partial(_drop, store),
            told=lambda _: entries(asked[0], limit=PAGE),
        ),
        "entries": first,
        "entries_sorted": Question(partial(entries, sort=["billing"], limit=PAGE), asked),
        "entries_filtered": Question(partial(entries, where=col("billing") < BILLED_BEFORE), asked),
        "entries_page": Question(partial(_page, people), asked),
        "entries_next_page": _next_page(people, asked),
        "title_entries": Question(partial(store["titles"].related, to="cast"), data.some_titles(titles)),
        "entry_title": Question(partial(cast.related, to="titles"), data.some_entries(titles)),
        "entry_person": Question(partial(cast.related, to="people"), data.some_entries(titles)),
        "counts": Question(
            lambda number: people.related_counts(data.page_from(number), "cast"),
            data.some_pages(people.num_rows),
        ),
        COUNTS_OF_ALL: Question(lambda: people.related_counts(range(people.num_rows), "cast")),
    }


def _page(people: Table, number: int, after: str | None = None) -> pa.Table:
    return people.related_page(number, "cast", PAGE, after).rows


def _next_page(people: Table, asked: list[int]) -> Question:
    """Where the first pages end is found out before the clock runs."""

    @cache
    def ends() -> Mapping[int, str | None]:
        return {number: people.related_page(number, "cast", PAGE, columns=["_id"]).next for number in asked}

    def ask(number: int) -> Any:
        return _page(people, number, ends()[number]) if ends()[number] else []

    return Question(ask, asked, before=ends)


def _occupations(store: Store, titles: int) -> Questions:
    edges, occupations = store.edges("occupation_skills"), store["occupations"].num_rows
    important = partial(edges.neighbours, direction="in", where=col("importance") > IMPORTANT, limit=PAGE)
    return {
        "skills": Question(edges.neighbours, data.some_occupations(titles)),
        "occupations": Question(important, data.some_skills()),
        "skill_counts": Question(
            lambda number: edges.degrees(data.page_from(number)), data.some_pages(occupations)
        ),
    }


def _products(products: Table, titles: int) -> Questions:
    below = partial(products.related, to="products", direction="in")
    above = partial(products.related, to="products", direction="out")
    return {
        "children": Question(below, data.some_classes(titles)),
        "parent": Question(above, data.some_products(titles)),
        "ancestors": Question(partial(_ancestors, above), data.some_products(titles)),
        "grandchildren": Question(partial(_grandchildren, products, below), data.some_families(titles)),
    }


def _ancestors(above: Callable[..., pa.Table], number: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while (rows := above(number, columns=["_id", "code"])).num_rows:
        number, code = (column[0].as_py() for column in rows.columns)
        found.append((number, code))
    return found


def _grandchildren(products: Table, below: Callable[..., pa.Table], number: int) -> pa.Table:
    codes = below(number, columns=["code"])["code"].to_pylist()
    return products.read(where=col("parent").is_in(codes), limit=PAGE)


def _whole(store: Store) -> Questions:
    return {
        CHECK: Question(
            partial(store.check_relations, "cast_title", "cast_person"),
            told=lambda checks: [(each.relation.name, each.dangling) for each in checks],
        ),
    }


def _index(store: Store) -> None:
    for table, column in data.INDEXED:
        store[table].create_index(column)


def _drop(store: Store) -> None:
    for table in dict(data.INDEXED):
        for index in store[table].indexes:
            store[table].drop_index(index.columns)
