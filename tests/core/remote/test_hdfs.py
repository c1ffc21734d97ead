"""Files on HDFS, through WebHDFS and libhdfs, on Hadoop's own servers: `dev.py test --long hdfs`."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Cancelled, FileProblem, Store, agg, export, open_dataset
from lamella.core.datasets.locate import is_changed_on_disk
from lamella.core.jobs import Job
from lamella.core.remote import listing
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied, MissingFile, Unreachable
from lamella.core.remote.servers import servers
from tests.hdfs_server import Namenode, hdfs_server, libhdfs_environment

ROWS = 100_000


@pytest.fixture(scope="module")
def namenode() -> Iterator[Namenode]:
    if not os.environ.get("LAMELLA_LONG_RUNS"):
        pytest.skip("HDFS is started by the long form: python3 dev.py test --long hdfs")
    with hdfs_server() as server:
        yield server


@pytest.fixture(params=["webhdfs", "libhdfs"])
def endpoint(namenode: Namenode, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The endpoint of a connection, which determines whether requests go through WebHDFS or libhdfs."""
    if request.param == "webhdfs":
        return namenode.web
    for name, value in libhdfs_environment().items():
        monkeypatch.setenv(name, value)
    return namenode.rpc


@pytest.fixture
def root(endpoint: str) -> str:
    """The address of a folder on the file system, which a connection serves; one for each of the two
    clients."""
    connect("ann", endpoint)
    way, _, host = endpoint.rpartition(":")[0].partition("://")
    return f"hdfs://{host}/{way}"


def connect(user: str, endpoint: str) -> None:
    Connections().save(Connection("cluster", "hdfs", endpoint=endpoint, account=user), replace=True)
    servers.forget()


def put(address: str, data: bytes, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(data)
    path = RemotePath(address)
    servers.server(path.address).upload(path.address, source, Job())


def parquet(seed: int) -> bytes:
    sink = io.BytesIO()
    values = np.random.default_rng(seed).random(ROWS)
    pq.write_table(pa.table({"n": np.arange(ROWS), "x": values}), sink, row_group_size=ROWS // 4)
    return sink.getvalue()


def test_files_folders_and_patterns_open(root: str, tmp_path: Path):
    for part in range(12):
        put(f"{root}/data/year=2024/part {part:02}.parquet", parquet(part), tmp_path)
    folder = open_dataset(f"{root}/data")
    assert folder.num_rows == 12 * ROWS
    assert folder.schema.names == ["n", "x", "year"]
    assert open_dataset(f"{root}/data/*/part 0[12].parquet").num_rows == 2 * ROWS
    single = open_dataset(f"{root}/data/year=2024/part 03.parquet")
    assert single.read().num_rows == ROWS
    assert single.group_by("n").agg(c=agg.count()).read().num_rows == ROWS
    names = [e.address.name for p in listing.pages(RemotePath(f"{root}/data/year=2024").address) for e in p]
    assert len(names) == 12


def test_export_import_and_overwrite(root: str, tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", [{"n": i} for i in range(1000)])
        table.export(f"{root}/out/rows.parquet")
        assert open_dataset(f"{root}/out/rows.parquet").num_rows == 1000
        with pytest.raises(FileProblem, match="is there already"):
            table.export(f"{root}/out/rows.parquet")
        table.export(f"{root}/out/rows.parquet", where="n < 10", overwrite=True)
        assert open_dataset(f"{root}/out/rows.parquet").num_rows == 10
    names = [e.address.name for p in listing.pages(RemotePath(f"{root}/out").address) for e in p]
    assert names == ["rows.parquet"]


def test_versions_are_added_to_a_delta_table(root: str, tmp_path: Path):
    """A commit is a rename that does not replace: only one of two writers gets the next version."""
    address = f"{root}/lake/orders.delta"
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "orders.parquet")
    rows = open_dataset(tmp_path / "orders.parquet")
    export(rows, address)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: [export(rows, address, mode="append") for _ in range(3)], range(2)))
    assert sorted(open_dataset(address).read()["n"].to_pylist()) == sorted([1, 2, 3] * 7)
    export(rows, address, mode="replace", where="n = 2")
    assert [open_dataset(address, version=v).num_rows for v in (0, 6, 7)] == [3, 21, 1]
    log = RemotePath(f"{address}/_delta_log").address
    names = sorted(entry.address.name for page in listing.pages(log) for entry in page)
    assert names == [f"{version:020}.json" for version in range(8)]


def test_a_cancelled_upload_leaves_nothing(root: str, tmp_path: Path):
    class CancelledInside(Job):
        def report(self, position: int, total: int | None = None, text: str = "") -> None:
            if position:
                self.cancel()
            super().report(position, total, text)

    source = tmp_path / "large"
    source.write_bytes(os.urandom(5 << 20))
    path = RemotePath(f"{root}/cancelled/large.bin")
    with pytest.raises(Cancelled):
        servers.server(path.address).upload(path.address, source, CancelledInside())
    assert not path.exists()
    assert not [e for p in listing.pages(RemotePath(f"{root}/cancelled").address) for e in p]


def test_a_server_that_falls_silent_in_a_change_is_given_up(root: str, namenode: Namenode, tmp_path: Path):
    """Both of its processes are one here, and stop in the middle of an upload, then before a removal."""

    class StopsServer(Job):
        def report(self, position: int, total: int | None = None, text: str = "") -> None:
            if position == 1 << 20:
                namenode.process.send_signal(signal.SIGSTOP)
            super().report(position, total, text)

    put(f"{root}/silent/old.bin", b"old", tmp_path)
    source = tmp_path / "large"
    source.write_bytes(os.urandom(5 << 20))
    large, old = RemotePath(f"{root}/silent/large.bin"), RemotePath(f"{root}/silent/old.bin")
    server = servers.server(large.address)
    try:
        with pytest.raises(Unreachable):
            server.upload(large.address, source, StopsServer())
        with pytest.raises(Unreachable):
            server.status(old.address)
        with pytest.raises(Unreachable):
            server.create(RemotePath(f"{root}/silent/new.bin").address, b"new")
    finally:
        namenode.process.send_signal(signal.SIGCONT)
    put(f"{root}/silent/other.bin", b"other", tmp_path)
    assert not large.exists()
    assert old.read_bytes() == b"old"


def test_a_file_that_changes_is_refused(root: str, tmp_path: Path):
    put(f"{root}/changing.parquet", parquet(1), tmp_path)
    dataset = open_dataset(f"{root}/changing.parquet")
    address = RemotePath(f"{root}/changing.parquet").address
    before = servers.server(address).status(address)
    while servers.server(address).status(address) == before:  # libhdfs gives times in seconds
        put(f"{root}/changing.parquet", parquet(2), tmp_path)
    with pytest.raises(FileProblem) as caught:
        dataset.read()
    assert is_changed_on_disk(caught.value)


def test_missing_and_forbidden(root: str, endpoint: str, namenode: Namenode, tmp_path: Path):
    put(f"{root}/data2/trips.csv", b"n\n1\n", tmp_path)
    with pytest.raises(MissingFile, match=r"Did you mean 'hdfs://.*/data2/trips.csv'"):
        open_dataset(f"{root}/data2/tripz.csv")
    import urllib.request

    key = RemotePath(f"{root}/data2/trips.csv").address.key
    url = f"{namenode.web}/webhdfs/v1/{key}?op=SETPERMISSION&permission=600&user.name=ann"
    urllib.request.urlopen(urllib.request.Request(url, method="PUT")).close()
    connect("bob", endpoint)
    with pytest.raises(AccessDenied, match="may not be read"):
        open_dataset(f"{root}/data2/trips.csv").read()


def test_addresses_of_hosts_need_no_connection(root: str, endpoint: str, namenode: Namenode, tmp_path: Path):
    put(f"{root}/plain.csv", b"n\n1\n", tmp_path)
    Connections().delete("cluster")
    key = RemotePath(f"{root}/plain.csv").address.key
    assert open_dataset(f"webhdfs://{namenode.web.removeprefix('http://')}/{key}").num_rows == 1
    with pytest.raises(Unreachable):
        open_dataset("webhdfs://127.0.0.1:9/plain.csv")
    if endpoint == namenode.rpc:
        assert open_dataset(f"{namenode.rpc}/{key}").num_rows == 1
        with pytest.raises(Unreachable, match=r"webhdfs://"):
            open_dataset("hdfs://127.0.0.1:9/plain.csv")
