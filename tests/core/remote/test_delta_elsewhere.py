"""Delta tables in a bucket are opened in place by their log, and published so that others never see a
part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lamella import Connection, FileProblem, Store, agg, export, open_dataset
from lamella.app.cli import main
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.delta import DeltaDataset, versions_of
from lamella.core.remote.addresses import Address
from lamella.core.remote.files import files
from lamella.core.remote.object_store import ObjectStore
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied
from lamella.core.remote.servers import servers
from tests.core.datasets.delta_logs import (
    add,
    deletion_vector,
    field,
    log_file,
    table,
    v2_checkpoint,
    vector_in_file,
)
from tests.remote_servers import PlainPutServer, S3Server


def copied(s3: S3Server, bucket: str, folder: Path) -> str:
    """Copy the folder into the bucket, and return its address."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            s3.put(bucket, f"lake/{path.relative_to(folder.parent).as_posix()}", path.read_bytes())
    files.forget_all()
    return f"s3://{bucket}/lake/{folder.name}"


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """A partitioned table with unusual characters in a value. Version 0 has three rows, 1 two more, 2 lacks
    one of each, and 3 has a single row, after a checkpoint."""
    path = tmp_path / "trips"
    rows = [("a b/c%", 1), ("ü", 2), ("ü", 3)]
    for number, part in enumerate((rows, [("ü", 4), ("a b/c%", 5)])):
        columns = {"city": [city for city, _ in part], "n": [n for _, n in part]}
        mode = "append" if number else "error"
        write_deltalake(path, pa.table(columns), mode=mode, partition_by=["city"])
    DeltaTable(path).delete("n IN (2, 5)")
    DeltaTable(path).create_checkpoint()
    write_deltalake(path, pa.table({"city": ["x"], "n": [9]}), mode="overwrite")
    return path


def test_each_version_has_its_rows_and_no_removed_ones(s3: S3Server, bucket: str, trips: Path):
    address = copied(s3, bucket, trips)
    for version, rows in enumerate(([1, 2, 3], [1, 2, 3, 4, 5], [1, 3, 4], [9])):
        remote_table = open_dataset(address, version=version)
        assert isinstance(remote_table, DeltaDataset)
        local_table = open_dataset(trips, version=version)
        assert sorted(remote_table.read()["n"].to_pylist()) == rows
        assert remote_table.read(sort=["n"]).equals(local_table.read(sort=["n"]))
    assert open_dataset(f"{address}/").read().to_pylist() == [{"city": "x", "n": 9}]
    before = open_dataset(address, version=1)
    assert before.remarks == ("Version 1 of the Delta table; the newest is 3",)
    assert before.group_by("city").agg(n=agg.count()).sort("city").read()["n"].to_pylist() == [2, 3]
    assert [version_.number for version_ in versions_of(address)] == [3, 2, 1, 0]
    assert before.as_of(0).num_rows == 3


@pytest.mark.slow
def test_the_command_lists_versions_there(
    s3: S3Server, bucket: str, trips: Path, capsys: pytest.CaptureFixture[str]
):
    address = copied(s3, bucket, trips)
    assert main(["versions", address]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["query", address, "--version", "0", "--where", "n > 2", "--format", "jsonl"]) == 0
    assert '"n": 3' in capsys.readouterr().out.replace('":3', '": 3')


@pytest.mark.slow
def test_parts_of_a_table_and_folders_above_it_are_refused(s3: S3Server, bucket: str, trips: Path):
    address = copied(s3, bucket, trips)
    for inside in (f"{address}/city=x", f"{address}/*/*.parquet"):
        with pytest.raises(FileProblem, match="is a part of the Delta table trips") as caught:
            open_dataset(inside)
        assert f"Open {address}" in str(caught.value)
    with pytest.raises(FileProblem, match="holds a Delta table") as caught:
        open_dataset(f"s3://{bucket}/lake")
    assert f"'{address}'" in str(caught.value)


@pytest.mark.slow
def test_files_that_a_vacuum_removed_and_gaps_are_told(s3: S3Server, bucket: str, trips: Path):
    gone = {add["path"] for add in pa.table(DeltaTable(trips, version=0).get_add_actions()).to_pylist()}
    address = copied(s3, bucket, trips)
    for name in gone:
        path = RemotePath(f"{address}/{name.replace('%25', '%').replace('%20', ' ')}")
        s3.client.delete_object(Bucket=bucket, Key=path.address.key)
    files.forget_all()
    assert open_dataset(address).num_rows == 1
    with pytest.raises(FileProblem, match="has lost files of version 0"):
        open_dataset(address, version=0)
    s3.client.delete_object(Bucket=bucket, Key=f"lake/trips/_delta_log/{1:020}.json")
    with pytest.raises(FileProblem, match="commit 1 is missing"):
        open_dataset(address, version=1)
    assert open_dataset(address).num_rows == 1


def test_a_last_commit_that_is_not_whole_is_refused_with_a_way_out(s3: S3Server, bucket: str, trips: Path):
    address = copied(s3, bucket, trips)
    newest = f"lake/trips/_delta_log/{3:020}.json"
    for half in (b"", (trips / "_delta_log" / f"{3:020}.json").read_bytes()[:200]):
        s3.put(bucket, newest, half)
        files.forget_all()
        with pytest.raises(FileProblem, match="Open version 2") as caught:
            open_dataset(address)
        assert "/tmp" not in str(caught.value)
        assert sorted(open_dataset(address, version=2).read()["n"].to_pylist()) == [1, 3, 4]


def test_a_log_reaches_files_of_its_own_table_alone(s3: S3Server, bucket: str, tmp_path: Path):
    """A log that a stranger wrote must not show files of this machine or of other buckets."""
    root = tmp_path / "clone"
    action = add(root, "own.parquet", pa.table({"n": [1]}))
    for named, is_own in (
        ((root / "own.parquet").as_uri(), False),
        (f"s3://other-{bucket}/lake/clone/own.parquet", False),
        (f"s3a://{bucket}/lake/clone/own.parquet", True),
    ):
        action["add"]["path"] = named
        address = copied(s3, bucket, table(root, [field("n", "long")], [action]))
        if is_own:
            assert open_dataset(address).read()["n"].to_pylist() == [1]
            continue
        with pytest.raises(FileProblem, match="has rows in files elsewhere"):
            open_dataset(address)


def test_a_folder_opens_though_those_above_it_may_not_be_listed(
    s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch
):
    s3.put(bucket, "closed/open/x.csv", b"n\n1\n")
    kind = type(servers.server(RemotePath(f"s3://{bucket}").address))
    entries = kind.entries

    def limited(self: object, folder: Address, recursive: bool = False) -> object:
        if not folder.key.startswith("closed/open"):
            raise AccessDenied(folder, "may not be read")
        return entries(self, folder, recursive)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "entries", limited)
    assert open_dataset(f"s3://{bucket}/closed/open").num_rows == 1


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("is_inline", [True, False], ids=["inline", "file"])
def test_rows_of_deletion_vectors_are_left_out(s3: S3Server, bucket: str, tmp_path: Path, is_inline: bool):
    root = tmp_path / "marked"
    action = add(root, "a b.parquet", pa.table({"n": [10, 11, 12]}), deleted=[1])
    action["add"]["path"] = "a%20b.parquet"
    if not is_inline:
        vector_in_file(root, action["add"]["deletionVector"], deletion_vector([1]))
    table(root, [field("n", "long")], [action], features=["deletionVectors"])
    assert open_dataset(root).read()["n"].to_pylist() == [10, 12]
    assert open_dataset(copied(s3, bucket, root)).read()["n"].to_pylist() == [10, 12]


def test_a_checkpoint_with_sidecars_is_fetched(s3: S3Server, bucket: str, tmp_path: Path):
    root = tmp_path / "large"
    actions = [add(root, f"{n}.parquet", pa.table({"n": [n]})) for n in range(3)]
    table(root, [field("n", "long")], [actions[0]], features=["v2Checkpoint"])
    v2_checkpoint(root, 2, [actions[:2], [actions[2]]], "parquet")
    log_file(root, 0).unlink()
    address = copied(s3, bucket, root)
    assert sorted(open_dataset(address).read()["n"].to_pylist()) == [0, 1, 2]


def test_a_table_is_published_log_last(
    s3: S3Server, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    address = f"s3://{bucket}/lake/orders.delta"
    with Store.open(tmp_path / "store") as store:
        orders = store.create_table("orders", [{"city": f"c{n % 3}", "n": n} for n in range(100)])
        kind = type(servers.server(RemotePath(address).address))
        sent: list[str] = []
        upload = kind.upload

        def noted(self: object, address: object, *arguments: object) -> None:
            sent.append(str(address))
            upload(self, address, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(kind, "upload", noted)
        orders.export(address, partition_by=["city"])
        assert [name for name in sent if "_delta_log" in name] == sent[-1:]
        assert not [name for name in sent if "_SUCCESS" in name]
        assert sorted(open_dataset(address).read()["n"].to_pylist()) == list(range(100))
        with pytest.raises(FileProblem, match="is already a Delta table"):
            orders.export(address)
    assert delta_rs(s3, address).to_pyarrow_table().num_rows == 100


def delta_rs(s3: S3Server, address: str) -> DeltaTable:
    """The table as delta-rs reads it, without Lamella."""
    options = {
        "aws_access_key_id": s3.access_key, "aws_secret_access_key": s3.secret_key, "aws_region": "us-east-1",
        "aws_endpoint_url": s3.endpoint, "aws_allow_http": "true",
    }  # fmt: skip
    return DeltaTable(address, storage_options=options)


@pytest.fixture
def orders(s3: S3Server, bucket: str, tmp_path: Path) -> tuple[str, Dataset]:
    """A table in the bucket, with the rows of its three files."""
    rows = pa.table({"n": [1, 2, 3], "city": ["Rom", "Bonn", "Rom"]})
    pq.write_table(rows, tmp_path / "orders.parquet")
    opened = open_dataset(tmp_path / "orders.parquet")
    address = f"s3://{bucket}/lake/orders.delta"
    export(opened, address, partition_by=["city"])
    return address, opened


def test_rows_are_added_and_replaced_there(s3: S3Server, orders: tuple[str, Dataset]) -> None:
    address, rows = orders
    export_ = export(rows, address, mode="append", where="n > 1")
    assert (export_.rows, export_.files) == (2, 3)
    assert sorted(open_dataset(address).read()["n"].to_pylist()) == [1, 2, 2, 3, 3]
    export(rows, address, mode="replace", where="n = 3")
    table = delta_rs(s3, address)
    assert table.to_pyarrow_table().to_pylist() == [{"n": 3, "city": "Rom"}]
    assert [entry["operation"] for entry in table.history()] == ["WRITE"] * 3
    assert [open_dataset(address, version=number).num_rows for number in range(3)] == [3, 5, 1]


def test_a_history_is_published_there(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    address = f"s3://{bucket}/lake/orders.delta"
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("orders", {"n": [1, 2]})
        table.insert([{"n": 3}])
        assert export(table, address, history=True).versions == 2
        table.delete([0])
        assert export(table, address, history=True).versions == 1
        with pytest.raises(FileProblem, match="Lamella cannot write: inCommitTimestamp"):
            export(table, address, mode="append")
    versions = [delta_rs(s3, address) for _ in range(3)]
    for number, version in enumerate(versions):
        version.load_as_version(number)
    rows = [sorted(version.to_pyarrow_table()["n"].to_pylist()) for version in versions]
    assert rows == [[1, 2], [1, 2, 3], [2, 3]]


@pytest.mark.slow
def test_a_log_that_grows_gets_a_checkpoint(s3: S3Server, bucket: str, orders: tuple[str, Dataset]) -> None:
    address, rows = orders
    commit = f"lake/orders.delta/_delta_log/{0:020}.json"
    text = s3.client.get_object(Bucket=bucket, Key=commit)["Body"].read().decode()
    often = text.replace('"configuration":{}', '"configuration":{"delta.checkpointInterval":"2"}')
    s3.put(bucket, commit, often.encode())
    files.forget_all()
    export(rows, address, mode="append")
    export(rows, address, mode="append")
    objects = s3.client.list_objects(Bucket=bucket, Prefix="lake/orders.delta/_delta_log/")["Contents"]
    names = {entry["Key"].rpartition("/")[2] for entry in objects}
    assert {f"{2:020}.checkpoint.parquet", "_last_checkpoint"} <= names
    assert delta_rs(s3, address).to_pyarrow_table().num_rows == 9


WRITER = """
import sys
from lamella import export, open_dataset
rows = open_dataset(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for place in range(3):
    export(rows, sys.argv[2], mode="append")
"""


@pytest.mark.slow
def test_two_programs_that_add_at_once_both_succeed(s3: S3Server, orders: tuple[str, Dataset]) -> None:
    address, rows = orders
    words = [sys.executable, "-c", WRITER, str(rows.paths[0]), address]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        for _ in range(3):
            export(rows, address, mode="append")
    assert process.returncode == 0
    table = delta_rs(s3, address)
    assert table.version() == 6
    assert sorted(table.to_pyarrow_table()["n"].to_pylist()) == sorted([1, 2, 3] * 7)


def test_rows_that_nobody_looked_at_are_not_replaced(
    s3: S3Server, bucket: str, orders: tuple[str, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program commits after the table was read and before the commit."""
    address, rows = orders
    create = ObjectStore.create

    def overtaken(self: ObjectStore, place: Address, data: bytes) -> None:
        monkeypatch.setattr(ObjectStore, "create", create)
        export(rows, address, mode="append")
        create(self, place, data)

    monkeypatch.setattr(ObjectStore, "create", overtaken)
    with pytest.raises(FileProblem, match="was changed by another program meanwhile"):
        export(rows, address, mode="replace")
    assert open_dataset(address).num_rows == 6
    objects = s3.client.list_objects(Bucket=bucket, Prefix="lake/orders.delta/")["Contents"]
    data_files = [entry["Key"] for entry in objects if entry["Key"].endswith(".parquet")]
    assert len(data_files) == 4, "the files of the commit that failed are removed"


def test_a_server_without_conditional_writes_is_refused() -> None:
    """On such a server, the second of two writers would replace the commit of the first."""
    server = PlainPutServer()
    try:
        commit = RemotePath("s3://lake/t.delta/_delta_log/1.json").address
        store = ObjectStore(commit, Connection("old", "s3", endpoint=server.endpoint, anonymous=True))
        with pytest.raises(FileProblem, match="ignores If-None-Match"):
            store.create(commit, b"{}")
        assert server.files == {}
    finally:
        server.close()
