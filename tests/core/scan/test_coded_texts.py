"""Texts that repeat are read as places in dictionaries, and come as they would without."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamella import open_dataset
from lamella.core.errors import FileProblem
from lamella.core.scan import chunks
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import run_tasks
from lamella.core.scan.parquet_file import footer_of
from tests.slow_tests import examples

WORDS = st.sampled_from(["", "draft", "Größe", "北京", "a longer text than most", "\x00", None])
ROWS = 1_000


def written(path: Path, table: pa.Table, group: int = 300) -> Path:
    pq.write_table(table, path, row_group_size=group)
    return path


@settings(
    max_examples=examples(full=40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    first=st.lists(WORDS, max_size=40),
    second=st.lists(WORDS, max_size=40),
    group=st.integers(1, 60),
    at_once=st.sampled_from([3, 1 << 16]),
)
def test_reads_what_was_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: list[str | None],
    second: list[str | None],
    group: int,
    at_once: int,
) -> None:
    monkeypatch.setattr(chunks, "TEXTS_AT_ONCE", at_once)
    rows = range(min(len(first), len(second)))
    columns = {"a": [first[i] for i in rows] * 3, "n": list(rows) * 3, "b": [second[i] for i in rows] * 3}
    schema = pa.schema({"a": pa.string(), "n": pa.int64(), "b": pa.string()})
    table = pa.table(columns, schema=schema)
    opened = open_dataset(written(tmp_path / "rows.parquet", table, group))
    assert opened.read().equals(table)
    assert opened.read(columns=["b"]).equals(table.select(["b"]))


def test_only_columns_of_texts_that_repeat_are_read_so(tmp_path: Path) -> None:
    alike, apart = ["draft", "review"] * (ROWS // 2), [f"a text that is number {n}" for n in range(ROWS)]
    table = pa.table(
        {
            "alike": alike,
            "apart": apart,
            "large": pa.array(alike, pa.large_string()),
            "codes": pa.array(alike).dictionary_encode(),
            "inside": [{"alike": text} for text in alike],
        }
    )
    footer = footer_of(written(tmp_path / "rows.parquet", table))
    assert [name for name in table.column_names if footer.repeats_texts(name)] == ["alike"]
    assert not footer.repeats_texts("inside.alike") and not footer.repeats_texts("missing")
    opened = open_dataset(footer.path)
    assert opened.read().schema.types == table.schema.types
    assert opened.read().equals(table)


def test_a_column_and_a_field_may_have_the_same_path(tmp_path: Path) -> None:
    alike = ["draft", "review"] * (ROWS // 2)
    table = pa.table({"a.b": alike, "a": [{"b": text} for text in alike]})
    assert not footer_of(written(tmp_path / "rows.parquet", table)).repeats_texts("a.b")
    assert open_dataset(tmp_path / "rows.parquet").read().equals(table)


@pytest.mark.parametrize("alone", [True, False])
def test_a_file_stays_open_while_other_columns_are_asked_for(tmp_path: Path, alone: bool) -> None:
    alike = ["draft", "review"] * (ROWS // 2)
    apart = [f"a text that is number {n}" for n in range(ROWS)]
    columns = {"a": alike, "b": alike[::-1], "n": list(range(ROWS)), "apart": apart}
    footer = footer_of(written(tmp_path / "rows.parquet", pa.table(columns)))
    with OpenFile(alone) as file:
        for names in (["n"], ["a"], ["b", "n"], ["apart", "a"], ["n", "a", "b"]):
            actual = chunks.decode(footer, [0, 1, 2, 3], [(name,) for name in names], file)
            assert [column.to_pylist() for column in actual] == [columns[name] for name in names]
            assert {column.type for column in actual} <= {pa.string(), pa.int64()}


def test_threads_that_read_look_up_for_themselves(tmp_path: Path) -> None:
    alike = ["draft", "review"] * (ROWS // 2)
    footer = footer_of(written(tmp_path / "rows.parquet", pa.table({"a": alike})))
    actual = run_tasks(lambda group, file: chunks.decode(footer, [group], [("a",)], file)[0], range(4))
    assert [text for part in actual for text in part.to_pylist()] == alike


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """A bit of each byte of the places and of the dictionary wrong: an error of ours, or other texts."""
    path, texts = tmp_path / "rows.parquet", ["x", "yy", "zzz", "w", "v"] * 20
    pq.write_table(pa.table({"a": texts}), path, compression="none")
    whole, stop = path.read_bytes(), footer_of(path).metadata.row_group(0).column(0).total_compressed_size
    refused = 0
    for place in range(4, stop):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        copy = tmp_path / f"{place}.parquet"
        copy.write_bytes(damaged)
        try:
            chunks.decode(footer_of(copy), [0], [("a",)])
        except FileProblem as problem:
            assert problem.path == copy
            refused += 1
    assert refused
