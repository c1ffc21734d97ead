"""Parquet files read where they lie, any number of them as one dataset."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from core.dataset import Dataset
from core.datasets.contents import Contents, look_into
from core.datasets.locate import Found
from core.errors import FileProblem
from core.scan.footers import Footer, footer
from core.scan.snapshot import Column, FileSegment, Snapshot
from core.schema import common_type

MAGIC = b"PAR1"
FOOTER_READERS = 8


def is_parquet(contents: Contents) -> bool:
    return contents.head.startswith(MAGIC) and (contents.tail.endswith(MAGIC) or b"\0" in contents.head)


class ParquetDataset(Dataset):
    """Files with the same columns by name. Their order may differ, a missing column reads as null,
    and a type widens where every value stays exact."""

    format = "Parquet"

    def __init__(self, found: Found) -> None:
        self.name, self.root, self.paths = found.name, found.root, found.files
        self.notes: tuple[str, ...] = ()
        self._snapshot = _snapshot(found, _footers(found.files))

    def snapshot(self) -> Snapshot:
        return self._snapshot


def _footers(files: tuple[Path, ...]) -> list[Footer]:
    """Parsing releases the interpreter, so many files are opened side by side."""
    if len(files) == 1:
        return [_footer(files[0])]
    with ThreadPoolExecutor(FOOTER_READERS) as readers:
        return list(readers.map(_footer, files))


def _footer(path: Path) -> Footer:
    try:
        return footer(path)
    except FileProblem as problem:
        raise _diagnosis(path, problem) from problem


def _diagnosis(path: Path, problem: FileProblem) -> FileProblem:
    contents = look_into(path)
    if not contents.head.startswith(MAGIC):
        return FileProblem(path, "is not a Parquet file", "It does not begin with PAR1", "Open it by itself")
    if contents.tail.endswith(MAGIC):
        return FileProblem(
            path,
            "has a damaged Parquet footer",
            problem.why,
            "Fetch or write the file again; it was not changed",
        )
    return FileProblem(
        path,
        "is a Parquet file that was cut off",
        f"Its {contents.size:,} bytes do not end with PAR1, so the footer is missing",
        "Copy or download it again, or wait until it is written",
    )


def _snapshot(found: Found, footers: list[Footer]) -> Snapshot:
    columns = _Columns()
    names = [columns.take(told) for told in footers]
    segments = tuple(
        FileSegment(told.path, told.metadata.num_rows, keys, told.fingerprint)
        for told, keys in zip(footers, names, strict=True)
        if told.metadata.num_rows
    )
    token = ("parquet", *((str(told.path), *told.fingerprint) for told in footers))
    return Snapshot(found.name, columns.unified(), segments, token)


class _Columns:
    """The columns of all files so far, and where each was seen first."""

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}
        self._types: list[pa.DataType] = []
        self._seen_in: list[Path] = []
        self._last: tuple[Footer, dict[int, str]] | None = None

    def take(self, told: Footer) -> dict[int, str]:
        """Add a file's columns; answers its names by key. Files that are alike share one answer."""
        if self._last and told.metadata.schema.equals(self._last[0].metadata.schema):
            return self._last[1]
        _refuse_duplicates(told)
        names = {self._key(field, told.path): field.name for field in told.schema}
        self._last = (told, names)
        return names

    def unified(self) -> tuple[Column, ...]:
        return tuple(Column(name, self._types[key], key) for name, key in self._keys.items())

    def _key(self, field: pa.Field, path: Path) -> int:
        key = self._keys.setdefault(field.name, len(self._types))
        if key == len(self._types):
            self._types.append(field.type)
            self._seen_in.append(path)
            return key
        wide = common_type(self._types[key], field.type)
        if wide is None:
            raise FileProblem(
                path,
                f"column '{field.name}' is {field.type} here but {self._types[key]} in {self._seen_in[key]}",
                "Rows of both cannot stand in one column without changing values",
                "Open the files one by one",
            )
        self._types[key] = wide
        return key


def _refuse_duplicates(told: Footer) -> None:
    twice = [name for name, times in Counter(told.schema.names).items() if times > 1]
    if twice:
        raise FileProblem(
            told.path,
            f"has {Counter(told.schema.names)[twice[0]]} columns named '{twice[0]}'",
            "Parquet columns are found by name, so they cannot be told apart",
            "Write the file again with different names",
        )
