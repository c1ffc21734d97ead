"""Delimited text: fields split by pyarrow, typed column by column, and rows of another length."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv

from lamella.core.datasets.base import Ragged
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.text.blocks import RowEnds, TextBlock
from lamella.core.datasets.text.dialect import Dialect, read_rows
from lamella.core.datasets.text.types import read_as, tentative_type, uneven_zeros, widen
from lamella.core.errors import FileProblem, UnknownColumn
from lamella.core.scan.snapshot import NOTE


class RaggedRow(FileProblem):
    """A row with too few or too many fields; `paddable` where `ragged="pad"` mends it and those around it."""

    paddable = False


class PaddableRow(RaggedRow):
    paddable = True


def ragged_row(path: Path, dialect: Dialect, block: TextBlock) -> FileProblem:
    """What is wrong with the first row of the block that has not one field for each column."""
    first, _, fields = next(_uneven(dialect, block.data.decode()), (0, 0, -1))
    if fields < 0:
        return FileProblem(
            path,
            f"has a row from line {block.first_line:,} on that cannot be split into fields",
            "A quote in it is probably never closed",
            "Look there for a stray quote",
        )
    short = fields < len(dialect.names)
    return _offering_to_mend(_problem(path, dialect, block.first_line + first, fields), dialect, block, short)


def mended(path: Path, dialect: Dialect, block: TextBlock) -> bytes:
    """The block with short rows filled up with empty fields, and empty fields beyond the last column cut off.

    Raises `FileProblem` where a value stands beyond the last column.
    """
    text = block.data.decode()
    lines = list(io.StringIO(text, newline=""))
    for first, last, fields in _uneven(dialect, text):
        body = lines[last].rstrip("\r\n")
        ending = lines[last][len(body) :]
        surplus = dialect.delimiter * (fields - len(dialect.names))
        if not body.endswith(surplus):
            raise _problem(path, dialect, block.first_line + first, fields)
        missing = dialect.delimiter * (len(dialect.names) - fields)
        lines[last] = body[: len(body) - len(surplus)] + missing + ending
    return "".join(lines).encode()


def _uneven(dialect: Dialect, text: str) -> Iterator[tuple[int, int, int]]:
    """First and last line, from 0, and number of fields of each row that is too short or too long."""
    first = 0
    for row, line in read_rows(text, dialect.delimiter, dialect.quote):
        if row and len(row) != len(dialect.names):
            yield first, line - 1, len(row)
        first = line


def _problem(path: Path, dialect: Dialect, line: int, fields: int) -> RaggedRow:
    wanted = len(dialect.names)
    what = f"line {line:,} has {fields:,} field{'' if fields == 1 else 's'}, but {wanted:,} are expected"
    if fields < wanted:
        return RaggedRow(
            path, what, "A value or a delimiter is missing there", "Mend that line and try again"
        )
    return RaggedRow(
        path,
        what,
        "A value that holds the delimiter is probably not quoted",
        "Put that value in quotes and try again",
    )


def _offering_to_mend(problem: RaggedRow, dialect: Dialect, block: TextBlock, short: bool) -> RaggedRow:
    """Padding is not offered where it would only stop at a value beyond the last column."""
    what = problem.what.removeprefix(f"{problem.path}: ")
    try:
        mended(problem.path, dialect, block)
    except RaggedRow as longer:
        other = longer.what.removeprefix(f"{longer.path}: ")
        if other == what:
            return problem
        return RaggedRow(problem.path, what, f"{problem.why}; also {other}", "Mend both lines and try again")
    way_out = "with short rows filled up" if short else "with the empty fields at its end cut off"
    return PaddableRow(problem.path, what, problem.why, f"Mend that line, or open it {way_out}")


ZEROS = (
    "Some of these numbers are written with zeros at the end that a number does not have, as {} beside {}. "
    "To keep what is written, read the column as text: lamella import --text-columns, or "
    "open_dataset(…, text_columns=[…])"
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

    def find_schema(self, block: TextBlock) -> pa.Schema:
        texts = self.split(block)
        return pa.schema([self._field(n, t) for n, t in zip(self.dialect.names, texts, strict=True)])

    def _field(self, name: str, texts: pa.Array) -> pa.Field:
        """With a note, where doubles do not say how they were written."""
        kind = pa.string() if name in self._text_columns else tentative_type(texts)
        zeros = uneven_zeros(texts) if pa.types.is_floating(kind) else None
        return pa.field(name, kind, metadata=None if zeros is None else {NOTE: ZEROS.format(*zeros)})

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        texts = self.split(block)
        columns = [read_as(text, kind) for text, kind in zip(texts, schema.types, strict=True)]
        if all(column is not None for column in columns):
            return Reading(schema, pa.table(columns, names=schema.names))
        kinds = [
            kind if column is not None else widen(kind, text)
            for kind, column, text in zip(schema.types, columns, texts, strict=True)
        ]
        return Reading(pa.schema([pa.field(n, k) for n, k in zip(schema.names, kinds, strict=True)]), None)

    def split(self, block: TextBlock) -> list[pa.Array]:
        names = [str(place) for place in range(len(self.dialect.names))]
        if self.ends.none_in(block.data):
            return [pa.nulls(0, pa.string()) for _ in names]
        data, ragged = block.data, _Ragged()
        if not data.endswith((b"\n", b"\r")):
            # Without a line break at the end, pyarrow takes an empty last field for a quoted one.
            data += self.ends.newline
        table = self._parse(data, names, ragged)
        if ragged.is_met and self.ragged == "pad":
            data = mended(self.path, self.dialect, block)
            ragged = _Ragged()
            table = self._parse(data, names, ragged)
        if ragged.is_met:
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
        self.is_met = False

    def __call__(self, row: pcsv.InvalidRow) -> str:
        self.is_met = True
        return "skip"
