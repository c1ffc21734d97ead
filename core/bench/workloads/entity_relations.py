"""Related rows: the traversals for which ParqueDB's page has targets, on data shaped like its data sets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from lamella.core.bench.workloads.model import Check, Operation, Workload

RELATED_PAGE = 20

BILLED_BEFORE, IMPORTANT = 9, 4
"""The values in filters: of a cast entry's billing, and of a skill's importance."""

_ROWS_NOTE = "Each time for another row. "

_QUESTION_TEXTS = {
    "entries": (
        f"A person's cast entries, {RELATED_PAGE}",
        f"finds {RELATED_PAGE} cast entries of a person among {{rows}}",
    ),
    "entries_sorted": (
        "A person's entries, sorted",
        f"finds the first {RELATED_PAGE} cast entries of a person by billing among {{rows}}",
    ),
    "entries_filtered": (
        "A person's entries, filtered",
        "finds the cast entries of a person with a high billing among {rows}",
    ),
    "entries_page": ("A person's entries, first page", "finds the first page of a person among {rows}"),
    "entries_next_page": ("A person's entries, next page", "finds the next page of a person among {rows}"),
    "title_entries": ("A title's entries", "finds the cast of a title among {rows}"),
    "entry_title": ("An entry's title", "follows a cast entry to its title among {rows}"),
    "entry_person": ("An entry's person", "follows a cast entry to its person among {rows}"),
    "counts": (
        f"Counts of {RELATED_PAGE} people",
        f"counts the cast entries of {RELATED_PAGE} people among {{rows}}",
    ),
    "skills": ("An occupation's skills", "finds the skills of an occupation among {rows}"),
    "occupations": (
        "A skill's occupations",
        f"finds {RELATED_PAGE} occupations that a skill is important for among {{rows}}",
    ),
    "skill_counts": (
        f"Counts of {RELATED_PAGE} occupations' skills",
        f"counts the skills of {RELATED_PAGE} occupations among {{rows}}",
    ),
    "children": ("A class's parts", "finds the parts of a class of products among {rows}"),
    "parent": ("A product's class", "finds the class of a product among {rows}"),
    "ancestors": ("A product's ancestors", "finds all ancestors of a product among {rows}"),
    "grandchildren": (
        f"{RELATED_PAGE} products two levels below",
        f"finds {RELATED_PAGE} products two levels below a family among {{rows}}",
    ),
}
"""Titles and sentences of the questions that are repeated for other rows."""

UNINDEXED, INDEX = "entries_unindexed", "index"
COUNTS_OF_ALL, CHECK = "counts_of_all", "check"

_OPERATIONS = (
    Operation(
        UNINDEXED,
        f"A person's entries, {RELATED_PAGE}, no index",
        f"finds {RELATED_PAGE} cast entries of a person among {{rows}} without an index",
        f"{_ROWS_NOTE}Columns that refer to other rows are not indexed yet.",
    ),
    Operation(
        INDEX,
        "Index the relations",
        "indexes the relations of {rows}",
        "An index for each column by which related rows are found; dropping them first is not timed.",
        resizes=True,
    ),
    *(Operation(name, title, sentence, _ROWS_NOTE) for name, (title, sentence) in _QUESTION_TEXTS.items()),
    Operation(
        COUNTS_OF_ALL,
        "Counts of all people",
        "counts the cast entries of all people among {rows}",
        "The number of cast entries of each person, for all of them at once.",
    ),
    Operation(
        CHECK,
        "Check",
        "checks the relations of {rows}",
        "The number of cast entries that refer to a missing title or person.",
    ),
)

ENTITY_RELATIONS = Workload(
    id="entity-relations",
    title="Relations",
    about="The sizes are numbers of titles: there are half as many people, twice as many cast entries, a "
    "hundredth as many occupations with 20 skills each, and half as many products in nested classes.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(10_000, 100_000),
    default_repeats=5,
    family="entity-relations",
    check=Check.AGREED,
    small_rows=(1_000,),
    published_rows=(10_000, 100_000),
)

Columns = dict[str, list[Any]]

RELATED_TYPES = {
    "titles": {"code": "TEXT", "name": "TEXT", "year": "INTEGER", "rating": "REAL"},
    "people": {"name": "TEXT", "born": "INTEGER"},
    "cast": {"title": "TEXT", "person": "INTEGER", "billing": "INTEGER", "role": "TEXT"},
    "occupations": {"code": "TEXT", "name": "TEXT"},
    "skills": {"name": "TEXT"},
    "occupation_skills": {"occupation": "INTEGER", "skill": "INTEGER", "importance": "INTEGER"},
    "products": {"code": "TEXT", "name": "TEXT", "level": "INTEGER", "parent": "TEXT"},
}
"""The columns of each table, and their types in SQL. Each table also has an `_id` that starts at 0."""

INDEX_COLUMNS = (
    *(("cast", "title"), ("cast", "person"), ("titles", "code")),
    *(("occupation_skills", "occupation"), ("occupation_skills", "skill")),
    *(("products", "code"), ("products", "parent")),
)
"""The columns other than ids by which related rows are found."""

NUM_LOOKUPS, SKILLS, SKILLS_EACH = 30, 35, 20


def tables(titles: int) -> dict[str, Columns]:
    random = np.random.default_rng(1)
    return {**_films(random, titles), **_occupations(random, titles), "products": _products(random, titles)}


def some_people(titles: int) -> list[int]:
    """Return people with about 60 cast entries."""
    return _sample_numbers(_busy(titles))


def some_titles(titles: int) -> list[int]:
    return _sample_numbers(titles)


def some_entries(titles: int) -> list[int]:
    return _sample_numbers(2 * titles)


def some_occupations(titles: int) -> list[int]:
    return _sample_numbers(occupation_count(titles))


def some_skills() -> list[int]:
    return _sample_numbers(SKILLS)


def some_families(titles: int) -> list[int]:
    """Return families, which consist of classes of products."""
    return [_levels(titles)[0] + number for number in _sample_numbers(_levels(titles)[1])]


def some_classes(titles: int) -> list[int]:
    """Return classes, which consist of products."""
    return [sum(_levels(titles)[:2]) + number for number in _sample_numbers(_levels(titles)[2])]


def some_products(titles: int) -> list[int]:
    return [sum(_levels(titles)[:3]) + number for number in _sample_numbers(_levels(titles)[3])]


def people_count(titles: int) -> int:
    return max(RELATED_PAGE, titles // 2)


def occupation_count(titles: int) -> int:
    return max(RELATED_PAGE, titles // 100)


def page_from(number: int) -> range:
    """Return the ids of a page that starts with `number`."""
    return range(number, number + RELATED_PAGE)


def some_pages(most: int) -> list[int]:
    """Return the first ids of some pages, among `most` ids."""
    return _sample_numbers(max(1, most - RELATED_PAGE + 1))


def _films(random: Generator, titles: int) -> dict[str, Columns]:
    """A fifth of the cast entries is of the busy people, who thus have about 60 entries each: three pages."""
    people, cast, busy = people_count(titles), titles * 2, _busy(titles)
    codes = [f"tt{number:07d}" for number in random.permutation(titles).tolist()]
    person = random.integers(0, people, cast)
    person[random.permutation(cast)[: cast // 5]] = random.integers(0, busy, cast // 5)
    return {
        "titles": {
            "code": codes,
            "name": [f"Title number {number}" for number in range(titles)],
            "year": random.integers(1920, 2026, titles).tolist(),
            "rating": (random.random(titles) * 10).tolist(),
        },
        "people": {
            "name": [f"Person number {number}" for number in range(people)],
            "born": random.integers(1900, 2010, people).tolist(),
        },
        "cast": {
            "title": [codes[number] for number in random.integers(0, titles, cast).tolist()],
            "person": person.tolist(),
            "billing": random.integers(1, 30, cast).tolist(),
            "role": [f"Role {number % 977}" for number in range(cast)],
        },
    }


def _occupations(random: Generator, titles: int) -> dict[str, Columns]:
    count = occupation_count(titles)
    chosen = [random.permutation(SKILLS)[:SKILLS_EACH].tolist() for _ in range(count)]
    return {
        "occupations": {
            "code": [f"{11 + number % 43}-{number:04d}.00" for number in range(count)],
            "name": [f"Occupation number {number}" for number in range(count)],
        },
        "skills": {"name": [f"Skill number {number}" for number in range(SKILLS)]},
        "occupation_skills": {
            "occupation": [number for number in range(count) for _ in range(SKILLS_EACH)],
            "skill": [skill for skills in chosen for skill in skills],
            "importance": random.integers(1, 6, count * SKILLS_EACH).tolist(),
        },
    }


def _products(random: Generator, titles: int) -> Columns:
    """Segments, families, classes and commodities; a parent is a random one of the level above."""
    levels = _levels(titles)
    starts = [0, *np.cumsum(levels).tolist()]
    codes = [f"p{number:08d}" for number in random.permutation(starts[-1]).tolist()]
    parents: list[str | None] = [None] * levels[0]
    for (first, stop), count in zip(pairwise(starts), levels[1:], strict=False):
        parents += [codes[number] for number in random.integers(first, stop, count).tolist()]
    return {
        "code": codes,
        "name": [f"Product number {number}" for number in range(starts[-1])],
        "level": [level for level, count in enumerate(levels) for _ in range(count)],
        "parent": parents,
    }


def _levels(titles: int) -> tuple[int, int, int, int]:
    """For 100,000 titles: 50 segments, 400 families, 2,500 classes, 50,000 commodities."""
    return max(1, titles // 2000), max(1, titles // 250), max(1, titles // 40), max(1, titles // 2)


def _busy(titles: int) -> int:
    return max(1, titles // 150)


def _sample_numbers(most: int) -> list[int]:
    """Draw some of `most` numbers, the same for every system."""
    numbers: list[int] = np.random.default_rng(2).integers(0, most, NUM_LOOKUPS).tolist()
    return numbers
