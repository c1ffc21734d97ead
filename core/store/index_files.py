"""The files of indexes: swept up when no index needs them any more, and looked at by verify."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from core.index.registry import index_of, kind_of
from core.store.catalog import Catalog
from core.store.layout import INDEX_FOLDER
from core.store.state import State

log = logging.getLogger(__name__)


def sweep(catalog: Catalog) -> list[int]:
    """Remove what belongs to no table, no index, or no data file that is known; answers the sizes.

    What another process makes at this moment may go too: it is made again when it is needed.
    """
    place = catalog.path.parent / INDEX_FOLDER
    if not place.is_dir():
        return []
    tables = {row.folder: row.table_id for row in catalog.tables()}
    sizes: list[int] = []
    for folder in place.iterdir():
        table_id = tables.get(folder.name)
        indexes = [] if table_id is None else [index_of(*told) for told in catalog.indexes(table_id)]
        if not indexes:
            sizes += _removed(folder)
            continue
        known = {PurePosixPath(path) for path in catalog.known_paths()}
        names = {path.name for path in known if path.parent.name == folder.name}
        for entry in folder.iterdir():
            if not any(kind_of(index.kind).needs(index, entry.name, names) for index in indexes):
                sizes += _removed(entry)
    return sizes


def problems(state: State, quick: bool) -> Iterator[str]:
    """What of the indexes is damaged, as sentences."""
    held = state.snapshot.indexes
    if held is not None:
        for index in held.listed:
            yield from kind_of(index.kind).problems(held.place, index, state.snapshot, quick)


def _removed(entry: Path) -> list[int]:
    """The sizes of the files that are gone."""
    try:
        files = [path for path in entry.rglob("*") if path.is_file()] if entry.is_dir() else [entry]
        sizes = [path.stat().st_size for path in files]
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    except OSError as error:
        log.info("%s: no index needs it, but it could not be removed: %s", entry, error)
        return []
    return sizes
