"""Delimited text: fields split by pyarrow, then typed column by column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv

from lamella.core.datasets.options import Ragged
from lamella.core.datasets.text.blocks import Block
from lamella.core.datasets.text.dialect import Dialect
from lamella.core.datasets.text.numbers import uneven_zeros
from lamella.core.datasets.text.ragged import mended, ragged_row
from lamella.core.datasets.text.reading import Reading
from lamella.core.datasets.text.rows import RowEnds
from lamella.core.datasets.text.values import read_as, tentative_type, widen
from lamella.core.errors import UnknownColumn

NOTE = "note"
ZEROS = (
    "Written with zeros at the end that a number does not have, as {} beside {}: open it as text to keep them"
)


class DelimitedText:
    """CSV, TSV and their relatives. Each block is split without threads; blocks are read side by side."""

    def __init__(
        self, path: Path, dialect: Dialect, ragged: Ragged, text_columns: Sequence[str] = ()
    ) -> None:
        for name in text_columns:
            if name not in dialect.names:
                raise UnknownColumn(name, str(path), dialect.names)
        self._text_columns = frozenset(text_columns)
        self.path, self.dialect, self.ragged = path, dialect, ragged
        self.label = dialect.label
        self.skip_lines = dialect.header_lines
        self.ends = RowEnds(
            dialect.newline.encode(),
            dialect.delimiter.encode(),
            dialect.quote.encode() or None,
            blank_rows=len(dialect.names) == 1,
        )

    def find_schema(self, block: Block) -> pa.Schema:
        texts = self._split(block)
        return pa.schema([self._field(n, t) for n, t in zip(self.dialect.names, texts, strict=True)])

    def _field(self, name: str, texts: pa.Array) -> pa.Field:
        """With a note, where doubles do not say how they were written."""
        kind = pa.string() if name in self._text_columns else tentative_type(texts)
        zeros = uneven_zeros(texts) if pa.types.is_floating(kind) else None
        return pa.field(name, kind, metadata=None if zeros is None else {NOTE: ZEROS.format(*zeros)})

    def read(self, block: Block, schema: pa.Schema) -> Reading:
        texts = self._split(block)
        columns = [read_as(text, kind) for text, kind in zip(texts, schema.types, strict=True)]
        if all(column is not None for column in columns):
            return Reading(schema, pa.table(columns, names=schema.names))
        kinds = [
            kind if column is not None else widen(kind, text)
            for kind, column, text in zip(schema.types, columns, texts, strict=True)
        ]
        return Reading(pa.schema([pa.field(n, k) for n, k in zip(schema.names, kinds, strict=True)]), None)

    def _split(self, block: Block) -> list[pa.Array]:
        names = [str(place) for place in range(len(self.dialect.names))]
        if self.ends.none_in(block.data):
            return [pa.nulls(0, pa.string()) for _ in names]
        data, ragged = block.data, _Ragged()
        if not data.endswith((b"\n", b"\r")):
            # Without a line break at the end, pyarrow takes an empty last field for a quoted one.
            data += self.ends.newline
        table = self._parse(data, names, ragged)
        if ragged.found and self.ragged == "pad":
            data = mended(self.path, self.dialect, block)
            ragged = _Ragged()
            table = self._parse(data, names, ragged)
        if ragged.found:
            raise ragged_row(self.path, self.dialect, block)
        return [column.combine_chunks() for column in table.columns]

    def _parse(self, data: bytes, names: list[str], ragged: _Ragged) -> pa.Table:
        return pcsv.read_csv(
            pa.BufferReader(data),
            pcsv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            pcsv.ParseOptions(
                delimiter=self.dialect.delimiter,
                quote_char=self.dialect.quote or False,
                newlines_in_values=bool(self.dialect.quote),
                ignore_empty_lines=not self.ends.blank_rows,
                invalid_row_handler=ragged,
            ),
            pcsv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


class _Ragged:
    """Told by the parser of rows with too few or too many fields."""

    def __init__(self) -> None:
        self.found = False

    def __call__(self, row: pcsv.InvalidRow) -> str:
        self.found = True
        return "skip"
