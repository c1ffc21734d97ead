"""`lamella query` prints tables for people, and CSV and JSON for programs."""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import Store
from lamella.app.commands.query import FORMATS, NULL, WIDEST
from lamella.app.commands.terminal import CLEAR_LINE
from lamella.core.errors import visible

ROOT = Path(__file__).resolve().parents[2]
ROWS = pa.table(
    {
        "n": pa.array([1, None, 1000], pa.int64()),
        "text": pa.array(["a", 'b,\n"c"', ""]),
        "when": pa.array([datetime.datetime(2013, 1, 1, 5), None, datetime.datetime(2013, 12, 31)]),
        "x": pa.array([0.5, float("nan"), float("inf")]),
        "raw": pa.array([b"\x00\xff", None, b""]),
        "list": pa.array([[1, 2], [], None]),
    }
)


def printed(table: pa.Table, format_name: str) -> str:
    out = io.StringIO()
    FORMATS[format_name](table, out)
    return out.getvalue()


def test_csv_quotes_what_needs_it_and_leaves_null_empty():
    header, first, second, third = csv.reader(io.StringIO(printed(ROWS, "csv")))
    assert header == ROWS.column_names
    assert first == ["1", "a", "2013-01-01 05:00:00", "0.5", "00ff", "[1, 2]"]
    assert second[:3] == ["", 'b,\n"c"', ""]
    assert third[0] == "1000"


@pytest.mark.parametrize("format_name", ["json", "jsonl"])
def test_json_is_json_for_every_value(format_name):
    text = printed(ROWS, format_name)
    rows = json.loads(text) if format_name == "json" else [json.loads(line) for line in text.splitlines()]
    assert [row["n"] for row in rows] == [1, None, 1000]
    assert rows[0]["list"] == [1, 2] and rows[0]["when"] == "2013-01-01 05:00:00"
    assert [row["x"] for row in rows] == [0.5, "nan", "inf"]


def test_a_table_lines_numbers_up_and_tells_null_from_nothing():
    header, rule, first, second, third, count = printed(ROWS.select(["n", "text"]), "table").splitlines()
    assert header == "   n  text"
    assert rule == "────  ──────"
    assert (first, third) == ("   1  a", "1000")
    assert second.startswith(NULL) and "⏎" in second
    assert count == "(3 rows)"


def test_long_text_is_cut_in_a_table_and_nowhere_else():
    table = pa.table({"t": ["x" * 200]})
    assert max(map(len, printed(table, "table").splitlines())) == WIDEST
    assert "x" * 200 in printed(table, "csv") and "x" * 200 in printed(table, "json")


@pytest.mark.parametrize("format_name", FORMATS)
def test_an_answer_without_rows_still_has_its_shape(format_name):
    text = printed(ROWS.slice(0, 0), format_name)
    expected = {"table": "(0 rows)", "csv": "n,text", "json": "[\n]", "jsonl": ""}[format_name]
    assert expected in text


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1) | st.none(), st.text()), max_size=5))
def test_any_rows_come_back_from_json_lines(rows):
    table = pa.table(
        {"a": pa.array([r[0] for r in rows], pa.int64()), "b": pa.array([r[1] for r in rows], pa.string())}
    )
    back = [json.loads(line) for line in printed(table, "jsonl").split("\n") if line]
    assert [(row["a"], row["b"]) for row in back] == rows


HOSTILE = pa.table(
    {"a\x1b[2Jb\n\u202e": ["x\x1b]0;title\x07y", "\x9b31m\x7f", "a\u202eb\u2066c\u200e\u061c\u2028"]}
)
CONTROLS = {chr(code) for code in (*range(10), *range(11, 32), *range(127, 160))}
MARKS = set("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_visible_text_holds_nothing_that_steers_what_shows_it():
    steering = CONTROLS - {"\t"} | MARKS
    assert not set(visible("".join(steering))) & steering
    assert visible("a\u202eb\x1b\x9b\x7f\n\t") == "a\\u202eb␛\\x9b␡\n\t"
    assert visible("שלום, עולם 👩‍🔬 é\u0301") == "שלום, עולם 👩‍🔬 é\u0301"


def test_a_table_shows_control_characters_in_names_and_cells():
    text = printed(HOSTILE, "table")
    assert not set(text) & (CONTROLS | MARKS)
    assert text.splitlines()[0] == "a␛[2Jb⏎\\u202e" and "x␛]0;title␇y" in text and "\\x9b31m␡" in text
    assert "a\\u202eb\\u2066c\\u200e\\u061c\\u2028" in text


@pytest.mark.parametrize("format_name", ["json", "jsonl"])
def test_json_escapes_control_characters_and_gives_them_back(format_name):
    text = printed(HOSTILE, format_name)
    assert not set(text) & CONTROLS
    rows = json.loads(text) if format_name == "json" else list(map(json.loads, text.split("\n")[:-1]))
    assert rows == HOSTILE.to_pylist()


def in_terminal(*words: str) -> str:
    """The text that a command writes to a terminal on both of its streams."""
    ours, theirs = os.openpty()
    environment = os.environ | {"PYTHONIOENCODING": "utf8"}
    with subprocess.Popen(
        [sys.executable, "-m", "lamella.app", *words],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment,
    ) as process:  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux' word for the end of a terminal
                break
            if not part:
                break
            said += part
        process.wait()
    os.close(ours)
    return said.decode("utf8").replace(CLEAR_LINE, "").replace("\r\n", "\n")


@pytest.mark.slow(after=1)
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="pseudo-terminals are of Unix")
@pytest.mark.parametrize(
    "words",
    [
        ["query", "{file}", "select * from hostile", "--format", "csv"],
        ["query", "{file}", "select * from hostile", "--format", "jsonl"],
        ["query", "{file}", "select * from hostile", "--format", "table"],
        ["query", "{file}", "--table", "hostile", "--where", "nothing = 1"],
        ["sqlite", "{file}", "--command", "select * from hostile"],
    ],
    ids=["csv", "json", "table", "message", "sqlite"],
)
def test_a_terminal_gets_no_control_characters_of_names_and_cells(tmp_path, words):
    file = tmp_path / "hostile.parquet"
    pq.write_table(HOSTILE, file)
    said = in_terminal(*(word.format(file=file) for word in words))
    if words[0] == "sqlite":  # its shell colours what it writes
        said = re.sub(r"\x1b\[\d+m", "", said)
    assert not set(said) & (CONTROLS | MARKS)
    assert ("␛" in said or "\\u001b" in said) and "\\u202e" in said


def in_pipe(*words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lamella.app", *words]
    environment = os.environ | {"PYTHONIOENCODING": "utf8"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)


def test_a_pipe_gets_csv_as_it_is(tmp_path):
    file = tmp_path / "hostile.parquet"
    pq.write_table(HOSTILE, file)
    said = in_pipe("query", str(file), "select * from hostile", "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(said.decode("utf8"), newline=""))) == [
        HOSTILE.column_names,
        *([cell] for cell in HOSTILE.column(0).to_pylist()),
    ]


@pytest.mark.slow
def test_a_pipe_gets_json_and_the_rows_of_sqlite_as_they_are(tmp_path):
    file = tmp_path / "hostile.parquet"
    pq.write_table(HOSTILE, file)
    said = in_pipe("query", str(file), "select * from hostile", "--format", "jsonl").stdout.decode("utf8")
    assert "a\u202eb\u2066c" in said
    assert [json.loads(line) for line in said.split("\n")[:-1]] == HOSTILE.to_pylist()
    ours = in_pipe("sqlite", str(file), "--command", ".mode list", "--command", "select * from hostile")
    assert "a\u202eb\u2066c\u200e\u061c\u2028" in ours.stdout.decode("utf8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["summary", "{store}"],
        ["query", "{store}", "--table", "hostile", "--where", "{name} is not null", "--explain"],
        ["query", "{store}", "--table", "hostile", "--where", "nothing = 1"],
        ["query", "{store}", "select 1", "--odd\u202e\x1b"],
        ["--odd\u202e\x1b"],
        ["verify", "{store}", "no\u202e\x1b"],
    ],
    ids=["summary", "explain", "message", "options", "window", "name"],
)
def test_what_people_read_shows_control_characters_in_a_pipe_too(tmp_path, words):
    name = HOSTILE.column_names[0]
    with Store.open(tmp_path / "store") as store:
        store.create_table("hostile", HOSTILE)
    said = in_pipe(*(word.format(store=tmp_path / "store", name=f'"{name}"') for word in words))
    text = (said.stdout + said.stderr).decode("utf8")
    assert not set(text) & (CONTROLS | MARKS)
    assert "\\u202e" in text and "␛" in text
