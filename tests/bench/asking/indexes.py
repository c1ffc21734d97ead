"""Sorted indexes of 100,000 rows, beside SQLite with the same indexes and with none.

A lookup is for another value each time, and 20 rows are found, but for *2 % of the rows*. *Positions* are the
numbers of the rows alone, in SQLite the row ids; *rows* have all columns. *Build* drops an index, untimed,
and makes it again, without waiting for the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core import Store, col
from core.filters.expr import Filter
from core.jobs import Job
from core.query import local
from core.store import Table
from tests.bench.asking.model import LAMELLA, Goal, Question, Questions, Suite

ALIKE = 20
"""Rows of one owner, and rows whose codes begin alike."""
LOOKED_UP = 30
DECLARED = "number INTEGER, code TEXT, owner INTEGER, amount REAL, label TEXT"
INDEXED = {"number": "distinct numbers", "owner": "repeated numbers", "code": "distinct texts"}


def make(folder: Path, rows: int) -> None:
    columns = _columns(rows)
    with Store.open(folder / "store") as store:
        table = store.create_table("items", columns)
        for name in INDEXED:
            table.create_index(name)
    connection = sqlite3.connect(folder / "items.sqlite")
    connection.execute(f"CREATE TABLE items (_id INTEGER PRIMARY KEY, {DECLARED})")
    values = zip(range(rows), *columns.values(), strict=True)
    connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", values)
    for name in INDEXED:
        connection.execute(f"CREATE INDEX items_{name} ON items ({name})")
    connection.commit()
    connection.close()


def _columns(rows: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    numbers = random.permutation(rows).tolist()
    return {
        "number": numbers,
        "code": [f"c{number // ALIKE:06}-{number % ALIKE:02}" for number in numbers],
        "owner": [number // ALIKE for number in numbers],
        "amount": random.random(rows).tolist(),
        "label": [f"item number {number % 977}" for number in numbers],
    }


@dataclass(frozen=True)
class Lookup:
    """For each of some owners: as a filter, and as SQL with its parameters."""

    where: Callable[[int], Filter]
    sql: str
    values: Callable[[int], tuple[Any, ...]]


def lookups(rows: int) -> dict[str, Lookup]:
    wide, step = rows // 50, rows // ALIKE

    def some(owner: int) -> tuple[int, ...]:
        return tuple((owner + step * place) % rows for place in range(ALIKE))

    return {
        "equality": Lookup(lambda owner: col("owner") == owner, "owner = ?", lambda owner: (owner,)),
        "range": Lookup(
            lambda owner: col("number").between(owner * ALIKE, owner * ALIKE + ALIKE - 1),
            "number BETWEEN ? AND ?",
            lambda owner: (owner * ALIKE, owner * ALIKE + ALIKE - 1),
        ),
        "prefix": Lookup(
            lambda owner: col("code").starts_with(f"c{owner:06}-"),
            "code >= ? AND code < ?",
            lambda owner: (f"c{owner:06}-", f"c{owner:06}."),
        ),
        "in": Lookup(
            lambda owner: col("number").is_in(some(owner)),
            f"number IN ({', '.join('?' * ALIKE)})",
            some,
        ),
        "range, 2 % of the rows": Lookup(
            lambda owner: col("number").between(owner, owner + wide - 1),
            "number BETWEEN ? AND ?",
            lambda owner: (owner, owner + wide - 1),
        ),
    }


SORTS = {
    "sort by number": ("-number", "number DESC"),
    "sort by text": ("code", "code"),
}


def _owners(rows: int) -> list[int]:
    drawn: list[int] = np.random.default_rng(2).integers(0, rows // ALIKE, LOOKED_UP).tolist()
    return drawn


# ------------------------------------------------------------------- Lamella


def lamella(folder: Path) -> Questions:
    table = Store.open(folder / "store")["items"]
    owners = _owners(table.num_rows)
    asked: dict[str, Callable[[], Any] | Question] = {}
    for name, lookup in lookups(table.num_rows).items():
        asked[f"{name}, positions"] = Question(partial(_positions, table, lookup.where), owners)
        asked[f"{name}, rows"] = Question(partial(_rows, table, lookup.where), owners)
    for name, (key, _) in SORTS.items():
        asked[f"{name}, first 20 rows"] = partial(table.read, sort=[key], limit=ALIKE)
    asked["20 rows by number, from one on"] = Question(partial(_from, table), owners)
    for column, kind in INDEXED.items():
        make, drop = partial(table.create_index, column), partial(table.drop_index, column)
        lowest = partial(_lowest, table, column)
        asked[f"build, {kind}"] = Question(make, before=drop, told=lambda _, found=lowest: found())
    return asked


def _positions(table: Table, where: Callable[[int], Filter], owner: int) -> np.ndarray:
    return local.find(table.snapshot(), where(owner), (), Job())


def _rows(table: Table, where: Callable[[int], Filter], owner: int) -> pa.Table:
    return table.read(where=where(owner))


def _from(table: Table, owner: int) -> pa.Table:
    return table.read(where=col("number") > owner * ALIKE, sort=["number"], limit=ALIKE)


def _lowest(table: Table, column: str) -> pa.Table:
    return table.read([column], sort=[column], limit=ALIKE)


# -------------------------------------------------------------------- SQLite


def sqlite_indexed(folder: Path) -> Questions:
    connection = sqlite3.connect(folder / "items.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    return {**_asked(connection, "items"), **dict(_builds(connection))}


def sqlite(folder: Path) -> Questions:
    return _asked(sqlite3.connect(folder / "items.sqlite"), "items NOT INDEXED")


def _asked(connection: sqlite3.Connection, table: str) -> dict[str, Callable[[], Any] | Question]:
    def ask(sql: str, values: Callable[[int], tuple[Any, ...]]) -> Callable[[int], list[Any]]:
        return lambda owner: connection.execute(sql, values(owner)).fetchall()

    count = connection.execute("SELECT count(*) FROM items").fetchone()[0]
    owners = _owners(count)
    asked: dict[str, Callable[[], Any] | Question] = {}
    for name, lookup in lookups(count).items():
        found = f"FROM {table} WHERE {lookup.sql}"
        asked[f"{name}, positions"] = Question(ask(f"SELECT _id {found}", lookup.values), owners)
        asked[f"{name}, rows"] = Question(ask(f"SELECT * {found}", lookup.values), owners)
    for name, (_, key) in SORTS.items():
        first = f"SELECT * FROM {table} ORDER BY {key} LIMIT {ALIKE}"
        asked[f"{name}, first 20 rows"] = partial(_all, connection, first)
    behind = f"SELECT * FROM {table} WHERE number > ? ORDER BY number LIMIT {ALIKE}"
    asked["20 rows by number, from one on"] = Question(ask(behind, lambda owner: (owner * ALIKE,)), owners)
    return asked


def _all(connection: sqlite3.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


def _builds(connection: sqlite3.Connection) -> Iterator[tuple[str, Question]]:
    run = partial(_all, connection)
    for column, kind in INDEXED.items():
        lowest = partial(run, f"SELECT {column} FROM items ORDER BY {column} LIMIT {ALIKE}")
        yield (
            f"build, {kind}",
            Question(
                partial(run, f"CREATE INDEX items_{column} ON items ({column})"),
                before=partial(run, f"DROP INDEX items_{column}"),
                told=lambda _, found=lowest: found(),
            ),
        )


GOALS = {
    **{f"{name}, positions": Goal(0.2) for name in ("equality", "range", "prefix")},
    **{f"{name}, rows": Goal(2) for name in ("equality", "range", "prefix", "in")},
    **{f"{name}, first 20 rows": Goal(2) for name in SORTS},
    "20 rows by number, from one on": Goal(2),
    **{f"build, {kind}": Goal(60) for kind in INDEXED.values()},
}
SYSTEMS = {LAMELLA: lamella, "SQLite, indexes": sqlite_indexed, "SQLite, no index": sqlite}
INDEXES = Suite("indexes", __doc__ or "", 100_000, make, SYSTEMS, GOALS)
