"""The systems by their ids: where they are, and how they are set up."""

from __future__ import annotations

PLACES = {
    "sqlite": "systems:SQLite",
    "sqlite-obj": "systems:SQLiteObjects",
    "sqlalchemy-core": "sqlalchemies:Core",
    "sqlalchemy-orm": "sqlalchemies:ORM",
    "csv": "systems:CSV",
    "pickle": "systems:Pickle",
    "pickle-obj": "systems:PickleObjects",
}

_SQLITE = "synchronous=OFF, journal in memory: not durable; a crash in a commit can corrupt the file"
_DUMPED = "dumped at once with pickle's highest protocol; not durable (no sync)"

DESCRIPTIONS = {
    "sqlite": _SQLITE,
    "sqlite-obj": f"as sqlite, each loaded row an object of a dataclass, one attribute a column; {_SQLITE}",
    "sqlalchemy-core": (
        f"one engine, executemany of insert, rows as named tuples, on the same SQLite: {_SQLITE}"
    ),
    "sqlalchemy-orm": (
        "a declarative class, bulk insert through a session, rows as mapped objects, on the same SQLite: "
        f"{_SQLITE}"
    ),
    "csv": (
        "lines written with str and join, read by a loop over the file, split, and float; not durable "
        "(no sync)"
    ),
    "pickle": f"one list of tuples, {_DUMPED}",
    "pickle-obj": f"one list of objects with an attribute for each column, {_DUMPED}",
}
