"""SQLite's own SQL over Parquet files and tables of stores: virtual tables, made with apsw."""

from importlib.util import find_spec

from lamella.core.errors import LamellaError

if find_spec("apsw") is None:
    raise LamellaError(
        "SQLite's bridge needs the package apsw, which is not installed",
        fix='Run: pip install "lamella[bench]"',
    )

from lamella.core.bridge.module import connect, left_out, register, row_groups

__all__ = ["connect", "left_out", "register", "row_groups"]
