"""Sorted indexes as a kind: equality, ranges, beginnings of text, and sorting by one column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from lamella.core.errors import BadData, FileProblem
from lamella.core.index import sorted_file
from lamella.core.index.ordering import can_be_ordered
from lamella.core.index.registry import Index, Options, Place
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot


class SortedKind:
    """One file for each data file that has the column."""

    def checked(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        if len(columns) != 1:
            raise BadData(
                f"{table}: a sorted index is of one column, not of {len(columns)}",
                fix="Make one for each: a query uses several",
            )
        if options:
            raise BadData(
                f"{table}: a sorted index takes no option '{next(iter(options))}'", fix="Leave it out"
            )
        if not can_be_ordered(columns[0].type):
            raise BadData(
                f"{table}: column '{columns[0].name}' cannot have a sorted index",
                f"it is {columns[0].type}, and conditions do not compare such values",
                "Index a column of numbers, text, bytes, dates, times or true and false",
            )
        return {}

    def make(self, place: Place, index: Index, snapshot: Snapshot, job: Job) -> None:
        files = list(_files(index, snapshot))
        for done, (segment, column) in enumerate(files):
            job.report(done, len(files), f"{snapshot.name}: {done:,} of {len(files):,} files indexed")
            path = sorted_file.path_of(place, segment, column)
            if not path.exists():
                sorted_file.write(path, sorted_file.build(segment, column, job), segment, column)
        job.report(len(files), len(files))

    def drop(self, place: Place, index: Index) -> None:
        for path in place.folder.glob(f"*.{index.stem}-*"):
            if index.owns(path.name):
                path.unlink(missing_ok=True)

    def problems(self, place: Place, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        for segment, column in _files(index, snapshot):
            path = sorted_file.path_of(place, segment, column)
            try:
                if path.exists():
                    sorted_file.read(path, segment, column, quick)
            except FileProblem as problem:
                yield f"index file {problem} It is made anew when it is next used."

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        stem, _, rest = name.partition(".")
        return index.owns(name) and "." not in rest and f"{stem}.parquet" in data_files


def _files(index: Index, snapshot: Snapshot) -> Iterator[tuple[FileSegment, Column]]:
    """The data files that have the column; none where the snapshot has no such column."""
    for column in (c for c in snapshot.columns if c.key == index.keys[0] and not c.path):
        for segment in snapshot.segments:
            if isinstance(segment, FileSegment) and column.key in segment.names:
                yield segment, column
