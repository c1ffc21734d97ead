"""Google Cloud Storage and Azure on real servers: `python3 dev.py test --long gcs azure`.

The tests of S3 apply to these services, too; these tests are about what differs.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lamella import Cancelled, FileProblem, Store, agg, col, export, open_dataset
from lamella.core.datasets.locate import is_changed_on_disk
from lamella.core.jobs import Job
from lamella.core.remote import listing, object_store
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied, MissingFile
from lamella.core.remote.servers import servers
from lamella.core.remote.trial import try_connection
from lamella.core.transfer.uploads import upload_draft
from tests import cloud_servers, spark_servers
from tests.cloud_servers import CloudServer
from tests.remote_servers import proxy_to

ROWS = 100_000
PLACE = "trips"
_numbers = itertools.count()


def google(endpoint: str) -> Connection:
    return Connection("cloud", "gs", endpoint=endpoint, secrets={"token": "env:TEST_CLOUD_SECRET"})


def azure(endpoint: str) -> Connection:
    secrets = {"account_key": "env:TEST_CLOUD_SECRET"}
    return Connection("cloud", "az", endpoint=endpoint, account=cloud_servers.ACCOUNT, secrets=secrets)


CLOUDS: dict[
    str, tuple[Callable[[str], AbstractContextManager[CloudServer]], Callable[[str], Connection], str, str]
] = {
    "gcs": (cloud_servers.gcs_server, google, cloud_servers.TOKEN, "another-token"),
    "azure": (cloud_servers.azure_server, azure, cloud_servers.ACCOUNT_KEY, "d3Jvbmd3cm9uZ3dyb25n"),
}


@pytest.fixture(scope="module", params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> Iterator[tuple[str, CloudServer]]:
    if not os.environ.get("LAMELLA_LONG_RUNS"):
        pytest.skip(f"Its server is started by the long form: python3 dev.py test --long {request.param}")
    with CLOUDS[request.param][0](PLACE) as server:
        yield request.param, server


@pytest.fixture
def connection(cloud: tuple[str, CloudServer], monkeypatch: pytest.MonkeyPatch) -> Connection:
    name, server = cloud
    for variable in ("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TEST_CLOUD_SECRET", CLOUDS[name][2])
    saved_connection = CLOUDS[name][1](server.endpoint)
    Connections().save(saved_connection)
    return saved_connection


@pytest.fixture
def root(connection: Connection) -> str:
    """The address of a folder for a single test."""
    return f"{connection.of_kind.schemes[0]}://{PLACE}/{next(_numbers)}"


def put(address: str, data: bytes) -> None:
    with upload_draft(RemotePath(address), Job()) as draft:
        draft.write_bytes(data)


def parquet(seed: int) -> bytes:
    sink = io.BytesIO()
    values = np.random.default_rng(seed).random(ROWS)
    pq.write_table(pa.table({"n": np.arange(ROWS), "x": values}), sink, row_group_size=ROWS // 4)
    return sink.getvalue()


def names(address: str, recursive: bool = False) -> list[str]:
    pages = listing.pages(Address.parse(address), recursive)
    return [f"{e.address.name}{'/' if e.is_folder else ''}" for page in pages for e in page]


def test_files_folders_and_patterns_open_and_answer(root: str):
    for year in (2023, 2024):
        for part in range(2):
            put(f"{root}/data/year={year}/part {part} %41 ü.parquet", parquet(part))
    whole = pq.read_table(io.BytesIO(parquet(0)))
    single = open_dataset(f"{root}/data/year=2024/part 0 %41 ü.parquet")
    assert single.read().equals(whole)
    assert single.where(col("x") > 0.9).count() == whole.filter(pa.compute.field("x") > 0.9).num_rows
    folder = open_dataset(f"{root}/data")
    assert folder.schema.names == ["n", "x", "year"]
    assert folder.read(columns=["year"]).num_rows == 4 * ROWS
    assert folder.group_by("year").agg(n=agg.count()).sort("year").read()["n"].to_pylist() == [2 * ROWS] * 2
    assert open_dataset(f"{root}/data/*/part 1*").num_rows == 2 * ROWS


def test_listings_say_of_a_file_what_it_says_itself(root: str):
    """Otherwise, a file opened through its folder would count as changed."""
    put(f"{root}/x.csv", b"n\n1\n")
    ((entry,),) = listing.pages(Address.parse(root))
    assert entry.status == servers.server(entry.address).status(entry.address)


def test_ranges_are_read_and_no_more(root: str):
    put(f"{root}/trips.parquet", parquet(1))
    path = RemotePath(f"{root}/trips.parquet")
    server, status = servers.server(path.address), files.remote_status(path.address)
    assert bytes(server.read(path.address, 4, 100, status)) == parquet(1)[4:100]
    assert bytes(server.read(path.address, status.size - 4, status.size, status)) == b"PAR1"


def test_a_file_that_changes_is_refused(root: str):
    put(f"{root}/trips.parquet", parquet(1))
    dataset = open_dataset(f"{root}/trips.parquet")
    dataset.read(columns=["n"], limit=1)
    put(f"{root}/trips.parquet", parquet(2))
    with pytest.raises(FileProblem) as caught:
        dataset.read()
    assert is_changed_on_disk(caught.value), caught.value
    assert open_dataset(f"{root}/trips.parquet").read().num_rows == ROWS


def test_folders_are_listed_a_level_at_a_time(root: str, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        for part in range(3):
            put(f"{root}/many/{number}/{part}.csv", b"n\n1\n")
    assert names(f"{root}/many") == [f"{number}/" for number in range(5)]
    assert len(names(f"{root}/many", recursive=True)) == 15
    monkeypatch.setattr(object_store, "ENTRIES_A_PAGE", 2)
    monkeypatch.setattr(object_store, "KEYS_BEFORE_SKIP", 1)
    assert names(f"{root}/many") == [f"{number}/" for number in range(5)]


def test_import_export_and_overwrite(root: str, tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", [{"n": i, "half": i % 2} for i in range(1000)])
        table.export(f"{root}/out/rows.parquet")
        with pytest.raises(FileProblem, match="is there already"):
            table.export(f"{root}/out/rows.parquet")
        table.export(f"{root}/out/rows.parquet", where="n < 10", overwrite=True)
        assert open_dataset(f"{root}/out/rows.parquet").num_rows == 10
        table.export(f"{root}/out/halves", partition_by=["half"])
        assert open_dataset(f"{root}/out/halves").num_rows == 1000
    path = RemotePath(f"{root}/out/rows.parquet")
    servers.server(path.address).delete(path.address)
    files.forget(path.address)
    assert not path.exists()


def test_a_lost_answer_to_the_end_of_an_upload_is_no_error(
    cloud: tuple[str, CloudServer], root: str, connection: Connection, tmp_path: Path
):
    """The answer to the request that joins the parts is lost, and the repeated request is refused."""
    source = tmp_path / "large"
    source.write_bytes(os.urandom(20 << 20))
    path = RemotePath(f"{root}/large.bin")
    endpoint = urlsplit(connection.endpoint)
    with proxy_to(f"http://{endpoint.netloc}") as proxy:
        Connections().save(replace(connection, endpoint=f"{proxy.endpoint}{endpoint.path}"), replace=True)
        servers.forget()
        proxy.loses_answer_to = re.compile(rb"^POST \S*[?&]uploadId=|^PUT \S*[?&]comp=blocklist")
        servers.server(path.address).upload(path.address, source, Job())
        assert proxy.loses_answer_to is None, "no answer was lost"
    Connections().save(connection, replace=True)
    servers.forget()
    assert path.read_bytes() == source.read_bytes()


def test_an_export_that_is_cancelled_leaves_nothing(root: str, tmp_path: Path):
    class CancelledInside(Job):
        def report(self, position: int, total: int | None = None, text: str = "") -> None:
            if position:
                self.cancel()
            super().report(position, total, text)

    source = tmp_path / "large"
    source.write_bytes(os.urandom(20 << 20))
    path = RemotePath(f"{root}/large.bin")
    with pytest.raises(Cancelled):
        servers.server(path.address).upload(path.address, source, CancelledInside())
    assert not path.exists()


def test_of_two_that_commit_to_a_delta_table_at_once_none_is_lost(root: str, tmp_path: Path):
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "orders.parquet")
    rows, address = open_dataset(tmp_path / "orders.parquet"), f"{root}/orders.delta"
    export(rows, address)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(export, rows, address, mode="append") for _ in range(4)]
        assert all(future.result().rows == 3 for future in both)
    assert sorted(open_dataset(address).read()["n"].to_pylist()) == sorted([1, 2, 3] * 5)
    assert open_dataset(address, version=4).num_rows == 15, "each has a version of its own"


WRITER = """
import sys
from lamella import export, open_dataset
rows = open_dataset(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    export(rows, sys.argv[2], mode="append")
"""


def test_programs_that_add_at_once_all_succeed_and_others_read_each_version(
    root: str, cloud: tuple[str, CloudServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`deltalake` reads each version, and Sail the newest."""
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "orders.parquet")
    address = f"{root}/orders.delta"
    export(open_dataset(tmp_path / "orders.parquet"), address)
    words = [sys.executable, "-c", WRITER, str(tmp_path / "orders.parquet"), address]
    writers = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        assert [writer.stdout and writer.stdout.readline() for writer in writers] == ["ready\n"] * 2
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for writer in writers:
            writer.communicate()
    finally:
        for writer in writers:
            writer.kill()
    assert [writer.returncode for writer in writers] == [0, 0]
    export(open_dataset(tmp_path / "orders.parquet"), address, mode="replace")
    for version, times in enumerate([1, 2, 3, 4, 5, 6, 7, 1]):
        table = DeltaTable(address, version=version, storage_options=cloud[1].reader_options)
        assert sorted(table.to_pyarrow_table()["n"].to_pylist()) == sorted([1, 2, 3] * times)
        assert open_dataset(address, version=version).num_rows == 3 * times
    assert DeltaTable(address, storage_options=cloud[1].reader_options).version() == 7
    for name, value in cloud[1].reader_environment.items():
        monkeypatch.setenv(name, value)
    with spark_servers.sail() as sail:
        rows = open_dataset(f"{sail.address}/delta:{address}").query().read()
        assert sorted(rows["n"].to_pylist()) == [1, 2, 3]


def test_rows_that_nobody_looked_at_are_not_replaced(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Another program commits after the table was read and before the commit."""
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "orders.parquet")
    rows, address = open_dataset(tmp_path / "orders.parquet"), f"{root}/orders.delta"
    export(rows, address)
    create = object_store.ObjectStore.create

    def overtaken(self: object_store.ObjectStore, place: Address, data: bytes) -> None:
        monkeypatch.setattr(object_store.ObjectStore, "create", create)
        export(rows, address, mode="append")
        create(self, place, data)

    monkeypatch.setattr(object_store.ObjectStore, "create", overtaken)
    with pytest.raises(FileProblem, match="was changed by another program meanwhile"):
        export(rows, address, mode="replace")
    assert open_dataset(address).num_rows == 6


def test_missing_and_forbidden(
    root: str, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(f"{root}/trips.csv", b"n\n1\n")
    with pytest.raises(MissingFile, match=f"Did you mean '{root}/trips.csv'"):
        open_dataset(f"{root}/tripz.csv")
    with pytest.raises(FileProblem, match=r"is not there|answered 500"):  # the latter is fake-gcs-server's
        open_dataset(f"{connection.of_kind.schemes[0]}://no-such-place/trips.csv")
    assert "trips.csv" in try_connection(connection, root).sentence
    wrong = CLOUDS["gcs" if connection.kind == "gs" else "azure"][3]
    monkeypatch.setenv("TEST_CLOUD_SECRET", wrong)
    servers.forget()
    files.forget_all()
    with pytest.raises(AccessDenied) as caught:
        open_dataset(f"{root}/trips.csv")
    assert wrong not in str(caught.value)
    with pytest.raises(AccessDenied):
        names(root)
    Connections().save(replace(connection, secrets={}, anonymous=True), replace=True)
    servers.forget()
    with pytest.raises(AccessDenied, match="cannot be opened without credentials"):
        open_dataset(f"{root}/trips.csv")
    source, path = tmp_path / "new.csv", RemotePath(f"{root}/new.csv")
    source.write_bytes(b"n\n")
    with pytest.raises(AccessDenied, match="may not be written"):
        servers.server(path.address).upload(path.address, source, Job())
