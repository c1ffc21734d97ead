"""SQL that people type, over files in place and other datasets, each by the name it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.formats import open_dataset
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.query.source import When
from lamella.core.query.sql.run import Parameters, SqlRequest, run_sql
from lamella.core.query.sql.sources import Sources
from lamella.core.validation import text_of


def sql(
    text: str,
    datasets: Mapping[str, Dataset | str | Path] = MappingProxyType({}),
    parameters: Parameters | None = None,
    *,
    seconds: float | None = None,
    memory: int | None = None,
    files: bool = False,
    job: Job | None = None,
) -> pa.Table:
    """The answer of one SELECT (DuckDB's dialect) over datasets, or files, under the names given.

        lamella.sql("select count(*) from trips where fare > $1", {"trips": "trips/*.parquet"}, [50])

    Without datasets it may name files, where `files` allows that. A table of a store may be among them, also
    at a version (`table.as_of(3)`). Everything else as for `Store.sql`, which see.
    """

    if not isinstance(datasets, Mapping):
        raise BadData(
            f"{datasets!r} gives no names to datasets", fix='Give a dict: {"trips": "trips/*.parquet"}'
        )

    def find(name: str, version: When | None) -> Dataset:
        if version is not None:
            raise BadData(f"'{name}' has no versions here", fix="Name table.as_of(…) among the datasets")
        dataset = datasets[name]
        if not isinstance(dataset, Dataset | str | Path):
            raise BadData(
                f"'{name}' is not a dataset, but {dataset!r}", fix="Give a dataset, a table or a path"
            )
        return dataset if isinstance(dataset, Dataset) else open_dataset(dataset)

    request = SqlRequest(parameters, None, seconds, memory, files)
    sources = Sources("the statement", list(datasets), find, open_file=open_dataset)
    return run_sql(text_of(text, "the statement"), sources, request, job)
