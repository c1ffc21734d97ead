"""Lamella's ways to find rows: sorted indexes, full text, and relations in both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import pyarrow as pa

from lamella.core.bench.systems.base import Question, Questions, QuestionSystem
from lamella.core.bench.systems.lamella import LamellaStore
from lamella.core.bench.workloads import entity_indexes, entity_relations, entity_text
from lamella.core.filters.expr import Filter
from lamella.core.query.expressions import col
from lamella.core.store import Table
from lamella.core.store.store import Store

KEYS_OF_SORTS = {"number": "-number", "code": "code"}

CONDITIONS: Mapping[str, Callable[..., Filter]] = {
    "equality": lambda owner: col("owner") == owner,
    "point": lambda number: col("number") == number,
    "range": lambda first, last: col("number").between(first, last),
    "prefix": lambda beginning, _: col("code").starts_with(beginning),
    "in": lambda *numbers: col("number").is_in(numbers),
    "wide_range": lambda first, last: col("number").between(first, last),
}
"""The condition of each lookup; it takes the lookup's values."""


class LamellaIndexes(LamellaStore, QuestionSystem):
    columns = len(entity_indexes.ITEM_TYPES)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._store.create_table("items", entity_indexes.items(rows))
        self.close()

    def questions(self) -> Questions:
        table = self._store["items"]
        return {
            **entity_indexes.questions(table.num_rows, partial(_lookup, table)),
            **{
                entity_indexes.build(column): _build_index(table, column)
                for column in entity_indexes.INDEX_COLUMNS
            },
            **{
                entity_indexes.sort(column): Question(partial(_first, table, KEYS_OF_SORTS[column]))
                for column in entity_indexes.SORTS
            },
            entity_indexes.NEXT: Question(partial(_behind, table), entity_indexes.owners(table.num_rows)),
        }


def _lookup(table: Table, lookup: entity_indexes.Lookup, what: str) -> Callable[[int], Any]:
    names = ["_id"] if what == entity_indexes.KEYS else None
    condition = CONDITIONS[lookup.name]
    return lambda owner: table.read(names, where=condition(*lookup.values(owner)))


def _build_index(table: Table, column: str) -> Question:
    return Question(
        partial(table.indexes.create, column),
        before=partial(_drop_index, table, column),
        comparable=lambda _: table.read([column], sort=[column], limit=entity_indexes.ALIKE),
    )


def _drop_index(table: Table, column: str) -> None:
    if any(index.columns == (column,) for index in table.indexes):
        table.indexes.drop(column)


def _first(table: Table, key: str) -> pa.Table:
    return table.read(sort=[key], limit=entity_indexes.ALIKE)


def _behind(table: Table, owner: int) -> pa.Table:
    return table.read(
        where=col("number") > owner * entity_indexes.ALIKE, sort=["number"], limit=entity_indexes.ALIKE
    )


class LamellaText(LamellaStore, entity_text.TextSystem):
    syntax = "lamella"
    tokenizers = {entity_text.STEMS: "english", entity_text.WORDS: None}  # noqa: RUF012

    def fill(self, rows: int) -> None:
        """Fill the tables; `changing` is the one that small commits change."""
        self.open(writing=True)
        documents = entity_text.documents(rows)
        for name in ("docs", "changing"):
            self._store.create_table(name, documents)
        self._store["changing"].indexes.create("text", kind="fulltext", language=None)
        self.close()

    def questions(self) -> Questions:
        self._docs, self._changing = self._store["docs"], self._store["changing"]
        self._within = col("year").between(entity_text.FROM, entity_text.TO)
        return super().questions()

    def best(self, asks: str, text: str) -> pa.Table:
        columns: list[str] | None = [] if asks in entity_text.SEARCHES else None
        return self._table(asks).search(text, columns, self._condition(asks), entity_text.BEST)

    def matching(self, asks: str, text: str) -> list[int]:
        return self.ids(self._table(asks).search(text, [], self._condition(asks), limit=None))

    def ids(self, answer: pa.Table) -> list[int]:
        row_ids: list[int] = answer["_id"].to_pylist()
        return row_ids

    def build(self, tokenizer: str | None) -> None:
        self._docs.indexes.create("text", kind="fulltext", language=tokenizer)

    def drop(self) -> None:
        if self._docs.indexes:
            self._docs.indexes.drop("text", kind="fulltext")

    def changing(self) -> int:
        return self._changing.num_rows

    def change(self, number: int) -> None:
        self._changing.update([{"_id": number, "text": entity_text.CHANGED_TEXT.format(number)}])

    def _table(self, asks: str) -> Table:
        return self._changing if asks == entity_text.AFTER_COMMIT else self._docs

    def _condition(self, asks: str) -> Filter | None:
        return self._within if asks == entity_text.FILTERED else None


RELATIONS = (
    ("cast.title", "titles.code"),
    ("cast.person", "people._id"),
    ("occupation_skills.occupation", "occupations._id"),
    ("occupation_skills.skill", "skills._id"),
    ("products.parent", "products.code"),
)


class LamellaRelations(LamellaStore, QuestionSystem):
    columns = sum(map(len, entity_relations.RELATED_TYPES.values()))

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for name, columns in entity_relations.tables(rows).items():
            self._store.create_table(name, columns)
        for source, target in RELATIONS:
            self._store.relations.declare(source, target)
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
    entries, ids = partial(people.relations.rows, to="cast"), entity_relations.some_people(titles)
    first = Question(partial(entries, limit=entity_relations.RELATED_PAGE), ids)
    return {
        entity_relations.UNINDEXED: first,
        entity_relations.INDEX: Question(
            partial(_index_relations, store),
            before=partial(_drop_indexes, store),
            comparable=lambda _: entries(ids[0], limit=entity_relations.RELATED_PAGE),
        ),
        "entries": first,
        "entries_sorted": Question(
            partial(entries, sort=["billing"], limit=entity_relations.RELATED_PAGE), ids
        ),
        "entries_filtered": Question(
            partial(entries, where=col("billing") < entity_relations.BILLED_BEFORE), ids
        ),
        "entries_page": Question(partial(_page, people), ids),
        "entries_next_page": _next_page(people, ids),
        "title_entries": Question(
            partial(store["titles"].relations.rows, to="cast"), entity_relations.some_titles(titles)
        ),
        "entry_title": Question(
            partial(cast.relations.rows, to="titles"), entity_relations.some_entries(titles)
        ),
        "entry_person": Question(
            partial(cast.relations.rows, to="people"), entity_relations.some_entries(titles)
        ),
        "counts": Question(
            lambda number: people.relations.counts(entity_relations.page_from(number), "cast"),
            entity_relations.some_pages(people.num_rows),
        ),
        entity_relations.COUNTS_OF_ALL: Question(
            lambda: people.relations.counts(range(people.num_rows), "cast")
        ),
    }


def _page(people: Table, number: int, after: str | None = None) -> pa.Table:
    return people.relations.page(number, "cast", entity_relations.RELATED_PAGE, after).rows


def _next_page(people: Table, ids: list[int]) -> Question:
    """The ends of the first pages are determined before timing starts."""

    @cache
    def page_ends() -> Mapping[int, str | None]:
        return {
            number: people.relations.page(number, "cast", entity_relations.RELATED_PAGE, columns=["_id"]).next
            for number in ids
        }

    def ask(number: int) -> Any:
        return _page(people, number, page_ends()[number]) if page_ends()[number] else []

    return Question(ask, ids, before=page_ends)


def _occupations(store: Store, titles: int) -> Questions:
    edges, occupations = store.relations.edges("occupation_skills"), store["occupations"].num_rows
    important = partial(
        edges.neighbours,
        direction="in",
        where=col("importance") > entity_relations.IMPORTANT,
        limit=entity_relations.RELATED_PAGE,
    )
    return {
        "skills": Question(edges.neighbours, entity_relations.some_occupations(titles)),
        "occupations": Question(important, entity_relations.some_skills()),
        "skill_counts": Question(
            lambda number: edges.degrees(entity_relations.page_from(number)),
            entity_relations.some_pages(occupations),
        ),
    }


def _products(products: Table, titles: int) -> Questions:
    below = partial(products.relations.rows, to="products", direction="in")
    above = partial(products.relations.rows, to="products", direction="out")
    return {
        "children": Question(below, entity_relations.some_classes(titles)),
        "parent": Question(above, entity_relations.some_products(titles)),
        "ancestors": Question(partial(_ancestors, above), entity_relations.some_products(titles)),
        "grandchildren": Question(
            partial(_grandchildren, products, below), entity_relations.some_families(titles)
        ),
    }


def _ancestors(above: Callable[..., pa.Table], number: int) -> list[tuple[int, str]]:
    ancestors: list[tuple[int, str]] = []
    while (rows := above(number, columns=["_id", "code"])).num_rows:
        number, code = (column[0].as_py() for column in rows.columns)
        ancestors.append((number, code))
    return ancestors


def _grandchildren(products: Table, below: Callable[..., pa.Table], number: int) -> pa.Table:
    codes = below(number, columns=["code"])["code"].to_pylist()
    return products.read(where=col("parent").is_in(codes), limit=entity_relations.RELATED_PAGE)


def _whole(store: Store) -> Questions:
    return {
        entity_relations.CHECK: Question(
            partial(store.relations.check, "cast_title", "cast_person"),
            comparable=lambda checks: [(each.relation.name, each.dangling) for each in checks],
        ),
    }


def _index_relations(store: Store) -> None:
    for table, column in entity_relations.INDEX_COLUMNS:
        store[table].indexes.create(column)


def _drop_indexes(store: Store) -> None:
    for table in dict(entity_relations.INDEX_COLUMNS):
        for index in store[table].indexes:
            store[table].indexes.drop(index.columns)
