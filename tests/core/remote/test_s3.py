"""Files in a bucket are opened in place, and only the needed ranges are read."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Cancelled, FileProblem, Store, agg, col, open_dataset, sql
from lamella.core.datasets.locate import is_changed_on_disk
from lamella.core.jobs import Job
from lamella.core.remote import object_store
from lamella.core.remote.cache import cache
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.servers import servers
from lamella.core.store.importing import import_file
from lamella.core.transfer import uploads
from tests.conftest import PATIENCE_SECONDS
from tests.remote_servers import Proxy, S3Server

ROWS = 200_000


@pytest.fixture(scope="module")
def trips() -> pa.Table:
    chance = np.random.default_rng(1)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "fare": chance.random(ROWS),
            "tip": chance.random(ROWS),
            "vendor": [f"vendor {n}" for n in chance.integers(0, 5, ROWS)],
        }
    )


@pytest.fixture(scope="module")
def parquet(trips: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(trips, sink, row_group_size=ROWS // 4)
    return sink.getvalue()


def chunk_bytes(parquet: bytes, columns: list[str], groups: list[int]) -> int:
    metadata = pq.ParquetFile(io.BytesIO(parquet)).metadata
    places = [metadata.schema.names.index(name) for name in columns]
    return sum(metadata.row_group(g).column(p).total_compressed_size for g in groups for p in places)


def test_a_parquet_file_opens_and_answers_as_if_it_were_local(
    s3: S3Server, bucket: str, parquet: bytes, trips: pa.Table, tmp_path: Path
):
    s3.put(bucket, "2024/trips.parquet", parquet)
    (tmp_path / "trips.parquet").write_bytes(parquet)
    local_file, remote_file = (
        open_dataset(tmp_path / "trips.parquet"),
        open_dataset(f"s3://{bucket}/2024/trips.parquet"),
    )
    assert remote_file.name == local_file.name
    assert remote_file.read().equals(local_file.read())
    dear = col("fare") > 0.99
    assert remote_file.where(dear).read().equals(local_file.where(dear).read())
    grouped = [
        d.group_by("vendor").agg(tip=agg.max("tip"), n=agg.count()).sort("vendor").read()
        for d in (local_file, remote_file)
    ]
    assert grouped[0].equals(grouped[1])
    assert remote_file.sort("-fare").limit(3).read().equals(local_file.sort("-fare").limit(3).read())


def test_bytes_that_are_read_are_those_of_the_chunks(s3: S3Server, proxy: Proxy, bucket: str, parquet: bytes):
    """Compares the bytes of footer, chunks and HTTP headers together with those of the chunks alone."""
    s3.put(bucket, "trips.parquet", parquet)
    dataset = open_dataset(f"s3://{bucket}/trips.parquet")
    opened = proxy.sent_bytes
    dataset.read(columns=["fare"])
    whole_column = chunk_bytes(parquet, ["fare"], [0, 1, 2, 3])
    assert whole_column <= proxy.sent_bytes - opened <= 1.1 * whole_column
    dataset.where(col("tip") > 0.5).count()
    with_tip = chunk_bytes(parquet, ["fare", "tip"], [0, 1, 2, 3])
    assert proxy.sent_bytes <= 1.1 * with_tip + opened
    assert opened <= 150_000
    before = proxy.sent_bytes
    dataset.read(columns=["vendor", "fare"], offset=10, limit=50)
    first_group = chunk_bytes(parquet, ["vendor"], [0])
    assert proxy.sent_bytes - before <= 1.1 * first_group + 2000


def test_what_was_read_once_is_not_fetched_again(s3: S3Server, proxy: Proxy, bucket: str, parquet: bytes):
    s3.put(bucket, "trips.parquet", parquet)
    first = open_dataset(f"s3://{bucket}/trips.parquet").read()
    sent, requests = proxy.sent_bytes, proxy.requests
    files.forget_all()
    again = open_dataset(f"s3://{bucket}/trips.parquet").read()
    assert again.equals(first)
    assert proxy.requests - requests <= 4
    assert proxy.sent_bytes - sent < len(parquet) // 2
    assert cache.size() > 0


def test_a_folder_and_a_pattern_are_one_dataset(s3: S3Server, bucket: str):
    for year in (2023, 2024):
        for month in ("01", "02"):
            sink = io.BytesIO()
            pq.write_table(pa.table({"n": [year * 100 + int(month)]}), sink)
            s3.put(bucket, f"trips/year={year}/{month}.parquet", sink.getvalue())
    s3.put(bucket, "trips/_SUCCESS", b"")
    s3.put(bucket, "trips/.hidden/x.parquet", b"no Parquet")
    folder = open_dataset(f"s3://{bucket}/trips")
    assert folder.name == "trips"
    assert folder.read().to_pydict() == {
        "n": [202301, 202302, 202401, 202402],
        "year": [2023, 2023, 2024, 2024],
    }
    assert open_dataset(f"s3://{bucket}/trips/*/01.parquet").read()["n"].to_pylist() == [202301, 202401]
    assert open_dataset(f"s3://{bucket}/**/02.parquet").read()["n"].to_pylist() == [202302, 202402]
    assert open_dataset(f"s3://{bucket}/trips/year=2024/").num_rows == 2
    with pytest.raises(FileProblem, match="matches no file"):
        open_dataset(f"s3://{bucket}/trips/*.csv")


def test_every_format_opens_from_a_bucket(s3: S3Server, bucket: str, tmp_path: Path):
    """Text is read sequentially; a file that a library needs as a whole is fetched first, and then reused."""
    with Store.open(tmp_path / "store") as store:
        store.create_table("rows", [{"n": i, "word": f"w{i}"} for i in range(1000)])
        for suffix in ("csv", "jsonl", "csv.gz", "xlsx", "arrow", "sqlite", "duckdb", "parquet"):
            path = tmp_path / f"rows.{suffix}"
            if suffix == "csv.gz":
                path.write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
            else:
                store["rows"].export(path)
            s3.put(bucket, f"in/rows.{suffix}", path.read_bytes())
            remote_file = open_dataset(f"s3://{bucket}/in/rows.{suffix}")
            assert remote_file.name == "rows", suffix
            assert remote_file.read()["n"].to_pylist() == list(range(1000)), suffix
            assert str(remote_file.paths[0]) == f"s3://{bucket}/in/rows.{suffix}"


def test_sql_reads_files_elsewhere(s3: S3Server, bucket: str, parquet: bytes):
    s3.put(bucket, "trips.parquet", parquet)
    address = f"s3://{bucket}/trips.parquet"
    assert sql("SELECT count(*) AS n FROM t WHERE id < 10", {"t": address}).to_pydict() == {"n": [10]}


def test_import_and_export(s3: S3Server, bucket: str, parquet: bytes, trips: pa.Table, tmp_path: Path):
    s3.put(bucket, "trips.parquet", parquet)
    with Store.open(tmp_path / "store") as store:
        table = import_file(f"s3://{bucket}/trips.parquet", store)
        assert table.num_rows == ROWS
        export_ = table.export(f"s3://{bucket}/out/cheap.csv", where="fare < 0.001", columns=["id", "fare"])
        assert str(export_.path) == f"s3://{bucket}/out/cheap.csv"
        cheap = open_dataset(export_.path).read()
        assert cheap["id"].to_pylist() == table.where("fare < 0.001").read()["id"].to_pylist()
        with pytest.raises(FileProblem, match="is there already"):
            table.export(f"s3://{bucket}/out/cheap.csv")
        table.export(f"s3://{bucket}/out/cheap.csv", where="id = 1", overwrite=True)
        assert open_dataset(f"s3://{bucket}/out/cheap.csv").num_rows == 1
        table.export(f"s3://{bucket}/out/by_vendor", partition_by=["vendor"])
        assert open_dataset(f"s3://{bucket}/out/by_vendor").num_rows == ROWS
        listed = s3.client.list_objects_v2(Bucket=bucket, Prefix="out/by_vendor/")["Contents"]
        assert max(listed, key=lambda item: item["LastModified"])["Key"] == "out/by_vendor/_SUCCESS"
        with pytest.raises(FileProblem, match="is not empty"):
            table.export(f"s3://{bucket}/out/by_vendor", partition_by=["vendor"], overwrite=True)


class CancelledAt(Job):
    """A job that another thread cancels, like a button, after this many bytes were sent."""

    def __init__(self, position: int) -> None:
        super().__init__()
        self._done = position

    def report(self, position: int, total: int | None = None, text: str = "") -> None:
        super().report(position, total, text)
        if position >= self._done and not self.cancelled:
            canceller = threading.Thread(target=self.cancel)
            canceller.start()
            canceller.join()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("megabytes", [0, 9, 20, 24], ids=["begin", "first part", "between", "end"])
def test_an_upload_that_is_canceled_leaves_nothing(s3: S3Server, bucket: str, tmp_path: Path, megabytes: int):
    """It leaves neither an object nor parts of one, which would be charged for but never visible."""
    draft = tmp_path / "large.bin"
    draft.write_bytes(bytes(24 << 20))
    target = RemotePath(f"s3://{bucket}/large.bin")
    with pytest.raises(Cancelled):
        uploads.send(draft, target.address, CancelledAt(megabytes << 20), is_new=True)
    draft.write_bytes(b"another")
    uploads.send(draft, target.address, Job(), is_new=True)  # waits until the first has ended
    assert "Uploads" not in s3.client.list_multipart_uploads(Bucket=bucket)
    assert target.read_bytes() == b"another"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("megabytes", [1, 9])
def test_an_upload_hears_a_cancel_while_the_server_is_silent(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int
):
    """The cancel takes effect long before the server is given up, which would be a different error."""
    monkeypatch.setattr(object_store, "SILENT_SECONDS", PATIENCE_SECONDS)
    servers.forget()
    draft = tmp_path / "large.bin"
    draft.write_bytes(bytes(megabytes << 20))
    target, job = RemotePath(f"s3://{bucket}/large.bin"), Job()
    before, proxy.stalls_after = proxy.requests, 0

    def cancel() -> None:
        while proxy.requests == before:
            time.sleep(0.001)
        job.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        uploads.send(draft, target.address, job, is_new=True)
    canceller.join()
    proxy.close()


def test_a_file_that_changes_is_refused_as_a_local_one_is(s3: S3Server, bucket: str, trips: pa.Table):
    """The change is noticed by the etag, although size and time are the same."""
    address = f"s3://{bucket}/trips.parquet"
    for columns in (["id", "fare"], ["id", "tip"]):
        sink = io.BytesIO()
        pq.write_table(trips.select(columns).rename_columns(["id", "x"]), sink, row_group_size=ROWS // 4)
        s3.put(bucket, "trips.parquet", sink.getvalue())
        if columns[1] == "fare":
            dataset = open_dataset(address)
            dataset.read(limit=10)
    for question in (
        lambda: dataset.read(offset=ROWS - 10),
        lambda: dataset.where("x > 0.5").count(),
        lambda: dataset.group_by("id").agg(n=agg.count()).limit(1).read(),
    ):
        with pytest.raises(FileProblem) as caught:
            question()
        assert is_changed_on_disk(caught.value), caught.value
    assert open_dataset(address).read()["x"].equals(trips["tip"])


@pytest.mark.slow
def test_two_processes_share_the_cache(s3: S3Server, proxy: Proxy, bucket: str, parquet: bytes):
    s3.put(bucket, "trips.parquet", parquet)
    code = "from lamella.core.remote.paths import RemotePath as Path; print(len(Path(%r).read_bytes()))"
    command = [sys.executable, "-c", code % f"s3://{bucket}/trips.parquet"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == [str(len(parquet))] * 2
    before = proxy.sent_bytes
    assert open_dataset(f"s3://{bucket}/trips.parquet").read()["id"].to_numpy().sum() == sum(range(ROWS))
    assert proxy.sent_bytes - before < 5_000
