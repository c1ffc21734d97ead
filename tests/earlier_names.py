"""Names of tables that earlier versions could give."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from lamella import Store
from lamella.core.store.paths import CATALOG


def name_as_earlier_versions_could(store: Store, old: str, new: str) -> None:
    with closing(sqlite3.connect(store.path / CATALOG)) as catalog:
        catalog.execute("UPDATE tables SET name = ? WHERE name = ?", [new, old])
        catalog.commit()
