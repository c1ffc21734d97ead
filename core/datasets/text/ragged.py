"""Rows with too few or too many fields: where they are, and how they are mended when asked to."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from lamella.core.datasets.text.blocks import Block
from lamella.core.datasets.text.dialect import Dialect, read_rows
from lamella.core.errors import FileProblem


class RaggedRow(FileProblem):
    """A row with too few or too many fields; `paddable` where `ragged="pad"` mends it and those around it."""

    paddable = False


class PaddableRow(RaggedRow):
    paddable = True


def ragged_row(path: Path, dialect: Dialect, block: Block) -> FileProblem:
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


def mended(path: Path, dialect: Dialect, block: Block) -> bytes:
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


def _offering_to_mend(problem: RaggedRow, dialect: Dialect, block: Block, short: bool) -> RaggedRow:
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
