"""The layout of a delimited text, detected from its beginning: delimiter, quotes, line ends, header."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import pyarrow as pa

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.text.types import find_type, read_as

DELIMITERS = ",\t;|"
SAMPLE_ROWS = 1000
VOTERS = 200  # the columns that are examined to decide whether the first row is a header
_SAMPLE_CHARACTERS = 128 << 10
NO_DELIMITER = "\x1f"

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


@dataclass(frozen=True)
class Dialect:
    """The layout of a delimited text. `header_lines` is the number of lines before the first row of data.
    `quote` is empty if there is none. `above` are rows above the table, which are left out; `header`: whether
    a row names the columns."""

    delimiter: str
    quote: str
    newline: str
    header_lines: int
    names: tuple[str, ...]
    above: tuple[str, ...] = ()
    header: bool = False

    @property
    def label(self) -> str:
        return {",": "CSV", "\t": "TSV", NO_DELIMITER: "text lines"}.get(self.delimiter, "delimited text")


def find_dialect(
    text: str,
    whole: bool,
    delimiter: str | None = None,
    header: bool | None = None,
    quote: str | None = None,
    skip_rows: int | None = None,
) -> Dialect | None:
    """Detect the layout from `text`, the beginning of the file; None if not even its first row is complete.

    Unless `text` is the `whole` file, its last row may be cut off and is ignored. The first `skip_rows` lines
    are left out; if it is None, those that seem to be above the table.
    """
    start, skipped = _behind(text, skip_rows or 0)
    mark = _SEPARATOR_MARK.match(text) if skip_rows is None else None
    if mark is not None:
        start, skipped, delimiter = mark.end(), 1, delimiter or mark["sign"]
    size = _SAMPLE_CHARACTERS
    layout = _layout(text[start : start + size], whole and size >= len(text), delimiter, quote)
    while len(layout.rows) < 2 and size < len(text):
        size *= 4
        layout = _layout(text[start : start + size], whole and size >= len(text), delimiter, quote)
    if not (layout.rows or whole):
        return None
    above = 0 if skip_rows is not None else _rows_above(layout.rows, layout.ends)
    rows, ends = layout.rows[above:], layout.ends[above:]
    if header is None:
        header = layout.delimiter != NO_DELIMITER and (
            _has_header(rows) or (above == 0 and _quotes_only_names(text[start : start + size], layout))
        )
    has_names = header and bool(rows)
    names = rows[0] if has_names else [""] * (len(rows[0]) if rows else 1)
    lines = ends[0] if has_names else layout.ends[above - 1] if above else 0
    return Dialect(
        layout.delimiter,
        layout.quote,
        _find_newline(text[start : start + size], layout.quote),
        skipped + lines,
        distinct_names(names),
        (*([mark["line"]] if mark else []), *(" ".join(filter(None, row)) for row in layout.rows[:above])),
        has_names,
    )


_SEPARATOR_MARK = re.compile(r'(?P<line>"?sep=(?P<sign>[^"\w\s]|\t)"?)(?:\r\n?|\n)', re.IGNORECASE)
"""A first line that tells spreadsheets the delimiter."""


def _behind(text: str, lines: int) -> tuple[int, int]:
    """Where the text after this many lines begins, and how many of them there were."""
    breaks = list(islice(LINE_BREAK.finditer(text), lines))
    if len(breaks) < lines:
        return len(text), len(breaks)
    return breaks[-1].end() if breaks else 0, lines


_MOST_ABOVE, _LEAST_BELOW, _FEWER, _LEVEL, _LEVEL_BEHIND_GAP = 30, 2, 0.6, 0.9, 0.7


def _rows_above(rows: Sequence[Sequence[str]], ends: Sequence[int]) -> int:
    """The number of first rows that are titles: much shorter than nearly all rows below, or shorter and
    followed by an empty line."""
    widths = [len(row) for row in rows]
    if not widths or widths[0] >= (usual := Counter(widths).most_common(1)[0][0]):
        return 0
    above = next(place for place, width in enumerate(widths) if width == usual)
    below = widths[above:]
    has_gap = ends[above] - ends[above - 1] > 1
    level = _LEVEL_BEHIND_GAP if has_gap else _LEVEL
    is_level = len(below) > _LEAST_BELOW and below.count(usual) >= level * len(below)
    few = all(width < usual if has_gap else width <= _FEWER * usual for width in widths[:above])
    return above if is_level and few and above <= _MOST_ABOVE else 0


@dataclass(frozen=True)
class _Layout:
    """The non-empty `rows` of a sample; `ends` are the numbers of the lines on which they end."""

    delimiter: str
    quote: str
    rows: list[list[str]]
    ends: list[int]


def _layout(sample: str, whole: bool, delimiter: str | None, quote: str | None) -> _Layout:
    quote = _find_quote(sample) if quote is None else quote
    delimiter = delimiter or (";" if _is_grouped(sample) else _find_delimiter(sample, whole, quote))
    quote = "" if delimiter == NO_DELIMITER else quote
    return _Layout(delimiter, quote, *_rows(sample, whole, delimiter, quote))


_GROUPED_NUMBER = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?")


def _is_grouped(sample: str) -> bool:
    """Whether the sample is a single column, with a header, of numbers with commas between thousands."""
    first, *later_lines = sample[:_SAMPLE_CHARACTERS].splitlines()[:SAMPLE_ROWS] or [""]
    lines = [line.strip() for line in later_lines[:-1] or later_lines if line.strip()]
    is_name = bool(first.strip()) and not any(sign in first for sign in DELIMITERS)
    return is_name and any("," in line for line in lines) and all(map(_GROUPED_NUMBER.fullmatch, lines))


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return distinct names for columns: `column_3` for an empty one, `price_2` for the second `price`."""
    stripped = {name.strip() for name in names}
    used: set[str] = set()
    answer = []
    for place, name in enumerate(names, 1):
        plain = name.strip() or f"column_{place}"
        candidate, number = plain, 1
        while candidate in used or (number > 1 and candidate in stripped):
            number += 1
            candidate = f"{plain}_{number}"
        used.add(candidate)
        answer.append(candidate)
    return tuple(answer)


def read_rows(text: str, delimiter: str, quote: str) -> Iterator[tuple[list[str], int]]:
    """Yield each row, [] for an empty line, with the number of the line on which it ends."""
    lines = io.StringIO(text, newline="")
    if quote:
        reader = csv.reader(lines, delimiter=delimiter, quotechar=quote)
    else:
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    for row in reader:
        yield row, reader.line_num


def _find_newline(sample: str, quote: str) -> str:
    """What ends most lines outside of quotes: a lone carriage return, or else a line feed."""
    if "\r" not in sample:
        return "\n"
    if quote and "\n" in sample:
        sample = re.sub(f"{quote}[^{quote}]*{quote}", "", sample)
    ends = Counter(LINE_BREAK.findall(sample))
    return "\r" if ends["\r"] > ends["\n"] + ends["\r\n"] else "\n"


LINE_BREAK = re.compile(r"\r\n?|\n")
"""Each of these ends a line, whichever the file has mostly."""


def _find_quote(sample: str) -> str:
    """The quote: a single one only if the sample has no double ones, and single ones are next to delimiters
    and enclose several fields, or the first or the last one."""
    if '"' in sample or "'" not in sample:
        return '"'
    count = sample.count("'")
    marks = sum(sample.count(d + "'") + sample.count("'" + d) for d in ",;\t|\n\r")
    fields = len(_IN_SINGLE_QUOTES.findall(sample))
    encloses = (fields > 1 and 4 * fields >= count) or "'" in sample[:1] + sample[-2:]
    return "'" if marks * 2 >= count and marks >= 2 and encloses else '"'


_IN_SINGLE_QUOTES = re.compile(r"(?:^|[,;\t|\r\n])'[^'\r\n]*'(?=[,;\t|\r\n]|$)")


def _rows(sample: str, whole: bool, delimiter: str, quote: str) -> tuple[list[list[str]], list[int]]:
    """The non-empty rows of the sample, and the number of the line on which each ends."""
    rows: list[tuple[list[str], int]] = list(islice(read_rows(sample, delimiter, quote), SAMPLE_ROWS + 1))
    cut_off = not whole and len(rows) <= SAMPLE_ROWS
    whole_rows = [(row, line) for row, line in (rows[:-1] if cut_off else rows) if row]
    return [row for row, _ in whole_rows], [line for _, line in whole_rows]


def _find_delimiter(sample: str, whole: bool, quote: str) -> str:
    """The delimiter that splits most rows into as many fields as the first."""
    best, best_score = ",", (0.0, 0)
    lonely = True
    for candidate in DELIMITERS:
        rows, _ = _rows(sample, whole, candidate, quote)
        if not rows or max(map(len, rows)) == 1:
            continue
        width, times = Counter(map(len, rows)).most_common(1)[0]
        share = times / len(rows)
        lonely = lonely and width == 1 and len(rows[0]) == 1
        fits = share + (len(rows[0]) == width) if width > 1 else 0.4 * (len(rows[0]) > 1)
        if (fits, width) > best_score:
            best, best_score = candidate, (fits, width)
    if lonely and any(d in sample for d in DELIMITERS) and quote not in sample:
        return NO_DELIMITER
    rows, _ = _rows(sample, whole, best, quote)
    return NO_DELIMITER if best != "\t" and _is_running_text(sample, rows, best, quote) else best


_LEAST_LINES = 8
_LOG_MOMENT = re.compile(r"\W?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d,\d{3}(?=[^\d,])")
_LEVEL_TEXT, _SPACED, _UNEVEN, _MANY_WIDTHS = 0.7, 0.9, 0.6, 4


def _is_running_text(sample: str, rows: Sequence[Sequence[str]], delimiter: str, quote: str) -> bool:
    """Whether the delimiter seems to be punctuation in prose or in the lines of a log: between the seconds
    and milliseconds of most lines, never beside the quotes of any line, or between uneven numbers of fields,
    mostly with a space behind it or with more fields than in the first row."""
    lines = [line for line in islice(sample.splitlines(), SAMPLE_ROWS) if line.strip()]
    if min(len(lines), len(rows)) < _LEAST_LINES:
        return False
    if delimiter == "," and 2 * sum(map(bool, map(_LOG_MOMENT.match, lines))) > len(lines):
        return True
    whole_lines = lines[:-1]
    if all(line.count(quote) > 1 for line in whole_lines) and not any(
        beside in line.strip() for line in whole_lines for beside in (quote + delimiter, delimiter + quote)
    ):
        return not any(line.lstrip().startswith(quote) for line in whole_lines)
    widths = Counter(map(len, rows))
    level = max(widths.values()) / len(rows)
    plain = re.sub(f"{re.escape(quote)}[^{re.escape(quote)}]*{re.escape(quote)}", "", sample)
    spaced = plain.count(delimiter + " ") >= _SPACED * plain.count(delimiter)
    is_uneven = level < _UNEVEN and len(widths) >= _MANY_WIDTHS and max(widths) > len(rows[0])
    return is_uneven or (level < _LEVEL_TEXT and spaced)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row differs from the values below it; if all is text, it counts as a header."""
    if not rows:
        return False
    data = []
    for place, cell in enumerate(rows[0][:VOTERS]):
        vote = _vote(cell, [row[place] for row in rows[1:] if place < len(row)])
        if vote == "header":
            return True
        if vote == "data":
            data.append(place)
    if data:
        return _are_years(rows, data) or _are_steps(rows, data)
    return any(cell.strip() for cell in rows[0])


YEARS = range(1500, 2201)
"""Whole numbers that may name columns."""

_FEW_YEARS, _FEW_NUMBERS = 3, 5


def _are_years(rows: Sequence[Sequence[str]], places: Sequence[int]) -> bool:
    """Whether the first row has texts and distinct years, above values that are not years. A single year
    counts only above several numbers that all have decimals."""
    names = [cell.strip() for cell in rows[0]]
    is_mixed = any(name for place, name in enumerate(names) if place not in places)
    if not is_mixed or len(set(names)) < len(names) or not all(_is_year(names[place]) for place in places):
        return False
    below = [[row[place].strip() for row in rows[1:] if place < len(row)] for place in places]
    if len(places) == 1:
        numbers = list(filter(None, below[0]))
        return len(numbers) >= _FEW_YEARS and not any(number.lstrip("-").isdecimal() for number in numbers)
    return not any(all(map(_is_year, filter(None, cells))) for cells in below)


def _is_year(cell: str) -> bool:
    return cell.isdecimal() and int(cell) in YEARS


def _are_steps(rows: Sequence[Sequence[str]], places: Sequence[int]) -> bool:
    """Whether the cells of the first row, and of no other, increase in equal steps, as years in headers
    do."""
    if not all(rows[0][place].strip().isdecimal() for place in places):
        return False
    first, *later_rows = ([row[place].strip() for place in places if place < len(row)] for row in rows)
    least = _FEW_YEARS if all(map(_is_year, first)) else _FEW_NUMBERS
    return len(first) >= least and bool(later_rows) and _is_even(first) and not any(map(_is_even, later_rows))


def _is_even(cells: Sequence[str]) -> bool:
    """Whether the whole numbers among the cells are equally spaced."""
    numbers = [int(cell) for cell in cells if cell.isdecimal()]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(steps) == 1 and steps != {0}


def _quotes_only_names(sample: str, layout: _Layout) -> bool:
    """Whether all cells of the first row are quoted, and no cell below in at least one column. R quotes names
    like this, even if they are numbers."""
    if not layout.quote:
        return False
    rows = [row for row, _ in islice(read_rows(sample, layout.delimiter, ""), VOTERS) if row]
    if len(rows) < 2:
        return False
    marks = [[cell.startswith(layout.quote) for cell in row] for row in rows]
    width = len(marks[0])
    below = [row for row in marks[1:] if len(row) == width]
    return all(marks[0]) and bool(below) and not all(map(any, zip(*below, strict=True)))


def _vote(cell: str, below: Sequence[str]) -> str | None:
    if not cell.strip():
        return None
    alone = _texts([cell])
    kind = find_type(_texts(below))
    if pa.types.is_null(kind):
        return None if pa.types.is_string(find_type(alone)) else "data"
    if pa.types.is_string(kind):
        return None
    return "header" if read_as(alone, kind) is None else "data"


def _texts(values: Sequence[str]) -> pa.Array:
    return from_values([value or None for value in values], pa.string())
