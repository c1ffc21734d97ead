"""Queries asked step by step: their types, their order, their saved form, and what is refused."""

from __future__ import annotations

import json
import threading
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, agg, col, open_dataset
from lamella.core.errors import BadData, BadFilter, BadQuery, Cancelled, LamellaError, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.functions.aggregates import AGGREGATES
from lamella.core.query.group_levels import GroupLevels
from lamella.core.query.view import View
from lamella.core.scan.snapshot import snapshot_of_rows


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("asking") / "s") as store:
        store.create_table(
            "t",
            pa.table(
                {
                    "k": ["a", "b", None, "a"],
                    "K": [1, 2, 3, 4],
                    "huge": pa.array([Decimal(1), None, Decimal(3), Decimal(10) ** 40], pa.decimal256(60, 1)),
                    "id": pa.array([b"a" * 16, b"b" * 16, None, b"a" * 16], pa.binary(16)),
                    "word": pa.array(["x", "y", None, "x"]).dictionary_encode(),
                    "span": pa.array([1, 2, None, 4], pa.duration("ms")),
                    "point": pa.array([[1, 2], None, [3, 4], [5, 6]], pa.list_(pa.int16(), 2)),
                    "inside": pa.array([{"n": 1, "N": 2}, None, {"n": 3, "N": 4}, {"n": 1, "N": 6}]),
                }
            ),
        )
        store.create_table(
            "u", [{"k": "a", "name": "A"}, {"k": "z", "name": "Z"}, {"k": None, "name": "none"}]
        )
        yield store


def test_every_column_comes_back_in_its_own_type(store):
    table = store["t"]
    passed = table.compute(more=col("K") + 1).limit(4)
    assert passed.read().drop_columns(["more"]).equals(table.read())
    grouped = table.group_by(*table.schema.names).agg().read()
    assert grouped.schema.equals(table.schema)
    assert grouped.equals(table.read())


@pytest.mark.parametrize("function", ["first", "max", "list"])
def test_aggregates_keep_types_that_duckdb_has_not(store, function):
    make = getattr(agg, function)
    answer = store["t"].agg(huge=make("huge"), span=make("span"), word=make("word")).read()
    kinds = [store["t"].schema.field(name).type for name in ("huge", "span")]
    kinds.append(pa.string())
    assert answer.schema.types == [pa.list_(kind) if function == "list" else kind for kind in kinds]
    if function == "max":
        assert answer.column("huge").to_pylist() == [Decimal(10) ** 40]


def test_fields_inside_structs_are_keys_and_lookalikes_are_refused(store):
    table = store.create_table("v", [{"at": {"n": 1, "m": 2}}, {"at": {"n": 1, "m": 6}}, {"at": None}])
    answer = table.group_by("at.n").agg(total=agg.sum("at.m")).read()
    assert answer.to_pydict() == {"at.n": [1, None], "total": [8, None]}
    with pytest.raises(BadQuery, match="'n' and 'N' differ only in case"):
        store["t"].group_by("inside.n").agg(total=agg.sum("inside.N")).read()


def test_steps_follow_each_other_and_leave_what_they_follow(store):
    rows = store["t"].where(col("k") == "a")
    assert rows.sort("-K").limit(1).select("K").read().to_pydict() == {"K": [4]}
    assert rows.count() == 2
    assert rows.limit(1).where(col("K") == 4).count() == 0


def test_conditions_may_be_typed(store):
    assert store["t"].where("K > 1 and k = 'a'").group_by("k").agg(n=agg.count()).having("n = 1").count() == 1
    with pytest.raises(LamellaError, match="Did you mean 'k'"):
        store["t"].where("kk = 'a'")


def test_a_sample_is_the_same_again_and_another_with_another_seed(tmp_path):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": list(range(1000))})
        first, again, third = (
            table.query().sample(50, seed=seed).read().column("n").to_pylist() for seed in (1, 1, 2)
        )
    assert first == again == sorted(first)
    assert len(set(first)) == 50
    assert set(first) != set(third)


def test_ranges_of_one_width_hold_every_value(store):
    ranges = store["t"].query().buckets("K", 2).read()
    assert ranges.to_pydict() == {"low": [1, 3], "high": [3, 4], "n": [2, 2]}
    huge = store["u"].query().buckets("_id", 1)
    assert huge.read().column("n").to_pylist() == [3]


def test_facets_answer_from_one_reading(store):
    query = (
        store["t"]
        .query()
        .facets(
            k="k",
            joined=lambda rows: rows.join(store["u"], on="k").select("name"),
            none=lambda rows: rows.limit(0),
        )
    )
    tables = query.tables()
    assert tables["k"].to_pydict() == {"k": ["a", "b", None], "n": [2, 1, 1]}
    assert tables["joined"].column("name").to_pylist() == ["A", "A"]
    assert tables["none"].num_rows == 0
    assert tables["none"].schema.equals(store["t"].schema)
    with pytest.raises(BadQuery, match="only facets have several answers"):
        store["t"].where(col("K") > 1).tables()


def test_a_join_follows_the_relation_declared(store):
    with pytest.raises(LamellaError, match=r"store\.relations\.declare"):
        store["t"].join(store["u"])
    store.relations.declare("t.k", "u.k")
    try:
        assert store["t"].join(store["u"]).select("K", "name").read().to_pydict() == {
            "K": [1, 4],
            "name": ["A", "A"],
        }
        assert store["u"].join(store["t"], how="anti").read().column("name").to_pylist() == ["Z", "none"]
    finally:
        store.relations.drop(store.relations[0].name)


def test_a_table_joins_itself_and_an_earlier_version_of_itself(tmp_path):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"k": 1, "n": 5}, {"k": 2, "n": 6}])
        before = table.as_of(table.version)
        table.update([{"_id": 0, "n": 7}])
        answer = (
            table.join(before, on="_id", suffix=" before").where("n != 5").select("k", "n", "n before").read()
        )
        assert answer.to_pydict() == {"k": [1, 2], "n": [7, 6], "n before": [5, 6]}
        assert table.join(table.group_by("k").agg(m=agg.max("n")), on="k").read().column("m").to_pylist() == [
            7,
            6,
        ]


def queries(store):
    table = store["t"]
    return [
        table.query(),
        table.where((col("K") > 1) | col("k").is_null()).sort("-k", "K").select("k", "inside").limit(2, 1),
        table.compute(a=col("K") * 2.5, b=col("k").fill_null("ü")).group_by("b").agg(
            n=agg.count(), q=agg.quantile("a", 0.25, where=col("K").not_null())
        ).having(col("n") > 0),
        table.query().pivot("k", "K", n=agg.count(), values=[1, None]),
        table.query()
        .unwind("point", keep_empty=True)
        .unpivot(["point", "K"], "what", "how many")
        .sample(3, seed=-1),
        table.query().buckets("K", [1, 2.5, 9], m=agg.max("huge")),
        table.query().facets(k="k", u=lambda rows: rows.join(store["u"], on="k", how="full")),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(7))
def test_a_query_comes_back_from_json_and_answers_the_same(store, number):
    query = queries(store)[number]
    again = Query.of(json.loads(json.dumps(query.to_json())), store.__getitem__)
    assert again.pipeline == query.pipeline
    assert again.read().equals(query.read())


def test_a_saved_query_of_an_old_version_is_of_that_version_again(tmp_path):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"k": 1, "n": 5}])
        before = table.as_of(table.version)
        table.update([{"_id": 0, "n": 7}])
        both = table.join(before.where(col("n") > 0), on="k", suffix=" before").select("n", "n before")
        for query, expected in (before.select("n"), {"n": [5]}), (both, {"n": [7], "n before": [5]}):
            saved = json.dumps(query.to_json())
            again = Query.of(json.loads(saved), store.__getitem__)
            assert again.read().to_pydict() == query.read().to_pydict() == expected
            assert json.dumps(again.to_json()) == saved
        rows = table.select("n")
        store.rename_table("t", "u")
        assert Query.of(rows.to_json(), store.__getitem__).count() == 1
        with pytest.raises(BadQuery, match="has no versions"):
            Query.of(before.select("n").to_json(), lambda _name: before)
        with pytest.raises(LamellaError, match="no version 9"):
            Query.of({"source": "u", "steps": [], "datasets": {"u": {"as_of": 9}}}, store.__getitem__)


@pytest.mark.parametrize(
    "saved", [None, {}, {"source": "t"}, {"source": "t", "steps": [{"fly": {}}]}, {"source": 1, "steps": []},
              {"source": "t", "steps": [{"limit": {"count": "2", "offset": 0}}]},
              {"source": "t", "steps": [], "datasets": []},
              {"source": "t", "steps": [], "datasets": {"t": 1}},
              {"source": "t", "steps": [], "datasets": {"t": {"as_of": "1"}}}],
    ids=str,
)  # fmt: skip
def test_json_that_is_no_query_is_refused(store, saved):
    with pytest.raises(BadQuery, match="saved query"):
        Query.of(saved, store.__getitem__)


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda t: t.group_by("j").agg(n=agg.count()), UnknownColumn, "no column 'j'"),
        (lambda t: t.group_by("k").agg(n=agg.sum("k")), BadQuery, r"'sum' does not fit k \(string\)"),
        (lambda t: t.agg(n=agg.sum("huge")), BadQuery, "'sum' does not fit huge"),
        (lambda t: t.group_by("k").agg(k=agg.count()), BadQuery, "two columns would be called 'k'"),
        (
            lambda t: t.group_by("k").agg(n=agg.count()).having(col("m") > 1),
            UnknownColumn,
            "t, grouped has no",
        ),
        (
            lambda t: t.group_by("k").agg(n=agg.count()).where(col("n") == "x"),
            BadFilter,
            "'x' is not a number",
        ),
        (lambda t: t.select("k").where(col("K") > 1), UnknownColumn, "'K'"),
        (lambda t: t.query().unwind("k"), BadQuery, "cannot be unwound"),
        (lambda t: t.query().unpivot(["k", "K"]), BadQuery, "no type in common"),
        (lambda t: t.query().buckets("K", [2, 1]), BadQuery, "do not ascend"),
        (lambda t: t.query().buckets("k", 3), BadQuery, "has no width"),
        (lambda t: t.query().buckets("point", 3), BadQuery, "cannot be divided into ranges"),
        (lambda t: t.join(t, left_on="k", right_on="K"), BadQuery, "cannot be joined"),
        (lambda t: t.join(t, on="k", how="outer"), BadQuery, "there is no join 'outer'"),
    ],
)
def test_a_step_that_does_not_fit_is_named(store, ask, error, said):
    with pytest.raises(error, match=said):
        ask(store["t"]).read()


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.agg(n=3),
        lambda t: t.where(col("K") > 1).having(col("K") > 1),
        lambda t: t.where(col("K") > 1).with_totals(),
        lambda t: t.where(col("K") > 1).totals(),
        lambda t: t.group_by("k").agg().totals(),
        lambda t: t.group_by("k").agg(n=agg.count()).compute(k=col("n") + 1).totals(),
        lambda t: t.group_by("k").agg(n=agg.count()).compute(n=col("k").upper()).totals(),
        lambda t: t.group_by("k").agg(n=agg.count()).sample(2).totals(),
        lambda t: t.agg(n=agg.count()).totals(),
        lambda t: t.where(col("K") > 1).subtotals(),
        lambda t: t.join(t, left_on="k"),
        lambda t: t.query().facets(),
        lambda t: t.query().facets(
            other=lambda rows: t.join(t, on="k").limit(1).where(col("K") > 1).pipeline
        ),
        lambda t: t.query().sample(3, seed="x"),
        lambda t: agg.quantile("K", 2),
    ],
)
def test_what_is_no_step_is_refused_at_once(store, ask):
    with pytest.raises(BadQuery):
        ask(store["t"])


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("key", ["k", "huge", "id", "word", "span", "point", "inside"])
def test_groups_of_any_key_have_their_subtotals(store, key):
    """Null is a key of its own, in the level above as well."""
    groups = store["t"].group_by(key, "K").agg(n=agg.count(), top=agg.max("K"))
    answer = snapshot_of_rows(groups.read(), "t")
    levels = GroupLevels.read(
        groups.pipeline.steps, lambda steps: groups.with_steps(steps).read(), answer, Job()
    )
    keys = [row[key] for row in groups.read().to_pylist()]
    distinct = [key_values for place, key_values in enumerate(keys) if key_values not in keys[:place]]
    assert groups.subtotals()[0].column(key).to_pylist() == distinct
    assert [distinct[parent] for parent in levels.parents[0]] == keys
    rows = levels.arrange(View(answer), Job()).rows([np.array([True] * len(distinct))])
    assert rows[0].tolist().count(0) == len(distinct) and rows[0].tolist().count(1) == 4
    assert groups.totals().to_pylist() == [{"n": 4, "top": 4}]


def test_what_is_computed_of_groups_is_computed_of_totals_too(store):
    """Totals are computed from the figures of subtotals; a column that needs another key is left out."""
    groups = store["t"].group_by("k", "K").agg(n=agg.count(), top=agg.max("K"))
    query = groups.compute(rate=col("top") / col("n"), name=col("k").upper(), n=col("n") * 10)
    query = query.compute(twice=col("rate") * 2, odd=col("K") + col("n"), top=col("odd")).where(col("n") > 1)
    assert query.totals().to_pylist() == [{"n": 40, "rate": 1.0, "twice": 2.0}]
    assert query.subtotals()[0].to_pylist() == [
        {"k": "a", "n": 20, "rate": 2.0, "name": "A", "twice": 4.0},
        {"k": "b", "n": 10, "rate": 2.0, "name": "B", "twice": 4.0},
        {"k": None, "n": 10, "rate": 3.0, "name": None, "twice": 6.0},
    ]


def test_a_sum_that_does_not_fit_64_bits_is_told(tmp_path):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": [2**62, 2**62]})
        with pytest.raises(BadQuery, match="a value cannot be computed"):
            table.agg(n=agg.sum("n")).read()
        assert table.agg(n=agg.sum(col("n").cast("decimal(38, 0)"))).read().column(0).to_pylist() == [2**63]


def test_the_answer_of_no_rows_has_every_aggregate(store):
    aggregates = {
        name: agg.count("K")
        if name == "count"
        else agg.quantile("K", 0.1)
        if name == "quantile"
        else getattr(agg, name)("K")
        for name in AGGREGATES
    }
    answer = store["t"].where(col("K") > 99).agg(**aggregates).read().to_pylist()[0]
    empty = {"count": 0, "count_distinct": 0, "list": [], "distinct_list": []}
    assert answer == {name: empty.get(name) for name in AGGREGATES}


def test_columns_that_nothing_uses_are_not_read(store):
    explanation = store["t"].compute(double=col("K") * 2).group_by("k").agg(most=agg.max("double")).explain()
    assert explanation.columns_read == ("k", "K")
    assert explanation.rows == 3


def test_row_groups_that_statistics_rule_out_are_skipped(tmp_path):
    import pyarrow.parquet as pq

    rows = pa.table({"n": list(range(10_000)), "k": [n % 3 for n in range(10_000)]})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=1000)
    explanation = (
        open_dataset(tmp_path / "t.parquet")
        .where(col("n") >= 9000)
        .group_by("k")
        .agg(n=agg.count())
        .explain()
    )
    assert (explanation.row_groups_read, explanation.row_groups_total) == (1, 10)


def test_pages_follow_each_other_while_rows_come_and_go(tmp_path):
    with Store.open(tmp_path / "s") as store:
        values = [1.5, None, float("nan"), -1.0, 1.5, None, 0.0]
        table = store.create_table("t", {"f": pa.array(values, pa.float64()), "n": list(range(7))})
        for query in (
            table.compute(m=col("n") * 2).sort("-f"),
            table.group_by("f").agg(n=agg.count()).sort("n"),
        ):
            pages, after = [], None
            while after is not None or not pages:
                page = query.page(2, after)
                pages, after = [*pages, page.rows], page.next
            assert pa.concat_tables(pages).to_pylist().__repr__() == query.read().to_pylist().__repr__()
        query = table.compute(m=col("n") * 2).where(col("m") >= 0)
        first = query.page(3)
        table.delete(ids=[0, 1, 4])
        assert query.page(3, first.next).rows.column("n").to_pylist() == [3, 5, 6]
        with pytest.raises(BadData, match="belongs to another query"):
            query.limit(2).page(3, first.next)
        with pytest.raises(BadData, match="not a cursor"):
            query.page(3, "nonsense")


def test_a_cancelled_query_ends(tmp_path):
    with Store.open(tmp_path / "s") as store:
        rows = store.create_table("t", {"one": [1] * 3000, "n": list(range(3000))}).select("one", "n")
        endless = rows.join(rows, on="one", suffix="?").join(rows, on="one", suffix="!")
        job = Job()
        timer = threading.Timer(0.1, job.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            endless.agg(n=agg.sum("n!")).read(job)
        timer.join()
