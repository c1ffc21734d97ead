"""SQLite's own SQL over Parquet files and tables of stores: virtual tables, made with apsw."""

from core.bridge.connecting import connect, register, row_groups

__all__ = ["connect", "register", "row_groups"]
