"""Random edits of files in any dialect: reads return the edited values, and nothing else changed.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from lamella.core.datasets import open_dataset
from lamella.core.errors import FileProblem
from lamella.core.transfer import text_edits, text_output
from lamella.core.transfer.saving import save_edits
from tests.slow_tests import examples

RUNS = examples(20)
SIGNS = "ab ;,|\t\"'\r\n=é€Ω0.1"
TEXTS = st.one_of(st.none(), st.text(SIGNS, max_size=6), st.sampled_from(["", "NA", "007", "x y", "{}"]))
VALUES: dict[str, Any] = {
    "text": TEXTS,
    "whole": st.none() | st.integers(-(10**6), 10**6),
    "price": st.none() | st.integers(-9999, 9999).map(lambda cents: cents / 100),
    "share": st.none() | st.floats(-1e6, 1e6, allow_nan=False),
    "day": st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "at": st.none() | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "flag": st.none() | st.booleans(),
}
REFUSALS = (
    "has no character",
    "would be detected differently",
    "would be read as another",
    "in a file without",
)


@dataclass(frozen=True)
class Style:
    delimiter: str
    newline: str
    encoding: str
    mark: bytes
    quote_all: bool
    final_newline: bool
    blank_lines: bool
    packed: bool

    def field(self, value: Any, kind: str) -> str:
        if value is None:
            return ""
        text = {
            "price": lambda: f"{value:.2f}",
            "at": lambda: value.isoformat(" "),
            "flag": lambda: str(value).upper(),
            "share": lambda: repr(value),
        }.get(kind, lambda: str(value))()
        signs = (self.delimiter, '"', "\r", "\n")
        needs = kind == "text" and (not text or self.quote_all or any(sign in text for sign in signs))
        return '"' + text.replace('"', '""') + '"' if needs else text

    def bytes(self, text: str) -> bytes:
        return text.encode(self.encoding)


STYLES = st.builds(
    Style, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "cp1252", "utf-16-le"]), st.just(b""), st.booleans(), st.booleans(),
    st.booleans(), st.sampled_from([False, False, False, True]),
).map(lambda style: style if style.encoding != "utf-16-le" else Style(
    *(b"\xff\xfe" if name == "mark" else value for name, value in vars(style).items())
))  # fmt: skip


@st.composite
def cases(
    draw: st.DrawFn,
) -> tuple[list[str], list[list[Any]], dict[int, dict[int, Any]], list[int], list[Any]]:
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=4))
    row = st.tuples(*(VALUES[kind] for kind in kinds)).map(list)
    rows = draw(st.lists(row, min_size=1, max_size=12))
    numbers = st.integers(0, len(rows) - 1)
    deleted = sorted(draw(st.sets(numbers, max_size=2)))
    changed: dict[int, dict[int, Any]] = {}
    for number in draw(st.sets(numbers, max_size=4)) - set(deleted):
        places = draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1))
        changed[number] = {place: draw(VALUES[kinds[place]]) for place in places}
    return kinds, rows, changed, deleted, draw(st.lists(row, max_size=2))


@pytest.fixture(autouse=True)
def small_pieces() -> Iterator[None]:
    """Use pieces so small that rows and characters cross their edges."""
    with patch.object(text_edits, "PIECE_BYTES", 24), patch.object(text_output, "LEAST_COPIED", 5):
        yield


@settings(max_examples=RUNS)
@given(cases(), STYLES)
def test_delimited_text(tmp_path_factory: pytest.TempPathFactory, case: Any, style: Style) -> None:
    kinds, rows, changed, deleted, new = case
    names = [f"{kind}_{place}" for place, kind in enumerate(kinds)]
    path = tmp_path_factory.mktemp("files") / "rows.csv"
    try:
        fields = [[style.field(v, k) for v, k in zip(row, kinds, strict=True)] for row in rows]
        lines = [style.bytes(style.delimiter.join(row) + style.newline) for row in fields]
        head = style.mark + style.bytes(style.delimiter.join(names) + style.newline)
    except UnicodeEncodeError:
        assume(False)
    blank = style.bytes(style.newline) if style.blank_lines else b""
    data = head + blank.join(lines)
    if not style.final_newline:
        data = data[: len(data) - len(style.bytes(style.newline))]
    path.write_bytes(gzip.compress(data) if style.packed else data)
    texts = [name for name, kind in zip(names, kinds, strict=True) if kind == "text"]
    options: dict[str, Any] = {"delimiter": style.delimiter, "header": True, "text_columns": texts}
    try:
        before = open_dataset(path, **options)
        old = before.read()
    except FileProblem:
        assume(False)
    assume(old.num_rows == len(rows) and old.column_names == names)
    fits = [_kind_of(old.schema.field(name).type) for name in names]
    assume(
        all(
            fit == kind or (fit == "price" and kind == "share") for fit, kind in zip(fits, kinds, strict=True)
        )
    )
    for place, name in enumerate(names):
        assert name not in texts or old.column(name).to_pylist() == [row[place] for row in rows]
    cells = {row: {names[place]: value for place, value in each.items()} for row, each in changed.items()}
    added = [dict(zip(names, row, strict=True)) for row in new]
    try:
        save_edits(before, cells, added, deleted)
    except FileProblem as problem:
        assert any(reason in str(problem) for reason in REFUSALS), problem
        assert path.read_bytes() == (gzip.compress(data) if style.packed else data) or style.packed
        assert [each.name for each in path.parent.iterdir()] == ["rows.csv"]
        event("refused")
        return
    written = path.read_bytes()
    after = open_dataset(path, **options).read()
    expected = [
        {**row, **cells.get(number, {})}
        for number, row in enumerate(old.to_pylist())
        if number not in deleted
    ] + added
    for name in names:
        if after.schema.field(name).type == old.schema.field(name).type:
            assert after.column(name).to_pylist() == [row[name] for row in expected]
    assert after.num_rows == len(expected)
    plain = gzip.decompress(written) if style.packed else written
    _check_untouched(plain, head, fields, lines, changed, deleted, style)


def _kind_of(kind: pa.DataType) -> str:
    known = {"string": "text", "int64": "whole", "double": "price", "date32[day]": "day", "bool": "flag"}
    return known.get(str(kind), "at")


def _check_untouched(
    data: bytes,
    head: bytes,
    fields: list[list[str]],
    lines: list[bytes],
    changed: dict[int, dict[int, Any]],
    deleted: list[int],
    style: Style,
) -> None:
    """Unedited rows are kept byte for byte, and so are the unedited fields of edited rows."""
    stripped = head if data.startswith(head) else head[: len(head) - len(style.bytes(style.newline))]
    assert data.startswith(stripped)
    text = data[len(stripped) :].decode(style.encoding)
    place, sign = 0, re.escape(style.delimiter)
    for number, row in enumerate(fields):
        place += len(re.match(r"[\r\n]*", text[place:])[0]) if style.blank_lines else 0
        if number in deleted:
            continue
        if number not in changed:
            line = lines[number].decode(style.encoding)
            assert text.startswith(line, place) or text[place:] == line[: -len(style.newline)]
            place += len(line)
            continue
        pattern = sign.join(
            rf'("(?:[^"]|"")*"|[^{sign}\r\n]*)' if column in changed[number] else f"({re.escape(field)})"
            for column, field in enumerate(row)
        )
        match = re.match(pattern + f"({style.newline}|$)", text[place:])
        assert match is not None, (pattern, text[place:])
        place += match.end()


JSON_VALUES: dict[str, Any] = {
    "text": st.none() | st.text('ab"\\é\n{}', max_size=5),
    "whole": st.none() | st.integers(-(2**53), 2**53),
    "share": st.none() | st.floats(-1e6, 1e6, allow_nan=False),
    "flag": st.none() | st.booleans(),
    "list": st.none() | st.lists(st.integers(0, 9), min_size=1, max_size=3),
    "inner": st.none() | st.fixed_dictionaries({"k": st.integers(0, 9), "t": st.text("ab", max_size=2)}),
}


@st.composite
def json_cases(draw: st.DrawFn) -> Any:
    kinds = draw(st.lists(st.sampled_from(list(JSON_VALUES)), min_size=1, max_size=4, unique=True))
    rows = draw(st.lists(st.fixed_dictionaries({k: JSON_VALUES[k] for k in kinds}), min_size=1, max_size=10))
    lacking = [{k: v for k, v in row.items() if v is not None or draw(st.booleans())} for row in rows]
    numbers = st.integers(0, len(rows) - 1)
    deleted = sorted(draw(st.sets(numbers, max_size=2)))
    cells = {
        number: {kind: draw(JSON_VALUES[kind]) for kind in draw(st.sets(st.sampled_from(kinds), min_size=1))}
        for number in draw(st.sets(numbers, max_size=4)) - set(deleted)
    }
    return (
        lacking,
        cells,
        deleted,
        draw(st.sampled_from([None, (",", ":"), (" ,  ", " : ")])),
        draw(st.booleans()),
    )


@settings(max_examples=RUNS)
@given(json_cases())
def test_json_lines(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    rows, cells, deleted, separators, has_end = case
    path = tmp_path_factory.mktemp("files") / "rows.jsonl"
    lines = [json.dumps(row, separators=separators, ensure_ascii=bool(n % 2)) for n, row in enumerate(rows)]
    path.write_text("\n".join(lines) + ("\n" if has_end else ""), "utf-8")
    before_bytes = path.read_bytes()
    try:
        before = open_dataset(path)
        old = before.read()
    except FileProblem:
        assume(False)
    kinds = {"text": "string", "whole": "int64", "share": "double", "flag": "bool"}
    assume(before.format == "JSON lines")
    assume(all(str(f.type) == kinds.get(f.name, str(f.type)) for f in old.schema))
    assume(all(pa.types.is_list(f.type) for f in old.schema if f.name == "list"))
    assume(all(pa.types.is_struct(f.type) for f in old.schema if f.name == "inner"))
    cells = {row: {n: v for n, v in each.items() if n in old.schema.names} for row, each in cells.items()}
    try:
        save_edits(before, cells, delete=deleted)
    except FileProblem as problem:
        assert "would hold no rows" in str(problem) or any(r in str(problem) for r in REFUSALS), problem
        assert path.read_bytes() == before_bytes
        return
    text = path.read_text("utf-8")
    assert text.endswith("\n") == has_end
    left = text.split("\n")
    stay = [number for number in range(len(rows)) if number not in deleted]
    for line, number in zip(left, stay, strict=False):
        if number not in cells:
            assert line == lines[number]
        was = {k: v for k, v in rows[number].items() if k not in cells.get(number, {})}
        now = json.loads(line)
        assert {**was, **cells.get(number, {})} == {
            **now,
            **{k: None for k in cells.get(number, {}) if k not in now},
        }
    assert len([line for line in left if line]) == len(stay)


@settings(max_examples=RUNS // 2)
@given(cases(), st.integers(1, 5), st.sampled_from(["zstd", "snappy", "none"]))
def test_parquet(tmp_path_factory: pytest.TempPathFactory, case: Any, size: int, codec: str) -> None:
    kinds, rows, changed, deleted, new = case
    types = {
        "text": pa.string(), "whole": pa.int32(), "price": pa.float64(), "share": pa.float64(),
        "day": pa.date32(), "at": pa.timestamp("us"), "flag": pa.bool_(),
    }  # fmt: skip
    names = [f"{kind}_{place}" for place, kind in enumerate(kinds)]
    fields = [pa.field(n, types[k], metadata={"of": n}) for n, k in zip(names, kinds, strict=True)]
    schema = pa.schema(fields, {"made": "by a test"})
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)
    path = tmp_path_factory.mktemp("files") / "rows.parquet"
    pq.write_table(table, path, row_group_size=size, compression=codec)
    before = pq.ParquetFile(path)
    groups = [before.metadata.row_group(n).num_rows for n in range(before.metadata.num_row_groups)]
    cells = {row: {names[place]: value for place, value in each.items()} for row, each in changed.items()}
    added = [dict(zip(names, row, strict=True)) for row in new]
    save_edits(open_dataset(path), cells, added, deleted)
    after = pq.ParquetFile(path)
    expected = [
        {**row, **cells.get(number, {})}
        for number, row in enumerate(table.to_pylist())
        if number not in deleted
    ] + added
    assert after.read().to_pylist() == expected
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.schema.equals(before.schema)
    assert after.metadata.metadata.keys() == before.metadata.metadata.keys()
    if not deleted and not added:
        assert [after.metadata.row_group(n).num_rows for n in range(after.metadata.num_row_groups)] == groups
    if after.metadata.num_row_groups:
        chunks = [after.metadata.row_group(0).column(n) for n in range(len(names))]
        assert {chunk.compression.casefold() for chunk in chunks} == {codec.replace("none", "uncompressed")}
