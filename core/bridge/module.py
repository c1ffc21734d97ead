"""SQLite's modules `lamella`, for files and stores that CREATE VIRTUAL TABLE names, and `lamella_dataset`,
for datasets that Python handed over."""

from __future__ import annotations

from pathlib import Path

import apsw

from lamella.core.arguments import path_of
from lamella.core.bridge.scanning import RowGroups
from lamella.core.bridge.table import VirtualTable
from lamella.core.dataset import Dataset
from lamella.core.datasets import open_dataset
from lamella.core.errors import BadData, LamellaError
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store

BY_PATH, BY_NAME = "lamella", "lamella_dataset"
FORMS = "Write lamella('files'), lamella('store', 'table') or lamella('store', 'table', 'version')"


class Module:
    """`counted` is of all tables that were made with it; `datasets` those of `lamella_dataset`, by name, and
    `left_out` what cannot be one."""

    def __init__(self) -> None:
        self.counted = RowGroups()
        self.datasets: dict[str, Dataset] = {}
        self.left_out: dict[str, BadData] = {}

    def Create(  # noqa: N802 -- SQLite's name
        self, connection: apsw.Connection, modulename: str, databasename: str, tablename: str, *args: object
    ) -> tuple[str, VirtualTable]:
        said = [_unquoted(str(word)) for word in args]
        table = self._registered(*said) if modulename == BY_NAME else self._named(said)
        return table.declaration, table

    Connect = Create

    def _registered(self, name: str) -> VirtualTable:
        return VirtualTable(self.datasets[name], self.counted)

    def _named(self, words: list[str]) -> VirtualTable:
        if not 1 <= len(words) <= 3:
            raise LamellaError(f"lamella() takes one to three words, {len(words)} were given", fix=FORMS)
        path = path_of(words[0], "lamella()")
        if is_store(path):
            return self._of_store(path, *words[1:])
        if len(words) > 1:
            raise LamellaError(f"{path}: there is no store here", fix=FORMS)
        return VirtualTable(open_dataset(words[0]), self.counted)

    def _of_store(self, path: Path, table: str = "", version: str = "") -> VirtualTable:
        store = Store.open(path, read_only=True)
        try:
            found = store[table]
            shown = found.as_of(int(version) if version.isdigit() else version) if version else found
            return VirtualTable(shown, self.counted, store.close)
        except BaseException:
            store.close()
            raise


def _unquoted(word: str) -> str:
    """SQLite hands words over as they are written."""
    quote = word[:1]
    if len(word) > 1 and quote in ("'", '"') and word.endswith(quote):
        return word[1:-1].replace(2 * quote, quote)
    return word
