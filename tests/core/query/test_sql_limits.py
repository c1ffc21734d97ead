"""A statement reads what was opened and no other file, within the time and the memory it is given."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, sql
from lamella.core.errors import BadData, BadSql, Cancelled, FileProblem, NoRoom, TookTooLong
from lamella.core.jobs import Job

ENDLESS = "select sum(a.range * b.range % 7) from range(10000000) a, range(10000000) b"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("t", [{"n": 1}, {"n": 2}]).maintenance.flush()
        yield opened


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text("word\nhidden\n")
    pq.write_table(pa.table({"word": ["hidden"]}), tmp_path / "secret.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "select * from read_csv('{0}/secret.csv')",
        "select * from read_text('{0}/secret.csv')",
        "select * from read_blob('{0}/*')",
        "select * from glob('{0}/*')",
        "select * from parquet_schema('{0}/secret.parquet')",
        "select * from t, (select word from read_parquet('{0}/secret.parquet'))",
        "with x as (from '{0}/secret.parquet') select * from x",
        "select (select max(word) from '{0}/secret.csv') from t",
        "select * from query('select * from ''{0}/secret.parquet''')",
        "select * from query_table('{0}/secret.parquet')",
        "select * from read_text('{0}/s/data/../catalog.sqlite')",
        "select * from read_blob('{0}/s/catalog.sqlite')",
        "select * from sniff_csv('{0}/secret.csv')",
    ],
)
def test_no_other_file_is_read(store: Store, outside: Path, text: str) -> None:
    with pytest.raises(BadSql, match="may not"):
        store.sql(text.format(outside))


@pytest.mark.parametrize("text", ["from read_csv('{0}/secret.csv')", "from '{0}/secret.parquet'"])
def test_files_may_be_read_where_that_is_allowed(store: Store, outside: Path, text: str) -> None:
    assert store.sql(text.format(outside), files=True).to_pylist() == [{"word": "hidden"}]
    with pytest.raises(BadSql, match="files=True"):
        store.sql(text.format(outside))


def test_a_file_that_is_not_there_is_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="nowhere"):
        store.sql(f"from '{tmp_path}/nowhere.parquet'", files=True)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "text",
    [
        "copy t to '{0}/out.csv'",
        "copy (select 1) to '{0}/s/data/out.parquet'",
        "attach '{0}/other.db'",
        "export database '{0}/out'",
        "install httpfs",
        "set memory_limit = '1TB'",
        "pragma database_list",
        "call pragma_version()",
        "explain copy t to '{0}/out.csv'",
        "explain analyze create table x as select 1",
        "create temp table x as select 1",
        "insert into t values (1)",
        "with gone as (delete from t returning n) select * from gone",
    ],
)
@pytest.mark.parametrize("files", [True, False])
def test_nothing_is_written(store: Store, tmp_path: Path, text: str, files: bool) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(BadSql):
        store.sql(text.format(tmp_path), files=files)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert {p for p in after if "readers" not in p.parts} == {p for p in before if "readers" not in p.parts}
    assert store["t"].num_rows == 2


def test_a_statement_ends_when_its_time_is_up(store: Store) -> None:
    with pytest.raises(TookTooLong, match=r"store s: .* time limit of 0\.05 seconds"):
        store.sql(ENDLESS, seconds=0.05)
    assert store.sql("select count(*) c from t", seconds=30).to_pylist() == [{"c": 2}]


@pytest.mark.parametrize("seconds", [0, -1, "1", float("nan"), True])
def test_a_time_limit_is_a_number_above_zero(store: Store, seconds: object) -> None:
    with pytest.raises(BadData, match="not a time limit"):
        store.sql("select 1", seconds=seconds)


def test_a_cancel_ends_it_and_is_no_time_limit(store: Store) -> None:
    job = Job()
    threading.Timer(0.05, job.cancel).start()
    with pytest.raises(Cancelled):
        store.sql(ENDLESS, seconds=60, job=job)


def test_what_cannot_spill_says_that_it_needs_more_memory(store: Store) -> None:
    with pytest.raises(NoRoom, match="needs more memory than it is allowed"):
        store.sql("select list(range) from range(20_000_000)", memory=32 << 20)
    assert store.sql("select 1 as one", memory=32 << 20).to_pylist() == [{"one": 1}]


def test_a_sort_that_needs_more_memory_than_it_has_spills(store: Store) -> None:
    words = "select md5(range::varchar) word from range(1_000_000)"
    text = f"select max(place) n from (select row_number() over (order by word) place from ({words}))"
    assert store.sql(text, memory=48 << 20).to_pylist() == [{"n": 1_000_000}]


def test_an_answer_that_does_not_fit_into_memory_is_refused(store: Store) -> None:
    with pytest.raises(NoRoom, match="the answer takes more than the 32 MB"):
        store.sql("select range, range + 1 as other from range(1_000_000_000)", memory=32 << 20)


@pytest.mark.parametrize("memory", [0, -5, 1000, True])
def test_a_memory_limit_that_nothing_fits_in_is_refused(store: Store, memory: int) -> None:
    with pytest.raises(BadData, match="too little"):
        store.sql("select 1", memory=memory)


def test_files_in_place_are_all_that_sql_over_them_reads(outside: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2, 3]}), outside / "n.parquet")
    sources = {"n": outside / "n.parquet", "words": str(outside / "secret.csv")}
    assert sql("select count(*) c, any_value(word) w from n, words", sources).to_pylist() == [
        {"c": 3, "w": "hidden"}
    ]
    with pytest.raises(BadSql, match="may not"):
        sql(f"from '{outside}/secret.parquet'", sources)


QUESTIONS_THAT_WRITE = [
    "copy (pivot t on n using sum(n)) to '{0}' (format parquet)",
    "/* pivot */ copy (pivot t on n using sum(n)) to '{0}' (format parquet)",
    "explain analyze copy (pivot t on n using sum(n)) to '{0}' (format parquet)",
    "create table made as pivot t on n using sum(n)",
    "with p as (pivot t on n) insert into t select 5 from p",
    "with p as (pivot t on n)insert/**/into t select 5 from p",
    "with p as (insert into t values (5) returning n) from p",
    "prepare asked as pivot t on n",
    "from enable_logging(storage = 'file', storage_path = '{1}')",
    "from query('from enable_logging(storage = ''file'', storage_path = ''{1}'')')",
    "from enable_profiling(format = 'json', save_location = '{1}/told.json')",
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("text", QUESTIONS_THAT_WRITE)
@pytest.mark.parametrize("files", [False, True])
def test_a_question_writes_nothing(store: Store, text: str, files: bool) -> None:
    (file,) = store.path.glob("data/*/*.parquet")
    before = {path: path.read_bytes() for path in store.path.glob("data/**/*") if path.is_file()}
    with pytest.raises(BadSql):
        store.sql(text.format(file, store.path / "data" / "logs"), files=files)
    assert {path: path.read_bytes() for path in store.path.glob("data/**/*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("pivot t on n", ["_id", "1", "2"]),
        ('with p as (pivot t on n) select "2" from p', ["2"]),
        ("-- by number\n(from (pivot t on n))", ["_id", "1", "2"]),
    ],
)
def test_a_pivot_is_a_question(store: Store, text: str, columns: list[str]) -> None:
    assert store.sql(text).column_names == columns


@pytest.mark.parametrize("text", ["-- why\nexplain select n from t", "explain (format json) select n from t"])
def test_explain_may_have_a_comment_and_options(
    store: Store, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for write in (False, True):
        assert "READ_PARQUET" in store.sql(text, write=write)["explain_value"][0].as_py()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", ["show databases", "from sqlite_master", "from duckdb_tables()"])
def test_tables_are_not_listed_as_if_there_were_none(store: Store, text: str) -> None:
    with pytest.raises(BadSql, match="SHOW TABLES lists the tables"):
        store.sql(text)


def test_memory_and_datasets_that_are_none_are_told(store: Store, outside: Path) -> None:
    for memory in ("1GB", 1e9):
        with pytest.raises(BadData, match="not a whole number of bytes"):
            store.sql("select 1", memory=memory)
    with pytest.raises(BadData, match="'t' is not a dataset, but 5"):
        sql("select * from t", {"t": 5})
    with pytest.raises(BadData, match="no names to datasets"):
        sql("select 1", "t")
    assert sql(f"from '{outside}/secret.parquet'", files=True).to_pylist() == [{"word": "hidden"}]
