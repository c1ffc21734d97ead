"""What tells the folder of a backup from any other: a mark that says of which store it is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from lamella.core.checksums import checksum_of
from lamella.core.errors import StoreBusy, StoreProblem
from lamella.core.store.connection import is_busy
from lamella.core.store.layout import sync
from lamella.core.store.paths import CATALOG, StorePaths

MARK = "backup.json"
DRAFT = f"{MARK}.part"


def mark(target: Path, source: Path, catalogs: Sequence[str]) -> None:
    """Say that `target` is a backup of `source`, and has a catalog with one of these checksums, or none yet.

    Said before a catalog is replaced, of the old one and the new, it is true whenever a crash comes.
    """
    part = target / DRAFT
    part.write_text(json.dumps({"of": str(source), "catalogs": catalogs}), "utf-8")
    sync(part)
    part.replace(target / MARK)
    sync(target)


def refuse_other(source: Path, target: Path) -> list[str]:
    """Raise `StoreProblem` unless `target` is new or an unchanged backup of `source`; the checksum of the
    catalog it has."""
    StorePaths(target).refuse_links(MARK, DRAFT)
    if target == source or source in target.parents:
        raise StoreProblem(
            f"{target}: a backup inside the store itself helps nobody", fix="Choose another folder"
        )
    if not target.exists() or (target.is_dir() and {p.name for p in target.iterdir()} <= {DRAFT}):
        return []
    told = _mark(target)
    if told.get("of") != str(source):
        raise StoreProblem(
            f"{target}: holds something other than a backup of {source}", fix="Choose a new folder"
        )
    if not (target / CATALOG).exists():
        return []
    refuse_open(target)
    found = checksum_of(target / CATALOG)
    if found not in told.get("catalogs", ()):
        raise StoreProblem(
            f"{target}: the backup was changed since it was made",
            "Making it anew would lose those changes",
            "Choose a new folder",
        )
    return [found]


def refuse_open(target: Path) -> None:
    """Raise `StoreBusy` while somebody has the backup open as a store: its catalog can neither be replaced
    nor, in this process, be read beside SQLite, which would take SQLite's locks away.

    What a crash left in a log is in the catalog afterwards.
    """
    with closing(sqlite3.connect(target / CATALOG, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
        except sqlite3.DatabaseError as error:
            if is_busy(error):
                what = f"{target}: the backup is open as a store"
                raise StoreBusy(what, fix="Close it, or choose a new folder") from error
            what = f"{target / CATALOG}: the backup's catalog cannot be read"
            raise StoreProblem(what, str(error), "Choose a new folder") from error


def _mark(target: Path) -> dict[str, Any]:
    try:
        found = json.loads((target / MARK).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
