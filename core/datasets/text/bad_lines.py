"""Lines of a delimited text that are not valid rows, searched for in blocks that cannot be parsed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamella.core.datasets.base import Problem
from lamella.core.datasets.text.blocks import RowEnds
from lamella.core.datasets.text.dialect import Dialect
from lamella.core.errors import FileProblem
from lamella.core.phrases import quantity

MOST_PROBLEMS, MOST_TEXT = 100_000, 32 << 20
"""A file with more bad lines, or more characters in them, was probably opened with wrong options."""
LONGEST_TEXT = 1 << 20
"""The characters of a bad line that are kept for the list."""
MOST_LINES_A_ROW = 1_000
"""A row of more lines than this has a quote that was probably left open."""


@dataclass(frozen=True)
class GoodRows:
    """The valid rows of a block, the line number of each, and the lines that were set aside."""

    data: bytes
    lines: tuple[int, ...]
    problems: tuple[Problem, ...]


def set_aside(data: bytes, dialect: Dialect, ends: RowEnds, first_line: int) -> GoodRows:
    """Leave out lines that cannot be decoded, hold NUL bytes, open a quote that nothing closes, or have too
    few or too many fields."""
    raw = data.splitlines(keepends=True)
    problems: list[Problem] = []
    texts: list[tuple[int, str]] = []
    for number, line in enumerate(raw, first_line):
        why = _no_text(line)
        if why:
            problems.append(_problem(number, line.decode(errors="replace"), why))
        else:
            texts.append((number, line.decode()))
    good: list[str] = []
    lines: list[int] = []
    place = 0
    while place < len(texts):
        for start, stop, fields in _rows(texts, place, dialect):
            row = "".join(text for _, text in texts[start:stop])
            why = _no_row(row, fields, stop - start, stop == len(texts), dialect, ends)
            place = stop
            if why is None:
                good.append(row)
                if fields or ends.blank_rows:
                    lines.append(texts[start][0])
                continue
            problems.append(_problem(*texts[start], why))
            if stop - start > 1:
                place = start + 1  # the lines after it may be rows on their own
                break
    problems.sort(key=lambda problem: problem.line)
    return GoodRows("".join(good).encode(), tuple(lines), tuple(problems))


def _rows(texts: Sequence[tuple[int, str]], place: int, dialect: Dialect) -> Iterator[tuple[int, int, int]]:
    """The start and stop of each row among the lines, and its number of fields."""
    lines = (texts[at][1] for at in range(place, len(texts)))
    if dialect.quote:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
    else:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    start = place
    for row in reader:
        stop = place + reader.line_num
        yield start, stop, len(row)
        start = stop


def _no_text(line: bytes) -> str | None:
    if b"\0" in line:
        return "It holds a NUL byte"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"The byte 0x{line[error.start]:02X}{DECODING_PROBLEM}"
    return None


def _no_row(row: str, fields: int, lines: int, is_last: bool, dialect: Dialect, ends: RowEnds) -> str | None:
    """Why the lines are not a row, or None if they are; an empty line is a row with no field or one."""
    if is_last and lines + (fields != len(dialect.names)) > 0 and dialect.quote and _is_open(row, ends):
        return "It opens a quote that is never closed"
    if lines > MOST_LINES_A_ROW:
        return f"It opens a quote that is not closed within {MOST_LINES_A_ROW:,} lines"
    expected = len(dialect.names)
    if fields in (0, expected):
        return None
    count = quantity(fields, "field")
    return f"It has {count}{INSTEAD_OF}{expected:,}"


INSTEAD_OF = " instead of "
DECODING_PROBLEM = " in it cannot be decoded"


def is_ragged(problem: Problem) -> bool:
    """Whether the line has too few or too many fields, which `ragged="pad"` may repair."""
    return not problem.column and INSTEAD_OF in problem.why


def is_undecodable(problem: Problem) -> bool:
    """Whether the line has bytes that are not valid in the encoding, which `bad_bytes="replace"` reads."""
    return not problem.column and problem.why.endswith(DECODING_PROBLEM)


def _is_open(row: str, ends: RowEnds) -> bool:
    data = row.encode()
    return ends.last(data + ends.newline) <= len(data) - data.endswith(ends.newline)


def _problem(line: int, text: str, why: str) -> Problem:
    return Problem(line, text.rstrip("\r\n")[:LONGEST_TEXT], why)


class Problems:
    """The problems of a file by block; reading a block again replaces its problems."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_block: dict[int, tuple[tuple[Problem, ...], dict[str, int]]] = {}

    def put(self, block: int, problems: Sequence[Problem], misfits: dict[str, int]) -> None:
        """Set the problems of a block. Raises `FileProblem` if the file has too many to be stray bad
        lines."""
        if not (problems or misfits):
            self._by_block.pop(block, None)
            return
        self._by_block[block] = tuple(problems), misfits
        lines = [problem for problem in self.in_order if not problem.column]
        if len(lines) > MOST_PROBLEMS or sum(len(problem.text) for problem in lines) > MOST_TEXT:
            raise FileProblem(
                self._path,
                f"has more than {len(lines) - 1:,} lines that cannot be read",
                f"The first is line {lines[0].line:,}: {lines[0].why}".replace(": It ", ": it "),
                "Read it with another delimiter, quote or encoding",
            )

    @property
    def in_order(self) -> tuple[Problem, ...]:
        """All problems in the order of their lines."""
        by_block = dict(self._by_block)  # other threads read blocks
        return tuple(problem for block in sorted(by_block) for problem in by_block[block][0])

    @property
    def misfits(self) -> dict[str, int]:
        """The number of values by column that are null because they do not fit its type."""
        counts: dict[str, int] = {}
        for _, misfits in list(self._by_block.values()):
            for column, count in misfits.items():
                counts[column] = counts.get(column, 0) + count
        return counts


MOST_EXAMPLES = 2


def sentences(
    problems: Sequence[Problem], misfits: dict[str, int], types: dict[str, str], unit: str = "line"
) -> tuple[str, ...]:
    """Return remarks about problems for users; `unit` is the word for what is numbered: line or row."""
    texts = []
    lines = [problem for problem in problems if not problem.column]
    if lines:
        first = [f"{place_of(p, unit)}: {p.why[:1].lower()}{p.why[1:]}" for p in lines[:MOST_EXAMPLES]]
        some = "; ".join(first)
        more = f"; {len(lines) - MOST_EXAMPLES:,} more" if len(lines) > MOST_EXAMPLES else ""
        number = "1 line that cannot be read is" if len(lines) == 1 else _many_lines(len(lines))
        texts.append(f"{number} left out ({some}{more})")
    for column, count in misfits.items():
        examples = [p for p in problems if p.column == column][:MOST_EXAMPLES]
        some = " and ".join(f"'{p.text[:40]}' in {place_of(p, unit)}" for p in examples)
        values = "1 value is" if count == 1 else f"{count:,} values are"
        lead = ", such as " if count > len(examples) else ": "
        texts.append(f"{column}: {values} not a {types.get(column, 'value')}, and null{lead}{some}")
    return tuple(texts)


def place_of(problem: Problem, unit: str) -> str:
    return f"{unit} {problem.line:,} of {problem.file}" if problem.file else f"{unit} {problem.line:,}"


def _many_lines(count: int) -> str:
    return f"{count:,} lines that cannot be read are"
