"""Tables of a Spark server as datasets: columns, order, what is refused, and that nothing is uploaded."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lamella
from lamella import agg, col, open_dataset
from lamella.core.datasets.spark import SparkTable, open_spark_table
from lamella.core.errors import BadData, BadQuery, BadSql, FileProblem, LamellaError, UnknownColumn
from lamella.core.query.spark.dialect import to_spark
from lamella.core.query.steps import Sql
from lamella.core.remote.spark_connect import ServerRefusal

ROWS = pa.table(
    {
        "id": [3, 1, 2, 4],
        "a.b": [1, 2, None, 4],
        "we`ird": ["x", "y", "z", None],
        "N": [7, 8, 9, 10],
        "n": [0.5, float("nan"), None, -0.0],
        "inner": [{"k": 1, "l": [1, 2]}, None, {"k": 2, "l": []}, {"k": None, "l": None}],
    }
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def table(spark_address: str, path: Path) -> SparkTable:
    return open_spark_table(f"{spark_address}/parquet:{path}", ["id"])


def test_open_dataset_takes_the_address(spark_address: str, path: Path) -> None:
    opened = lamella.open_dataset(f"{spark_address}/parquet:{path}")
    assert isinstance(opened, SparkTable)
    assert opened.name == "rows" and opened.count() == 4
    assert opened.address == f"{spark_address}/parquet:{path}"


def test_names_with_dots_backticks_and_of_two_cases(table: SparkTable) -> None:
    rows_read = table.read(columns=["we`ird", "a.b", "N", "n"], where=col("a.b").not_null(), sort=["-N"])
    assert rows_read["we`ird"].to_pylist() == [None, "y", "x"]
    assert rows_read["N"].to_pylist() == [10, 8, 7]


def test_nested_columns_by_their_paths(table: SparkTable) -> None:
    assert table.schema.field("inner").type == pa.struct([("k", pa.int64()), ("l", pa.list_(pa.int64()))])
    rows = table.query().compute(k=col("inner.k")).where(col("inner.k") > 1).select("id", "k", "inner")
    assert rows.read().to_pylist() == [{"id": 2, "k": 2, "inner": {"k": 2, "l": []}}]
    assert table.query().unwind("inner.l").read()["inner.l"].to_pylist() == [1, 2]


def test_a_type_that_only_the_server_knows_is_text_and_noted(table: SparkTable) -> None:
    rows = table.server.schema("SELECT INTERVAL '1' DAY AS waits, 1 AS waits, 1 AS n")
    renamed_table = SparkTable(table.server, table.table, rows)
    assert renamed_table.schema.names == ["waits", "waits#2", "n"], "two columns of one name get a number"
    assert renamed_table.schema.field("waits").type == pa.string()
    assert "shown as text" in renamed_table.snapshot().columns[0].note


def test_the_order_is_that_of_the_key(table: SparkTable) -> None:
    assert table.read()["id"].to_pylist() == [1, 2, 3, 4]
    assert table.head(2)["id"].to_pylist() == [1, 2]
    assert table.query().agg(first=agg.first("N")).read()["first"].to_pylist() == [8]


def test_without_a_key_there_is_no_first_row(table: SparkTable) -> None:
    unordered = table.with_key()
    assert unordered.query().limit(3).count() == 3
    with pytest.raises(BadQuery, match="not sorted") as caught:
        unordered.query().agg(first=agg.first("N")).read()
    assert "no order" in str(caught.value)
    assert unordered.query().sort("-id").agg(first=agg.first("N")).read()["first"].to_pylist() == [10]


def test_with_key_refuses_a_column_that_is_not_there(table: SparkTable) -> None:
    with pytest.raises(UnknownColumn, match="'ide'"):
        table.with_key("ide")


def test_sample_draws_the_same_rows_each_time(table: SparkTable) -> None:
    for rows in (table, table.with_key()):
        drawn = rows.query().sample(2, seed=5).read()["id"].to_pylist()
        assert len(set(drawn)) == 2
        assert rows.query().sample(2, seed=5).read()["id"].to_pylist() == drawn


def test_joined_with_a_table_of_the_same_server(table: SparkTable, spark_address: str, path: Path) -> None:
    joined_table = open_spark_table(f"{spark_address}/parquet:{path}")
    joined = table.query().join(joined_table, on="id", how="left", suffix="_2")
    assert joined.read()["N_2"].to_pylist() == [8, 9, 7, 10]


def test_a_local_file_is_refused_and_never_uploaded(table: SparkTable, path: Path) -> None:
    local_file = open_dataset(path)
    for query in (table.query().join(local_file, on="id"), local_file.query().join(table, on="id")):
        with pytest.raises(BadQuery, match="nothing is uploaded"):
            query.read()
        with pytest.raises(BadQuery, match="nothing is uploaded"):
            _ = query.schema


def test_sql_that_somebody_typed_runs_there(table: SparkTable) -> None:
    rows = table.query().where(col("id") > 1)
    query = rows.then(Sql('SELECT "we`ird" AS w, N // 2 AS half, id / 2 AS part FROM t ORDER BY id', "t"))
    assert query.read().to_pylist() == [
        {"w": "z", "half": 4, "part": 1.0},
        {"w": "x", "half": 3, "part": 1.5},
        {"w": None, "half": 5, "part": 2.0},
    ]
    assert query.schema.names == ["w", "half", "part"]


def test_sql_that_the_dialect_lacks_is_refused_before_it_runs(table: SparkTable) -> None:
    query = table.query().then(Sql("SELECT damerau_levenshtein('a', \"we`ird\") AS d FROM t", "t"))
    with pytest.raises(BadQuery, match="step 'sql' cannot run on Spark Connect") as caught:
        query.read()
    assert "damerau_levenshtein" in str(caught.value)


def test_facets_are_refused_with_the_name_of_the_step(table: SparkTable) -> None:
    with pytest.raises(BadQuery, match="step 'facets' cannot run on Spark Connect"):
        table.query().facets(a="N").read()


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (col("id").cast("timestamp[ns]"), "has no equivalent"),
        (col("n").cast("string"), "written as text differently"),
    ],
)
def test_values_that_spark_has_otherwise_are_refused(table: SparkTable, expression: object, why: str) -> None:
    with pytest.raises(LamellaError, match=f"(?i){why}|does not fit"):
        table.query().compute(made=expression).read()


def test_a_table_that_is_not_there(spark_address: str) -> None:
    with pytest.raises(ServerRefusal, match="nowhere"):
        open_spark_table(f"{spark_address}/nowhere")
    with pytest.raises(BadData, match="none of its tables"):
        open_spark_table(spark_address)


def test_batches_come_as_they_are_computed(table: SparkTable) -> None:
    reader = table.query().sort("id").batches(batch_size=3)
    assert [batch.num_rows for batch in reader] == [3, 1]


def test_whole_rows_are_not_read_behind_ones_back(table: SparkTable) -> None:
    with pytest.raises(BadQuery, match="is on Spark Connect"):
        table.explain()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("SELECT 7 / x FROM t", "SELECT CAST(7 AS DOUBLE) / nullif(CAST(x AS DOUBLE), 0) FROM t"),
        ("SELECT x // 2 FROM t", "SELECT (x DIV 2) FROM t"),
        ("SELECT x % y FROM t", "SELECT x % nullif(y, 0) FROM t"),
        ("SELECT a IS DISTINCT FROM b FROM t", "SELECT NOT equal_null(a, b) FROM t"),
        ("SELECT list_extract(l, 2) FROM t", "SELECT get(l, 1) FROM t"),
        ("SELECT CAST(x AS TIMESTAMP) FROM t", "SELECT CAST(x AS TIMESTAMP_NTZ) FROM t"),
        ("SELECT concat(a, b) FROM t", "SELECT concat_ws('', CAST(a AS STRING), CAST(b AS STRING)) FROM t"),
        ("SELECT 'a\\b'", "SELECT 'a\\\\b'"),
    ],
)
def test_to_spark(ours: str, theirs: str) -> None:
    assert to_spark(ours) == theirs


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT levenshtein(a, b) FROM t",
        "SELECT * FROM read_parquet('/etc/passwd')",
        "SELECT x::TIMESTAMP_NS FROM t",
    ],
)
def test_to_spark_refuses_what_is_in_no_table(statement: str) -> None:
    with pytest.raises(BadSql, match="Spark Connect"):
        to_spark(statement)


def test_a_table_that_was_made_anew_never_shows_a_column_under_the_name_of_another(
    spark_address: str, tmp_path: Path
) -> None:
    path = tmp_path / "anew.parquet"
    pq.write_table(pa.table({"a": [1], "b": [2]}), path)
    table = open_spark_table(f"{spark_address}/parquet:{path}")
    pq.write_table(pa.table({"c": [0], "b": [20], "a": [10]}), path)
    assert table.read().to_pylist() == [{"a": 10, "b": 20}]
    for columns, why in [
        ({"c": [1], "b": [2]}, "no column 'a' any more"),
        ({"a": ["x"], "b": [2]}, "'a' was int64, and is string"),
    ]:
        pq.write_table(pa.table(columns), path)
        for ask in (table.read, lambda: table.count(col("a") > 0)):
            with pytest.raises(FileProblem, match=f"has other columns .* {why}"):
                ask()


def test_a_table_is_exported_as_one_of_this_machine_is(table: SparkTable, tmp_path: Path) -> None:
    where = lamella.export(table, tmp_path / "some.parquet", where="N > 7", sort=["-N"], columns=["N", "id"])
    assert where.rows == 3
    assert pq.read_table(where.path).to_pydict() == {"N": [10, 9, 8], "id": [4, 2, 1]}
    whole = lamella.export(table, tmp_path / "all.delta")
    assert open_dataset(whole.path).read()["id"].to_pylist() == [1, 2, 3, 4]
    with pytest.raises(BadData, match="include_ids"):
        lamella.export(table, tmp_path / "ids.parquet", include_ids=True)
