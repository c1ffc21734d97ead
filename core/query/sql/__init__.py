"""SQL that users type, in DuckDB's dialect, over tables of a store and files in place."""

from __future__ import annotations

from lamella.core.query.sql.run import SqlRequest, run_sql
from lamella.core.query.sql.sources import Sources

__all__ = ["Sources", "SqlRequest", "run_sql"]
