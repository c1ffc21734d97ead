"""Full-text indexes as a kind: one folder for each data file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadData, FileProblem, UnknownColumn, UnknownName, nearest
from lamella.core.index.fulltext import files
from lamella.core.index.fulltext.analysis import ENGLISH, LANGUAGES
from lamella.core.index.fulltext.opened import source_of
from lamella.core.index.registry import Index, Options, Place
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

LANGUAGE, WEIGHTS = "language", "weights"


class FulltextKind:
    """Options: `language`, whose stems make words one, None for no stems; `weights` by column."""

    def checked(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        for name in options:
            if name not in (LANGUAGE, WEIGHTS):
                raise UnknownName(name, f"{table}: a full-text index", [LANGUAGE, WEIGHTS])
        if not columns:
            raise BadData(f"{table}: a full-text index needs a column", fix="Name one, or several")
        for column in columns:
            _refuse_other_than_text(table, column)
        if len({column.key for column in columns}) < len(columns):
            raise BadData(f"{table}: a column is named twice for its full-text index", fix="Name it once")
        return {
            LANGUAGE: _language(table, options.get(LANGUAGE, ENGLISH)),
            WEIGHTS: _weights(table, columns, options.get(WEIGHTS)),
        }

    def make(self, place: Place, index: Index, snapshot: Snapshot, job: Job) -> None:
        segments = _segments(snapshot)
        for done, segment in enumerate(segments):
            job.report(done, len(segments), f"{snapshot.name}: {done:,} of {len(segments):,} files indexed")
            path = files.path_of(place, segment, index)
            if not path.exists():
                files.write(path, source_of(place, index, segment, snapshot), job)
        job.report(len(segments), len(segments))

    def drop(self, place: Place, index: Index) -> None:
        for path in place.folder.glob(f"*.{index.stem}-*"):
            if index.owns(path.name):
                files.remove(path)

    def problems(self, place: Place, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        for segment in _segments(snapshot):
            path = files.path_of(place, segment, index)
            try:
                if path.exists():
                    files.checked(path, segment, quick)
            except FileProblem as problem:
                yield f"index {problem}"

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        stem, _, rest = name.partition(".")
        return index.owns(name) and "." not in rest and f"{stem}.parquet" in data_files


def is_text(kind: pa.DataType) -> bool:
    """Text, or lists of text."""
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        kind = kind.value_type
    if is_.is_dictionary(kind):
        kind = kind.value_type
    return bool(is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind))


def _segments(snapshot: Snapshot) -> list[FileSegment]:
    return [segment for segment in snapshot.segments if isinstance(segment, FileSegment)]


def _refuse_other_than_text(table: str, column: Column) -> None:
    if not is_text(column.type):
        raise BadData(
            f"{table}: column '{column.name}' cannot have a full-text index",
            f"it is {column.type}, which holds no words",
            "Index columns of text, or of lists of text",
        )


def _language(table: str, given: Any) -> str | None:
    if given is None or given in LANGUAGES:
        return None if given is None else str(given)
    meant = nearest(str(given), LANGUAGES) or LANGUAGES
    raise BadData(
        f"{table}: words cannot be brought to their stems in {given!r}",
        fix=f"Give one of {', '.join(meant)}, or None to leave words as they are",
    )


def _weights(table: str, columns: Sequence[Column], given: Any) -> list[float] | None:
    """In the order of the columns, as they may be given too; None where all weigh the same."""
    if given is None:
        return None
    if isinstance(given, list) and len(given) == len(columns):
        given = {column.name: weight for column, weight in zip(columns, given, strict=True)}
    if not isinstance(given, Mapping):
        raise BadData(f"{table}: weights {given!r} are no dict", fix="Give one: {'title': 2}")
    names = [column.name for column in columns]
    for name, weight in given.items():
        if name not in names:
            raise UnknownColumn(str(name), f"{table}: the full-text index", names)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
            raise BadData(f"{table}: the weight of '{name}' is {weight!r}", fix="Give a number above 0")
    return [float(given.get(name, 1)) for name in names]
