"""The catalog's SQL for finding versions of a table, which may have very many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamella.core.store.catalog_schema import checked_rows

Rows = Callable[..., list[tuple[Any, ...]]]


class CatalogVersions:
    """The versions of one table that are kept: all since the oldest, and before it those with a name."""

    def __init__(self, rows: Rows, table_id: int) -> None:
        self._rows, self._table_id = rows, table_id

    def exists(self, version: int) -> bool:
        return bool(self._found("version", "version = ?", version))

    def named(self, name: str) -> int | None:
        found = self._found("version", "name = ?", name)
        return int(found[0]) if found else None

    def names(self) -> list[str]:
        return self._found("name", "name != '' ORDER BY version")

    def name_of(self, version: int) -> str:
        return str(self._found("name", "version = ?", version)[0])

    def named_ones(self) -> list[int]:
        return self._found("version", "name != '' ORDER BY version")

    def at(self, seconds: float) -> int | None:
        """The last one made until then, which may be one that has a name and outlived its successors. Times
        ascend with versions: a clock that was set back is not believed."""
        found = self._found("version", "at <= ? ORDER BY version DESC LIMIT 1", seconds)
        return int(found[0]) if found else None

    def stamps(self) -> list[tuple[int, float]]:
        """(version, seconds since 1970), ascending."""
        sql = "SELECT version, at FROM commits WHERE table_id = ? ORDER BY version"
        found = checked_rows("commits", ("version", "at"), self._rows(sql, self._table_id))
        return [(version, at) for version, at in found]

    def _found(self, wanted: str, condition: str, *values: object) -> list[Any]:
        sql = f"SELECT {wanted} FROM commits WHERE table_id = ? AND {condition}"
        found = self._rows(sql, self._table_id, *values)
        return [value for (value,) in checked_rows("commits", (wanted,), found)]
