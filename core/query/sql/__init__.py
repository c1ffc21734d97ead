"""SQL that people type (DuckDB's dialect) over tables of a store, and over files in place."""

from __future__ import annotations

from lamella.core.query.sql.run import Asked, run_sql
from lamella.core.query.sql.sources import Sources

__all__ = ["Asked", "Sources", "run_sql"]
