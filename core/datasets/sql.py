"""SQL statements over datasets and files in place, each under a given name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.formats import open_dataset
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.query.source import VersionOrTime
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
    """Return the answer of one SELECT (DuckDB's dialect) over datasets or files under the given names.

        lamella.sql("select count(*) from trips where fare > $1", {"trips": "trips/*.parquet"}, [50])

    If `files` is true, the statement can also name files itself. Datasets can be tables of a store, also at a
    version (`table.as_of(3)`). All else is as in `Store.sql`.
    """

    if not isinstance(datasets, Mapping):
        raise BadData(
            f"{datasets!r} gives no names to datasets", fix='Give a dict: {"trips": "trips/*.parquet"}'
        )

    def find(name: str, version: VersionOrTime | None) -> Dataset:
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
