"""Floats of files whose statistics cannot be believed: Parquet's leave NaN out, and DuckDB would skip rows,
fold conditions and answer extremes by them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from lamella.core.query.duckdb_types import holds
from lamella.core.query.found import files_of
from lamella.core.query.source import POSITION, identifier
from lamella.core.scan.footers import unchanged
from lamella.core.scan.snapshot import Column, Snapshot


def without_statistics(snapshot: Snapshot, column: Column) -> exp.Expr:
    """The column of the snapshot's relation, in a form that statistics of floats are not carried through."""
    value = exp.column(identifier(column), quoted=True)
    if not holds(column.type, pa.types.is_floating) or not _has_statistics(snapshot, column):
        return value
    always = exp.GTE(this=exp.column(POSITION, quoted=True), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=always, true=value)])


def _has_statistics(snapshot: Snapshot, column: Column) -> bool:
    files = (file for file in files_of(snapshot) if column.key in file.names)
    return any(unchanged(file).has_statistics(file.names[column.key]) for file in files)
