"""Queries as SQL and as Python, and what is read from SQL that people write."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamella import Store, agg, col, open_dataset
from lamella import sql as sql_over
from lamella.core.errors import BadQuery, BadSql, LamellaError, UnknownTable
from lamella.core.query.builder import Query
from lamella.core.query.expressions import when
from lamella.core.query.pipeline_python import to_python
from lamella.core.query.pipeline_sql import STEPS_NOTE, to_sql
from lamella.core.query.sql_reader import from_sql, from_text
from lamella.core.query.steps import Group, Sort, Sql


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("air") / "air") as opened:
        days = [dt.date(2013, 1, 1), dt.date(2013, 1, 15), dt.date(2013, 2, 3)]
        opened.create_table(
            "flights",
            [
                {"carrier": "UA", "day": days[0], "delay": 12.0, "distance": 1400, "tags": ["early"]},
                {"carrier": "AA", "day": days[1], "delay": 65.5, "distance": 1089, "tags": ["late", "snow"]},
                {"carrier": "UA", "day": days[2], "delay": None, "distance": 719, "tags": []},
                {"carrier": None, "day": None, "delay": -3.0, "distance": None, "tags": None},
                {"carrier": "aa", "day": days[2], "delay": float("nan"), "distance": 1089, "tags": None},
            ],
        )
        opened.create_table("airlines", [{"carrier": "AA", "name": "American"}])
        opened.create_table("select", [{"order": 1, "odd name": "a'b", 'q"': 2.5}])
        yield opened


def read(store: Store, text: str) -> list[str]:
    return sorted(map(str, store.sql(text).to_pylist()))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda s: s["flights"].where("delay > 60").sort("-delay").limit(5),
            "SELECT *\nFROM flights\nWHERE delay > 60\nORDER BY delay DESC\nLIMIT 5",
        ),
        (
            lambda s: s["flights"].where("delay > 60").group_by("carrier").agg(n=agg.count()).sort("-n"),
            "SELECT carrier, count(*) AS n\nFROM flights\nWHERE delay > 60\nGROUP BY carrier\n"
            "ORDER BY n DESC, carrier",
        ),
        (
            lambda s: s["flights"].compute(h=col("delay") / 60).select("carrier", "h"),
            "SELECT carrier, delay / 60 AS h\nFROM flights",
        ),
        (
            lambda s: s["flights"].where("not carrier = 'AA' and carrier is not null"),
            "SELECT *\nFROM flights\nWHERE NOT coalesce(carrier = 'AA', FALSE) AND NOT carrier IS NULL",
        ),
        (
            lambda s: s["select"].query().sort("order").select("odd name"),
            'SELECT "odd name"\nFROM "select"\nORDER BY "order"',
        ),
    ],
)
def test_simple_queries_are_one_plain_select(store: Store, make: Any, text: str) -> None:
    query = make(store)
    written = to_sql(query.pipeline, query.sources)
    assert written.partition(f"\n{STEPS_NOTE}")[0] == text
    assert str(store.sql(written).to_pylist()) == str(query.read().to_pylist())


def queries(store: Store) -> list[Query]:
    flights = store["flights"]
    late = when(col("delay") > 60, "late", "on time")
    return [
        flights.query(),
        flights.where("delay > 1").where("distance > 800 or carrier != 'UA'"),
        flights.compute(label=late).where("label = 'late'").select("carrier"),
        flights.compute(delay=col("delay") * 2).sort("delay", "_id").limit(2, offset=1),
        flights.compute(a=col("distance") + 1, b=col("a") if False else col("distance") % 7),
        flights.group_by("carrier", month=col("day").month()).agg(late=agg.mean("delay")).having("late > 0"),
        flights.group_by("carrier").agg(delay=agg.max("delay")).having("delay > 0").sort("-delay").limit(2),
        flights.group_by("carrier").agg(n=agg.count()).having("n > 0").with_totals().sort("-n"),
        flights.group_by("carrier", "distance").agg(n=agg.count()).with_totals(subtotals=True),
        flights.group_by("carrier", "distance").agg(n=agg.count()).with_totals(False, subtotals=True),
        flights.agg(n=agg.count(where="delay > 0"), d=agg.count_distinct("carrier"), s=agg.sum("distance")),
        flights.query().pivot("carrier", "distance", n=agg.count(), late=agg.max("delay")),
        flights.query().pivot([], "carrier", values=["UA", None, "B6"]),
        flights.query().unpivot(["delay", "distance"]),
        flights.query().unwind("tags").group_by("tags").agg(n=agg.count()),
        flights.query().unwind("tags", keep_empty=True).select("carrier", "tags"),
        flights.query().buckets("distance", [700, 1000, 1500], n=agg.count()),
        flights.query().buckets("delay", 2),
        flights.join("airlines", on="carrier", how="left"),
        flights.join("airlines", on="carrier", how="full").where("delay < 100"),
        flights.join("airlines", on="carrier", how="anti").sort("-delay", "_id").limit(2),
        flights.join(store["airlines"].where("name contains 'A'"), on="carrier").select("name", "delay"),
        flights.sort("day", "-_id").agg(first=agg.first("carrier"), all=agg.list("delay")),
        flights.query().sql("SELECT max(delay) AS m FROM flights"),
        flights.where("delay > 1").sql("WITH x AS (FROM flights) SELECT max(delay) AS m FROM x"),
        flights.as_of(flights.version).where("delay > 1"),
    ]


@pytest.mark.slow(except_every=8)
@pytest.mark.parametrize("place", range(23))
def test_a_query_reads_back_from_its_sql_and_python(store: Store, place: int) -> None:
    query = queries(store)[place]
    text = to_sql(query.pipeline, query.sources)
    answer = store.sql(text)
    assert read(store, text) == sorted(map(str, query.read().to_pylist()))
    assert answer.schema.types == query.schema.types or place == 12
    assert from_sql(text, store.__getitem__).to_json() == query.to_json() or place == 22
    imports, _gap, expression = to_python(query.pipeline, query.sources).rpartition("\n\n")
    names: dict[str, Any] = {"store": store}
    exec(imports, names)
    assert eval(expression, names).to_json() == query.to_json()


def test_a_query_of_a_file_is_sql_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("a,b\n1,x\n2,y\n")
    data = open_dataset(tmp_path / "n.csv")
    query = data.where("a > 1").select("b")
    text = to_sql(query.pipeline, query.sources)
    assert sql_over(text, {"n": data}).to_pylist() == [{"b": "y"}]


def test_what_sql_cannot_say_is_refused_in_words(store: Store) -> None:
    flights = store["flights"]
    for query, reason in [
        (flights.query().sample(3), "a sample|random sample"),
        (flights.query().facets(c="carrier"), "several tables"),
        (flights.agg(x=agg.first("carrier")), "not sorted"),
        (flights.compute(Carrier=col("day")), "upper and lower case"),
        (flights.join("airlines", left_on="distance", right_on="name"), "cannot be written as SQL"),
    ]:
        with pytest.raises(BadQuery, match=reason):
            to_sql(query.pipeline, query.sources)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT carrier, count(*) AS n FROM flights WHERE delay > 6 GROUP BY carrier ORDER BY n DESC LIMIT 9",
        "select * from flights;",
        "select * exclude (tags, _id) from flights where delay is not null",
        "select carrier, avg(delay) from flights group by 1 having avg(delay) > 3 order by 2 desc",
        "select distinct carrier from flights",
        "select f.carrier, a.name from flights f join airlines a on f.carrier = a.carrier where f.delay <> 3",
        "select name, count(*) n from flights left join airlines using (carrier) group by name",
        "select upper(carrier) c, distance + 1 as d, year(day) y from flights where carrier like 'A%'",
        "select carrier as c from flights where delay not in (1, 2) order by delay limit 3 offset 1",
        "with x as (select carrier from flights where delay > 1) select carrier, count(*) from x group by 1",
        "select sum(delay) filter (where distance > 5) s from flights where not (delay > 5 or day is null)",
        "select count(*) from flights where not (carrier <> 'AA')",
        "select _id from flights where not (delay between 1 and 5) and carrier not like 'U%'",
        "select _id from flights where (delay > 5) is not true and day > '2013-01-03'",
        "select _id from flights where carrier is distinct from 'UA' or delay >= 65.5",
        "select _id from flights where lower(carrier) = 'aa' and not contains(carrier, 'U')",
        "select case when delay > 60 then 'late' else 'on time' end as label from flights",
        "select _id from flights where distance not in (1089) and delay not between 1 and 20",
        "select _id from flights where carrier not ilike 'a%' and not carrier not like 'U%'",
        "select _id from flights where not carrier is not null or carrier is not distinct from 'UA'",
        "select _id from flights where 10 <= delay and delay <= 70 and not distance % 2 = 1",
        "select _id from flights where not (delay > 5 and distance > 1000) or not delay < 5",
        "select _id from flights where not starts_with(carrier, 'U') or regexp_matches(carrier, '^a')",
        "select count(distinct carrier) as d, max(day) as day from flights",
    ],
)
def test_simple_selects_become_steps_with_the_same_answer(store: Store, text: str) -> None:
    actual = from_text(text, store.__getitem__)
    assert not any(isinstance(step, Sql) for step in actual.pipeline.steps)
    assert read(store, text) == sorted(map(str, actual.read().to_pylist()))


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "text",
    [
        "select carrier, delay / distance as r from flights",
        "select *, row_number() over () as r from flights",
        "select carrier from flights order by carrier nulls first",
        "select carrier from flights union all select carrier from airlines",
        "select f.carrier, a.name from flights f, airlines a",
        "select carrier from flights where delay > (select avg(delay) from flights)",
        "select carrier, sum(delay) / count(*) as m from flights group by carrier",
        "select carrier from flights limit 50%",
        "select carrier from flights qualify row_number() over (partition by carrier) = 1",
        "from flights select carrier, unnest(tags) as t",
        "select max(delay) as m from flights where tags[1] = 'late'",
        "select l.carrier as c, r.carrier as d from flights l left join airlines r on l.carrier = r.carrier",
    ],
)
def test_any_other_select_is_one_step_of_sql(store: Store, text: str) -> None:
    actual = from_sql(text, store.__getitem__)
    assert isinstance(actual.pipeline.steps[0], Sql)
    assert len(actual.pipeline.steps) == 1
    try:
        assert read(store, text) == sorted(map(str, actual.read().to_pylist()))
    except BadQuery as error:
        assert "two columns would be called" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO flights VALUES (1)",
        "DROP TABLE flights",
        "PRAGMA database_list",
        "ATTACH 'x.db'",
        "SELECT * FROM flights; DROP TABLE flights",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT 1",
        "__import__('os').system('x')",
        'store["flights"].where("delay > 60")',
        "",
        "{",
        '{"source": "flights"}',
        '{"source": "flights", "steps": [{"sql": {}}]}',
        "SELECT nothing FROM flights",
        "SELECT * FROM flihgts",
    ],
)
def test_any_other_text_is_refused(store: Store, text: str) -> None:
    with pytest.raises((BadSql, BadQuery, UnknownTable)):
        from_text(text, store.__getitem__)


def test_steps_below_a_statement_count_only_while_they_say_the_same(store: Store) -> None:
    query = store["flights"].query().unwind("tags")
    text = to_sql(query.pipeline, query.sources)
    assert STEPS_NOTE in text
    edited = text.replace("unnest(tags)", "len(tags)")
    actual = from_sql(edited, store.__getitem__)
    assert actual != query
    assert actual.read()["tags"].to_pylist() == [1, 2, 0, None, None]
    broken = text.replace('{"source"', "{source")
    assert isinstance(from_sql(broken, store.__getitem__).pipeline.steps[0], Sql)


def test_the_own_order_of_groups_is_no_step(store: Store) -> None:
    text = "select carrier, day, count(*) as n from flights group by carrier, day order by "
    own = from_sql(f"{text} carrier, day", store.__getitem__).pipeline.steps
    assert [type(step) for step in own] == [Group]
    steps = from_sql(f"{text} day, carrier", store.__getitem__).pipeline.steps
    assert [type(step) for step in steps] == [Group, Sort]
    assert [key.column for key in steps[1].keys] == ["day"]  # type: ignore[union-attr]


def test_a_missing_column_is_named(store: Store) -> None:
    with pytest.raises(LamellaError, match="delai"):
        from_sql("SELECT delai FROM flights", store.__getitem__)
