"""100,000 entities: filters, sorts, pages, groups, projections and single rows, beside SQLite.

SQLite keeps lists and nested objects as JSON text, has no index but the row id here, and answers in Python
tuples. *page* is 50 rows of the entities sorted by rating; by offset it is asked for where it begins, by
cursor from where the last one ended.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from core import Store, col
from core.agg import count, mean
from core.bench.entities.data import entities
from core.filters.expr import Filter
from core.scan import caches
from core.store import Table
from tests.bench.asking.model import LAMELLA, Goal, Question, Questions, Suite

PAGE = 50
DEPTHS = (1, 10, 100, 500)
SOME_ID = 321
COLUMNS = ("name", "status", "views", "rating", "tags", "profile", "about")

FILTERS: dict[str, tuple[Filter, str]] = {
    "equality": (col("status") == "draft", "status = 'draft'"),
    "range": (col("views").between(1_000, 5_000), "views BETWEEN 1000 AND 5000"),
    "in": (col("status").is_in(["draft", "review"]), "status IN ('draft', 'review')"),
    "and": ((col("status") == "draft") & (col("views") > 90_000), "status = 'draft' AND views > 90000"),
    "or": ((col("views") < 1_000) | (col("rating") == 5.0), "views < 1000 OR rating = 5.0"),
    "nested": (col("profile.city") == "Oslo", "json_extract(profile, '$.city') = 'Oslo'"),
    "nested, found": (col("profile.city") == "Lagos", "json_extract(profile, '$.city') = 'Lagos'"),
    "regex": (col("name").matches("^amber .*7$"), "name REGEXP '^amber .*7$'"),
}
SORTS = {
    "one key": ["-views"],
    "two keys": ["status", "-views"],
    "three keys": ["status", "-rating", "views"],
}


def make(folder: Path, rows: int) -> None:
    made = entities(0, rows)
    with (folder / "entities.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in made)
    with Store.open(folder / "store") as store:
        store.create_table("entities", made)
    connection = sqlite3.connect(folder / "entities.sqlite")
    connection.execute(f"CREATE TABLE entities (_id INTEGER PRIMARY KEY, {', '.join(COLUMNS)})")
    marks = ", ".join("?" * (1 + len(COLUMNS)))
    values = ([number, *map(_plain, row.values())] for number, row in enumerate(made))
    connection.executemany(f"INSERT INTO entities VALUES ({marks})", values)
    connection.commit()
    connection.close()


def _depths(rows: int) -> list[int]:
    """Pages that there are."""
    return [depth for depth in DEPTHS if (depth - 1) * PAGE < rows]


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict)) else value


# ------------------------------------------------------------------- Lamella


def lamella(folder: Path) -> Questions:
    table = Store.open(folder / "store", read_only=True)["entities"]
    asked: dict[str, Callable[[], Any] | Question] = {"get by id": partial(_got, table)}
    for name, (where, _) in FILTERS.items():
        asked[f"filter {name}"] = partial(_views, table, where)
    for name, keys in SORTS.items():
        asked[f"sort {name}, first page"] = partial(table.read, ["views"], sort=keys, limit=PAGE)
    for depth in _depths(table.num_rows):
        asked[f"page {depth} by offset"] = partial(_offset_page, table, depth)
        asked[f"page {depth} by cursor"] = _next_page(table, depth)
    grouped = table.group_by("status").agg(n=count(), mean=mean("views"))
    asked |= {
        "group by": grouped.read,
        "count": table.count,
        "all columns, opened anew": Question(
            partial(_rows, folder, None), before=_forget, note=partial(_smaller, folder)
        ),
        "2 of the columns, opened anew": Question(
            partial(_rows, folder, ["views", "status"]), before=_forget
        ),
    }
    return asked


def _got(table: Table) -> Any:
    row = table.get(SOME_ID)
    return None if row is None else row["views"]


def _views(table: Table, where: Filter) -> pa.Table:
    """The rows whole; what is compared with others is a number of each."""
    return table.read(where=where).select(["views"])


def _offset_page(table: Table, depth: int) -> pa.Table:
    return table.read(["_id"], sort=["-rating"], limit=PAGE, offset=(depth - 1) * PAGE)


def _next_page(table: Table, depth: int) -> Callable[[], pa.Table]:
    """Where the page before ended is found out before the clock runs."""
    after = None
    if depth > 1:
        after = table.page((depth - 1) * PAGE, sort=["-rating"], columns=["_id"]).next
    return lambda: table.page(PAGE, after, sort=["-rating"], columns=["_id"]).rows


def _rows(folder: Path, columns: list[str] | None) -> int:
    with Store.open(folder / "store", read_only=True) as store:
        return int(store["entities"].read(columns).num_rows)


def _forget() -> None:
    """What the process has decoded."""
    caches.limit(0)
    caches.limit(caches.DEFAULT_CACHE_BYTES)


def _smaller(folder: Path) -> str:
    """The store with its catalog beside the same rows as JSON lines."""
    kept = sum(path.stat().st_size for path in (folder / "store").rglob("*") if path.is_file())
    return f"{(folder / 'entities.jsonl').stat().st_size / kept:.1f} × smaller than JSON"


# -------------------------------------------------------------------- SQLite


def sqlite(folder: Path) -> Questions:
    connection = sqlite3.connect(folder / "entities.sqlite")
    connection.create_function("regexp", 2, _regexp, deterministic=True)

    def all_of(sql: str) -> list[Any]:
        return connection.execute(sql).fetchall()

    listed, order = ", ".join(COLUMNS), "ORDER BY rating DESC, _id LIMIT 50"
    asked: dict[str, Callable[[], Any]] = {
        "get by id": lambda: all_of(f"SELECT views, {listed} FROM entities WHERE _id = {SOME_ID}")[0][0]
    }
    for name, (_, where) in FILTERS.items():
        text = f"SELECT views, {listed} FROM entities WHERE {where}"
        asked[f"filter {name}"] = lambda t=text: [row[:1] for row in all_of(t)]  # type: ignore[misc]
    for name, keys in SORTS.items():
        by = ", ".join(f"{key[1:]} DESC" if key.startswith("-") else key for key in keys)
        text = f"SELECT views FROM entities ORDER BY {by}, _id LIMIT {PAGE}"
        asked[f"sort {name}, first page"] = partial(all_of, text)
    for depth in _depths(all_of("SELECT count(*) FROM entities")[0][0]):
        text = f"SELECT _id FROM entities {order} OFFSET {(depth - 1) * PAGE}"
        asked[f"page {depth} by offset"] = partial(all_of, text)
        asked[f"page {depth} by cursor"] = partial(all_of, _cursor_sql(connection, depth, order))
    asked |= {
        "group by": partial(all_of, "SELECT status, count(*), avg(views) FROM entities GROUP BY status"),
        "count": lambda: all_of("SELECT count(*) FROM entities")[0][0],
        "all columns, opened anew": lambda: len(all_of("SELECT * FROM entities")),
        "2 of the columns, opened anew": lambda: len(all_of("SELECT views, status FROM entities")),
    }
    return asked


def _regexp(pattern: str, text: str) -> bool:
    import re

    return re.search(pattern, text) is not None


def _cursor_sql(connection: sqlite3.Connection, depth: int, order: str) -> str:
    if depth == 1:
        return f"SELECT _id FROM entities {order}"
    last = connection.execute(
        "SELECT rating, _id FROM entities ORDER BY rating DESC, _id LIMIT 1 OFFSET ?",
        ((depth - 1) * PAGE - 1,),
    ).fetchone()
    after = f"rating < {last[0]} OR (rating = {last[0]} AND _id > {last[1]})"
    return f"SELECT _id FROM entities WHERE {after} {order}"


GOALS = {
    "get by id": Goal(0.2),
    **{f"filter {name}": Goal(40 if name == "regex" else 8) for name in FILTERS},
    **{f"sort {name}, first page": Goal(15) for name in SORTS},
    **{f"page {depth} by {how}": Goal(2) for depth in DEPTHS for how in ("offset", "cursor")},
    "group by": Goal(5),
    "count": Goal(0.2),
    "2 of the columns, opened anew": Goal(than={"all columns, opened anew": 1 / 10}),
}
ENTITIES = Suite("entities", __doc__ or "", 100_000, make, {LAMELLA: lamella, "SQLite": sqlite}, GOALS)
