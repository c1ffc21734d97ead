"""Parquet files in place: pages that are not what their checksums say are refused, or looked at anyway."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, open_dataset, sql
from lamella.core.errors import DamagedFile, FileProblem
from lamella.core.scan import file_checks
from lamella.core.scan.checksums import chunk_spans, has_page_checksums, header_at, wrong_page
from lamella.core.scan.file_checks import checks
from lamella.core.store.importing import import_file

ROWS = 4_000
ROWS_A_GROUP = 1_000


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Several pages in each column chunk; statistics in page headers make these long."""
    path = tmp_path / "t.parquet"
    rows = pa.table(
        {
            "n": list(range(ROWS)),
            "s": [f"text {i * 7919 % ROWS} " * 3 for i in range(ROWS)],
            "k": [f"k{i % 5}" for i in range(ROWS)],
            "l": [[i, None] for i in range(ROWS)],
        }
    )
    pq.write_table(
        rows, path, row_group_size=ROWS_A_GROUP, write_page_checksum=True, data_page_size=512,
        write_batch_size=64, compression={"n": "none", "s": "zstd", "k": "snappy", "l": "lz4"},
        use_dictionary=["k"],
    )  # fmt: skip
    return path


@pytest.fixture
def damaged(whole: Path) -> Path:
    """A number of the third row group is another one."""
    metadata = pq.read_metadata(whole)
    with whole.open("r+b") as file:
        at = metadata.row_group(2).column(0).data_page_offset
        header = header_at(file, at, at + 1_000)
        assert header is not None
        file.seek(at + header.length + 64)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    return whole


@pytest.fixture
def as_if_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(file_checks, "AT_ONCE_BYTES", -1)
    monkeypatch.setattr("lamella.core.datasets.parquet.AT_ONCE_BYTES", -1)
    monkeypatch.setattr(file_checks, "DELAY_SECONDS", 0.0)
    yield
    checks.settle()


def test_every_page_is_found_by_its_header(whole: Path) -> None:
    metadata, pages = pq.read_metadata(whole), 0
    with whole.open("rb") as file:
        assert has_page_checksums(file, metadata)
        assert wrong_page(file, metadata) is None
        for first, stop in chunk_spans(metadata):
            at = first
            while at < stop:
                header = header_at(file, at, stop)
                assert header is not None
                at += header.length + header.size
                pages += 1
            assert at == stop
    assert pages > 4 * len(metadata.schema) * metadata.num_row_groups


def test_files_without_page_checksums_have_nothing_to_verify(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "t.parquet")
    with (tmp_path / "t.parquet").open("rb") as file:
        assert not has_page_checksums(file, pq.read_metadata(tmp_path / "t.parquet"))
    assert open_dataset(tmp_path / "t.parquet").read().num_rows == 2


def test_a_small_file_is_refused_when_it_is_opened(damaged: Path) -> None:
    expected = "the checksum of a page differs.*without verifying checksums"
    with pytest.raises(DamagedFile, match=expected) as refusal:
        open_dataset(damaged)
    assert refusal.value.readable_anyway
    assert refusal.value.path == damaged


def test_a_damaged_file_can_be_looked_at_anyway(damaged: Path) -> None:
    looked_at = open_dataset(damaged, checksums="ignore")
    assert looked_at.num_rows == ROWS
    assert looked_at.read(["n"]).column(0).to_pylist() != list(range(ROWS))
    assert looked_at.count("n >= 0") > ROWS - 10
    assert sql("select count(*) as c from t", {"t": looked_at}).to_pylist() == [{"c": ROWS}]
    with pytest.raises(DamagedFile):
        open_dataset(damaged)
    assert looked_at.read(["k"], limit=1).num_rows == 1


def test_what_was_looked_at_anyway_is_not_given_to_who_verifies(damaged: Path, as_if_large: None) -> None:
    assert open_dataset(damaged, checksums="ignore").read(["n"]).num_rows == ROWS
    with pytest.raises(DamagedFile, match="the checksum of a page differs"):
        open_dataset(damaged).read(["n"])


@pytest.mark.parametrize("columns", [["n"], ["n", "k"], ["l", "n", "s"]])
def test_a_large_file_is_refused_when_the_page_is_read(
    damaged: Path, as_if_large: None, columns: list[str]
) -> None:
    dataset = open_dataset(damaged)
    assert dataset.read(columns, limit=10).num_rows == 10
    assert dataset.read(["k"]).num_rows == ROWS
    for _ in range(2):
        with pytest.raises(DamagedFile, match="the checksum of a page differs"):
            dataset.read(columns)
        with pytest.raises(DamagedFile, match="the checksum of a page differs"):
            dataset.read(columns, offset=2 * ROWS_A_GROUP, limit=1)


def test_what_the_engine_read_is_withdrawn(
    damaged: Path, as_if_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_checks, "DELAY_SECONDS", 3600)  # not before it is settled
    dataset, paths = open_dataset(damaged), []
    end = checks.listen(paths.append)
    groups = dataset.group_by("k").agg(c=agg.count(), t=agg.sum("n"))  # type: ignore[attr-defined]
    groups.read()
    checks.settle()
    end()
    assert paths == [damaged]
    rows = partial(sql, "from t", {"t": dataset})
    questions = (groups.read, partial(dataset.count, "n > 5"), rows, dataset.read)
    for ask in questions:
        with pytest.raises(DamagedFile, match="the checksum of a page differs"):
            ask()
    assert open_dataset(damaged, checksums="ignore").count("n > 5") > ROWS - 10


def test_an_import_of_a_damaged_file_leaves_nothing(damaged: Path, tmp_path: Path, as_if_large: None) -> None:
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(DamagedFile):
            import_file(damaged, store)
        assert store.tables == []
        assert import_file(damaged, store, checksums="ignore").num_rows == ROWS


def test_a_file_that_is_made_whole_is_read(damaged: Path, whole: Path) -> None:
    with pytest.raises(FileProblem):
        open_dataset(damaged)
    pq.write_table(pa.table({"n": [1]}), damaged, write_page_checksum=True)
    assert open_dataset(damaged).read().to_pylist() == [{"n": 1}]


def test_pages_are_verified_once(whole: Path, as_if_large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamella.core.scan.parquet_file import Footer

    opened: list[bool] = []
    open_file = Footer.open

    def noted(footer: Footer, coded: list[str], verifying: bool) -> pq.ParquetFile:
        opened.append(verifying)
        return open_file(footer, coded, verifying)

    monkeypatch.setattr(Footer, "open", noted)
    dataset = open_dataset(whole)
    dataset.read(["n"])
    assert set(opened) == {True}
    opened.clear()
    dataset.read(["n"])
    open_dataset(whole).read(["n"])
    assert True not in opened
    dataset.read(["n", "s"])
    assert True in opened
