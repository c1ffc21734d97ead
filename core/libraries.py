"""Libraries that take long to import, each loaded when something of it is first used.

DuckDB and sqlglot took a quarter of the time from the command to the window, and neither the window nor the
first page of a Parquet file needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["duckdb", "exp", "load"]

if TYPE_CHECKING:
    import duckdb
    from sqlglot import exp


class _Library:
    """Stands for a module. What was used of it once costs as little as in the module itself."""

    def __init__(self, name: str) -> None:
        self._module_name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module_name), name)
        self.__dict__[name] = value
        return value


_DUCKDB, _EXPRESSIONS = "duckdb", "sqlglot.expressions"
if not TYPE_CHECKING:
    duckdb = _Library(_DUCKDB)
    exp = _Library(_EXPRESSIONS)


def load() -> None:
    """Import all of them. Blocks for 0.1 s, on any thread."""
    for name in (_DUCKDB, _EXPRESSIONS):
        import_module(name)
