"""Delimited text: fields split by pyarrow and typed column by column, and rows with a wrong number of
fields."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from lamella.core.arrow.arrays import from_numpy, from_values, to_numpy
from lamella.core.arrow.types import type_named
from lamella.core.datasets.base import OpenOptions, Problem
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.text.bad_lines import set_aside
from lamella.core.datasets.text.blocks import RowEnds, TextBlock
from lamella.core.datasets.text.conversions import spelled_type
from lamella.core.datasets.text.dialect import Dialect, read_rows
from lamella.core.datasets.text.exact_numbers import uneven_zeros
from lamella.core.datasets.text.regional import (
    Conventions,
    Guess,
    SpelledType,
    by_other_columns,
    evidence,
    revise,
    saying_doubt,
)
from lamella.core.datasets.text.types import convert, read_as, tentative_guess, widen
from lamella.core.errors import FileProblem, UnknownColumn
from lamella.core.phrases import quantity
from lamella.core.scan.snapshot import NOTE


class RaggedRow(FileProblem):
    """A row has too few or too many fields. `paddable`: `ragged="pad"` repairs all such rows of its block."""

    paddable = False


class PaddableRow(RaggedRow):
    paddable = True


def ragged_row(path: Path, dialect: Dialect, block: TextBlock) -> FileProblem:
    """Return the error for the first row of the block that does not have one field per column."""
    first, _, fields = next(_uneven(dialect, block.data.decode()), (0, 0, -1))
    if fields < 0:
        return FileProblem(
            path,
            f"has a row from line {block.first_line:,} on that cannot be split into fields",
            "A quote in it is probably never closed",
            "Look for a stray quote there",
        )
    short = fields < len(dialect.names)
    return _offering_to_mend(_problem(path, dialect, block.first_line + first, fields), dialect, block, short)


def pad_rows(dialect: Dialect, block: TextBlock) -> bytes:
    """Return the block with its ragged rows repaired where possible."""
    return repair_rows(Path(), dialect, block, leniently=True)


def repair_rows(path: Path, dialect: Dialect, block: TextBlock, leniently: bool = False) -> bytes:
    """Return the block with short rows filled up with empty fields, and extra empty fields cut off.

    Raises `FileProblem` for an extra field with a value; if `leniently`, such a row is left as it is.
    """
    text = block.data.decode()
    lines = list(io.StringIO(text, newline=""))
    for first, last, fields in _uneven(dialect, text):
        body = lines[last].rstrip("\r\n")
        ending = lines[last][len(body) :]
        surplus = dialect.delimiter * (fields - len(dialect.names))
        if not body.endswith(surplus):
            if leniently:
                continue
            raise _problem(path, dialect, block.first_line + first, fields)
        missing = dialect.delimiter * (len(dialect.names) - fields)
        lines[last] = body[: len(body) - len(surplus)] + missing + ending
    return "".join(lines).encode()


def _uneven(dialect: Dialect, text: str) -> Iterator[tuple[int, int, int]]:
    """The first and last line, from 0, and the number of fields of each row that is too short or too long."""
    first = 0
    for row, line in read_rows(text, dialect.delimiter, dialect.quote):
        if row and len(row) != len(dialect.names):
            yield first, line - 1, len(row)
        first = line


def _problem(path: Path, dialect: Dialect, line: int, fields: int) -> RaggedRow:
    expected = len(dialect.names)
    what = f"line {line:,} has {quantity(fields, 'field')}, but {expected:,} are expected"
    if fields < expected:
        return RaggedRow(path, what, "A value or a delimiter is missing there", "Fix that line and try again")
    return RaggedRow(
        path,
        what,
        "A value that holds the delimiter is probably not quoted",
        "Put that value in quotes and try again",
    )


def _offering_to_mend(problem: RaggedRow, dialect: Dialect, block: TextBlock, short: bool) -> RaggedRow:
    """The problem, with padding offered as its fix unless an extra field with a value would stop that."""
    what = problem.what.removeprefix(f"{problem.path}: ")
    try:
        repair_rows(problem.path, dialect, block)
    except RaggedRow as longer:
        longer_text = longer.what.removeprefix(f"{longer.path}: ")
        if longer_text == what:
            return problem
        return RaggedRow(
            problem.path, what, f"{problem.why}; also {longer_text}", "Fix both lines and try again"
        )
    way_out = "with short rows filled up" if short else "with the empty fields at its end cut off"
    return PaddableRow(problem.path, what, problem.why, f"Fix that line, or open it {way_out}")


ZEROS = (
    "Some of these numbers are written with trailing zeros, which numbers do not keep, such as {} beside {}. "
    "To keep them as written, read the column as text: lamella import --text-columns, or "
    "open_dataset(…, text_columns=[…])"
)


class DelimitedText:
    """CSV, TSV and similar text. A block is split in a single thread; several blocks are read in parallel."""

    def __init__(self, path: Path, dialect: Dialect, options: OpenOptions) -> None:
        self.path, self.options, self.ragged = path, options, options.ragged
        self.stored_names = dialect.names
        refuse_unknown_columns(path, dialect.names, options)
        self.dialect = replace(dialect, names=rename_columns(path, dialect.names, options))
        called = dict(zip(dialect.names, self.dialect.names, strict=True))
        self._text_columns = frozenset(called[name] for name in options.text_columns)
        self._conventions = Conventions(
            options.decimal, options.thousands, options.dates, options.zone, options.booleans
        )
        self.types = {called[name]: type_named(kind) for name, kind in options.types}
        self._nulls = from_values(options.nulls, pa.string()) if options.nulls else None
        self._setting_aside = options.bad_lines == "set-aside"
        self.label = dialect.label
        self.skip_lines = dialect.header_lines
        self.ends = RowEnds(
            dialect.newline.encode(),
            dialect.delimiter.encode(),
            dialect.quote.encode() or None,
            blank_rows=len(dialect.names) == 1,
        )

    def find_schema(self, block: TextBlock) -> pa.Schema:
        texts = dict(zip(self.dialect.names, self._split(block).columns, strict=True))
        guesses = {name: self._guess(name, column, self._conventions) for name, column in texts.items()}
        conventions = evidence([guess.kind for guess in guesses.values()], self._conventions)
        if conventions != self._conventions:
            again = {name: guess for name, guess in guesses.items() if _may_be_other(guess.kind)}
            guesses |= {
                name: by_other_columns(guess, self._guess(name, texts[name], conventions), texts[name])
                for name, guess in again.items()
            }
        for name, kind in self.types.items():
            guesses[name] = Guess(spelled_type(kind, texts[name], conventions))
        if self.dialect.delimiter != ",":
            guesses |= {name: saying_doubt(guess, texts[name]) for name, guess in guesses.items()}
        return pa.schema([_field(name, guess, texts[name]) for name, guess in guesses.items()])

    def fields(self, block: TextBlock) -> list[pa.Array]:
        """Return the columns of the block's rows as text."""
        return self._split(block).columns

    def has_chosen_type(self, key: str) -> bool:
        """Whether the user chose the column's type; `key` is its name in the file."""
        return key in self.options.text_columns or key in dict(self.options.types)

    def _guess(self, name: str, texts: pa.Array, conventions: Conventions) -> Guess:
        return Guess(pa.string()) if name in self._text_columns else tentative_guess(texts, conventions)

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        rows = self._split(block)
        parsed = [_read(text, kind) for text, kind in zip(rows.columns, schema.types, strict=True)]
        columns = [values for values, _ in parsed]
        conventions = evidence(schema.types, self._conventions)
        if conventions.has_comma:
            columns = self._without_doubt(schema, rows.columns, columns, conventions)
        if all(column is not None for column in columns):
            misfits = {n: mask for n, (_, mask) in zip(schema.names, parsed, strict=True) if mask is not None}
            problems, counts = self._problems(
                block, rows, dict(zip(schema.names, rows.columns, strict=True)), misfits
            )
            return Reading(schema, pa.table(columns, names=schema.names), problems, tuple(counts.items()))
        kinds = [
            kind if column is not None else self._widen(name, kind, text, conventions)
            for name, kind, column, text in zip(
                schema.names, schema.types, columns, rows.columns, strict=True
            )
        ]
        return Reading(pa.schema([pa.field(n, k) for n, k in zip(schema.names, kinds, strict=True)]), None)

    def _without_doubt(
        self,
        schema: pa.Schema,
        texts: Sequence[pa.Array],
        columns: Sequence[pa.Array | None],
        conventions: Conventions,
    ) -> list[pa.Array | None]:
        """The columns, with None for doubles that are read as thousands after all, since another column has
        turned out to have decimal commas."""
        return [
            None if kind == pa.float64() and not revise(kind, text, conventions).equals(kind) else column
            for kind, text, column in zip(schema.types, texts, columns, strict=True)
        ]

    def _widen(self, name: str, kind: pa.DataType, texts: pa.Array, conventions: Conventions) -> pa.DataType:
        if name in self.types:
            return spelled_type(self.types[name], texts, conventions)
        return pa.string() if name in self._text_columns else widen(kind, texts, conventions)

    def _problems(
        self, block: TextBlock, rows: _Split, texts: dict[str, pa.Array], misfits: dict[str, pa.Array]
    ) -> tuple[tuple[Problem, ...], dict[str, int]]:
        """The lines that were set aside, the values that do not fit their column's chosen type, and the
        number of the latter by column."""
        problems = [*block.too_long, *rows.problems]
        counts: dict[str, int] = {}
        lines: tuple[int, ...] = rows.lines
        for name, mask in misfits.items():
            places = np.flatnonzero(to_numpy(pc.fill_null(mask, from_numpy(np.zeros(1, np.bool_))[0])))
            counts[name] = len(places)
            if not lines:
                lines = set_aside(block.data, self.dialect, self.ends, block.first_line).lines
            why = f"It is not a {word_for(self.types[name])}"
            problems += [
                Problem(lines[place], texts[name][place].as_py(), why, name)
                for place in places[:MOST_MISFITS].tolist()
            ]
        return tuple(sorted(problems, key=lambda problem: problem.line)), counts

    def _split(self, block: TextBlock) -> _Split:
        split = self._split_fields(block)
        if self._nulls is None:
            return split
        return replace(split, columns=[self._without_nulls(column) for column in split.columns])

    def _without_nulls(self, texts: pa.Array) -> pa.Array:
        missing = pc.is_in(pc.utf8_trim_whitespace(texts), value_set=self._nulls, skip_nulls=True)
        return pc.if_else(missing, pa.nulls(len(texts), pa.string()), texts)

    def _split_fields(self, block: TextBlock) -> _Split:
        names = [str(place) for place in range(len(self.dialect.names))]
        if self.ends.has_no_row(block.data):
            return _Split([pa.nulls(0, pa.string()) for _ in names])
        if block.doubtful:
            return self._split_good(block, names)
        ragged = _RaggedRowHandler()
        table = self._parse(block.data, names, ragged)
        if ragged.is_met and self._setting_aside:
            return self._split_good(block, names)
        if ragged.is_met and self.ragged == "pad":
            data = repair_rows(self.path, self.dialect, block)
            ragged = _RaggedRowHandler()
            table = self._parse(data, names, ragged)
        if ragged.is_met:
            raise ragged_row(self.path, self.dialect, block)
        return _Split([column.combine_chunks() for column in table.columns])

    def _split_good(self, block: TextBlock, names: list[str]) -> _Split:
        """Split a block, leaving out its bad lines."""
        data = pad_rows(self.dialect, block) if self.ragged == "pad" and not block.doubtful else block.data
        good = set_aside(data, self.dialect, self.ends, block.first_line)
        if self.ends.has_no_row(good.data):
            return _Split([pa.nulls(0, pa.string()) for _ in names], (), good.problems)
        ragged = _RaggedRowHandler()
        table = self._parse(good.data, names, ragged)
        if ragged.is_met:
            raise ragged_row(self.path, self.dialect, replace(block, data=good.data))
        return _Split([c.combine_chunks() for c in table.columns], good.lines, good.problems)

    def _parse(self, data: bytes, names: list[str], ragged: _RaggedRowHandler) -> pa.Table:
        if not data.endswith((b"\n", b"\r")):
            # Without a line break at the end, pyarrow takes an empty last field for a quoted one.
            data += self.ends.newline
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


MOST_MISFITS = 10_000
"""The misfits of a column that are listed for each block; all are counted."""


@dataclass(frozen=True)
class _Split:
    """The fields of a block as text. If lines were set aside: the line of each row, and the problems."""

    columns: list[pa.Array]
    lines: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()


def word_for(kind: pa.DataType) -> str:
    """Return the word for a value of the type in messages."""
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "date with a time"
    if pa.types.is_integer(kind):
        return "whole number"
    if pa.types.is_floating(kind):
        return "number"
    return "boolean" if pa.types.is_boolean(kind) else str(kind)


def _read(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array | None, pa.Array | None]:
    """The values, or None if some do not fit; and a mask of those that do not fit a chosen type and are
    null."""
    if isinstance(kind, SpelledType) and kind.spelling.is_forced:
        return convert(texts, kind)
    return read_as(texts, kind), None


def _may_be_other(kind: pa.DataType | None) -> bool:
    """Whether other columns may show that the values have another type than they seem to have."""
    return kind is not None and bool(pa.types.is_string(kind) or pa.types.is_floating(kind))


def _field(name: str, guess: Guess, texts: pa.Array) -> pa.Field:
    """The column, with a note about what was assumed or about trailing zeros that doubles lose."""
    note = guess.note
    zeros = uneven_zeros(texts) if guess.kind is not None and pa.types.is_floating(guess.kind) else None
    if zeros is not None:
        note = ZEROS.format(*zeros)
    return pa.field(name, guess.kind, metadata={NOTE: note} if note else None)


def refuse_unknown_columns(path: Path, names: Sequence[str], options: OpenOptions) -> None:
    option_names = (*options.text_columns, *(name for name, _ in (*options.types, *options.names)))
    for name in option_names:
        if name not in names:
            raise UnknownColumn(name, str(path), names)


def options_for(names: Sequence[str], options: OpenOptions) -> OpenOptions:
    """Return the options without choices for columns that are not among `names`."""
    return replace(
        options,
        text_columns=tuple(name for name in options.text_columns if name in names),
        types=tuple(pair for pair in options.types if pair[0] in names),
        names=tuple(pair for pair in options.names if pair[0] in names),
    )


def rename_columns(path: Path, names: Sequence[str], options: OpenOptions) -> tuple[str, ...]:
    """Return the new names of the columns that have these names in the file. Raises `FileProblem` if two
    columns would have the same name."""
    new = dict(options.names)
    new_names = [new.get(name, name) for name in names]
    if not new:
        return tuple(new_names)
    twice = [name for name, count in Counter(new_names).items() if count > 1 or not name.strip()]
    if twice:
        what = (
            f"would have two columns '{twice[0]}'"
            if twice[0].strip()
            else "would have a column without a name"
        )
        raise FileProblem(path, what, fix="Give each column a different name")
    return tuple(new_names)


class _RaggedRowHandler:
    """The parser's handler of rows with too few or too many fields: it notes that there are any."""

    def __init__(self) -> None:
        self.is_met = False

    def __call__(self, row: pcsv.InvalidRow) -> str:
        self.is_met = True
        return "skip"
