"""Rewrites a text file with edits: everything else is copied byte by byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, put, take
from lamella.core.arrow.equality import differs
from lamella.core.arrow.sorted_ids import among
from lamella.core.datasets.blocks import read_block
from lamella.core.datasets.cached_dataset import read_first_block
from lamella.core.datasets.formats import recognise
from lamella.core.datasets.text.blocks import TextBlock, after_lines
from lamella.core.datasets.text.dataset import FIRST_BYTES, TextFile, delimited_file, json_lines_file
from lamella.core.datasets.text.delimited import DelimitedText
from lamella.core.datasets.text.encodings import ASCII, UTF8, characters
from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.datasets.text.regional import YEAR_FIRST, SpelledType
from lamella.core.datasets.text.source import TextSource, open_bytes
from lamella.core.datasets.text.types import is_undecided, solid
from lamella.core.errors import FileProblem, short_text, visible
from lamella.core.jobs import Job
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.transfer.file_edits import FileEdits, fill_columns
from lamella.core.transfer.text_lines import (
    Cell,
    DelimitedLines,
    JsonObjects,
    Lines,
    Unwritable,
    without_line_end,
)
from lamella.core.transfer.text_output import HELD_BYTES, TextOutput, WriteFailed, open_output

PIECE_BYTES = 8 << 20


def rewrite_text(
    file: TextFile, snapshot: Snapshot, edits: FileEdits, draft: Path, job: Job
) -> tuple[str, ...]:
    """Write the file with its edits to another path. Raises `FileProblem` if the file cannot hold one."""
    _refuse_without_rows(file, snapshot, edits)
    rewrite = Rewrite(file, snapshot, edits, job)
    rewrite.write(draft)
    _refuse_read_otherwise(file, draft)
    return ()


class Rewrite:
    """Finds rows in the bytes of the file if its encoding is based on ASCII, and otherwise in UTF-8, which is
    then converted back to the file's encoding."""

    def __init__(self, file: TextFile, snapshot: Snapshot, edits: FileEdits, job: Job) -> None:
        self._file, self._source, self._ends = file, file.source, file.text.ends
        self._snapshot, self._edits, self._job = snapshot, edits, job
        self._schema = _reading_schema(file, snapshot, job)
        self._touched_rows, self._at = edits.touched_rows, 0
        self._deleted_rows = set(edits.deleted_rows.tolist())
        self._encoding = _target_encoding(self._source)
        self._is_plain = is_ascii_based(self._encoding)
        self._lines = self._make_lines()
        self._line_end = self._first_line_end()
        try:
            self._cells = _by_row(self._lines, snapshot, edits)
        except Unwritable as problem:
            raise self._cannot(problem, "an edited row") from problem

    def _make_lines(self) -> Lines:
        block, text, schema = self._file.begin()[0], self._file.text, self._schema
        if isinstance(text, DelimitedText):
            return DelimitedLines(text, block, schema, self._encode)
        assert isinstance(text, JsonLines)
        return JsonObjects(text, block, schema, self._encode, self._encoding if self._is_plain else UTF8)

    def _first_line_end(self) -> bytes:
        """The line end of the first row; others may be in quotes, inside a value."""
        data = self._source.beginning(FIRST_BYTES)[0]
        starts, stops = self._lines.spans(data)
        rows = (data[start:stop] for start, stop in zip(starts[:1].tolist(), stops[:1].tolist(), strict=True))
        return next((end for _, end in map(without_line_end, rows) if end), b"\n")

    def write(self, draft: Path) -> None:
        source = self._source
        try:
            with (
                open_output(draft, source.compression) as output,
                open_bytes(source.path, source.compression) as (raw, position),
            ):
                output.write(raw.read(source.mark_bytes))
                out = TextOutput(output, "" if self._is_plain else self._encoding)
                if self._is_plain and source.compression is None:
                    out.copy_from(raw, source.mark_bytes, self._report)
                self._copy(self._pieces(raw, out), position, out)
        except WriteFailed as failure:
            raise failure.error from failure

    def _copy(
        self, pieces: Iterator[tuple[bytes, bool]], position: Callable[[], int], out: TextOutput
    ) -> None:
        skip, tail, ended, first = self._file.text.skip_lines, b"", b"", 0
        in_head = True
        for piece, last in pieces:
            self._report(position())
            ended = (ended + piece[-HELD_BYTES:])[-HELD_BYTES:]
            tail = tail + piece if tail else piece
            if in_head:
                start, met = after_lines(tail, skip, last)
                if met < skip and not last:
                    continue
                in_head, start = False, start if met == skip else len(tail)
                out.copy(tail[:start])
                tail = tail[start:]
            if self._at < len(self._touched_rows):
                cut = len(tail) if last else self._ends.last(tail)
                first += self._write_rows(tail[:cut], first, out)
                tail = tail[cut:]
            if self._at == len(self._touched_rows):
                out.copy(tail)
                tail = b""
                if not last and (end := out.copy_to_end(self._source.size)) is not None:
                    ended = end
                    break
        self._refuse_missing(first)
        self._finish(out, has_end=ended.endswith((b"\n", b"\r")) or not ended)

    def _report(self, position: int) -> None:
        self._job.report(position, self._source.size, "Writing")

    def _pieces(self, raw: Any, out: TextOutput) -> Iterator[tuple[bytes, bool]]:
        reader = None if self._is_plain else characters(self._encoding, is_named=True)
        ahead = raw.read(PIECE_BYTES)
        while True:
            now, ahead = ahead, raw.read(PIECE_BYTES)
            if reader is None:
                yield now, not ahead
            else:
                text = reader.feed(now, final=not ahead)
                out.expect(now, text)
                yield text, not ahead
            if not ahead:
                return

    def _write_rows(self, data: bytes, first: int, out: TextOutput) -> int:
        """Write whole rows, the first of which has number `first`; return how many there are."""
        count = self._lines.count(data)
        if count is not None and int(self._touched_rows[self._at]) >= first + count:
            out.copy(data)
            return count
        starts, stops = self._lines.spans(data)
        stop = self._at + int(np.searchsorted(self._touched_rows[self._at :], first + len(starts)))
        numbers = self._touched_rows[self._at : stop]
        if not len(numbers):
            out.copy(data)
            return len(starts)
        self._at = stop
        parts: list[bytes | memoryview] = []
        old, new, place, view = list[bytes](), list[bytes](), 0, memoryview(data)
        for number in numbers.tolist():
            start, end = int(starts[number - first]), int(stops[number - first])
            parts.append(view[place:start])
            body, line_end = without_line_end(data[start:end])
            old.append(body)
            if number not in self._deleted_rows:
                written = self._edit(body, number)
                new.append(written)
                parts.append(written + (line_end or (b"" if written else self._line_end)))
            place = end
        parts.append(view[place:])
        self._verify(numbers, old, new)
        out.replace(len(data), b"".join(parts))
        return len(starts)

    def _edit(self, body: bytes, number: int) -> bytes:
        try:
            return self._lines.edit(body, self._cells[number])
        except Unwritable as problem:
            raise self._cannot(problem, f"row {number + 1:,}") from problem

    def _encode(self, text: str, column: str) -> bytes:
        """Encode a text as the bytes that rows are searched in. Raises `Unwritable`."""
        try:
            data = text.encode(self._encoding)
        except UnicodeEncodeError as error:
            sign = error.object[error.start]
            raise Unwritable(
                column,
                f"The encoding of the file, {self._encoding}, has no character '{visible(sign)}' "
                f"(U+{ord(sign):04X})",
            ) from error
        return data if self._is_plain else text.encode(UTF8)

    def _verify(self, numbers: np.ndarray, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        """Verify that the rows found are those that were shown, and that the new bytes read back as the
        edited values."""
        if not len(numbers):
            return
        shown_rows = take_rows(self._snapshot, numbers, self._snapshot.columns)
        if self._differing(shown_rows, self._read(old)) is not None:
            raise FileProblem(
                self._source.path,
                f"reads differently around row {numbers[0] + 1:,} than when it was opened",
                "The rows cannot be identified reliably, so nothing was written",
                "Reload it, or import it and edit the copy",
            )
        edited = self._edits.cells
        columns = []
        for name in shown_rows.column_names:
            columns.append(shown_rows.column(name))
            rows, becomes = edited.get(name, (numbers[:0], None))
            places = np.flatnonzero(among(numbers, rows))
            if becomes is not None and len(places):
                new_values = take(becomes, np.searchsorted(rows, numbers[places]))
                columns[-1] = put(columns[-1], places, new_values)
        stay = [place for place, number in enumerate(numbers.tolist()) if number not in self._deleted_rows]
        expected = take(pa.Table.from_arrays(columns, schema=shown_rows.schema), np.array(stay, np.int64))
        self._verify_rows(expected, new, [int(numbers[place]) for place in stay])

    def _verify_rows(self, expected: pa.Table, lines: Sequence[bytes], numbers: Sequence[int]) -> None:
        if not lines:
            return
        met = self._differing(expected, self._read(lines))
        if met is not None:
            place, name = met
            row = f"row {numbers[place] + 1:,}" if numbers else f"new row {place + 1:,}"
            raise self._cannot(Unwritable(name, "It would be read as another value"), row)

    def _differing(self, expected: pa.Table, rows: pa.Table | None) -> tuple[int, str] | None:
        """The index and column of the first value that differs."""
        if rows is None or rows.num_rows != expected.num_rows:
            return 0, expected.column_names[0]
        for name in expected.column_names:
            places = np.flatnonzero(
                differs(combine_chunks(expected.column(name)), combine_chunks(rows.column(name)))
            )
            if len(places):
                return int(places[0]), name
        return None

    def _read(self, lines: Sequence[bytes]) -> pa.Table | None:
        data = b"".join(line + self._ends.newline for line in lines)
        if not data:
            return self._snapshot.schema.empty_table()
        try:
            if self._is_plain:
                data = characters(self._encoding, self._source.is_named).feed(data, final=True)
            return self._file.text.read(TextBlock(0, data, 1, 0), self._schema).rows
        except (FileProblem, UnicodeDecodeError):
            return None

    def _finish(self, out: TextOutput, has_end: bool) -> None:
        """Write the new rows, and end the file as before, with or without a line end."""
        rows = self._edits.rows
        out.flush()
        if rows is not None:
            lines = self._new_lines(fill_columns(rows, self._snapshot))
            if not out.line_end.endswith((b"\n", b"\r")) and out.has_output:
                out.write(self._line_end)
            out.write(self._line_end.join(lines) + (self._line_end if has_end or not lines[-1] else b""))
        elif not has_end and len(self._deleted_rows):
            out.take_back_line_end()
        out.close()
        if out.is_other:
            raise FileProblem(
                self._source.path,
                f"cannot be written in {self._encoding} as it was",
                "Some of its characters do not convert back to the same bytes",
                "Export it in UTF-8, and edit the copy",
            )

    def _new_lines(self, rows: pa.Table) -> list[bytes]:
        try:
            lines = self._lines.new(rows)
        except Unwritable as problem:
            raise self._cannot(problem, "a new row") from problem
        self._verify_rows(rows, lines, [])
        return lines

    def _refuse_missing(self, rows: int) -> None:
        if self._at < len(self._touched_rows):
            raise FileProblem(
                self._source.path,
                f"has {rows:,} rows, and row {self._touched_rows[self._at] + 1:,} was edited",
                "It reads differently than when it was opened",
                "Reload it",
            )

    def _cannot(self, problem: Unwritable, row: str) -> FileProblem:
        return FileProblem(
            self._source.path,
            f"cannot hold the value of {row} in column '{problem.column}'",
            problem.why,
            "Undo that edit, or export a copy in a format that can hold it",
        )


def _by_row(lines: Lines, snapshot: Snapshot, edits: FileEdits) -> dict[int, list[Cell]]:
    cells: dict[int, list[Cell]] = {}
    names = [column.name for column in snapshot.columns]
    for name, (numbers, values) in edits.cells.items():
        place = names.index(name)
        for number, text in zip(numbers.tolist(), lines.texts(place, values), strict=True):
            cells.setdefault(number, []).append((place, text))
    return cells


def _target_encoding(source: TextSource) -> str:
    """The encoding for new values: a file that is plain ASCII to its end is treated as UTF-8."""
    encoding = source.final_encoding()
    return UTF8 if encoding == ASCII else encoding


def is_ascii_based(encoding: str) -> bool:
    """Whether each byte below 128 is the ASCII character, and never part of another one."""
    if encoding == UTF8:
        return True
    characters = bytes(range(256)).decode(encoding, "replace")
    return len(characters) == 256 and characters[:128].encode("utf-8") == bytes(range(128))


def _refuse_without_rows(file: TextFile, snapshot: Snapshot, edits: FileEdits) -> None:
    num_rows = snapshot.num_rows - len(edits.deleted_rows) + edits.num_new
    if not num_rows and not file.text.skip_lines:
        raise FileProblem(
            file.path, "would hold no rows", "Nothing would be left of its columns either", "Keep a row"
        )


def _reading_schema(file: TextFile, snapshot: Snapshot, job: Job) -> pa.Schema:
    """The types to read the rows with: those that are shown, in the notation of the file."""
    if not isinstance(file.text, DelimitedText):
        return pa.schema([pa.field(c.name, c.type) for c in snapshot.columns])
    block, schema, _ = file.begin()
    schema = read_first_block(file, block, schema).schema
    if any(_may_be_spelled(schema, column) for column in snapshot.columns):
        with closing(file.blocks(job)) as blocks:
            for each in blocks:
                job.check()
                while (reading := read_block(file, each, schema)).rows is None:
                    schema = file.join(schema, reading.schema)
                if not any(_may_be_spelled(schema, column) for column in snapshot.columns):
                    break
    kinds = {field.name: field.type for field in schema if isinstance(field.type, SpelledType)}
    own = {c.name: kinds.get(c.name, c.type) for c in snapshot.columns}
    columns = [(c, own[c.name]) for c in snapshot.columns]
    return pa.schema([pa.field(c.name, kind if solid(kind) == c.type else c.type) for c, kind in columns])


def _may_be_spelled(schema: pa.Schema, column: Column) -> bool:
    """Whether the rows read so far do not tell how the values of the column are written."""
    kind = schema.field(column.name).type if column.name in schema.names else pa.null()
    settled = solid(kind) == column.type and not is_undecided(kind)
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return not settled and (numeric or pa.types.is_temporal(column.type))


def _refuse_other_spelling(file: TextFile, draft: TextFile) -> None:
    """Raise `FileProblem` if a column would be read by other rules after the edits: whether 1.234 is a
    thousand may depend on other values."""
    before, after = file.begin()[1], draft.begin()[1]
    for field in before:
        new = after.field(field.name).type if field.name in after.names else pa.null()
        if not _is_spelled_alike(field.type, new):
            raise FileProblem(
                file.path,
                f"cannot hold these edits: column '{field.name}' would be read in another way",
                "Its values would no longer show how their numbers or dates are written",
                "Undo some edits, or choose the notation when you open the file",
            )


def _is_spelled_alike(before: pa.DataType, after: pa.DataType) -> bool:
    if isinstance(before, SpelledType) and isinstance(after, SpelledType):
        old, new = before.spelling, after.spelling
        thousands = {old.thousands, new.thousands} - {""}
        orders = {old.order, new.order} - {YEAR_FIRST}
        same_kind = before.is_number == after.is_number
        return same_kind and old.decimal == new.decimal and len(thousands) < 2 and len(orders) < 2
    if isinstance(before, SpelledType):
        plain = pa.types.is_integer(after) if before.is_number else after == before.storage_type
        return plain or pa.types.is_null(after) or is_undecided(after)
    return not (isinstance(after, SpelledType) and pa.types.is_floating(before))


def _refuse_read_otherwise(file: TextFile, draft: Path) -> None:
    """Raise `FileProblem` unless the new file is detected with the same format, encoding and dialect as
    before."""
    before, is_delimited = file.source, isinstance(file.text, DelimitedText)
    try:
        format = recognise(draft).id
        describe = delimited_file if is_delimited else json_lines_file
        reading = describe(draft, replace(file.options, cache_dir=None, job=None))
    except FileProblem as problem:
        why = str(problem).replace(str(draft), "The new file")
        fix = "Undo some edits, or export a copy"
        raise FileProblem(file.path, "cannot hold these edits", why, fix) from problem
    same = [
        ("format", "csv" if is_delimited else "jsonl", format),
        ("encoding", *_encodings(before, reading.source)),
        ("byte-order mark", before.mark_bytes, reading.source.mark_bytes),
    ]
    if isinstance(file.text, DelimitedText) and isinstance(reading.text, DelimitedText):
        pairs = zip(vars(file.text.dialect).items(), vars(reading.text.dialect).values(), strict=True)
        same += [(name.replace("_", " "), old, new) for (name, old), new in pairs]
    for name, old, new in same:
        if old != new:
            raise FileProblem(
                file.path,
                f"cannot hold these edits: its {name} would be detected differently",
                f"It would be read as {short_text(new)} instead of {short_text(old)}",
                "Undo some edits, or export a copy",
            )
    _refuse_other_spelling(file, reading)


def _encodings(before: TextSource, after: TextSource) -> tuple[str, str]:
    """The encodings of two files to compare; the same if every character of the later one reads as in the
    earlier one."""
    if before.encoding == after.encoding:
        return before.encoding, after.encoding
    final = after.final_encoding()
    return (before.final_encoding() if final != ASCII else ASCII), final
