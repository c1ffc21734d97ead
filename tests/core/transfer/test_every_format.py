"""Exports to any format are written whole or not at all, counted, and refused with a reason."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.arrow.types import type_named
from lamella.core.errors import BadData, Cancelled, FileProblem, TypeConflict
from lamella.core.jobs import Job, Progress
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.formats import FORMATS, Format, all_options
from lamella.core.transfer.writer import FINER_KINDS, KINDS, Rows
from tests.mounts import filled, seen_read_only, small_disk

SCHEMA = pa.schema([("n", pa.int64()), ("word", pa.string())])
STEP = 20_000
each_format = pytest.mark.parametrize("known", FORMATS, ids=[known.id for known in FORMATS])


def tables(steps: int, at_step: dict[int, Exception] | None = None) -> Iterator[pa.Table]:
    for step in range(steps):
        if at_step and step in at_step:
            raise at_step[step]
        numbers = range(step * STEP, (step + 1) * STEP)
        yield pa.table({"n": numbers, "word": [f"{n * 7919 % 100_003}x{n}" for n in numbers]}, SCHEMA)


def rows(steps: int = 3, at_step: dict[int, Exception] | None = None, total: int | None = -1) -> Rows:
    return Rows(SCHEMA, tables(steps, at_step), steps * STEP if total == -1 else total, "t")


def target(folder: Path, known: Format, overwrite: bool = False) -> Destination:
    return Destination.of(folder / f"out{known.suffixes[0]}", overwrite=overwrite)


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("export")}


@pytest.mark.slow(after=4)
@each_format
def test_rows_are_counted_and_reported(known: Format, tmp_path: Path) -> None:
    reports: list[Progress] = []
    export = target(tmp_path, known).write(rows(), Job(reports.append))
    files = [path for path in [export.path, *export.path.rglob("*")] if path.is_file()]
    sizes = [path.stat().st_size for path in files]
    assert (export.rows, export.files, export.bytes) == (3 * STEP, len(sizes), sum(sizes))
    assert len(files) == (2 if known.id == "delta" else 1)
    assert list(tmp_path.iterdir()) == [export.path]
    assert reports
    assert {progress.total for progress in reports} == {3 * STEP}
    assert threads() == set()


@pytest.mark.slow(except_every=9)
@each_format
@pytest.mark.parametrize("error", [BadData("the third table is bad"), Cancelled(), OSError(5, "I/O error")])
def test_a_failed_export_leaves_what_was_there(known: Format, error: Exception, tmp_path: Path) -> None:
    path = tmp_path / f"out{known.suffixes[0]}"
    path.write_text("mine")
    said = FileProblem if isinstance(error, OSError) else type(error)
    with pytest.raises(said, match=str(error).rstrip(".") if said is BadData else None):
        target(tmp_path, known, overwrite=True).write(rows(at_step={2: error}), Job())
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
    assert threads() == set()


@pytest.mark.slow(except_every=3)
@each_format
def test_a_cancelled_export_leaves_nothing(known: Format, tmp_path: Path) -> None:
    job = Job()

    def stopping() -> Iterator[pa.Table]:
        for number, table in enumerate(tables(8)):
            if number == 2:
                job.cancel()
            yield table

    with pytest.raises(Cancelled):
        target(tmp_path, known).write(Rows(SCHEMA, stopping(), None, "t"), job)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(after=3)
@each_format
def test_a_full_disk_is_said_and_leaves_what_was_there(known: Format) -> None:
    with small_disk(700) as folder:
        path = folder / f"out{known.suffixes[0]}"
        path.write_text("mine")
        with filled(folder, leave=100_000), pytest.raises(FileProblem) as caught:
            target(folder, known, overwrite=True).write(rows(6), Job())
        assert str(caught.value).startswith(f"{path}: could not be written")
        assert path.read_text() == "mine"
        assert list(folder.iterdir()) == [path]


@each_format
def test_a_folder_that_is_read_only_is_said(known: Format, tmp_path: Path) -> None:
    with seen_read_only(tmp_path) as folder, pytest.raises(FileProblem, match="could not be written"):
        target(folder, known).write(rows(1), Job())


@each_format
def test_no_rows_are_a_file_or_a_folder_all_the_same(known: Format, tmp_path: Path) -> None:
    export = target(tmp_path, known).write(Rows(SCHEMA, iter([]), 0, "t"), Job())
    assert export.rows == 0
    assert export.path.is_dir() if known.id == "delta" else export.path.is_file()


@each_format
def test_columns_that_a_format_has_no_place_for_are_refused_by_name(known: Format, tmp_path: Path) -> None:
    union = pa.sparse_union([pa.field("a", pa.int64()), pa.field("b", pa.string())])
    schema = pa.schema([("odd", pa.struct([("inside", union)]))])
    if known.id == "arrow":
        assert known.refused_kinds == ()
        return
    with pytest.raises(TypeConflict, match=f"column 'odd' of type .* cannot be exported to {known.label}"):
        target(tmp_path, known).write(Rows(schema, iter([]), 0, "t"), Job())
    assert list(tmp_path.iterdir()) == []


@each_format
def test_the_table_of_formats_is_whole(known: Format) -> None:
    assert known.suffixes
    assert known.label
    assert all(suffix.startswith(".") and suffix == suffix.casefold() for suffix in known.suffixes)
    assert set(known.losses) | set(known.refused_kinds) <= set(KINDS) | set(FINER_KINDS)
    assert known.values({}) == {option.name: option.read(option.default) for option in known.options}
    for option in known.options:
        assert option.help
        assert option.kind != "choice" or option.default in option.choices


def test_no_suffix_and_no_id_stands_for_two_formats() -> None:
    ids = [known.id for known in FORMATS]
    suffixes = [suffix for known in FORMATS for suffix in known.suffixes]
    assert len(ids) == len(set(ids))
    assert len(suffixes) == len(set(suffixes))
    assert {len({option.kind for _, option in pairs}) for pairs in all_options().values()} == {1}


WITHOUT_PANDAS = """
import sys
from pathlib import Path
from lamella.core.jobs import Job
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.formats import FORMATS
from lamella.core.transfer.writer import Rows, kind_of
import pyarrow.parquet as pq

table = pq.ParquetFile(sys.argv[1]).read()
for known in FORMATS:
    odd = [field.name for field in table.schema if kind_of(field.type) in known.refused_kinds]
    part = table.drop_columns(odd)
    rows = Rows(part.schema, iter([part]), len(part), "t")
    Destination.of(Path(sys.argv[1]).with_name("out" + known.suffixes[0])).write(rows, Job())
    assert "pandas" not in sys.modules, known.id
"""


@pytest.mark.slow
def test_no_export_needs_pandas(tmp_path: Path) -> None:
    odd = {
        "s": [{"a": 1}, None],
        "x": [float("nan"), 1.0],
        "t": ['"', "=a"],
        "l": [[1], []],
        "b": [b"a", None],
    }
    for kind in ("duration[s]", "date32", "timestamp[us]", "time64[us]", "decimal128(30, 2)", "float32"):
        storage = pa.int32() if kind == "date32" else pa.int64()
        odd[kind] = pa.array([1, None], storage).cast(type_named(kind))
    odd["category"] = pa.array(["a", None]).dictionary_encode()
    pq.write_table(pa.table(odd), tmp_path / "in.parquet")
    words = [sys.executable, "-c", WITHOUT_PANDAS, str(tmp_path / "in.parquet")]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
