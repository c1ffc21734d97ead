"""Delimited text: fields split by pyarrow, typed column by column, and rows of another length."""

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
    Spelled,
    by_other_columns,
    evidence,
    revised,
    saying_doubt,
)
from lamella.core.datasets.text.types import convert, read_as, tentative_guess, widen
from lamella.core.errors import FileProblem, UnknownColumn
from lamella.core.phrases import quantity
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


def padded(dialect: Dialect, block: TextBlock) -> bytes:
    """The block with those rows mended that can be."""
    return mended(Path(), dialect, block, leniently=True)


def mended(path: Path, dialect: Dialect, block: TextBlock, leniently: bool = False) -> bytes:
    """The block with short rows filled up with empty fields, and empty fields beyond the last column cut off.

    Raises `FileProblem` where a value stands beyond the last column, unless it is done leniently.
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
    """First and last line, from 0, and number of fields of each row that is too short or too long."""
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
    """Padding is not offered where it would only stop at a value beyond the last column."""
    what = problem.what.removeprefix(f"{problem.path}: ")
    try:
        mended(problem.path, dialect, block)
    except RaggedRow as longer:
        other = longer.what.removeprefix(f"{longer.path}: ")
        if other == what:
            return problem
        return RaggedRow(problem.path, what, f"{problem.why}; also {other}", "Fix both lines and try again")
    way_out = "with short rows filled up" if short else "with the empty fields at its end cut off"
    return PaddableRow(problem.path, what, problem.why, f"Fix that line, or open it {way_out}")


ZEROS = (
    "Some of these numbers are written with zeros at the end that a number does not have, as {} beside {}. "
    "To keep what is written, read the column as text: lamella import --text-columns, or "
    "open_dataset(…, text_columns=[…])"
)


class DelimitedText:
    """CSV, TSV and their relatives. Each block is split without threads; blocks are read side by side."""

    def __init__(self, path: Path, dialect: Dialect, options: OpenOptions) -> None:
        self.path, self.options, self.ragged = path, options, options.ragged
        self.stored = dialect.names
        refuse_unknown_columns(path, dialect.names, options)
        self.dialect = replace(dialect, names=renamed(path, dialect.names, options))
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
        known = evidence([guess.kind for guess in guesses.values()], self._conventions)
        if known != self._conventions:
            again = {name: guess for name, guess in guesses.items() if _may_be_other(guess.kind)}
            guesses |= {
                name: by_other_columns(guess, self._guess(name, texts[name], known), texts[name])
                for name, guess in again.items()
            }
        for name, kind in self.types.items():
            guesses[name] = Guess(spelled_type(kind, texts[name], known))
        if self.dialect.delimiter != ",":
            guesses |= {name: saying_doubt(guess, texts[name]) for name, guess in guesses.items()}
        return pa.schema([_field(name, guess, texts[name]) for name, guess in guesses.items()])

    def fields(self, block: TextBlock) -> list[pa.Array]:
        """What is written in each column of the block's rows."""
        return self._split(block).columns

    def has_chosen_type(self, key: str) -> bool:
        """Whether a person said how the column is read; `key` is what the file calls it."""
        return key in self.options.text_columns or key in dict(self.options.types)

    def _guess(self, name: str, texts: pa.Array, conventions: Conventions) -> Guess:
        return Guess(pa.string()) if name in self._text_columns else tentative_guess(texts, conventions)

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        rows = self._split(block)
        read = [_read(text, kind) for text, kind in zip(rows.columns, schema.types, strict=True)]
        columns = [values for values, _ in read]
        known = evidence(schema.types, self._conventions)
        if known.comma_seen:
            columns = self._without_doubt(schema, rows.columns, columns, known)
        if all(column is not None for column in columns):
            misfits = {n: mask for n, (_, mask) in zip(schema.names, read, strict=True) if mask is not None}
            problems, counts = self._problems(
                block, rows, dict(zip(schema.names, rows.columns, strict=True)), misfits
            )
            return Reading(schema, pa.table(columns, names=schema.names), problems, tuple(counts.items()))
        kinds = [
            kind if column is not None else self._widened(name, kind, text, known)
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
        known: Conventions,
    ) -> list[pa.Array | None]:
        """None for doubles that are thousands if another column has decimal commas, which may come late."""
        return [
            None if kind == pa.float64() and not revised(kind, text, known).equals(kind) else column
            for kind, text, column in zip(schema.types, texts, columns, strict=True)
        ]

    def _widened(self, name: str, kind: pa.DataType, texts: pa.Array, known: Conventions) -> pa.DataType:
        if name in self.types:
            return spelled_type(self.types[name], texts, known)
        return pa.string() if name in self._text_columns else widen(kind, texts, known)

    def _problems(
        self, block: TextBlock, rows: _Split, texts: dict[str, pa.Array], misfits: dict[str, pa.Array]
    ) -> tuple[tuple[Problem, ...], dict[str, int]]:
        """What was set aside, and the values that are none of the type that was chosen for their column."""
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
        if self.ends.none_in(block.data):
            return _Split([pa.nulls(0, pa.string()) for _ in names])
        if block.doubtful:
            return self._split_good(block, names)
        ragged = _Ragged()
        table = self._parse(block.data, names, ragged)
        if ragged.is_met and self._setting_aside:
            return self._split_good(block, names)
        if ragged.is_met and self.ragged == "pad":
            data = mended(self.path, self.dialect, block)
            ragged = _Ragged()
            table = self._parse(data, names, ragged)
        if ragged.is_met:
            raise ragged_row(self.path, self.dialect, block)
        return _Split([column.combine_chunks() for column in table.columns])

    def _split_good(self, block: TextBlock, names: list[str]) -> _Split:
        """The rows of a block of which some lines are left out."""
        data = padded(self.dialect, block) if self.ragged == "pad" and not block.doubtful else block.data
        good = set_aside(data, self.dialect, self.ends, block.first_line)
        if self.ends.none_in(good.data):
            return _Split([pa.nulls(0, pa.string()) for _ in names], (), good.problems)
        ragged = _Ragged()
        table = self._parse(good.data, names, ragged)
        if ragged.is_met:
            raise ragged_row(self.path, self.dialect, replace(block, data=good.data))
        return _Split([c.combine_chunks() for c in table.columns], good.lines, good.problems)

    def _parse(self, data: bytes, names: list[str], ragged: _Ragged) -> pa.Table:
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
"""Values of a column in a block that are listed; all are counted."""


@dataclass(frozen=True)
class _Split:
    """The fields of a block as text; the line of each row where some lines were set aside, and those."""

    columns: list[pa.Array]
    lines: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()


def word_for(kind: pa.DataType) -> str:
    """What a value of the type is called in messages."""
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
    """The values, None where some do not fit; and which are null because they do not fit a chosen type."""
    if isinstance(kind, Spelled) and kind.spelling.forced:
        return convert(texts, kind)
    return read_as(texts, kind), None


def _may_be_other(kind: pa.DataType | None) -> bool:
    """Whether other columns may show that values are of another type than they seem by themselves."""
    return kind is not None and bool(pa.types.is_string(kind) or pa.types.is_floating(kind))


def _field(name: str, guess: Guess, texts: pa.Array) -> pa.Field:
    """With a note of what was assumed, or where doubles do not say how they were written."""
    note = guess.note
    zeros = uneven_zeros(texts) if guess.kind is not None and pa.types.is_floating(guess.kind) else None
    if zeros is not None:
        note = ZEROS.format(*zeros)
    return pa.field(name, guess.kind, metadata={NOTE: note} if note else None)


def refuse_unknown_columns(path: Path, names: Sequence[str], options: OpenOptions) -> None:
    named = (*options.text_columns, *(name for name, _ in (*options.types, *options.names)))
    for name in named:
        if name not in names:
            raise UnknownColumn(name, str(path), names)


def options_for(names: Sequence[str], options: OpenOptions) -> OpenOptions:
    """Without what was chosen for columns that others of several files have."""
    return replace(
        options,
        text_columns=tuple(name for name in options.text_columns if name in names),
        types=tuple(pair for pair in options.types if pair[0] in names),
        names=tuple(pair for pair in options.names if pair[0] in names),
    )


def renamed(path: Path, names: Sequence[str], options: OpenOptions) -> tuple[str, ...]:
    """What columns are called that the file calls by these names. Raises `FileProblem` where two would have
    one name."""
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
        raise FileProblem(path, what, fix="Give each column a name of its own")
    return tuple(new_names)


class _Ragged:
    """Told by the parser of rows with too few or too many fields."""

    def __init__(self) -> None:
        self.is_met = False

    def __call__(self, row: pcsv.InvalidRow) -> str:
        self.is_met = True
        return "skip"
