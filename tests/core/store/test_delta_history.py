"""The history of a table as a Delta table: each version has the same rows as in the store."""

from __future__ import annotations

import datetime as dt
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lamella import Cancelled, Store, export, open_dataset
from lamella.app.cli import main
from lamella.core.errors import BadData, FileProblem, LamellaError, TypeConflict
from lamella.core.jobs import Job
from lamella.core.store import delta_history
from lamella.core.store.table import Table
from tests.core.datasets.delta_logs import commit as write_commit
from tests.core.datasets.delta_logs import log_file


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as store:
        yield store


@pytest.fixture
def orders(store: Store) -> Table:
    """Six commits that insert, update and delete rows, and add a column."""
    rows = {"n": [1, 2, 3], "city": ["Rom", "Bonn", None]}
    table = store.create_table("orders", rows, message="begin")
    table.insert([{"n": 4, "city": "Lima"}], message="one more")
    table.update([{"_id": 1, "city": "Köln"}], message="moved")
    table.columns.add("price", pa.float64())
    table.delete([2])
    table.history.undo()
    return table


def sorted_rows(table: pa.Table) -> list[str]:
    rows = table.drop_columns([name for name in ("_id",) if name in table.column_names]).to_pylist()
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def versions_of(table: Table) -> list[list[str]]:
    return [sorted_rows(table.as_of(commit.version).read()) for commit in table.history.commits()]


def versions_in(path: Path) -> list[list[str]]:
    """The rows as delta-rs reads them."""
    newest = DeltaTable(path).version()
    return [sorted_rows(DeltaTable(path, version=n).to_pyarrow_table()) for n in range(newest + 1)]


def test_each_commit_is_a_version_with_its_time_and_message(orders: Table, tmp_path: Path) -> None:
    export_ = export(orders, tmp_path / "orders.delta", history=True)
    assert (export_.versions, export_.expired, export_.rows) == (6, 0, 4)
    assert versions_in(export_.path) == versions_of(orders)
    for version, expected in enumerate(versions_of(orders)):
        assert sorted_rows(pl.read_delta(str(export_.path), version=version).to_arrow()) == expected
    versions = list(reversed(open_dataset(export_.path).versions()))
    commits = orders.history.commits()
    assert [published.message for published in versions] == [commit.message for commit in commits]
    assert [published.operation for published in versions] == [
        "CREATE TABLE AS SELECT", "WRITE Append", "UPDATE", "ADD COLUMNS", "DELETE", "RESTORE",
    ]  # fmt: skip
    for published, commit in zip(versions, commits, strict=True):
        assert abs(published.time - commit.time.astimezone(dt.UTC)) < dt.timedelta(milliseconds=5)
        by_time = DeltaTable(export_.path)
        by_time.load_as_version(published.time)
        assert by_time.version() == published.number


def test_a_further_call_adds_what_is_new(orders: Table, tmp_path: Path) -> None:
    path = tmp_path / "orders.delta"
    export(orders, path, history=True)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    assert export(orders, path, history=True).versions == 0
    orders.insert([{"n": 5, "city": "Oslo", "price": 2.5}])
    orders.columns.drop("city")
    assert export(orders, path, history=True).versions == 2
    assert versions_in(path) == versions_of(orders)
    after = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    assert before.items() <= after.items()


ACTS: list[Callable[[Table, random.Random], object]] = [
    lambda table, chance: table.insert([{"n": chance.randrange(9)} for _ in range(chance.randrange(1, 9))]),
    lambda table, chance: table.update_where(f"n = {chance.randrange(9)}", {"$inc": {"n": 1}}),
    lambda table, chance: table.delete(table.read(["_id"])["_id"].to_pylist()[:: chance.randrange(2, 5)]),
    lambda table, chance: table.columns.add(chance.choice("abc"), pa.int32(), default=7),
    lambda table, chance: table.columns.rename(chance.choice("abc"), chance.choice("abc")),
    lambda table, chance: table.columns.drop(chance.choice("abc")),
    lambda table, chance: table.columns.cast("n", chance.choice([pa.int64(), pa.float64()])),
    lambda table, chance: table.history.undo(),
    lambda table, chance: table.history.redo(),
    lambda table, chance: table.history.restore(chance.randrange(1, table.version)),
    lambda table, chance: table.maintenance.flush(),
    lambda table, chance: table.maintenance.compact(),
]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("seed", range(3))
def test_random_changes_are_the_same_in_each_version(store: Store, tmp_path: Path, seed: int) -> None:
    """Files have three rows, and the table is published at random moments."""
    chance, path = random.Random(seed), tmp_path / "t.delta"
    table = store.create_table("t", {"n": list(range(8))})
    for _ in range(40):
        try:
            chance.choice(ACTS)(table, chance)
        except LamellaError:
            continue  # nothing to undo, or no such column
        if chance.random() < 0.2:
            export(table, path, history=True, row_group_rows=3)
    export(table, path, history=True, row_group_rows=3)
    assert versions_in(path) == versions_of(table)


def test_a_changed_row_costs_one_file(store: Store, tmp_path: Path) -> None:
    table = store.create_table("t", {"n": list(range(100))})
    export(table, tmp_path / "t.delta", history=True, row_group_rows=10)
    table.update([{"_id": 55, "n": -1}])
    table.delete([0])
    export_ = export(table, tmp_path / "t.delta", history=True, row_group_rows=10)
    assert (export_.versions, export_.files) == (2, 2)
    assert versions_in(export_.path) == versions_of(table)


def test_what_expired_is_said_and_the_rest_is_whole(orders: Table, tmp_path: Path) -> None:
    path = tmp_path / "orders.delta"
    export(orders, path, history=True)
    for n in range(3):
        orders.insert([{"n": n}])
    orders.maintenance.expire(keep_versions=2)
    export_ = export(orders, path, history=True)
    assert (export_.versions, export_.expired) == (2, 7)
    assert versions_in(path)[-2:] == versions_of(orders)
    export_ = export(orders, tmp_path / "late.delta", history=True)
    assert (export_.versions, export_.expired) == (2, 7)
    assert versions_in(export_.path) == versions_of(orders)


def test_a_table_that_somebody_else_wrote_to_is_refused(orders: Table, tmp_path: Path) -> None:
    path = tmp_path / "orders.delta"
    export(orders, path, history=True)
    entry = {"commitInfo": {"timestamp": 1, "operation": "OPTIMIZE", "engineInfo": "Apache-Spark/4"}}
    write_commit(path, 6, [entry])
    orders.insert([{"n": 9}])
    with pytest.raises(FileProblem, match=r"not from the table: 6, OPTIMIZE.*Apache-Spark/4"):
        export(orders, path, history=True)
    export(orders, tmp_path / "plain.delta")
    with pytest.raises(FileProblem, match="has a version that is not from the table"):
        export(orders, tmp_path / "plain.delta", history=True)


def test_the_history_of_another_table_is_refused(store: Store, orders: Table, tmp_path: Path) -> None:
    export(orders, tmp_path / "orders.delta", history=True)
    second = store.create_table("other", {"n": [1]})
    for _ in range(7):
        second.insert([{"n": 1}])
    with pytest.raises(FileProblem, match="has the history of another table"):
        export(second, tmp_path / "orders.delta", history=True)
    assert DeltaTable(tmp_path / "orders.delta").version() == 5


def test_after_an_error_it_goes_on_behind_the_last_version(
    orders: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, put = tmp_path / "orders.delta", delta_history.put_commit
    export(orders, path, history=True)
    for n in range(3):
        orders.insert([{"n": n}])

    def failing(root: Path, version: int, content: bytes, job: Job) -> None:
        if version == 7:
            raise Cancelled
        put(root, version, content, job)

    monkeypatch.setattr(delta_history, "put_commit", failing)
    with pytest.raises(Cancelled):
        export(orders, path, history=True)
    assert versions_in(path) == versions_of(orders)[:7]
    monkeypatch.setattr(delta_history, "put_commit", put)
    assert export(orders, path, history=True).versions == 2
    assert versions_in(path) == versions_of(orders)
    in_log = {action["add"]["path"] for version in range(9)
              for line in log_file(path, version).read_text().splitlines()
              if "add" in (action := json.loads(line))}  # fmt: skip
    assert {file.name for file in path.glob("*.parquet")} == in_log, "nothing is left of the failure"


def test_partitions_and_ids(orders: Table, tmp_path: Path) -> None:
    path = tmp_path / "orders.delta"
    export(orders, path, history=True, partition_by=["city"], include_ids=True)
    orders.insert([{"n": 6, "city": "Bonn"}])
    with pytest.raises(BadData, match="has a column _id"):
        export(orders, path, history=True)
    export(orders, path, history=True, include_ids=True)
    assert versions_in(path) == versions_of(orders)
    assert DeltaTable(path).metadata().partition_columns == ["city"]
    assert open_dataset(path).read(["_id"], sort=["_id"])["_id"].to_pylist() == [0, 1, 2, 3, 4]
    orders.columns.drop("city")
    with pytest.raises(BadData, match="version 8 of orders has no column 'city'"):
        export(orders, path, history=True, include_ids=True)


def test_many_commits_get_a_checkpoint(
    orders: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_history, "COMMITS_A_CHECKPOINT", 5)
    path = tmp_path / "orders.delta"
    export(orders, path, history=True)
    assert log_file(path, 5).with_suffix(".checkpoint.parquet").exists()
    orders.insert([{"n": 9}])
    export(orders, path, history=True)
    assert versions_in(path) == versions_of(orders)


def test_what_has_no_history_is_refused(store: Store, orders: Table, tmp_path: Path) -> None:
    path = tmp_path / "orders.delta"
    with pytest.raises(BadData, match="a history needs whole tables"):
        export(orders, path, history=True, where="n > 1")
    with pytest.raises(BadData, match="rows of a query have no history"):
        export(orders.query().where("n > 1"), path, history=True)
    with pytest.raises(BadData, match="keeps no history"):
        export(orders.as_of(2), path, history=True)
    late = store.create_table("late", {"n": [1], "for": pa.array([1], pa.duration("s"))})
    late.columns.drop("for")
    with pytest.raises(TypeConflict, match="column 'for'"):
        export(late, path, history=True)
    assert not path.exists()


def test_the_command_publishes_a_history(
    store: Store, orders: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "orders.delta")
    assert main(["export", str(store.path), "orders", target, "--history"]) == 0
    assert "6 versions were added to" in capsys.readouterr().out
    assert main(["versions", target]) == 0
    assert "one more" in capsys.readouterr().out


IN_SAIL = """
import json, sys
from lamella.core.bench.systems.spark_connect import session
with session() as spark:
    reader = spark.read.format("delta")
    frames = [reader.option("versionAsOf", n).load(sys.argv[1]) for n in range(int(sys.argv[2]))]
    print(json.dumps([sorted(row["n"] for row in frame.toArrow().to_pylist()) for frame in frames]))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pysail") is None, reason="pysail is not installed: pip install pysail")
def test_a_spark_connect_server_travels_through_it(orders: Table, tmp_path: Path) -> None:
    path = tmp_path / "orders.delta"
    export(orders, path, history=True)
    (tmp_path / "script.py").write_text(IN_SAIL)  # pyspark's client mistakes `python -c` for a Spark shell
    words: list[Any] = [sys.executable, tmp_path / "script.py", path, "6"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    commits = orders.history.commits()
    assert json.loads(result.stdout) == [
        sorted(orders.as_of(commit.version).read(["n"])["n"].to_pylist()) for commit in commits
    ]
