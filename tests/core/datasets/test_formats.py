"""The one table of formats: documented, recognised by content, and the same rows from each of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from lamella import Store, sql
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import OpenOptions
from lamella.core.datasets.formats import FORMATS, kind_of, sentence, tables_of, usual_suffixes
from lamella.core.errors import FileProblem
from lamella.core.store.importing import import_file
from tests.core.datasets.workbooks import workbook

ROOT = Path(__file__).resolve().parents[3]
ROWS = [{"n": 1, "word": "a"}, {"n": 2, "word": None}, {"n": -3, "word": 'é, "x"'}]


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.id)
def test_the_page_of_files_has_a_row_for_each_format(known) -> None:
    rows = (ROOT / "docs" / "files.md").read_text("utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| {known.label} |"))
    assert all(f"`.{suffix}`" in row for suffix in known.suffixes)


def test_options_are_those_of_opening() -> None:
    assert {name for known in FORMATS for name in known.options} <= set(OpenOptions.__dataclass_fields__)


def test_no_two_formats_share_an_id_or_a_suffix() -> None:
    assert len({known.id for known in FORMATS}) == len(FORMATS)
    assert len(set(usual_suffixes())) == len(usual_suffixes())


def arrow(path: Path) -> None:
    rows = pa.Table.from_pylist(ROWS)
    with ipc.new_file(path, rows.schema) as file:
        file.write_table(rows)


def arrow_stream(path: Path) -> None:
    rows = pa.Table.from_pylist(ROWS)
    with ipc.new_stream(path, rows.schema) as file:
        file.write_table(rows)


def sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE rows (n INTEGER, word TEXT)")
        connection.executemany("INSERT INTO rows VALUES (:n, :word)", ROWS)


def in_duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows (n BIGINT, word VARCHAR)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", [list(row.values()) for row in ROWS])


MAKERS: dict[str, Callable[[Path], object]] = {
    "delta": lambda path: write_deltalake(path, pa.Table.from_pylist(ROWS)),
    "parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "arrow": arrow,
    "arrow-stream": arrow_stream,
    "excel": lambda path: workbook(path, {"rows": [list(ROWS[0]), *(list(row.values()) for row in ROWS)]}),
    "sqlite": sqlite,
    "duckdb": in_duckdb,
    "json": lambda path: path.write_text(json.dumps(ROWS)),
    "jsonl": lambda path: path.write_text("\n".join(map(json.dumps, ROWS))),
    "csv": lambda path: path.write_text('n,word\n1,a\n2,\n-3,"é, ""x"""\n', encoding="utf-8"),
}


@pytest.mark.slow(except_every=2)
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.id)
@pytest.mark.parametrize("name", ["rows", "rows.parquet"])
def test_the_same_rows_from_every_format_by_every_way(tmp_path: Path, known, name: str) -> None:
    path = tmp_path / name
    MAKERS[known.id](path)
    assert kind_of(path).label == known.label and known.label in sentence([kind_of(path)])
    assert open_dataset(path).read().to_pylist() == ROWS
    assert sql("SELECT n FROM rows WHERE n < 2 ORDER BY n", {"rows": path})["n"].to_pylist() == [-3, 1]
    with Store.open(tmp_path / "store") as store:
        table = import_file(path, store)
        assert table.read(["n", "word"]).to_pylist() == ROWS


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.id)
def test_a_table_is_named_only_where_there_are_several(tmp_path: Path, known) -> None:
    path = tmp_path / "rows"
    MAKERS[known.id](path)
    assert [table.name for table in tables_of(path)] == (["rows"] if known.tables else [])
    if known.tables:
        assert open_dataset(path, table="rows").num_rows == 3
    else:
        with pytest.raises(FileProblem, match=r"is one table.*Leave 'rows' out"):
            open_dataset(path, table="rows")
