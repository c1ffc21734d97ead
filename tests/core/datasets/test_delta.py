"""Delta tables in place: exactly the live rows of a version, and nothing that its log does not vouch for."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import agg, col
from lamella.core.datasets import open_dataset
from lamella.core.datasets.delta import DeltaDataset, versions_of
from lamella.core.datasets.edit_problem import edit_problem
from lamella.core.datasets.formats import kind_of, sentence
from lamella.core.errors import BadData, FileProblem, MissingLibrary
from tests.core.datasets.delta_logs import add, commit, field, log_file, table, v2_checkpoint

LONG = [field("n", "long")]


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def opened(path: Path, version: int | None = None) -> DeltaDataset:
    dataset = open_dataset(path, version=version)
    assert isinstance(dataset, DeltaDataset)
    return dataset


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """Versions: 0 has three rows, 1 two more, 2 lacks one of each, 3 has one row alone."""
    path = tmp_path / "trips"
    write_deltalake(path, numbers(1, 2, 3))
    write_deltalake(path, numbers(4, 5), mode="append")
    DeltaTable(path).delete("n IN (2, 5)")
    write_deltalake(path, numbers(9), mode="overwrite")
    return path


def test_each_version_has_its_rows_and_no_removed_ones(trips: Path) -> None:
    rows = [sorted(opened(trips, version).read()["n"].to_pylist()) for version in range(4)]
    assert rows == [[1, 2, 3], [1, 2, 3, 4, 5], [1, 3, 4], [9]]
    newest = opened(trips)
    assert (newest.read().to_pylist(), newest.version, newest.remarks) == ([{"n": 9}], 3, ())
    assert opened(trips, 1).remarks == ("Version 1 of the Delta table; the newest is 3",)


def test_versions_are_listed_newest_first_with_what_made_them(trips: Path) -> None:
    versions = versions_of(trips)
    assert [version.number for version in versions] == [3, 2, 1, 0]
    assert [version.operation for version in versions][1:3] == ["DELETE", "WRITE Append"]
    assert versions[2].rows == 2
    assert all(version.time and version.engine.startswith("delta-rs") for version in versions)


def test_as_of_takes_a_number_or_a_time(trips: Path) -> None:
    now = opened(trips)
    times = [version.time for version in reversed(now.versions())]
    assert now.as_of(0).num_rows == 3
    assert now.as_of(times[-1]).version == 3
    assert now.as_of("2100-01-01").version == 3
    with pytest.raises(FileProblem, match="has no version of 1999-01-01 00:00:00 UTC or before"):
        now.as_of("1999-01-01")
    with pytest.raises(BadData, match=r"cannot be 'yesterday'.*Give its number, or a time"):
        now.as_of("yesterday")


def test_rows_are_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    for start in range(0, 50, 10):
        write_deltalake(tmp_path / "t", numbers(*range(start, start + 10)), mode="append")
    assert opened(tmp_path / "t").read()["n"].to_pylist() == list(range(50))


def test_filters_groups_and_sorts_leave_deleted_rows_out(tmp_path: Path) -> None:
    root = tmp_path / "t"
    actions = [
        add(root, "a.parquet", numbers(*range(10)), [2, 5]),
        add(root, "b.parquet", numbers(5, 6), [1]),
    ]
    table(root, LONG, actions, ["deletionVectors"])
    dataset = opened(root)
    live = [0, 1, 3, 4, 6, 7, 8, 9, 5]
    assert dataset.num_rows == len(live)
    assert dataset.read()["n"].to_pylist() == live
    assert dataset.count(col("n").between(2, 6)) == 4
    assert dataset.read(sort=["-n"])["n"].to_pylist() == sorted(live, reverse=True)
    assert dataset.query().group_by().agg(total=agg.sum("n")).read()["total"].to_pylist() == [sum(live)]


PARTITIONS: list[tuple[pa.DataType, Any, Any]] = [
    (pa.string(), "a b/é=%", "x"),
    (pa.bool_(), True, False),
    (pa.int8(), -3, 4),
    (pa.int64(), 2**60, 0),
    (pa.float32(), 1.5, -0.25),
    (pa.float64(), 0.1, -1e-9),
    (pa.decimal128(10, 2), Decimal("1.20"), Decimal("-7.00")),
    (pa.date32(), dt.date(2020, 2, 29), dt.date(1, 1, 1)),
    (pa.timestamp("us"), dt.datetime(2020, 1, 1, 1, 2, 3, 4), dt.datetime(1970, 1, 1)),
    (
        pa.timestamp("us", "UTC"),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1999, 1, 1, tzinfo=dt.UTC),
    ),
]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("kind", "first_key", "second_key"), PARTITIONS, ids=[str(kind) for kind, *_ in PARTITIONS]
)
def test_partition_columns_have_the_type_of_the_log(kind, first_key, second_key, tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array([first_key, second_key, None], kind), "n": [1, 2, 3]})
    write_deltalake(tmp_path / "t", rows, partition_by=["k"])
    dataset = opened(tmp_path / "t")
    assert dataset.schema.field("k").type == kind
    assert dataset.read(sort=["n"]).to_pylist() == rows.to_pylist()
    assert dataset.read(where=col("k") == first_key)["n"].to_pylist() == [1]
    assert dataset.read(where=col("k").is_null())["n"].to_pylist() == [3]
    groups = dataset.query().group_by("k").agg(total=agg.sum("n")).read().to_pylist()
    assert {(group["k"], group["total"]) for group in groups} == {(first_key, 1), (second_key, 2), (None, 3)}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_have_the_names_of_the_log(mode: str, tmp_path: Path) -> None:
    """In mode `id`, files may use any names for them."""
    root, stored = tmp_path / "t", "col-1" if mode == "name" else "anything"
    fields = [pa.field(stored, pa.int64(), metadata={"PARQUET:field_id": "1"})]
    rows = pa.table([pa.array([1, 2])], schema=pa.schema(fields))
    columns = [
        field("n", "long", id=1, physicalName="col-1"),
        field("k", "string", id=2, physicalName="col-2"),
    ]
    action = add(root, "a.parquet", rows, partition={"col-2": "x"})
    table(root, columns, [action], ["columnMapping"], ["k"], {"delta.columnMapping.mode": mode})
    assert opened(root).read().to_pylist() == [{"n": 1, "k": "x"}, {"n": 2, "k": "x"}]
    assert opened(root).count(col("n") == 2) == 1


def test_renamed_fields_inside_a_column_are_refused(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [field("x", "long", id=2, physicalName="col-2")]}
    rows = pa.table({"s": [{"col-2": 1}]})
    columns = [field("s", inner, id=1, physicalName="s")]
    table(
        tmp_path, columns, [add(tmp_path, "a.parquet", rows)], (), (), {"delta.columnMapping.mode": "name"}, 2
    )
    with pytest.raises(FileProblem, match="maps the names of fields inside column 's'"):
        open_dataset(tmp_path)


def test_a_column_that_came_later_is_null_before(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", numbers(1))
    later = pa.table({"n": [2], "word": ["x"]})
    write_deltalake(tmp_path / "t", later, mode="append", schema_mode="merge")
    assert opened(tmp_path / "t").read().to_pylist() == [{"n": 1, "word": None}, {"n": 2, "word": "x"}]
    assert opened(tmp_path / "t", 0).schema.names == ["n"]


def test_a_widened_column_has_the_wider_type(tmp_path: Path) -> None:
    actions = [
        add(tmp_path, "a.parquet", pa.table({"n": pa.array([7], pa.int32())})),
        add(tmp_path, "b.parquet", numbers(2**40)),
    ]
    table(tmp_path, LONG, actions, ["typeWidening"])
    assert opened(tmp_path).read() == numbers(7, 2**40)
    assert opened(tmp_path).count(col("n") > 2**39) == 1


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        ("integer", pa.int8(), 7),
        ("long", pa.int16(), 7),
        ("double", pa.float32(), 1.5),
        ("double", pa.int32(), 7),
        ("decimal(10,4)", pa.decimal128(5, 2), Decimal("1.25")),
        ("decimal(20,0)", pa.int64(), 7),
        ("timestamp_ntz", pa.date32(), dt.date(2020, 1, 2)),
    ],
)
def test_every_widening_of_the_protocol_keeps_values(kind: str, stored: pa.DataType, value, tmp_path) -> None:
    action = add(tmp_path, "a.parquet", pa.table({"n": pa.array([value, None], stored)}))
    table(tmp_path, [field("n", kind)], [action], ["typeWidening", "timestampNtz"])
    actual = opened(tmp_path).read()["n"]
    expected = dt.datetime(2020, 1, 2) if isinstance(value, dt.date) else value
    assert actual.to_pylist() == [expected, None]
    assert opened(tmp_path).count(col("n") == expected) == 1


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_checkpoint_with_sidecars_is_read(suffix: str, tmp_path: Path) -> None:
    """The checkpoint has version 2, and the commits before it were cleaned up."""
    actions = [add(tmp_path, f"{n}.parquet", numbers(n)) for n in range(4)]
    table(tmp_path, LONG, [actions[0]], ["v2Checkpoint"])
    v2_checkpoint(tmp_path, 2, [actions[:2], [actions[2]]], suffix)
    log_file(tmp_path, 0).unlink()
    commit(tmp_path, 3, [actions[3]])
    assert sorted(opened(tmp_path).read()["n"].to_pylist()) == [0, 1, 2, 3]
    assert sorted(opened(tmp_path, 2).read()["n"].to_pylist()) == [0, 1, 2]
    lost = min((tmp_path / "_delta_log" / "_sidecars").iterdir())
    lost.unlink()
    with pytest.raises(FileProblem, match=f"has lost a part of its checkpoint: {lost.name}"):
        open_dataset(tmp_path)


def test_a_checkpoint_that_lacks_a_part_is_none(trips: Path) -> None:
    log = trips / "_delta_log"
    DeltaTable(trips).create_checkpoint()
    newest = DeltaTable(trips).version()
    (log / f"{newest:020}.checkpoint.parquet").rename(
        log / f"{newest:020}.checkpoint.{1:010}.{2:010}.parquet"
    )
    (log / "_last_checkpoint").unlink()
    assert opened(trips).version == newest
    for first in log.glob("*0.json"):
        first.unlink()
    with pytest.raises(FileProblem, match="has a log with a gap: commit 0 is missing"):
        open_dataset(trips)


def test_times_of_96_bits_are_in_utc(tmp_path: Path) -> None:
    time = dt.datetime(2020, 1, 1, 12, 30, tzinfo=dt.UTC)
    rows = pa.table({"t": pa.array([time.replace(tzinfo=None)], pa.timestamp("us"))})
    action = add(tmp_path, "a.parquet", rows, use_deprecated_int96_timestamps=True)
    table(tmp_path, [field("t", "timestamp")], [action])
    assert opened(tmp_path).read().to_pylist() == [{"t": time}]
    assert opened(tmp_path).count(col("t") == time) == 1


def test_a_column_of_another_type_than_the_log_says_is_refused(tmp_path: Path) -> None:
    table(tmp_path, LONG, [add(tmp_path, "a.parquet", pa.table({"n": ["1"]}))])
    with pytest.raises(FileProblem, match="column 'n' is string here but int64 in the log of its table"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    "feature",
    ["variantType", "variantShredding-preview", "catalogManaged", "redirectReaderWriter", "unheardOf"],
)
def test_features_that_are_not_known_are_refused_by_name(feature: str, tmp_path: Path) -> None:
    table(tmp_path, LONG, [add(tmp_path, "a.parquet", numbers(1))], [feature])
    with pytest.raises(
        FileProblem, match=f"not known here: {feature}.*Read it with the program that wrote it"
    ):
        open_dataset(tmp_path)


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", numbers())
    assert (opened(tmp_path / "t").num_rows, opened(tmp_path / "t").schema.names) == (0, ["n"])


def test_without_its_library_the_command_that_installs_it_is_named(trips: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingLibrary, match=r"deltalake is not installed.*pip install deltalake"):
        open_dataset(trips)


def test_versions_that_are_not_there_say_which_are(trips: Path) -> None:
    with pytest.raises(FileProblem, match=r"has no version 4 yet\. There are versions 0 to 3"):
        open_dataset(trips, version=4)
    with pytest.raises(BadData, match="version cannot be -1"):
        open_dataset(trips, version=-1)
    with pytest.raises(FileProblem, match="is JSON lines, which has no versions"):
        open_dataset(log_file(trips, 0), version=1)


def test_a_version_whose_files_were_vacuumed_says_so(trips: Path) -> None:
    DeltaTable(trips).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(FileProblem, match=r"has lost files of version 1, .*vacuum.*Open the newest version"):
        open_dataset(trips, version=1)
    assert opened(trips).read().to_pylist() == [{"n": 9}]


def test_versions_before_the_log_was_cleaned_up_are_not_offered(trips: Path) -> None:
    DeltaTable(trips).create_checkpoint()
    for version in range(3):
        log_file(trips, version).unlink()
    assert [version.number for version in versions_of(trips)] == [3]
    with pytest.raises(FileProblem, match=r"no longer has version 1.*cleans up.*There is version 3"):
        open_dataset(trips, version=1)


def test_a_missing_checkpoint_is_no_loss_while_all_commits_are_there(trips: Path) -> None:
    DeltaTable(trips).create_checkpoint()
    next((trips / "_delta_log").glob("*.checkpoint.parquet")).unlink()
    with pytest.raises(FileProblem, match=r"has a Delta log whose version 3 cannot be read.*checkpoint"):
        open_dataset(trips)
    log_file(trips, 0).unlink()
    with pytest.raises(FileProblem, match="has a log with a gap: commit 0 is missing"):
        open_dataset(trips)


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_commit_that_was_not_written_to_its_end_is_said(share: float, trips: Path) -> None:
    path = log_file(trips, 3)
    text = path.read_text()
    path.write_text(text[: int(len(text) * share)])
    with pytest.raises(FileProblem, match=r"Open version 2"):
        open_dataset(trips)
    assert sorted(opened(trips, 2).read()["n"].to_pylist()) == [1, 3, 4]
    assert [version.number for version in versions_of(trips)] == [3, 2, 1, 0]


def test_a_log_without_commits_is_said(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(FileProblem, match="has an empty Delta log"):
        open_dataset(tmp_path)
    with pytest.raises(FileProblem, match="has an empty Delta log"):
        versions_of(tmp_path)


def test_a_data_file_of_another_length_is_refused(tmp_path: Path) -> None:
    table(tmp_path, LONG, [add(tmp_path, "a.parquet", numbers(1, 2))])
    path = tmp_path / "a.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileProblem, match="is not the file that the log of its table names"):
        open_dataset(tmp_path)


def test_a_version_stays_as_it_is_while_others_write(trips: Path) -> None:
    before = opened(trips)
    write_deltalake(trips, numbers(10), mode="append")
    assert before.read().to_pylist() == [{"n": 9}]
    assert opened(trips).snapshot().token != before.snapshot().token
    assert opened(trips, 3).snapshot().token == before.snapshot().token


def test_files_of_a_table_are_not_shown_as_a_folder(trips: Path) -> None:
    with pytest.raises(FileProblem, match=r"holds a Delta table.*Open them separately: '.*trips'"):
        open_dataset(trips.parent)
    with pytest.raises(FileProblem, match="holds a Delta table"):
        open_dataset(str(trips / "*.parquet"))
    with pytest.raises(FileProblem, match="cannot be opened together with other files"):
        open_dataset([trips, log_file(trips, 0)])
    part = trips / "k=1"
    part.mkdir()
    shutil.copy(next(trips.glob("*.parquet")), part)
    with pytest.raises(FileProblem, match=r"is a part of the Delta table trips.*Open .*trips"):
        open_dataset(part)


def test_a_table_is_named_as_what_it_is_and_read_only(trips: Path) -> None:
    assert sentence([kind_of(trips)]) == "A Delta Lake table"
    assert "read-only here" in str(edit_problem(opened(trips)))


def test_a_clone_of_files_elsewhere_is_refused(tmp_path: Path) -> None:
    action = add(tmp_path, "a.parquet", numbers(1))
    action["add"]["path"] = "s3://bucket/a.parquet"
    table(tmp_path, LONG, [action])
    with pytest.raises(FileProblem, match="has rows in files elsewhere: s3://bucket"):
        open_dataset(tmp_path)


def test_a_clone_of_files_on_this_machine_is_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "the other"
    action = add(elsewhere, "a.parquet", numbers(1))
    action["add"]["path"] = (elsewhere / "a.parquet").as_uri()
    assert opened(table(tmp_path / "t", LONG, [action])).read() == numbers(1)


def test_a_removed_row_of_a_later_commit_is_gone(tmp_path: Path) -> None:
    """Spark deletes like this: it adds the file again with a vector and removes the file without one."""
    first = add(tmp_path, "a.parquet", numbers(1, 2, 3))
    table(tmp_path, LONG, [first], ["deletionVectors"])
    removal = {"remove": {"path": "a.parquet", "dataChange": True, "deletionTimestamp": 2_000}}
    commit(tmp_path, 1, [removal, add(tmp_path, "a.parquet", numbers(1, 2, 3), [0])])
    assert [opened(tmp_path, version).num_rows for version in (0, 1)] == [3, 2]


ACTS = st.lists(
    st.tuples(st.sampled_from(["append", "overwrite", "delete"]), st.lists(st.integers(0, 9), max_size=4)),
    max_size=5,
)


@settings(max_examples=8, deadline=None)
@given(ACTS)
def test_every_version_equals_a_plain_list(tmp_path_factory, acts: list[tuple[str, list[int]]]) -> None:
    path, live = tmp_path_factory.mktemp("delta") / "t", [0]
    write_deltalake(path, numbers(0))
    versions = [live]
    for act, values in acts:
        if act == "delete":
            live = [n for n in live if n not in values]
            DeltaTable(path).delete(f"n IN ({', '.join(map(str, [*values, -1]))})")
        else:
            live = (live if act == "append" else []) + values
            write_deltalake(path, numbers(*values), mode=act)
        if DeltaTable(path).version() == len(versions):
            versions.append(live)
    for number, rows in enumerate(versions):
        assert sorted(opened(path, number).read()["n"].to_pylist()) == sorted(rows)
