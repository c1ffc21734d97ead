"""Of which format a catalog is: an empty file becomes one, and an earlier format is brought up to date."""

from __future__ import annotations

import sqlite3

from lamella.core.errors import StoreProblem, StoreTooNew
from lamella.core.store.catalog_access import CatalogAccess
from lamella.core.store.catalog_schema import APPLICATION_ID, FORMAT_VERSION, MIGRATIONS, TABLES
from lamella.core.store.connection import not_a_catalog, unopened


def settle_format(catalog: CatalogAccess) -> None:
    """Raises `StoreTooNew` when a later program wrote it, `StoreProblem` when it is not a catalog."""
    try:
        written = int(catalog.rows("PRAGMA user_version")[0][0])
        is_new = written == 0 and not catalog.rows("SELECT 1 FROM sqlite_master LIMIT 1")
        known = catalog.rows("PRAGMA application_id")[0][0] == APPLICATION_ID
    except (sqlite3.DatabaseError, StoreProblem) as error:
        cause = error.__cause__ or error
        if isinstance(cause, sqlite3.Error):
            raise unopened(catalog.path, cause) from cause
        raise not_a_catalog(catalog.path, str(cause)) from error
    if is_new:
        _create(catalog)
        return
    if not known:
        raise not_a_catalog(catalog.path, "it is a SQLite file of another program")
    if written > FORMAT_VERSION:
        raise StoreTooNew(
            f"{catalog.path.parent}: the store was written by a later version of Lamella",
            f"its format is {written}, this program knows {FORMAT_VERSION}",
            "Open it with the version that wrote it, or a newer one",
        )
    catalog.keep_safe(new=False)
    if written < FORMAT_VERSION:
        _migrate(catalog)


def _migrate(catalog: CatalogAccess) -> None:
    """Another program may be doing it at the same moment: each step is looked at under the lock."""
    if catalog.read_only:
        raise StoreProblem(
            f"{catalog.path.parent}: the store is of an earlier format",
            fix="Open it once for writing, which brings it up to date",
        )
    with catalog.transaction() as transaction:
        for written in range(catalog.rows("PRAGMA user_version")[0][0], FORMAT_VERSION):
            transaction.script(MIGRATIONS[written])
            transaction.script(f"PRAGMA user_version = {written + 1}")


def _create(catalog: CatalogAccess) -> None:
    """Another program may be making it at the same moment: whoever has the lock first does."""
    if catalog.read_only:
        raise not_a_catalog(catalog.path, "it is empty")
    catalog.keep_safe(new=True)
    with catalog.transaction() as transaction:
        if catalog.rows("PRAGMA user_version")[0][0] == 0:
            transaction.script(TABLES)
            transaction.script(f"PRAGMA application_id = {APPLICATION_ID}")
            transaction.script(f"PRAGMA user_version = {FORMAT_VERSION}")
