"""ONE table of the formats that can be opened in place, recognised by what the files hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamella.core.dataset import Dataset
from lamella.core.datasets.contents import Contents, foreign_format, look_into
from lamella.core.datasets.locate import Found
from lamella.core.datasets.options import OpenOptions
from lamella.core.datasets.parquet import ParquetDataset, is_parquet
from lamella.core.datasets.text.opening import (
    is_note,
    is_prose,
    looks_like_delimited,
    looks_like_json_lines,
    open_delimited,
    open_json_lines,
)
from lamella.core.errors import FileProblem

NAMED = 3
MOST_LOOKED_AT = 100
TEXT = "text"


@dataclass(frozen=True)
class Format:
    """`several`: whether more than one file can be opened as one dataset."""

    id: str
    label: str
    several: bool
    recognises: Callable[[Contents], bool]
    open: Callable[[Found, OpenOptions], Dataset]


def _open_parquet(found: Found, options: OpenOptions) -> Dataset:
    return ParquetDataset(found, options.checksums)


FORMATS = (
    Format("parquet", "Parquet", True, is_parquet, _open_parquet),
    Format("jsonl", "JSON lines", False, looks_like_json_lines, open_json_lines),
    Format("csv", "delimited text", False, looks_like_delimited, open_delimited),
)


def recognise(path: Path) -> Format:
    """The format of a file by its content; raises `FileProblem` that says what the file is instead."""
    contents = look_into(path)
    if not contents.size:
        raise FileProblem(path, "is empty", "It holds no bytes at all", "Choose a file with data in it")
    foreign = foreign_format(contents)
    if foreign:
        raise FileProblem(path, f"is {foreign}", "Files of that kind can't be opened yet", _openable())
    for known in FORMATS:
        if known.recognises(contents):
            _refuse_prose_named_parquet(known, contents)
            return known
    raise FileProblem(
        path, "is not a data file that is known here", "It holds binary data of another kind", _openable()
    )


def _refuse_prose_named_parquet(found: Format, contents: Contents) -> None:
    """A table under another format's name is shown as what it is; a line of text there is hardly a table."""
    if found.recognises is looks_like_delimited and _named_parquet(contents.path) and is_prose(contents):
        raise FileProblem(
            contents.path,
            "is named like a Parquet file but holds plain text",
            "It is neither Parquet nor a table of several columns",
            f"Fetch the Parquet file again, or rename it to {contents.path.stem}.csv to open it as text",
        )


def _named_parquet(path: Path) -> bool:
    return path.suffix.casefold() in (".parquet", ".parq", ".pq")


def data_files(found: Found) -> Found:
    """What lies in a folder without notes: texts of one field on one line are no tables."""
    if not found.root.is_dir() or is_parquet(look_into(found.files[0])):
        return found
    kept = tuple(file for file in found.files if not _is_note(file))
    if not kept:
        names = ", ".join(file.name for file in found.files[:NAMED])
        more = f" and {len(found.files) - NAMED:,} more" if len(found.files) > NAMED else ""
        raise FileProblem(
            found.root, "holds no data files", f"It holds {names}{more}: text, but no table", "Choose another"
        )
    return replace(found, files=kept)


def _is_note(path: Path) -> bool:
    contents = look_into(path)
    return foreign_format(contents) is None and is_note(contents)


def common_format(found: Found) -> Format:
    """One format for all the files. Where the first is Parquet, opening them shows whether the others are."""
    first = recognise(found.files[0])
    if len(found.files) > 1 and not first.several:
        kinds = _kinds(found.files)
        raise FileProblem(
            found.root,
            "holds " + (kinds or f"{len(found.files):,} text files"),
            f"{'Files of several formats' if kinds else 'Several of them'} cannot be shown as one yet",
            f"Open them one by one, {found.files[0].name} first",
        )
    return first


def _kinds(files: Sequence[Path]) -> str:
    """`2 text files, 1 Parquet file`; nothing where all that are looked at are text."""
    names = Counter(_kind(file) for file in files[:MOST_LOOKED_AT])
    if set(names) == {TEXT}:
        return ""
    counts = ", ".join(f"{count:,} {kind} file{'' if count == 1 else 's'}" for kind, count in names.items())
    more = len(files) - MOST_LOOKED_AT
    return f"{counts} and {more:,} more" if more > 0 else counts


def _kind(file: Path) -> str:
    try:
        known = recognise(file)
    except FileProblem:
        return "other"
    return known.label if known.several else TEXT


def _openable() -> str:
    labels = [known.label for known in FORMATS]
    return "What can be opened: " + ", ".join(labels[:-1]) + " and " + labels[-1]
