"""Rewrites a Parquet file with edits, row group by row group, with its original settings."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arrow.arrays import combine_chunks, put, take
from lamella.core.datasets.blocks import in_order
from lamella.core.datasets.edit_problem import COPY
from lamella.core.datasets.locate import refuse_changed_files
from lamella.core.errors import FileProblem, TypeConflict
from lamella.core.jobs import Job
from lamella.core.scan.parquet_file import BODY, REFUSALS, Footer, footer_of
from lamella.core.scan.snapshot import Snapshot
from lamella.core.transfer.file_edits import FileEdits

ARROW_SCHEMA = b"ARROW:schema"
DICTIONARY = frozenset(("PLAIN_DICTIONARY", "RLE_DICTIONARY"))
LEVELS = frozenset(("RLE", "BIT_PACKED", "PLAIN"))
UNKNOWN_CODECS = frozenset(("LZO",))


def rewrite_parquet(
    path: Path, snapshot: Snapshot, edits: FileEdits, draft: Path, job: Job
) -> tuple[str, ...]:
    """Write the file with its edits to another path; return remarks about what could not be kept. Raises
    `FileProblem` if the file cannot hold an edit, or its schema would change."""
    rewrite = Rewrite(path, snapshot, edits, job)
    rewrite.refuse_changed_file()
    try:
        rewrite.write(draft)
    except REFUSALS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise rewrite.footer.unreadable(error) from error
    rewrite.refuse_changed_file()
    return rewrite.settings.remarks


class Rewrite:
    def __init__(self, path: Path, snapshot: Snapshot, edits: FileEdits, job: Job) -> None:
        self._path, self._edits, self._job = path, edits, job
        segment = next(iter(snapshot.files), None)
        self._stamps = [(str(path), *segment.fingerprint)] if segment and segment.fingerprint else []
        self.footer = footer_of(path)
        names = {c.key: c.name for c in snapshot.columns} if segment is None else segment.names
        self._names = {names[column.key]: column.name for column in snapshot.columns}
        self.settings = Settings(self.footer)

    def refuse_changed_file(self) -> None:
        refuse_changed_files(self._stamps)

    def write(self, draft: Path) -> None:
        sorting = self.settings.sorting_columns(self._edits, self._names)
        with (
            self.footer.open() as file,
            draft.open("wb") as output,
            pq.ParquetWriter(
                output, file.schema_arrow, sorting_columns=sorting, **self.settings.options
            ) as writer,
            closing(self._row_groups(file)) as row_groups,
        ):
            for rows in row_groups:
                writer.write_table(rows, row_group_size=max(1, rows.num_rows))
            writer.add_key_value_metadata(self.settings.more_metadata(file.schema_arrow))
        self._refuse_other_schema(draft)

    def _row_groups(self, file: pq.ParquetFile) -> Generator[pa.Table, None, None]:
        """Yield the row groups as they were, followed by the new rows: in the last group, up to the size of
        the others."""
        starts, new = self.footer.row_group_starts.tolist(), self._new_rows(file.schema_arrow)
        sizes = np.diff(starts)
        largest = int(sizes.max(initial=0)) or max(1, new.num_rows)
        groups = in_order(file.read_row_group, range(len(sizes)), workers=1)  # reads one ahead
        with closing(groups):
            for number, (start, group) in enumerate(zip(starts[:-1], groups, strict=True)):
                self._job.report(start, starts[-1], f"{start:,} of {starts[-1]:,} rows written")
                rows = self._edit(group, start)
                if number == len(sizes) - 1 and new.num_rows:
                    room = max(0, largest - rows.num_rows)
                    rows, new = pa.concat_tables([rows, new.slice(0, room)]), new.slice(room)
                if rows.num_rows:
                    yield rows
        for at in range(0, new.num_rows, largest):
            yield new.slice(at, largest)
        self._job.report(starts[-1], starts[-1], "Making sure that it is on the disk")

    def _edit(self, rows: pa.Table, first: int) -> pa.Table:
        stop = first + rows.num_rows
        for place, field in enumerate(rows.schema):
            numbers, new = self._edits.cells.get(
                self._names.get(field.name, ""), (np.empty(0, np.int64), None)
            )
            low, high = np.searchsorted(numbers, [first, stop])
            if new is not None and high > low:
                values = self._to_file_type(new.slice(low, high - low), field)
                column = _replace_values(rows.column(place), numbers[low:high] - first, values)
                rows = rows.set_column(place, field, column)
        deleted = self._edits.deleted_rows
        low, high = np.searchsorted(deleted, [first, stop])
        if high == low:
            return rows
        stay = np.ones(rows.num_rows, bool)
        stay[deleted[low:high] - first] = False
        return take(rows, np.flatnonzero(stay))

    def _new_rows(self, schema: pa.Schema) -> pa.Table:
        rows = self._edits.rows
        if rows is None:
            return schema.empty_table()
        columns = []
        for field in schema:
            name = self._names.get(field.name, "")
            is_present = name in rows.column_names
            values = combine_chunks(rows.column(name)) if is_present else pa.nulls(rows.num_rows, field.type)
            columns.append(self._to_file_type(values, field))
        return pa.Table.from_arrays(columns, schema=schema)

    def _to_file_type(self, values: pa.Array, field: pa.Field) -> pa.Array:
        """Convert values to the type in the file, which may differ from the one shown."""
        if values.null_count and not field.nullable:
            raise FileProblem(
                self._path,
                f"cannot hold a null in column '{field.name}'",
                "Its schema says that every row has a value there",
                "Undo that edit, or export a copy",
            )
        try:
            if values.type == field.type:
                return values
            if pa.types.is_dictionary(field.type):
                plain = values.cast(field.type.value_type)
                return plain.dictionary_encode().cast(field.type)
            return values.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TypeConflict(
                f"{self._path.name}: column '{field.name}' is stored as {field.type}", str(error)
            ) from error

    def _refuse_other_schema(self, draft: Path) -> None:
        before, after = self.footer.metadata, pq.read_metadata(draft)
        if before.schema.equals(after.schema):
            return
        pairs = [(m.schema.column(p), p) for m in (before,) for p in range(before.num_columns)]
        changed_columns = [
            leaf.path for leaf, place in pairs
            if place >= after.num_columns or not leaf.equals(after.schema.column(place))
        ]  # fmt: skip
        raise FileProblem(
            self._path,
            f"would get another schema: {', '.join(map(repr, changed_columns[:3])) or 'of its groups'}",
            "The program that wrote it stores these types in a way that Lamella cannot write",
            COPY,
        )


def _replace_values(values: pa.ChunkedArray, places: np.ndarray, new: pa.Array) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(values.type):
        return put(values, places, new)
    plain = values.cast(values.type.value_type)
    changed = put(plain, places, new.cast(values.type.value_type))
    return changed.combine_chunks().dictionary_encode().cast(values.type)


class Settings:
    """The settings with which a file was written, as far as its footer tells."""

    def __init__(self, footer: Footer) -> None:
        self._footer, self._metadata = footer, footer.metadata

    @cached_property
    def _chunks(self) -> list[Any]:
        """The column chunks of the first row group, by leaf."""
        if not self._metadata.num_row_groups:
            return []
        group = self._metadata.row_group(0)
        return [group.column(place) for place in range(group.num_columns)]

    @property
    def remarks(self) -> tuple[str, ...]:
        lost = [c.path_in_schema for c in self._chunks if c.compression in UNKNOWN_CODECS]
        return (f"{', '.join(lost)}: LZO cannot be written, so zstd replaces it",) if lost else ()

    @property
    def options(self) -> dict[str, Any]:
        chunks, leaves = self._chunks, [
            self._metadata.schema.column(place) for place in range(self._metadata.num_columns)
        ]  # fmt: skip
        coded = [c.path_in_schema for c in chunks if not DICTIONARY.isdisjoint(c.encodings)]
        special = {
            c.path_in_schema: encoding
            for c in chunks
            for encoding in c.encodings
            if encoding not in DICTIONARY | LEVELS and c.path_in_schema not in coded
        }
        int96 = any(leaf.physical_type == "INT96" for leaf in leaves)
        decimals = any(_is_decimal(leaf) and leaf.physical_type in ("INT32", "INT64") for leaf in leaves)
        compliant = not any(".list.item" in leaf.path for leaf in leaves)
        blooms = {c.path_in_schema: True for c in chunks if c.bloom_filter_length is not None}
        return {
            "compression": {c.path_in_schema: _codec(c.compression) for c in chunks} or "snappy",
            "use_dictionary": coded,
            "column_encoding": special or None,
            "write_statistics": [c.path_in_schema for c in chunks if c.is_stats_set],
            "version": "1.0" if self._metadata.format_version == "1.0" else "2.6",
            "store_schema": ARROW_SCHEMA in (self._metadata.metadata or {}),
            "write_page_index": any(c.has_offset_index for c in chunks),
            "write_page_checksum": True,
            "use_deprecated_int96_timestamps": int96,
            "store_decimal_as_integer": decimals,
            "use_compliant_nested_type": compliant,
            "bloom_filter_options": blooms or None,
        }

    def more_metadata(self, schema: pa.Schema) -> dict[bytes, bytes]:
        """The file's metadata, in addition to what pyarrow writes for the schema, without a checksum of the
        old content."""
        old_metadata = (schema.metadata or {}) if ARROW_SCHEMA in (self._metadata.metadata or {}) else {}
        entries = self._metadata.metadata or {}
        return {
            key: value for key, value in entries.items() if key not in {ARROW_SCHEMA, BODY, *old_metadata}
        }

    def sorting_columns(self, edits: FileEdits, names: dict[str, str]) -> list[Any] | None:
        """The declared sort order of the row groups, unless edits may have changed it."""
        groups = self._metadata.num_row_groups
        sorting = self._metadata.row_group(0).sorting_columns if groups else ()
        if edits.num_new or not sorting:
            return None
        leaves = [self._metadata.schema.column(order.column_index).path.split(".")[0] for order in sorting]
        return None if any(names.get(leaf) in edits.cells for leaf in leaves) else list(sorting)


def _is_decimal(leaf: Any) -> bool:
    return "DECIMAL" in (leaf.converted_type or "") or "Decimal" in str(leaf.logical_type)


def _codec(name: str) -> str:
    if name in UNKNOWN_CODECS:
        return "zstd"
    return "none" if name == "UNCOMPRESSED" else name.casefold()
