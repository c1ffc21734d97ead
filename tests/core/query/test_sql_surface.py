"""A statement may use parameters, versions of tables and every form of a question."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset, sql
from lamella.core.errors import BadData, BadSql, StoreProblem, UnknownTable, UnknownVersion


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s") as opened:
        prices = opened.create_table("prices", [{"code": "a", "price": 1.5}, {"code": "b", "price": 2.5}])
        prices.history.name_version("first prices")
        prices.update([{"_id": 0, "price": 9.5}])
        prices.delete(ids=[1])
        yield opened


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("select code from prices where price > ? and code = ?", [5, "a"]),
        ("select code from prices where price > $least and code = $code", {"least": 5, "code": "a"}),
        ("select code from prices where price > $1 and code = $2", (Decimal("5.0"), "a")),
        ("select code from prices where list_contains(?, code)", [["a", "b"]]),
        ("select code from prices where price > ? or ? is null", [100, None]),
    ],
)
def test_parameters_stand_for_values(store: Store, text: str, parameters: Any) -> None:
    assert store.sql(text, parameters).to_pylist() == [{"code": "a"}]


def test_a_parameter_is_a_value_and_never_sql(store: Store) -> None:
    assert store.sql("select count(*) n from prices where code = ?", ["' or 1=1 --"]).to_pylist() == [
        {"n": 0}
    ]


@pytest.mark.parametrize(
    ("text", "parameters", "reason"),
    [
        ("select ?", None, "parameters: 1"),
        ("select ?", [1, 2], "excess parameters: 2"),
        ("select $a", {"b": 1}, "parameters: a"),
        ("select $a, ?", {"a": 1}, "named and positional"),
        ("select ?", [object()], "object"),
    ],
)
def test_parameters_that_do_not_fit_are_told(store: Store, text: str, parameters: Any, reason: str) -> None:
    with pytest.raises(BadSql, match=reason):
        store.sql(text, parameters)


def test_a_single_text_is_no_list_of_parameters(store: Store) -> None:
    with pytest.raises(BadData, match="list for"):
        store.sql("select ?", "a")


PAST = "select sum(price) s from prices"


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("version", "total"), [("1", 4.0), ("'first prices'", 4.0), ("2", 12.0), ("3", 9.5)])
def test_a_table_is_read_at_a_version(store: Store, version: str, total: float) -> None:
    assert store.sql(f"{PAST} at (version => {version})").to_pylist() == [{"s": total}]


def test_versions_of_one_table_are_compared_in_one_statement(store: Store) -> None:
    actual = store.sql(
        "select old.code, old.price - coalesce(prices.price, 0) as fell "
        "from prices old at (version => 1) left join prices using (code) where old.price > 2"
    )
    assert actual.to_pylist() == [{"code": "b", "fell": 2.5}]


def test_a_version_may_be_asked_for_all_tables_or_for_one(store: Store) -> None:
    second = store.create_table("other", [{"x": 1}])
    second.insert([{"x": 2}])
    text = "select (select count(*) from prices) p, (select count(*) from other) o"
    assert store.sql(text, as_of=1).to_pylist() == [{"p": 2, "o": 1}]
    assert store.sql(text, as_of={"prices": "first prices"}).to_pylist() == [{"p": 2, "o": 2}]
    beside = "select count(*) n from prices at (version => 3)"
    assert store.sql(beside, as_of=1).to_pylist() == [{"n": 1}]


def test_a_version_may_be_asked_by_the_table_s_name_in_any_case_and_never_in_vain(store: Store) -> None:
    total = "select sum(price) as s from prices"
    assert store.sql(total, as_of={"PRICES": 1}) == store.sql(total, as_of={"prices": 1})
    assert store.sql(total, as_of={"PRICES": 1}) != store.sql(total)
    with pytest.raises(UnknownTable, match="Did you mean 'prices'"):
        store.sql(total, as_of={"prizes": 1})


def test_a_sample_of_a_table_at_a_version_is_one(store: Store) -> None:
    for sample in ("tablesample 1 rows", "/* few */ TABLESAMPLE reservoir(1 rows) repeatable (7)"):
        assert store.sql(f"select * from prices o at (version => 1) {sample} where true").num_rows == 1


@pytest.mark.parametrize("sample", ["using sample 1 rows", "tablesample reservoir(1 rows)", "limit 1"])
def test_columns_of_a_sample_are_named(store: Store, sample: str) -> None:
    assert store.sql(f"select price from prices {sample}").num_rows == 1


def test_a_time_means_the_version_that_was_the_newest_then(store: Store) -> None:
    time = store["prices"].history.commits()[1].time
    assert store.sql(PAST, as_of=time).to_pylist() == [{"s": 12.0}]
    assert store.sql(f"{PAST} at (timestamp => '{time.isoformat()}')").to_pylist() == [{"s": 12.0}]


@pytest.mark.parametrize(
    ("at", "error", "reason"),
    [
        ("version => 99", StoreProblem, "no version 99"),
        ("version => 'frist prices'", UnknownVersion, "Did you mean 'first prices'"),
        ("version => 1 + 1", BadSql, "must be a literal"),
        ("timestamp => 'yesterday'", BadSql, "'yesterday' is not a time"),
        ("timestamp => '1999-01-01'", StoreProblem, "no version yet"),
    ],
)
def test_a_version_that_is_not_there_is_told(store: Store, at: str, error: type, reason: str) -> None:
    with pytest.raises(error, match=reason):
        store.sql(f"{PAST} at ({at})")


def test_files_have_no_versions(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(BadData, match=r"no versions here.*as_of"):
        sql("select * from x at (version => 1)", {"x": tmp_path / "x.parquet"})


def test_a_table_at_a_version_is_a_dataset_like_others(store: Store) -> None:
    sources = {"before": store["prices"].as_of(1), "now": store["prices"]}
    assert sql("select count(*) n from before anti join now using (code)", sources).to_pylist() == [{"n": 1}]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("from prices", 1),
        ("values (1), (2)", 2),
        ("describe prices", 3),
        ("summarize prices", 3),
        ("explain select * from prices where price > 2", 1),
        ("EXPLAIN analyze from prices at (version => 1)", 1),
        ("pivot prices on code using sum(price)", 1),
        ("pivot prices on code in ('a', 'b') using sum(price)", 1),
        ("unpivot (select price, price * 2 as twice from prices) on price, twice", 2),
        ("with recursive r as (select 1 i union all select i + 1 from r where i < 4) from r", 4),
        ("with prices as (select * from prices) select * from prices", 1),
        ("select * from prices where code in (select code from prices at (version => 1))", 1),
        ("select * from prices -- and no more;", 1),
        ("select * from prices;", 1),
    ],
)
def test_every_form_of_a_question_is_answered(store: Store, text: str, rows: int) -> None:
    assert store.sql(text).num_rows == rows


def test_tables_inside_a_common_table_expression_are_found(store: Store) -> None:
    with pytest.raises(UnknownTable, match="Did you mean 'prices'"):
        store.sql("with x as (select * from price) select * from x")


UTC = dt.UTC
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "duration": (pa.duration("ms"), [dt.timedelta(seconds=5), None]),
    "zone": (pa.timestamp("us", "Europe/Oslo"), [dt.datetime(2024, 5, 1, tzinfo=UTC), None]),
    "milliseconds": (pa.timestamp("ms"), [dt.datetime(2024, 5, 1), None]),
    "time": (pa.time32("s"), [dt.time(12, 30), None]),
    "words": (pa.dictionary(pa.int32(), pa.string()), ["a", None]),
    "fixed": (pa.list_(pa.float32(), 2), [[1.0, 2.0], None]),
    "bytes": (pa.binary(3), [b"abc", None]),
    "large": (pa.large_string(), ["x", None]),
    "decimal": (pa.decimal128(12, 2), [Decimal("1.25"), None]),
    "unsigned": (pa.uint64(), [2**64 - 1, None]),
    "half": (pa.float16(), [1.5, None]),
    "struct": (pa.struct([("a", pa.duration("s")), ("b", pa.string())]), [{"a": None, "b": "x"}, None]),
    "list": (pa.list_(pa.timestamp("ms")), [[dt.datetime(2024, 5, 1)], None]),
    "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1)], None]),
}
THROUGH = [
    "select v from t order by _id",
    "select x from (select v as x, _id from t union all select v, _id + 2 from t) order by _id limit 2",
    "with q as (select * from t) select q.* exclude (_id) from q order by q._id",
    "select any_value(v) as w from t group by _id order by _id",
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("text", THROUGH)
@pytest.mark.parametrize("kind", TYPES)
def test_columns_that_are_handed_through_keep_their_types(tmp_path: Path, kind: str, text: str) -> None:
    type_, values = TYPES[kind]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"v": pa.array(values, type_)}))
        actual = store.sql(text)
        assert actual.column(0).type == table.schema.field("v").type
        assert actual.column(0).to_pylist() == table.read()["v"].to_pylist()


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("select d from t as t(p, d, q)", "int64"),
        ("select q from t as t(p, d, q)", "duration[s]"),
        ("select d from t as t(p)", "duration[s]"),
        ("select * exclude (_id, n) from t as t(_id, n, e)", "duration[s]"),
        ("select d from (select n, d from t) as x(d, e)", "int64"),
        ("with x as (select n, d from t) select d from x as x(d, n)", "int64"),
        ("with x as (select n, d from t) select n from x as x(d, n)", "duration[s]"),
    ],
)
def test_columns_that_an_alias_renames_keep_their_own_types(tmp_path: Path, text: str, kind: str) -> None:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("t", pa.table({"n": [1, 2], "d": pa.array([5, 6], pa.duration("s"))}))
        assert str(opened.sql(text).schema.types[0]) == kind


def test_what_is_computed_has_the_type_that_it_is_computed_in(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", pa.table({"v": pa.array([dt.timedelta(seconds=2)], pa.duration("s"))}))
        assert store.sql("select v * 2 as v from t").schema.field("v").type == pa.int64()
        assert store.sql("select v from t union all select 1").schema.field("v").type == pa.int64()


def test_nan_is_found_in_files_whose_statistics_leave_it_out(tmp_path: Path) -> None:
    rows = pa.table({"x": [1.0, math.nan, 3.0], "s": [{"y": math.nan}, {"y": 1.0}, None]})
    pq.write_table(rows, tmp_path / "x.parquet")
    sources = {"x": open_dataset(tmp_path / "x.parquet")}
    assert sql("select count(*) n from x where x > 5", sources).to_pylist() == [{"n": 1}]
    assert sql("select count(*) n from x where isnan(x)", sources).to_pylist() == [{"n": 1}]
    assert sql("select count(*) n from x where s.y > 5", sources).to_pylist() == [{"n": 1}]
    (largest,) = sql("select max(x) as m from x", sources)["m"].to_pylist()
    assert math.isnan(largest)
