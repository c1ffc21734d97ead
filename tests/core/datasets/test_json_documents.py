"""JSON documents that hold an array of objects: the same rows as JSON lines, wherever the text is cut."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamella.core.datasets import open_dataset
from lamella.core.datasets.text import dataset as opening
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from tests.slow_tests import examples

ROUNDS = examples(40)

ROWS = [{"n": 1, "s": 'a "b" [{,\\', "l": [1, {"x": None}]}, {"n": 2, "d": "2024-02-29"}, {"s": "é,\n]"}]


def opened(path: Path) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache")


def as_lines(path: Path, rows: list[dict[str, Any]]) -> pa.Table:
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return opened(path).read()


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ascii", [True, False])
def test_an_array_of_objects_is_typed_like_json_lines(
    tmp_path: Path, indent: int | None, ascii: bool
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(ROWS, indent=indent, ensure_ascii=ascii), "utf-8")
    dataset = opened(path)
    assert dataset.format == "JSON" and dataset.remarks == ()
    assert dataset.read().equals(as_lines(tmp_path / "b.jsonl", ROWS))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["data", "features", 'a \\" b'])
def test_an_array_may_be_a_member(tmp_path: Path, indent: int | None, name: str) -> None:
    document = {
        "count": 3,
        "tags": ["x"],
        "meta": {"rows": [1, [2]]},
        name: ROWS,
        "next": {"a": [1]},
        "z": "]}",
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document, indent=indent), "utf-8")
    dataset = opened(path)
    assert dataset.read().equals(as_lines(tmp_path / "b.jsonl", ROWS))
    assert dataset.remarks == (opening.AROUND,)


def test_a_single_line_of_rows_is_told_by_its_name(tmp_path: Path) -> None:
    line = json.dumps({"id": 1, "items": [{"n": 1}, {"n": 2}]})
    for name, rows in (("a.jsonl", 1), ("a.json", 2)):
        (tmp_path / name).write_text(line)
        assert opened(tmp_path / name).num_rows == rows
    (tmp_path / "b.json").write_text(f"{line}\n{line}\n")
    assert opened(tmp_path / "b.json").num_rows == 2 and "id" in opened(tmp_path / "b.json").schema.names


@pytest.mark.slow
def test_a_large_document_is_read_through_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SMALLEST_BLOCK", 256 << 10)
    rows = [{"n": n, "s": f"row {n}", "at": {"x": n / 2}} for n in range(60_000)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"page": 1, "data": [*rows, {"n": "many"}]}, indent=1))
    dataset = opened(path)
    assert not dataset.snapshot().complete and dataset.schema.field("n").type == pa.int64()
    dataset.fill(Job())
    assert dataset.num_rows == 60_001 and dataset.read(["n"])["n"].to_pylist()[-2:] == ["59999", "many"]
    again = opened(path)
    assert again.snapshot().complete and again.remarks == (opening.AROUND,)


def test_a_large_document_that_was_cut_off_keeps_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SMALLEST_BLOCK", 256 << 10)
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"n": n, "s": "x" * 50} for n in range(60_000)])[:-20])
    dataset = opened(path)
    with pytest.raises(FileProblem, match="ends inside its array"):
        dataset.fill(Job())
    assert dataset.num_rows > 10_000


def test_a_compressed_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    assert opened(path).num_rows == 3


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text('a"\\[]{},:\n\té ', max_size=6),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.lists(
    st.dictionaries(st.text('ab"\\],', min_size=1, max_size=3), VALUES, min_size=1, max_size=3), min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=ROUNDS, deadline=None)
@given(OBJECTS, st.sampled_from([None, 0, 3]), st.integers(1, 40), st.booleans())
def test_pieces_may_end_anywhere(
    tmp_path: Path, rows: list[dict[str, Any]], indent: int | None, size: int, is_member: bool
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"a\\": ["["], "d": rows, "e": [1]} if is_member else rows, indent=indent))
    source = opening.ArraySource(**vars(opening.open_source(path, None, 100)))
    text = b"".join(piece.data for piece in source.pieces(size)).decode()
    assert [json.loads(line) for line in text.split("\n") if line.strip()] == rows


@pytest.mark.parametrize("text", ["[]", "[{}, {}]"])
def test_an_array_without_columns_says_what_is_missing(tmp_path, text: str) -> None:
    (tmp_path / "empty.json").write_text(text)
    with pytest.raises(FileProblem, match="It has no objects, or all of them are empty"):
        open_dataset(tmp_path / "empty.json")
