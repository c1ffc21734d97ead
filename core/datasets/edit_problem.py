"""Why edits cannot be saved back into a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lamella.core.datasets.base import Dataset, OpenOptions, paths_of, problems_of
from lamella.core.datasets.cached_dataset import CachedDataset
from lamella.core.datasets.parquet import ParquetDataset
from lamella.core.datasets.text.dataset import TextFile
from lamella.core.datasets.text.json_document import ArraySource
from lamella.core.datasets.text.source import ZIP
from lamella.core.errors import FileProblem
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import FileSegment

COPY = "Import it, or export a copy"
"""The fix suggested if a file itself cannot be edited."""


def edit_problem(dataset: Dataset) -> FileProblem | None:
    """Return why edits could not be saved back into the file; None if they can. Reads no data: lines that
    cannot be read are known once all rows have been read."""
    paths = paths_of(dataset)
    if not paths:
        return FileProblem(dataset.name, "is not a file")
    path = path_or_address(paths[0])
    if isinstance(path, RemotePath):
        return FileProblem(
            path, "is not on this machine", "Files elsewhere can be read, or replaced as a whole", COPY
        )
    problem = _format_problem(dataset, path, len(paths))
    return problem or _rights_problem(path)


def _format_problem(dataset: Dataset, path: Path, files: int) -> FileProblem | None:
    if files > 1:
        return FileProblem(
            path.parent,
            f"holds {files:,} files",
            "Only one file at a time can be edited",
            "Open the one to edit",
        )
    if isinstance(dataset, ParquetDataset):
        return _parquet_problem(dataset, path)
    file = dataset.file if isinstance(dataset, CachedDataset) else None
    if not isinstance(file, TextFile) or isinstance(file.source, ArraySource):
        label = getattr(dataset, "format", "of another format")
        why = "Edits can be saved in Parquet, delimited text and JSON lines"
        return FileProblem(path, f"is {label}, which is read-only here", why, COPY)
    if file.source.compression == ZIP:
        return FileProblem(path, "is a ZIP archive, which is read-only here", fix="Unpack it first")
    return _reading_problem(dataset, file.options, path)


def _reading_problem(dataset: Dataset, options: OpenOptions, path: Path) -> FileProblem | None:
    """The problem of a text whose rows or columns differ from those of the file."""
    if problems_of(dataset):
        why = "The rows shown are not all of its lines"
        return FileProblem(path, "has lines that cannot be read", why, COPY)
    if options.bad_bytes == "replace":
        why = "They are not in the rows, and would be lost"
        return FileProblem(path, "was opened with other characters for bytes that are not valid", why, COPY)
    if options.names:
        return FileProblem(path, "was opened with other names of columns", "They are not in the file", COPY)
    if options.types:
        why = "Values that do not fit these types are shown as NULL, and would be saved as NULL"
        return FileProblem(path, "was opened with types chosen for its columns", why, COPY)
    return None


def _parquet_problem(dataset: ParquetDataset, path: Path) -> FileProblem | None:
    if dataset.unreadable_columns:
        names = ", ".join(f"'{name}'" for name in dataset.unreadable_columns)
        return FileProblem(path, f"has columns that cannot be read: {names}", "Saving would lose them", COPY)
    (segment,) = dataset.snapshot().segments or (None,)
    if not isinstance(segment, FileSegment):
        return None
    if texts := unchanged_footer(segment).renderings:
        names = ", ".join(f"'{name}'" for name in texts)
        why = "Texts cannot be saved as intervals and periods"
        return FileProblem(path, f"has intervals or periods, which are shown as text: {names}", why, COPY)
    if segment.constants:
        return FileProblem(
            path, "has columns that are names of its folders", "They are not in the file", COPY
        )
    if not segment.is_verified:
        why = "Saving would make damaged data look valid"
        return FileProblem(path, "was opened without its checksums", why, COPY)
    return None


def _rights_problem(path: Path) -> FileProblem | None:
    real = Path(os.path.realpath(path))
    try:
        mode = real.stat().st_mode
    except OSError as error:
        return FileProblem(path, "is no longer there", error.strerror or str(error), COPY)
    writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    if not mode & writable or not os.access(real, os.W_OK):
        return FileProblem(path, "is read-only", "Its permissions, or its disk, forbid writing", COPY)
    if not os.access(real.parent, os.W_OK):
        return FileProblem(path, f"is in a folder that is read-only: {real.parent}", fix=COPY)
    return None
