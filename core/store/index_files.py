"""The files of indexes: swept up when no index needs them any more, and looked at by verify."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lamella.core.index.registry import DRAFT, index_of, kind_of
from lamella.core.store.catalog import Catalog
from lamella.core.store.layout import remove_empty
from lamella.core.store.paths import StorePaths, entries, is_index_entry, is_link
from lamella.core.store.state import State

LONGEST_MAKING = 3600.0
"""Seconds without a byte written, after which nobody goes on with a draft."""

log = logging.getLogger(__name__)


def sweep(catalog: Catalog) -> list[int]:
    """Remove what belongs to no table, no index, or no data file that is known; answers the sizes. What is
    not called like an index stays, and so do links.

    A draft may be another process's that writes it at this moment: it stays until nothing was written to it
    for long.
    """
    catalog.refuse_replaced()
    there = {
        folder: [entry for entry in entries(folder) if is_index_entry(entry.name) and not is_link(entry)]
        for folder in StorePaths(catalog.path.parent).index_folders()
    }
    if not there:
        return []
    tables = {row.folder: row.table_id for row in catalog.tables()}
    known = {PurePosixPath(path) for path in catalog.known_paths()}
    sizes: list[int] = []
    for folder, found in there.items():
        if folder.name not in tables:
            for entry in found:
                sizes += _removed(entry)
            remove_empty(folder)
            continue
        indexes = [index_of(*told) for told in catalog.indexes(tables[folder.name])]
        names = {path.name for path in known if path.parent.name == folder.name}
        for entry in found:
            needed = any(kind_of(index.kind).needs(index, entry.name, names) for index in indexes)
            if not needed and not (entry.suffix == DRAFT and _is_new(entry)):
                sizes += _removed(entry)
    return sizes


def problems(state: State, quick: bool) -> Iterator[str]:
    """What of the indexes is damaged, as sentences."""
    held = state.snapshot.indexes
    if held is not None:
        for index in held.listed:
            yield from kind_of(index.kind).problems(held.place, index, state.snapshot, quick)


def _is_new(entry: Path) -> bool:
    """Also of what is gone by now."""
    try:
        newest = max(path.lstat().st_mtime for path in (entry, *entry.rglob("*")))
    except OSError:
        return True
    return time.time() - newest < LONGEST_MAKING


def _removed(entry: Path) -> list[int]:
    """The sizes of the files that are gone. Neither look follows links."""
    try:
        files = [path for path in entry.rglob("*") if path.is_file()] if entry.is_dir() else [entry]
        sizes = [path.lstat().st_size for path in files]
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    except OSError as error:
        log.info("%s: no index needs it, but it could not be removed: %s", entry, error)
        return []
    return sizes
