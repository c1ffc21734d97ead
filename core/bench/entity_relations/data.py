"""Made films, occupations and products, in the shapes of the data sets that the page names."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from lamella.core.bench.workloads.entity_relations import PAGE

Columns = dict[str, list[Any]]

TYPES = {
    "titles": {"code": "TEXT", "name": "TEXT", "year": "INTEGER", "rating": "REAL"},
    "people": {"name": "TEXT", "born": "INTEGER"},
    "cast": {"title": "TEXT", "person": "INTEGER", "billing": "INTEGER", "role": "TEXT"},
    "occupations": {"code": "TEXT", "name": "TEXT"},
    "skills": {"name": "TEXT"},
    "occupation_skills": {"occupation": "INTEGER", "skill": "INTEGER", "importance": "INTEGER"},
    "products": {"code": "TEXT", "name": "TEXT", "level": "INTEGER", "parent": "TEXT"},
}
"""By table its columns, and what SQL calls their types. Each table has an `_id` from 0 on besides."""

INDEXED = (
    *(("cast", "title"), ("cast", "person"), ("titles", "code")),
    *(("occupation_skills", "occupation"), ("occupation_skills", "skill")),
    *(("products", "code"), ("products", "parent")),
)
"""Columns that related rows are found by, and that are not ids."""

ASKED, SKILLS, SKILLS_EACH = 30, 35, 20


def tables(titles: int) -> dict[str, Columns]:
    random = np.random.default_rng(1)
    return {**_films(random, titles), **_occupations(random, titles), "products": _products(random, titles)}


def some_people(titles: int) -> list[int]:
    """Who has some 60 cast entries."""
    return _some(_busy(titles))


def some_titles(titles: int) -> list[int]:
    return _some(titles)


def some_entries(titles: int) -> list[int]:
    return _some(2 * titles)


def some_occupations(titles: int) -> list[int]:
    return _some(occupation_count(titles))


def some_skills() -> list[int]:
    return _some(SKILLS)


def some_families(titles: int) -> list[int]:
    """Classes of classes of products."""
    return [_levels(titles)[0] + number for number in _some(_levels(titles)[1])]


def some_classes(titles: int) -> list[int]:
    """What products are divided into first."""
    return [sum(_levels(titles)[:2]) + number for number in _some(_levels(titles)[2])]


def some_products(titles: int) -> list[int]:
    return [sum(_levels(titles)[:3]) + number for number in _some(_levels(titles)[3])]


def people_count(titles: int) -> int:
    return max(PAGE, titles // 2)


def occupation_count(titles: int) -> int:
    return max(PAGE, titles // 100)


def page_from(number: int) -> range:
    """As many ids as a page has rows."""
    return range(number, number + PAGE)


def some_pages(most: int) -> list[int]:
    """Where such pages begin, among so many ids."""
    return _some(max(1, most - PAGE + 1))


def _films(random: Generator, titles: int) -> dict[str, Columns]:
    """A fifth of the cast is of the busy people, so that each has some 60 entries: three pages."""
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
    """Segments, families, classes and commodities; a parent is any of the level above."""
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
    """Of 100,000 titles: 50 segments, 400 families, 2,500 classes, 50,000 commodities."""
    return max(1, titles // 2000), max(1, titles // 250), max(1, titles // 40), max(1, titles // 2)


def _busy(titles: int) -> int:
    return max(1, titles // 150)


def _some(most: int) -> list[int]:
    """The same ones for every system."""
    drawn: list[int] = np.random.default_rng(2).integers(0, most, ASKED).tolist()
    return drawn
