"""Every damage is found and named; an undamaged store has no problems."""

from __future__ import annotations

import re
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store
from lamella.app.cli import main
from lamella.core.arrow.types import type_to_bytes
from lamella.core.errors import DamagedFile, FileProblem, StoreProblem
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import size_text
from lamella.core.scan import file_checks
from tests.property.damage import flip_bit

ROWS = 30_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose table has every kind of file and entry."""
    path = tmp_path_factory.mktemp("verify") / "store"
    with Store.open(path) as store:
        table = store.create_table("flights", pa.table({"n": pa.array(range(ROWS)), "late": [False] * ROWS}))
        table.insert([{"n": -1, "late": None}])
        table.update([{"_id": i, "n": 0} for i in range(0, ROWS, 2)])
        table.update([{"_id": 1, "n": 7}])
        table.delete(ids=[2, 3])
        table.columns.rename("late", "delayed")
        table.history.undo()
        store.create_table("small", [{"word": "a"}])
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "store"))


def problems(path: Path, quick: bool = False) -> list[str]:
    with Store.open(path, read_only=True) as store:
        return list(store.maintenance.verify(quick).problems)


def file(path: Path, suffix: str = ".parquet") -> Path:
    return next(p for p in sorted(path.rglob(f"*{suffix}")))


def test_a_report_says_no_more_than_there_is_to_say(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        assert str(store.maintenance.verify()) == "no tables: all is well"
        store.create_table("t", [{"n": 1}])
        for quick in (False, True):
            assert str(store.maintenance.verify(quick)) == "1 table, no files: all is well"
        store.create_table("u", {"n": list(range(ROWS))})
        (size,) = (file.stat().st_size for file in (tmp_path / "s").rglob("*.parquet"))
        assert (
            str(store.maintenance.verify()) == f"2 tables, 1 file, {size:,} bytes with checksums: all is well"
        )
        assert (
            str(store.maintenance.verify(True))
            == f"2 tables, 1 file, {size:,} bytes without checksums: all is well"
        )


def test_a_whole_store_has_no_problems_and_the_report_says_what_was_looked_at(path: Path) -> None:
    with Store.open(path) as store:
        report = store.maintenance.verify()
        assert report.problems == ()
        assert report.not_checked == ()
        assert (report.tables, report.files, report.checksums) == (2, 2, True)
        assert report.bytes == sum(f.stat().st_size for f in (path / "data").rglob("*") if f.is_file())
        assert "2 tables, 2 files" in str(report)
        assert str(report).endswith("all is well")
        store["flights"].maintenance.compact()
        store["flights"].columns.drop("n")
        assert store["flights"].maintenance.verify().problems == ()
        assert not store.maintenance.verify(quick=True).checksums


class Reports(Job):
    """A job that keeps what is reported."""

    def __init__(self) -> None:
        super().__init__()
        self.reports: list[Progress] = []

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        super().report(done, total, text)
        self.reports.append(self.progress)


def test_the_progress_is_that_of_all_tables_together(tmp_path: Path) -> None:
    job = Reports()
    with Store.open(tmp_path / "s") as store:
        for name in ("a", "b", "c"):
            store.create_table(name, {"n": list(range(ROWS))})
        report = store.maintenance.verify(job=job)
    fractions = [progress.fraction for progress in job.reports]
    assert fractions == [0, pytest.approx(1 / 3), pytest.approx(2 / 3)]
    done, whole = size_text(2 * report.bytes // 3), size_text(report.bytes)
    assert job.reports[2].text == f"c: {done} of {whole} checked"


@pytest.mark.parametrize("suffix", [".parquet", ".cells"])
def test_a_flipped_bit_is_found_by_its_checksum(path: Path, suffix: str) -> None:
    damaged = file(path, suffix)
    flip_bit(damaged)
    actual = problems(path)
    assert actual[0].startswith("table flights: ")
    assert str(damaged) in actual[0]
    assert "checksum" in actual[0]


@pytest.mark.parametrize("suffix", [".parquet", ".cells"])
def test_a_truncated_file_is_found_even_when_there_is_no_time_for_checksums(path: Path, suffix: str) -> None:
    damaged = file(path, suffix)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    actual = problems(path, quick=True)
    assert any(str(damaged) in each and "bytes instead of" in each for each in actual)


@pytest.mark.parametrize(
    ("kind", "blob"),
    [
        ("pending_rows", "batch"), ("pending_cells", "batch"), ("pending_cells", "ids"), ("deletions", "ids"),
    ],
)  # fmt: skip
def test_a_flipped_bit_of_a_pending_entry_is_found_in_whichever_version_it_is(
    path: Path, kind: str, blob: str
) -> None:
    with Store.open(path) as store:
        store.copy_table("flights", "second")
        store["flights"].history.restore(1)
    catalog = sqlite3.connect(path / "catalog.sqlite")
    entries = catalog.execute(f"SELECT entry, {blob} FROM {kind}").fetchall()
    for entry, content in entries:
        changed = bytes([*content[:-1], content[-1] ^ 1])
        catalog.execute(f"UPDATE {kind} SET {blob} = ? WHERE entry = ?", (changed, entry))
    catalog.commit()
    catalog.close()
    mismatches = [each for each in problems(path) if "does not match what was written" in each]
    assert len(mismatches) == len(entries) > 1
    assert all(any(f"{kind} {entry} " in each for each in mismatches) for entry, _ in entries)


def test_values_that_do_not_fit_their_column_are_found(path: Path) -> None:
    with Store.open(path) as store:
        table = store["flights"]
        table.update([{"_id": i, "n": 500} for i in range(4, ROWS, 2)])
        table.update([{"_id": 1, "n": 700}])
        table.insert([{"n": 800}])
    catalog = sqlite3.connect(path / "catalog.sqlite")
    catalog.execute(
        "INSERT INTO columns (table_id, column_id, name, type, place, from_version, to_version)"
        " SELECT table_id, column_id, name, ?, place, 2, to_version FROM columns WHERE name = 'n'",
        (type_to_bytes(pa.int8()),),
    )
    catalog.execute("UPDATE columns SET to_version = 2 WHERE name = 'n' AND from_version = 1")
    catalog.commit()
    catalog.close()
    actual = [each for each in problems(path) if "column 'n' that do not fit its type int8" in each]
    for place in (f"data file {file(path)} ", "change_files ", "pending_cells ", "pending_rows "):
        assert sum(place in each for each in actual) == 1, actual


def test_a_missing_file_is_found(path: Path) -> None:
    gone = file(path)
    gone.unlink()
    assert any(f"data file {gone} is missing" in each for each in problems(path))


def test_a_file_that_no_table_names_is_found(path: Path) -> None:
    with Store.open(path) as store:
        stray = file(path).with_name(f"{'0' * 32}.parquet")
        stray.write_bytes(b"")
        assert store.maintenance.verify().problems == (
            f"{stray}: no table names this file; vacuum removes it",
        )
        mine = stray.with_name("mine.parquet")
        mine.write_bytes(b"")
        report = store.maintenance.verify()
        assert (report.strays, report.foreign, report.damage) == (1, 1, 0)
        assert report.problems[1] == f"{mine}: does not belong to the store, and stays"
        store.maintenance.vacuum()
        assert mine.exists() and store.maintenance.verify().foreign == 1
        assert store["flights"].maintenance.verify().problems == ()


CATALOG: dict[str, tuple[str, str]] = {
    "rows": ("UPDATE data_files SET rows = rows + 1", "rows instead of"),
    "first id": ("UPDATE data_files SET first_id = first_id + 1", "instead of 1 to"),
    "more rows than ids": ("UPDATE data_files SET first_id = first_id + 1", "30000 rows of the _ids 1 to"),
    "negative id": ("UPDATE data_files SET first_id = first_id - 1", "holds -1 as first_id"),
    "time": ("UPDATE commits SET at = 1e300", "the catalog's table commits holds 1e+300 as at"),
    "table": ("UPDATE tables SET next_id = -1", "the catalog's table tables holds -1 as next_id"),
    "file twice": (
        "INSERT INTO data_files SELECT 77, table_id, path, rows, first_id, last_id, bytes, names, checksum,"
        " made, from_version, to_version FROM data_files",
        "is part of it 2 times",
    ),
    "checksum": ("UPDATE data_files SET checksum = 'crc32:00000000'", "its checksum differs"),
    "bytes": ("UPDATE change_files SET bytes = 5", "bytes instead of 5"),
    "names": ("""UPDATE data_files SET names = '{"0": "_id", "1": "m"}'""", "has no column 'm'"),
    "no names": ("UPDATE data_files SET names = 'not json'", "holds 'not json' as names"),
    "version": ("UPDATE tables SET version = version + 1 WHERE name = 'small'", "its newest commit is 1"),
    "next id": ("UPDATE tables SET next_id = 5 WHERE name = 'flights'", "the next id is 5"),
    "batch": ("UPDATE pending_cells SET batch = x'00'", "cannot be read"),
    "rows' batch": ("UPDATE pending_rows SET batch = zeroblob(8)", "cannot be read"),
    "ids": ("UPDATE deletions SET ids = x'0100'", "holds b'\\x01\\x00' as ids"),
    "deleted ids": ("UPDATE deletions SET ids = x'00000000000000ff'", "names a row that never existed"),
    "overlap": ("UPDATE pending_rows SET first_id = 17 WHERE table_id = 1", "two parts of it hold"),
    "types": ("UPDATE columns SET type = x'01' WHERE name = 'n'", "holds b'\\x01' as type"),
    "two ids": ("UPDATE columns SET column_id = 1 WHERE table_id = 1", "has the same id 1 as another"),
    "the id of _id": ("UPDATE columns SET column_id = 0 WHERE table_id = 1", "has the same id 0 as another"),
    "two names": ("UPDATE columns SET name = 'n' WHERE table_id = 1", "two columns have the name 'n'"),
}


@pytest.mark.parametrize("kind", ["pending_rows", "pending_cells"])
def test_reading_what_is_damaged_in_the_catalog_names_it(path: Path, kind: str) -> None:
    catalog = sqlite3.connect(path / "catalog.sqlite")
    (table,) = catalog.execute(f"SELECT name FROM tables JOIN {kind} USING (table_id)").fetchone()
    catalog.execute(f"UPDATE {kind} SET batch = zeroblob(8)")
    catalog.commit()
    catalog.close()
    with Store.open(path) as store, pytest.raises(StoreProblem, match=f"{table}: {kind} .* is damaged"):
        store[table].read()


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("statement", "reason"), CATALOG.values(), ids=CATALOG.keys())
def test_a_catalog_that_says_otherwise_is_found(path: Path, statement: str, reason: str) -> None:
    catalog = sqlite3.connect(path / "catalog.sqlite")
    assert catalog.execute(statement).rowcount
    catalog.commit()
    catalog.close()
    actual = problems(path)
    assert any(reason in each for each in actual), actual
    assert all(each.startswith("table ") for each in actual)


def test_ids_that_do_not_ascend_are_found(path: Path) -> None:
    damaged = file(path)
    rows = pq.ParquetFile(damaged).read()
    pq.write_table(rows.take(pa.array([0, 2, 1, *range(3, ROWS)])), damaged)
    _told_as_written(path, damaged)
    assert any("_ids that do not ascend" in each for each in problems(path))


def _told_as_written(path: Path, damaged: Path) -> None:
    """Make the catalog agree with the file's bytes."""
    catalog = sqlite3.connect(path / "catalog.sqlite")
    size = damaged.stat().st_size
    catalog.execute("UPDATE data_files SET bytes = ?, checksum = ''", (size,))
    catalog.commit()
    catalog.close()


def damaged_page(path: Path) -> None:
    catalog = path / "catalog.sqlite"
    stored = bytearray(catalog.read_bytes())
    page = int.from_bytes(stored[16:18], "big")
    for at in range(3 * page, len(stored), page):
        stored[at : at + 32] = b"\xff" * 32
    catalog.write_bytes(stored)


def test_a_damaged_catalog_is_found(path: Path) -> None:
    damaged_page(path)
    try:
        actual = problems(path)
    except StoreProblem as refused:  # it cannot even be opened
        actual = [str(refused)]
    assert any("catalog.sqlite" in each and "malformed" in each for each in actual)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_catalog_whose_statements_are_no_text_is_refused(path: Path, read_only: bool) -> None:
    """SQLite reports such damage in a message that is not valid text either."""
    catalog = path / "catalog.sqlite"
    whole = catalog.read_bytes()
    places = [match.start() for match in re.finditer(rb"CREATE TABLE", whole)]
    assert len(places) > 5
    for place in places:
        catalog.write_bytes(whole[: place + 3] + b"\xd5\xff" + whole[place + 5 :])
        with pytest.raises(StoreProblem, match=r"catalog\.sqlite"):
            Store.open(path, read_only=read_only)


@pytest.mark.parametrize("known", ["checksum", "footer", "rows"])
def test_a_data_file_that_was_replaced_is_refused(
    path: Path, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = file(path)
    pq.write_table(pq.ParquetFile(replaced).read().slice(0, 10), replaced)
    if known == "footer":
        monkeypatch.setattr(file_checks, "AT_ONCE_BYTES", -1)
    if known == "rows":  # as in a store of an earlier format
        _told_as_written(path, replaced)
    message = {
        "checksum": "its checksum differs",
        "footer": "Its footer does not match what was written",
        "rows": "holds 10 rows instead of",
    }[known]
    with Store.open(path) as store:
        table = store["flights"]
        for read_path in (
            table.read,
            partial(table.get, ROWS - 5),
            partial(table.count, "n > 5"),
            table.maintenance.compact,
        ):
            with pytest.raises(FileProblem, match=message):
                read_path()


@pytest.mark.parametrize("place", [-20, -200, -400])
def test_a_damaged_footer_of_a_large_file_is_refused(
    path: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics are stored there, by which rows are skipped without being decoded."""
    monkeypatch.setattr(file_checks, "AT_ONCE_BYTES", -1)
    flip_bit(file(path), place)
    with Store.open(path) as store, pytest.raises(DamagedFile, match="Verify the store"):
        store["flights"].read(where="n = 7")


def test_what_is_verified_is_not_verified_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Path] = []
    run = file_checks.FileCheck.run

    def noted(check: file_checks.FileCheck) -> None:
        runs.append(check.path)
        run(check)

    monkeypatch.setattr(file_checks.FileCheck, "run", noted)
    for _ in range(3):
        with Store.open(path) as store:
            store["flights"].read()
            store["flights"].get(5)
            assert store["flights"].count("n > 5") > 0
    assert sorted(runs) == sorted(path.glob("data/flights*/*"))


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file and folder, except the index of the log, which SQLite rebuilds."""
    files_by_path = {}
    for path in folder.rglob("*"):
        status = path.stat()
        files_by_path[str(path)] = (
            (0, 0) if path.is_dir() or path.name.endswith("-shm") else (status.st_size, status.st_mtime_ns)
        )
    return files_by_path


@pytest.mark.parametrize("log", [False, True])
def test_verify_leaves_every_file_as_it_was(path: Path, log: bool) -> None:
    if log:  # as a crash leaves it
        with Store.open(path) as store:
            store["small"].insert([{"word": "b"}])
            crashed = Path(shutil.copytree(path, path.with_name("crashed")))
            shutil.rmtree(crashed / "readers")
            (crashed / "readers").mkdir()
        path = crashed
        assert (path / "catalog.sqlite-wal").stat().st_size
    before = listing(path)
    assert main(["verify", str(path)]) == 0
    with Store.open(path, read_only=True) as store:
        store["small"].maintenance.verify()

    assert listing(path) == before
