"""Folders and globs of text files as one dataset: by name, with what differs said, and read like one file."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.datasets import open_dataset
from lamella.core.datasets.partitions import FROM_FOLDER
from lamella.core.datasets.preview import preview
from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.datasets.text import files as text_files
from lamella.core.datasets.text.delimited import PaddableRow
from lamella.core.errors import FileProblem, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sales").mkdir()
    return tmp_path / "sales"


def opened(path: Path, **options: Any) -> Any:
    return open_dataset(path, cache_dir=path.parents[len(path.parents) - 4] / "cache", **options)


def test_rows_follow_each_other_in_the_order_of_names(folder: Path) -> None:
    for month in range(12, 0, -1):
        (folder / f"{month:02}.csv").write_text(f"month,n\n{month},1\n{month},2\n")
    for place in (folder, folder / "*.csv"):
        dataset = opened(place)
        assert dataset.snapshot().complete and dataset.remarks == ()
        assert dataset.format == "CSV, 12 files"
        assert dataset.read()["month"].to_pylist() == [m for m in range(1, 13) for _ in range(2)]
    assert opened(folder / "0*.csv").num_rows == 18


def test_columns_are_found_by_name_and_what_is_missing_is_said(folder: Path) -> None:
    (folder / "a.csv").write_text("a,b\n1,x\n")
    (folder / "b.tsv").write_text("b\ta\tc\ny\t2\t2024-01-01\n")
    (folder / "c.csv.gz").write_bytes(gzip.compress(b"a;b\n3;z\n"))
    dataset = opened(folder)
    assert dataset.schema.names == ["a", "b", "c"]
    assert dataset.read()["a"].to_pylist() == [1, 2, 3] and dataset.read()["b"].to_pylist() == ["x", "y", "z"]
    assert dataset.schema.field("c").type == pa.date32() and dataset.read()["c"].null_count == 2
    assert dataset.remarks == ("Column 'c' is missing in a.csv, c.csv.gz, and null there",)


def test_types_fit_the_values_of_all_files(folder: Path) -> None:
    (folder / "a.csv").write_text("n,m,o\n1,1,\n")
    (folder / "b.csv").write_text("n,m,o\n1.5,x,5\n")
    dataset = opened(folder)
    assert dataset.schema.types == [pa.float64(), pa.string(), pa.int64()]
    assert dataset.read().to_pydict() == {"n": [1.0, 1.5], "m": ["1", "x"], "o": [None, 5]}


def test_json_lines_and_documents(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"n": 1}\n')
    (folder / "b.jsonl").write_text('{"n": 2, "l": [1]}\n')
    assert opened(folder).read().to_pylist() == [{"n": 1, "l": None}, {"n": 2, "l": [1]}]
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").unlink()
        (folder / f"{name}.json").write_text(json.dumps([{"n": 1}, {"n": 2}], indent=1))
    assert opened(folder).read()["n"].to_pylist() == [1, 2, 1, 2]


def test_folders_that_stand_for_values_are_columns(folder: Path) -> None:
    for year, shop in ((2023, "Rome"), (2024, "Oslo")):
        place = folder / f"year={year}" / f"shop={shop}"
        place.mkdir(parents=True)
        (place / "a.csv").write_text(f"n\n{year}\n0\n")
    dataset = opened(folder)
    assert dataset.schema.names == ["n", "year", "shop"] and dataset.schema.field("year").type == pa.int64()
    assert dataset.read(where=(col("shop") == "Oslo") & (col("n") > 0)).to_pylist() == [
        {"n": 2024, "year": 2024, "shop": "Oslo"}
    ]
    assert (dataset.schema.field("year").metadata or {})[b"note"].decode() == FROM_FOLDER


@pytest.mark.slow
def test_large_files_are_read_through_one_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 64 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 128 << 10)
    monkeypatch.setattr(text_files, "BYTES_A_BLOCK", 128 << 10)
    for file in range(3):
        last = "many,z\n" if file == 2 else ""
        (folder / f"{file}.csv").write_text("n,s\n" + "".join(f"{n},s{file}\n" for n in range(50_000)) + last)
    dataset = opened(folder)
    assert not dataset.snapshot().complete and dataset.schema.field("n").type == pa.int64()
    fractions: list[float | None] = []
    dataset.fill(Job(lambda progress: fractions.append(progress.fraction)))
    assert fractions[-1] == 1.0
    numbers = dataset.read(["n"])["n"].to_pylist()
    assert numbers == [str(n) for _ in range(3) for n in range(50_000)] + ["many"]
    assert opened(folder).snapshot().complete
    later = (folder / "1.csv").stat().st_mtime_ns + 10**9
    os.utime(folder / "1.csv", ns=(later, later))
    assert not opened(folder).snapshot().complete


def test_a_file_without_a_column_in_common_is_refused(folder: Path) -> None:
    (folder / "a.csv").write_text("a,b\n1,x\n")
    (folder / "b.csv").write_text("c,d\n1,x\n")
    with pytest.raises(FileProblem, match=r"b\.csv: has no column in common with a\.csv.*one by one"):
        opened(folder)


def test_a_short_row_names_its_file(folder: Path) -> None:
    (folder / "a.csv").write_text("a,b\n1,x\n")
    (folder / "b.csv").write_text("a,b\n1,x\n2\n")
    with pytest.raises(PaddableRow, match=r"b\.csv: line 3 has 1 field"):
        opened(folder)
    assert opened(folder, ragged="pad").read()["b"].to_pylist() == ["x", "x", None]


def test_fifty_files_become_a_table(folder: Path, tmp_path: Path) -> None:
    for month in range(50):
        (folder / f"{month:02}.csv").write_text("day,amount\n" + f"2024-01-01,{month}\n" * 100)
    with Store.open(tmp_path / "store") as store:
        table = import_dataset(opened(folder), store)
        assert (table.name, table.num_rows) == ("sales", 5000)


def test_columns_are_read_as_chosen_types_in_the_files_that_have_them(folder: Path) -> None:
    (folder / "a.csv").write_text("day,n\n01.02.2024,1\nsoon,2\n")
    (folder / "b.csv").write_text("day,price\n05.02.2024,x\n")
    (folder / "c.csv").write_text("n;price\nx;1.5\n")
    chosen = {"day": "date", "price": "decimal(10, 2)", "n": "text"}
    dataset = opened(folder, types=chosen, names={"price": "cost"})
    assert dataset.schema.names == ["day", "n", "cost"]
    assert dataset.read().to_pydict() == {
        "day": [dt.date(2024, 2, 1), None, dt.date(2024, 2, 5), None],
        "n": ["1", "2", None, "x"],
        "cost": [None, None, None, Decimal("1.50")],
    }
    assert dataset.remarks[-2:] == (
        "day: 1 value is not a date, and null: 'soon' in line 3 of a.csv",
        "cost: 1 value is not a decimal128(10, 2), and null: 'x' in line 2 of b.csv",
    )
    with pytest.raises(UnknownColumn, match=r"'dya'.*'day'"):
        opened(folder, types={"dya": "date"})


def test_a_preview_of_several_files_has_all_columns_as_they_are_written(folder: Path) -> None:
    (folder / "a.csv").write_text("day;n\n01.02.2024;1,5\nsoon;2,5\n")
    (folder / "b.csv").write_text("n;z\nx;y\n")
    actual = preview(folder, {"types": {"day": "date", "n": "float64"}, "names": {"day": "due"}})
    assert actual.is_typed and actual.findings["delimiter"] == ";"
    assert [(c.key, c.name, c.kind, c.texts, c.misfits) for c in actual.columns] == [
        ("day", "due", pa.date32(), ("01.02.2024", "soon"), 1),
        ("n", "n", pa.float64(), ("1,5", "2,5"), 1),
        ("z", "z", pa.string(), ("y",), 0),
    ]
