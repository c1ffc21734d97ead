"""Books to search by words, with rows in every location that a store has for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.jobs import Job
from lamella.core.store import Table

BOOKS = {
    "title": ["The Running Fox", "Red apples", "Café society", None, "Green pear trees", "Tea"],
    "body": [
        "A fox runs over the lazy dogs",
        "An apple is red; apples are good",
        "Coffee & tea",
        "nothing",
        "Pears in the tree run wild",
        "",
    ],
    "n": [0, 1, 2, 3, 4, 5],
    "tags": [["big red", "fox"], ["fruit"], None, [], ["red big", None], ["tea time"]],
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def books(store: Store) -> Table:
    table = store.create_table("books", BOOKS)
    table.indexes.create(["title", "body"], kind="fulltext", weights={"title": 2})
    table.indexes.create("tags", kind="fulltext", language=None)
    return table


@pytest.fixture(params=["pending", "flushed", "in two files"])
def placed(request: pytest.FixtureRequest, books: Table) -> Table:
    if request.param == "in two files":
        books.delete(ids=[4, 5])
        books.maintenance.flush()
        books.history.undo()
    if request.param != "pending":
        books.maintenance.flush()
    return books


def ids(table: Table, text: str, **options: object) -> list[int]:
    match: list[int] = table.search(text, limit=None, **options).column("_id").to_pylist()  # type: ignore[arg-type]
    return match


def index_folders(store: Store) -> list[Path]:
    return sorted((store.path / "index").glob("*/*.fulltext-*"))


class Stopped(Job):
    """A job that is cancelled at its check number `last`."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def check(self) -> None:
        self.last -= 1
        if self.last == 0:
            self.cancel()
        super().check()
