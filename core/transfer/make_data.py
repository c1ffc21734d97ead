"""Made data: the same rows for the same seed, on any machine; more rows begin with the fewer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arguments import path_of
from lamella.core.datasets.contents import look_into
from lamella.core.datasets.parquet import is_parquet
from lamella.core.errors import FileProblem, UnknownName
from lamella.core.jobs import Job
from lamella.core.transfer.mixed_data import GROUP_ROWS, MIXED, group_of
from lamella.core.transfer.publishing import published, refuse_special

SUFFIXES = (".parquet", ".parq", ".pq")
KINDS = {"mixed": (MIXED, group_of)}


def make(kind: str, rows: int, path: str | Path, job: Job | None = None) -> Path:
    """Write a Parquet file of `rows` made rows, a row group at a time; memory stays flat.

    The file appears when it is whole. Raises `FileProblem` where it cannot be written, `Cancelled`.
    """
    if kind not in KINDS:
        raise UnknownName(kind, "Made data", KINDS)
    schema, group = KINDS[kind]
    target, job = path_of(path, "the file"), job or Job()
    _refuse_target(target)
    with published(target) as draft, pq.ParquetWriter(draft, schema, **_options(schema)) as writer:
        for start in range(0, rows, GROUP_ROWS):
            job.report(start, rows, f"{start:,} of {rows:,} rows made")
            writer.write_table(group(start, min(GROUP_ROWS, rows - start)))
        job.report(rows, rows, f"{rows:,} rows made")
    return target


def _refuse_target(target: Path) -> None:
    """Only Parquet is written, and only what was Parquet is replaced."""
    refuse_special(target)
    if target.suffix.casefold() not in SUFFIXES:
        raise FileProblem(target, "is not named like a Parquet file", fix=f"End the name with {SUFFIXES[0]}")
    if target.is_dir() or (target.exists() and not is_parquet(look_into(target))):
        raise FileProblem(target, "is there already and no Parquet file", fix="Choose another name")


def _options(schema: pa.Schema) -> dict[str, object]:
    return {"compression": "snappy", "use_dictionary": [f.name for f in schema if f.metadata]}
