"""Files become tables: whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.datasets import open_dataset
from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.errors import Cancelled, FileProblem, StoreProblem
from lamella.core.jobs import Job, Progress
from lamella.core.store.importing import import_dataset, import_file
from lamella.core.store.store import Store

ROWS = 300_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks in a file of a few megabytes."""
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 256 << 10)


def numbered(path: Path, last: str = "") -> Path:
    path.write_text("n,city\n" + "".join(f"{n},Oslo {n % 7}\n" for n in range(ROWS)) + last)
    return path


def files_below(folder: Path) -> set[Path]:
    return {p for p in folder.rglob("*.parquet") if p.is_file()}


def test_a_parquet_file_becomes_a_table_of_its_name(store: Store, tmp_path: Path) -> None:
    source = pa.table({"city": ["A", None], "n": [1, 2]})
    pq.write_table(source, tmp_path / "trips.parquet")
    table = import_file(tmp_path / "trips.parquet", store)
    assert table.name == "trips"
    assert table.read().drop_columns("_id").equals(source)


def test_a_text_file_goes_straight_into_the_table(store: Store, tmp_path: Path, lamella_home: Path) -> None:
    table = import_file(numbered(tmp_path / "big.csv"), store)
    assert table.num_rows == ROWS
    assert table.read(["n"])["n"].to_pylist() == list(range(ROWS))
    assert not list(lamella_home.rglob("*.parquet"))


def test_what_numbers_do_not_keep_is_noted_on_the_table_or_kept_as_text(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "tools.csv"
    path.write_text("version,n\n1.10,1\n1.100,2\n")
    field = import_file(path, store).schema.field("version")
    assert field.type == pa.float64()
    assert b"1.10 beside 1.100" in field.metadata[b"note"]
    table = import_file(path, store, text_columns=["version"])
    assert table.read(["version"])["version"].to_pylist() == ["1.10", "1.100"]
    assert not table.schema.field("version").metadata


def test_names_that_are_taken_get_a_number(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("a\n1\n")
    assert [import_file(path, store).name for _ in range(3)] == ["trips", "trips_2", "trips_3"]


def test_a_name_that_was_asked_for_and_is_taken_is_refused(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("a\n1\n")
    import_file(path, store, "mine")
    with pytest.raises(StoreProblem, match="already has a table 'mine'"):
        import_file(path, store, "mine")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("last", "kind"), [("0.5,x\n", pa.float64()), ("007,x\n", pa.string())])
def test_a_value_far_in_the_file_widens_the_column(
    store: Store, tmp_path: Path, last: str, kind: pa.DataType
) -> None:
    table = import_file(numbered(tmp_path / "big.csv", last), store)
    assert table.schema.field("n").type == kind
    assert table.num_rows == ROWS + 1
    assert store.tables == ["big"]
    assert sum(pq.read_metadata(p).num_rows for p in files_below(store.path)) == ROWS + 1


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("first", "last"), [("9007199254740993", "0.5"), ("0.5", "9007199254740993")])
def test_an_integer_that_is_no_double_far_from_a_fraction(
    store: Store, tmp_path: Path, first: str, last: str
) -> None:
    path = tmp_path / "big.csv"
    path.write_text("n,x\n" + f"{first},0\n" + "".join(f"{n},0\n" for n in range(ROWS)) + f"{last},0\n")
    table = import_file(path, store)
    assert table.num_rows == path.read_bytes().count(b"\n") - 1
    assert table.read(["n"])["n"].to_pylist() == [first, *map(str, range(ROWS)), last]


def test_a_column_called_as_the_tables_own_is_renamed(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text('{"_id": "5f3a", "n": 1}\n')
    assert import_file(path, store).read().to_pylist() == [{"_id": 0, "_id_2": "5f3a", "n": 1}]


def test_progress_ends_at_the_whole_and_says_the_rate(store: Store, tmp_path: Path) -> None:
    reports: list[Progress] = []
    import_file(numbered(tmp_path / "big.csv"), store, None, Job(reports.append))
    assert reports[-1].fraction == 1.0
    assert reports[-1].text.startswith(f"{ROWS:,} rows · ")
    assert [p.done for p in reports] == sorted(p.done for p in reports)


class Impatient(Job):
    """Somebody who cancels when half is done."""

    def report(self, position: int, total: int | None = None, text: str = "") -> None:
        if total and position * 2 > total:
            self.cancel()
        super().report(position, total, text)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_cancelled_it_leaves_nothing_behind(store: Store, tmp_path: Path, kind: str) -> None:
    path = numbered(tmp_path / "big.csv")
    if kind == "parquet":
        path = tmp_path / "big.parquet"
        pq.write_table(pa.table({"n": list(range(ROWS))}), path, row_group_size=20_000)
    with pytest.raises(Cancelled):
        import_file(path, store, None, Impatient())
    assert store.tables == []
    assert not files_below(store.path)
    assert import_file(path, store).num_rows == ROWS


def test_a_bad_row_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    path = numbered(tmp_path / "big.csv", "1\n")
    with pytest.raises(FileProblem, match=rf"big\.csv: line {ROWS + 2:,} has 1 field"):
        import_file(path, store)
    assert store.tables == []
    assert not files_below(store.path)
    assert import_file(path, store, ragged="pad").num_rows == ROWS + 1


def test_an_open_dataset_is_imported_from_its_cache(store: Store, tmp_path: Path) -> None:
    dataset = open_dataset(numbered(tmp_path / "big.csv"), cache_dir=tmp_path / "cache")
    dataset.fill(Job())
    assert import_dataset(dataset, store).read(["n"])["n"].to_pylist() == list(range(ROWS))


def test_an_import_into_a_store_that_may_not_be_written(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    with Store.open(store.path, read_only=True) as closed, pytest.raises(StoreProblem, match="read-only"):
        import_file(path, closed)
