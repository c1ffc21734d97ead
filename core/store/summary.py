"""A summary of a table on one screen: its rows and files, and the size and encodings of each column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow.parquet as pq

from lamella.core.phrases import quantity, size_text
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import Column, FileSegment
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.indexes import describe, indexes_of_table
from lamella.core.store.table_version import TableVersion

MOST_COLUMNS = 40
WIDEST = 40
_LEVELS = {"RLE", "BIT_PACKED"}
"""Encodings that columns with nulls have in addition to their own."""


@dataclass
class StoredSizes:
    """The bytes of a column in the data files, and how many row groups use each encoding."""

    bytes: int = 0
    encodings: Counter[str] = field(default_factory=Counter)

    @property
    def encoding(self) -> str:
        """The most frequent encoding, as text."""
        usual = self.encodings.most_common(1)
        return usual[0][0] + (" and others" if len(self.encodings) > 1 else "") if usual else "not in a file"


def summary(catalog: Catalog, state: TableVersion) -> str:
    """Describe a table in about one screen of text, with forty columns at most."""
    name = state.row.name
    lines = [f"{name}: {quantity(state.snapshot.num_rows, 'row')}, {quantity(len(state.columns), 'column')}"]
    lines += [f"  {line}" for line in (*_facts(catalog, state), "", *_columns(state))]
    return "\n".join(line.rstrip() for line in lines)


def _facts(catalog: Catalog, state: TableVersion) -> Iterator[str]:
    now, ever = _files(catalog, state, None), _files(catalog, state, "every version")
    commits = catalog.commits(state.row.table_id)
    groups = quantity(_row_groups(state), "row group")
    yield f"files     {len(now):,} of {size_text(sum(now.values()))}, in {groups}"
    yield f"versions  {len(commits):,}, the newest is {state.version}"
    older = sum(ever.values()) - sum(now.values())
    yield f"history   {size_text(older)} in {len(ever) - len(now):,} more files"
    rows = sum(h.segment.num_rows for h in state.segment_entries if h.kind == "pending_rows")
    cells = sum(len(c.ids) * len(c.values) for c in state.cells.values())
    pending = (rows, "row"), (cells, "changed cell"), (len(state.snapshot.deleted_positions), "deleted row")
    yield f"pending   {', '.join(quantity(*each) for each in pending)}"
    for index in indexes_of_table(catalog, state):
        yield f"index     {describe(index, state)}"
    for column, key in state.metadata:
        if column == 0:
            yield f"metadata  {key.decode(errors='replace')}"


def _files(catalog: Catalog, state: TableVersion, total: str | None) -> dict[str, int]:
    """The sizes in bytes by path."""
    fields, table = ("path", "bytes"), state.row.table_id
    footers = [
        catalog.all_entries(kind, table, fields)
        if total
        else catalog.valid(kind, table, state.version, fields)
        for kind in ("data_files", "change_files")
    ]
    return {path: size for kind in footers for path, size in kind}


def _row_groups(state: TableVersion) -> int:
    return sum(unchanged_footer(segment).metadata.num_row_groups for segment in state.snapshot.files)


def stored_sizes(state: TableVersion) -> dict[int, StoredSizes]:
    """Measure the columns, by their keys. Reads the footers of the data files."""
    stored: dict[int, StoredSizes] = {}
    for segment in state.snapshot.files:
        _add(segment, unchanged_footer(segment).metadata, stored)
    return stored


def _columns(state: TableVersion) -> Iterator[str]:
    stored = stored_sizes(state)
    visible = state.snapshot.columns[:MOST_COLUMNS]
    rows = [_row(column, stored.get(column.key, StoredSizes())) for column in visible]
    yield from _align([("column", "type", "encoding", "bytes"), *rows])
    if len(state.snapshot.columns) > len(visible):
        yield f"… and {len(state.snapshot.columns) - len(visible):,} more columns"


def _add(segment: FileSegment, metadata: pq.FileMetaData, stored: dict[int, StoredSizes]) -> None:
    keys = {name: key for key, name in segment.names.items()}
    tops = unchanged_footer(segment).schema.names
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            top = chunk.path_in_schema if chunk.path_in_schema in keys else _top(chunk.path_in_schema, tops)
            if top in keys:
                column = stored.setdefault(keys[top], StoredSizes())
                column.bytes += chunk.total_compressed_size
                column.encodings[_encoding(chunk)] += 1


def _top(path: str, names: Sequence[str]) -> str:
    """The column that a leaf belongs to; names of columns may contain dots."""
    return max((name for name in names if path.startswith(f"{name}.")), key=len, default=path)


def _encoding(chunk: pq.ColumnChunkMetaData) -> str:
    encodings = [e for e in chunk.encodings if e not in _LEVELS]
    own = "dictionary" if chunk.has_dictionary_page else (encodings or ["RLE"])[0].lower()
    codec = chunk.compression.lower()
    return own if codec == "uncompressed" else f"{own}, {codec}"


def _row(column: Column, stored: StoredSizes) -> tuple[str, str, str, str]:
    return _cut(column.name), _cut(str(column.type)), stored.encoding, f"{stored.bytes:,}"


def _align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *texts, number in rows:
        left = "  ".join(text.ljust(width) for text, width in zip(texts, widths, strict=False))
        yield f"{left}  {number.rjust(widths[-1])}"


def _cut(text: str) -> str:
    text = text.replace("\n", "⏎")
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
