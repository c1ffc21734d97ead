"""Open files in place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamella.core.arguments import names_of
from lamella.core.dataset import Dataset
from lamella.core.datasets.formats import common_format, data_files
from lamella.core.datasets.locate import locate
from lamella.core.datasets.options import Checksums, OpenOptions, Ragged
from lamella.core.errors import FileProblem


def open_dataset(
    path: str | Path,
    *,
    cache_dir: Path | None = None,
    ragged: Ragged = "refuse",
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    text_columns: Sequence[str] = (),
    checksums: Checksums = "verify",
) -> Dataset:
    """A file, a folder's files or a glob's as a read-only dataset, recognised by content.

    Text is read through a columnar cache below `cache_dir` (the user's cache folder when None),
    which `fill` completes; the first rows are there at once. `text_columns` of delimited text stay as they
    are written, whatever stands in them.

    Pages of Parquet whose checksums differ from what they hold are refused, now or when they are first read:
    a `DamagedFile` is raised. `checksums="ignore"` looks at them all the same. Raises `FileProblem`, and
    `UnknownColumn` for one of `text_columns`.
    """
    found = data_files(locate(path))
    known = common_format(found)
    names = tuple(names_of(text_columns, "open_dataset: text_columns"))
    options = OpenOptions(cache_dir, ragged, encoding, delimiter, header, names, checksums)
    if names and known.id != "csv":
        raise FileProblem(
            found.root,
            f"is {known.label}, whose values have types of their own",
            fix="Leave text_columns out",
        )
    return known.open(found, options)
