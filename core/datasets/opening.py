"""Open files in place."""

from __future__ import annotations

from pathlib import Path

from core.dataset import Dataset
from core.datasets.formats import common_format, data_files
from core.datasets.locate import locate
from core.datasets.options import OpenOptions, Ragged


def open_dataset(
    path: str | Path,
    *,
    cache_dir: Path | None = None,
    ragged: Ragged = "refuse",
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Dataset:
    """A file, a folder's files or a glob's as a read-only dataset, recognised by content.

    Text is read through a columnar cache below `cache_dir` (the user's cache folder when None),
    which `fill` completes; the first rows are there at once. Raises `FileProblem`.
    """
    found = data_files(locate(path))
    options = OpenOptions(cache_dir, ragged, encoding, delimiter, header)
    return common_format(found).open(found, options)
