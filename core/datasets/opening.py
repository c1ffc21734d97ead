"""Open files in place."""

from __future__ import annotations

from pathlib import Path

from core.dataset import Dataset
from core.datasets.formats import Format, recognise
from core.datasets.locate import Found, locate
from core.datasets.options import OpenOptions, Ragged
from core.errors import FileProblem


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
    found = locate(path)
    options = OpenOptions(cache_dir, ragged, encoding, delimiter, header)
    return _common_format(found).open(found, options)


def _common_format(found: Found) -> Format:
    """One format for all the files; a Parquet folder is told by its first file alone."""
    first = recognise(found.files[0])
    if len(found.files) > 1 and not first.several:
        raise FileProblem(
            found.root,
            f"holds {len(found.files):,} files of {first.label}",
            "Several text files cannot be shown as one yet",
            f"Open them one by one, {found.files[0].name} first",
        )
    return first
