"""Relations between tables: declared once, followed both ways, through renames, casts and drops."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import (
    BadData,
    BadFilter,
    LamellaError,
    ReadOnlyStore,
    StoreProblem,
    TypeConflict,
    UnknownColumn,
    UnknownRelation,
    UnknownRow,
    UnknownTable,
)

TITLES = {"code": ["t1", "t2", "t3"], "year": [1999, 2005, 2011]}
CAST = {
    "title": ["t1", "t1", "t2", None, "t9"],
    "person": [0, 1, 0, 1, 5],
    "billing": [2, 1, 1, 1, 1],
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "films") as opened:
        opened.create_table("titles", TITLES)
        opened.create_table("people", {"name": ["Ada", "Ben", "Cleo"], "chief": [None, 0, 0]})
        opened.create_table("cast", CAST)
        opened.relations.declare("cast.title", "titles.code")
        opened.relations.declare("cast.person", "people._id")
        yield opened


def ids(rows: pa.Table) -> list[int]:
    return rows["_id"].to_pylist()


def test_a_relation_is_followed_both_ways(store: Store) -> None:
    cast, titles, people = store["cast"], store["titles"], store["people"]
    assert cast.relations.rows(1, "titles").to_pylist() == [{"_id": 0, "code": "t1", "year": 1999}]
    assert ids(titles.relations.rows(0, "cast")) == [0, 1]
    assert ids(people.relations.rows(0, "cast")) == [0, 2]
    assert cast.relations.rows(2, "people", columns=["name"]).to_pylist() == [{"name": "Ada"}]


def test_what_is_related_is_filtered_sorted_and_cut_like_any_rows(store: Store) -> None:
    titles = store["titles"]
    assert ids(titles.relations.rows(0, "cast", sort=["billing"])) == [1, 0]
    assert ids(titles.relations.rows(0, "cast", where=col("billing") > 1)) == [0]
    assert ids(titles.relations.rows(0, "cast", where="billing > 1")) == [0]
    assert ids(titles.relations.rows(0, "cast", sort=["billing"], limit=1, offset=1)) == [0]
    with pytest.raises(UnknownColumn, match=r"'biling'.*'billing'"):
        titles.relations.rows(2, "cast", where=col("biling") > 1)
    with pytest.raises(BadData, match="-1 is negative"):
        titles.relations.rows(0, "cast", limit=-1)


def test_rows_that_are_pointed_at_by_id_are_filtered_sorted_and_cut_too(store: Store) -> None:
    people, finds = (
        store["people"],
        store.create_table("found", {"who": [2, 0, 2, 1, 7, None], "at": [1] * 6}),
    )
    store.relations.declare("found.who", "people._id")
    store.relations.declare("found.at", "people.chief")
    people.insert([{"name": "Dan", "chief": 1}, {"name": "Eve", "chief": 1}, {"name": "Ada", "chief": 1}])
    pointed = {row: finds.relations.rows(row, "people", through="found_who") for row in range(6)}
    assert [ids(rows) for rows in pointed.values()] == [[2], [0], [2], [1], [], []]
    assert pointed[0].schema == people.schema
    assert finds.relations.rows(0, "people", ["name"], col("chief") == 0, through="found_who").num_rows == 1
    assert (
        finds.relations.rows(0, "people", where="chief = 1", sort=["name"], through="found_who").num_rows == 0
    )
    assert finds.relations.rows(0, "people", limit=0, through="found_who").num_rows == 0
    assert finds.relations.rows(0, "people", offset=1, through="found_who").num_rows == 0
    by_name = finds.relations.rows(0, "people", ["name"], sort=["-name"], limit=2, through="found_at")
    assert by_name["name"].to_pylist() == ["Eve", "Dan"]
    with pytest.raises(BadFilter):
        finds.relations.rows(4, "people", where=col("name") > 5, through="found_who")
    people.delete(ids=[2])
    assert ids(finds.relations.rows(0, "people", through="found_who")) == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [1, -1, None]),
        (pa.uint64(), [1, 2**63, None]),
        (pa.float64(), [1.0, 1.5, None]),
        (pa.decimal128(20, 0), [Decimal(1), Decimal(10**19), None]),
        (pa.dictionary(pa.int8(), pa.int64()), [1, 5_000, None]),
    ],
    ids=str,
)
def test_ids_are_pointed_at_by_numbers_of_every_type(
    tmp_path: Path, kind: pa.DataType, values: list[Any]
) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("rows", {"n": [0, 1, 2]})
        pointers = store.create_table("pointers", pa.table({"to": pa.array(values, kind)}))
        store.relations.declare("pointers.to", "rows._id")
        assert [ids(pointers.relations.rows(row, "rows")) for row in range(3)] == [[1], [], []]
        assert ids(store["rows"].relations.rows(1, "pointers")) == [0]


def test_null_and_what_is_not_there_lead_nowhere(store: Store) -> None:
    cast = store["cast"]
    assert cast.relations.rows(3, "titles").num_rows == cast.relations.rows(4, "titles").num_rows == 0
    assert cast.relations.rows(4, "people", columns=["name"]).schema == pa.schema([("name", pa.string())])
    store["titles"].insert([{"code": None, "year": 1}])
    assert store["titles"].relations.rows(3, "cast").num_rows == 0


def test_counts_come_for_many_rows_at_once_in_the_order_given(store: Store) -> None:
    titles = store["titles"]
    assert titles.relations.counts([2, 0, 1, 0], "cast").to_pylist() == [
        {"_id": 2, "count": 0},
        {"_id": 0, "count": 2},
        {"_id": 1, "count": 1},
        {"_id": 0, "count": 2},
    ]
    assert titles.relations.counts([0], "cast", where=col("billing") == 1)["count"].to_pylist() == [1]
    assert store["cast"].relations.counts(range(5), "titles")["count"].to_pylist() == [1, 1, 1, 0, 0]
    assert titles.relations.counts([], "cast").to_pylist() == []
    with pytest.raises(UnknownRow, match="titles has no row with _id 9"):
        titles.relations.counts([0, 9], "cast")


def test_pages_follow_each_other_while_rows_change(store: Store) -> None:
    titles, cast = store["titles"], store["cast"]
    cast.insert([{"title": "t1", "person": 2, "billing": n} for n in range(3, 8)])
    page = titles.relations.page(0, "cast", 3, sort=["billing"])
    assert page.rows["billing"].to_pylist() == [1, 2, 3]
    cast.delete(ids=[0])
    cast.insert([{"title": "t1", "person": 2, "billing": 0}, {"title": "t2", "person": 2, "billing": 5}])
    page = titles.relations.page(0, "cast", 10, page.next, sort=["billing"])
    assert (page.rows["billing"].to_pylist(), page.next) == ([4, 5, 6, 7], None)


def test_pending_changes_deletions_and_undo_count_at_once(store: Store) -> None:
    titles, cast = store["titles"], store["cast"]
    cast.update([{"_id": 2, "title": "t3"}])
    cast.delete(ids=[0])
    assert [ids(titles.relations.rows(n, "cast")) for n in range(3)] == [[1], [], [2]]
    cast.history.undo()
    cast.history.undo()
    assert [ids(titles.relations.rows(n, "cast")) for n in range(3)] == [[0, 1], [2], []]


def test_two_relations_to_one_table_are_told_apart_by_name(store: Store) -> None:
    cast = store["cast"]
    cast.columns.add("double", default=2)
    assert store.relations.declare("cast.double", "people._id").name == "cast_double"
    with pytest.raises(StoreProblem, match=r"cast_person: .*; cast_double: .*through='cast_person'"):
        cast.relations.rows(0, "people")
    assert cast.relations.rows(0, "people", through="cast_double", columns=["name"]).to_pylist() == [
        {"name": "Cleo"}
    ]
    assert ids(store["people"].relations.rows(2, "cast", through="cast_double")) == [0, 1, 2, 3, 4]
    with pytest.raises(UnknownRelation, match=r"'cast_doubl'.*Did you mean 'cast_double'"):
        cast.relations.rows(0, "people", through="cast_doubl")


def test_a_relation_of_a_table_with_itself_has_two_directions(store: Store) -> None:
    people = store["people"]
    store.relations.declare("people.chief", "people._id", name="reports_to")
    with pytest.raises(StoreProblem, match="direction='out'"):
        people.relations.rows(1, "people")
    assert ids(people.relations.rows(1, "people", direction="out")) == [0]
    assert ids(people.relations.rows(0, "people", direction="in")) == [1, 2]
    assert people.relations.counts([0, 1], "people", direction="in")["count"].to_pylist() == [2, 0]
    with pytest.raises(BadData, match="direction cannot be 'up'"):
        people.relations.rows(1, "people", direction="up")  # type: ignore[arg-type]
    with pytest.raises(StoreProblem, match="leads the other way"):
        store["cast"].relations.rows(1, "people", direction="in")


def test_a_key_may_have_several_columns(store: Store) -> None:
    store.create_table(
        "roles", {"title": ["t1", "t1", "t2"], "billing": [1, 2, None], "role": ["a", "b", "c"]}
    )
    relation = store.relations.declare(["roles.billing", "roles.title"], ["cast.billing", "cast.title"])
    assert str(relation) == "roles_billing_title: roles.(billing, title) → cast.(billing, title)"
    assert ids(store["cast"].relations.rows(0, "roles")) == [1]
    assert store["roles"].relations.counts([0, 1, 2], "cast")["count"].to_pylist() == [1, 1, 0]
    with pytest.raises(StoreProblem, match="already has this relation"):
        store.relations.declare(["roles.title", "roles.billing"], ["cast.title", "cast.billing"])


def test_relations_follow_what_tables_and_columns_are_called(store: Store) -> None:
    store.rename_table("titles", "films")
    store["films"].columns.rename("code", "key")
    store["cast"].columns.rename({"title": "billing", "billing": "title"})
    assert [str(relation) for relation in store.relations] == [
        "cast_title: cast.billing → films.key",
        "cast_person: cast.person → people._id",
    ]
    assert ids(store["films"].relations.rows(0, "cast")) == [0, 1]


def test_a_relation_follows_casts_and_their_undo_also_when_versions_expire(store: Store) -> None:
    cast, people = store["cast"], store["people"]
    cast.columns.cast("person", "string")
    assert "cannot be followed" in refusal(lambda: people.relations.rows(0, "cast"))
    assert "cast.person is string, people._id is int64" in store.relations[1].problem
    cast.columns.cast("person", "int16")
    assert ids(people.relations.rows(0, "cast")) == [0, 2]
    cast.maintenance.expire(keep_versions=1)
    assert store.relations[1].problem == "" and ids(people.relations.rows(0, "cast")) == [0, 2]
    cast.columns.cast("person", "string")
    cast.history.undo()
    assert ids(people.relations.rows(0, "cast")) == [0, 2]


def refusal(call: Any) -> str:
    with pytest.raises(LamellaError) as refused:
        call()
    return str(refused.value)


def test_a_dropped_column_is_said_and_comes_back_with_undo(store: Store) -> None:
    titles, cast = store["titles"], store["cast"]
    cast.columns.drop("title")
    assert store.relations[0].problem == "column 'title' of cast was dropped"
    message = refusal(lambda: titles.relations.rows(0, "cast"))
    assert "'cast_title' cannot be followed" in message and "store.relations.drop('cast_title')" in message
    cast.columns.add("title", default="t1")
    assert store.relations[0].problem
    cast.history.undo()
    cast.history.undo()
    assert ids(titles.relations.rows(0, "cast")) == [0, 1]
    cast.columns.drop("title")
    cast.maintenance.compact()
    cast.maintenance.expire(keep_versions=1)
    assert store.relations[0].problem == "a column of cast was dropped"
    store.relations.drop("cast_title")
    assert [relation.name for relation in store.relations] == ["cast_person"]


def test_dropping_a_table_drops_its_relations(store: Store) -> None:
    store.drop_table("titles")
    assert [relation.name for relation in store.relations] == ["cast_person"]
    store.create_table("titles", TITLES)
    assert "no relation leads between" in refusal(lambda: store["titles"].relations.rows(0, "cast"))


def test_relations_are_there_for_others_and_after_opening_again(store: Store, tmp_path: Path) -> None:
    with Store.open(store.path) as store_elsewhere:
        store.relations.drop("cast_person")
        assert list(store_elsewhere.relations) == list(store.relations)
    store.backup(tmp_path / "copy")
    with Store.open(tmp_path / "copy", read_only=True) as copy:
        assert list(copy.relations) == list(store.relations)
        assert ids(copy["titles"].relations.rows(0, "cast")) == [0, 1]
        with pytest.raises(ReadOnlyStore):
            copy.relations.declare("cast.person", "people._id")
        with pytest.raises(ReadOnlyStore):
            copy.relations.drop("cast_title")


def test_what_others_change_of_tables_and_relations_is_seen_at_once(store: Store) -> None:
    titles = store["titles"]
    with Store.open(store.path) as store_elsewhere:
        assert (
            ids(titles.relations.rows(0, "cast"))
            == ids(store_elsewhere["titles"].relations.rows(0, "cast"))
            == [0, 1]
        )
        store_elsewhere["cast"].columns.rename("title", "film")
        assert ids(titles.relations.rows(0, "cast")) == [0, 1]
        store_elsewhere.rename_table("cast", "roles")
        with pytest.raises(UnknownTable):
            titles.relations.rows(0, "cast")
        assert ids(titles.relations.rows(0, "roles")) == [0, 1]
        store_elsewhere.relations.declare("roles.billing", "titles._id", name="second")
        with pytest.raises(StoreProblem, match="not clear"):
            titles.relations.rows(0, "roles")
        store_elsewhere.relations.drop("cast_title")
        assert ids(titles.relations.rows(1, "roles")) == [1, 2, 3, 4]
        store_elsewhere["roles"].delete(ids=[1, 2])
        assert ids(titles.relations.rows(1, "roles")) == [3, 4]


def test_what_a_transaction_changes_is_seen_in_it_alone_until_it_is_done(store: Store) -> None:
    titles = store["titles"]
    with Store.open(store.path) as store_elsewhere, store.transaction():
        store.relations.drop("cast_title")
        store.relations.declare("cast.billing", "titles._id")
        assert ids(titles.relations.rows(1, "cast")) == [1, 2, 3, 4]
        assert ids(store_elsewhere["titles"].relations.rows(1, "cast")) == [2]
        with ThreadPoolExecutor(1) as thread:
            assert ids(thread.submit(lambda: titles.relations.rows(1, "cast")).result()) == [2]
    assert ids(titles.relations.rows(1, "cast")) == [1, 2, 3, 4]


def test_a_transaction_that_fails_takes_its_relations_back(store: Store) -> None:
    before = tuple(store.relations)
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.relations.drop("cast_title")
        store.create_table("roles", [{"title": "t1"}])
        store.relations.declare("roles.title", "titles.code")
        assert ids(store["titles"].relations.rows(0, "roles")) == [0]
        raise ZeroDivisionError
    assert tuple(store.relations) == before


BAD = [
    (("cast.titel", "titles.code"), UnknownColumn, "cast has no column 'titel'. Did you mean 'title'"),
    (("csat.title", "titles.code"), UnknownTable, "no table 'csat'. Did you mean 'cast'"),
    (("title", "titles.code"), BadData, "'title' names no table and column. .*'cast.title'"),
    (("cast", "titles.code"), BadData, "'cast' names no table and column. .*'cast.tags'"),
    (("cast.person", "titles.code"), TypeConflict, "cast.person is int64, titles.code is string"),
    (("cast.tags", "titles.code"), TypeConflict, "cast.tags holds list.* nested values cannot be keys"),
    (("cast.title", "cast.title"), BadData, "would point at itself"),
    (("cast.title", "titles.code"), StoreProblem, "already has this relation: cast_title"),
    (("cast.billing", "people._id", "cast_title"), StoreProblem, "already has a relation 'cast_title'"),
    (("cast.billing", "people._id", " "), BadData, "a relation needs a name"),
    (("cast.billing", "people._id", 5), BadData, "5 is not text"),
    ((["cast.title", "cast.person"], "titles.code"), BadData, "One end has 2 columns, the other 1 column"),
    ((["cast.title", "people.name"], ["titles.code"] * 2), BadData, "not in cast and people"),
    ((["cast.title", "cast.title"], ["titles.code"] * 2), BadData, "names a column twice"),
    (([], "titles.code"), BadData, r"\[\] cannot be an end"),
    ((5, "titles.code"), BadData, "5 cannot be an end"),
]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(("arguments", "kind", "reason"), BAD, ids=lambda v: str(v)[:40])
def test_what_cannot_be_a_relation_is_refused(
    store: Store, arguments: tuple[Any, ...], kind: type[LamellaError], reason: str
) -> None:
    store["cast"].columns.add("tags", default=["x"])
    before = tuple(store.relations)
    with pytest.raises(kind, match=reason):
        store.relations.declare(*arguments)
    assert tuple(store.relations) == before


def test_what_cannot_be_followed_is_refused(store: Store) -> None:
    cast = store["cast"]
    with pytest.raises(UnknownTable, match=r"'titels'. Did you mean 'titles'"):
        cast.relations.rows(0, "titels")
    with pytest.raises(
        StoreProblem, match=r"no relation leads between titles and people.*store.relations.declare"
    ):
        store["titles"].relations.rows(0, "people")
    with pytest.raises(UnknownRow, match="cast has no row with _id 99"):
        cast.relations.rows(99, "titles")
    with pytest.raises(BadData, match="'a' is not an _id"):
        cast.relations.rows("a", "titles")  # type: ignore[arg-type]
    with pytest.raises(BadFilter):
        cast.relations.rows(0, "titles", where=7)  # type: ignore[arg-type]
    with pytest.raises(UnknownRelation, match=r"'cast_titel'. Did you mean 'cast_title'"):
        store.relations.drop("cast_titel")


def test_names_with_dots_lead_to_the_table_and_column_that_are_there(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("a", {"b.c": [1], "n": [1]})
        store.create_table("a.b", {"d": [1]})
        assert str(store.relations.declare("a.b.d", "a.n")) == "a.b_d: a.b.d → a.n"
        assert store.relations.declare("a.b.c", "a.b.d").from_columns == ("b.c",)
        store["a.b"].columns.add("c", default=1)
        with pytest.raises(BadData, match=r"column 'b.c' of table 'a' or column 'c' of table 'a.b'"):
            store.relations.declare("a.b.c", "a.n")


@pytest.mark.slow
def test_following_imports_no_pandas(tmp_path: Path) -> None:
    import subprocess

    script = f"""
import sys
from lamella import Store
with Store.open({str(tmp_path / "s")!r}) as store:
    a = store.create_table("a", {{"k": [1, 2]}})
    b = store.create_table("b", {{"k": [2, 2]}})
    store.relations.declare("b.k", "a.k")
    assert a.relations.rows(1, "b").num_rows == 2
    assert a.relations.counts([0, 1], "b")["count"].to_pylist() == [0, 2]
    assert not store.relations.check()[0].dangling
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_relation_is_followed_between_tables_as_they_were(store: Store) -> None:
    cast, titles = store["cast"], store["titles"]
    for table in (cast, titles):
        table.history.name_version("before")
    titles.update([{"_id": 0, "code": "t8", "year": 1950}])
    cast.columns.rename("title", "film")
    cast.delete(ids=[0])
    assert ids(titles.relations.rows(0, "cast")) == []
    assert ids(titles.relations.rows(0, "cast", as_of="before")) == [0, 1]
    assert titles.relations.rows(0, "cast", where="title = 't1'", sort=["-_id"], as_of="before")[
        "_id"
    ].to_pylist() == [1, 0]
    assert cast.relations.rows(0, "titles", columns=["year"], as_of="before")["year"].to_pylist() == [1999]
    assert ids(cast.relations.rows(1, "titles", as_of={"titles": 1})) == [0]
    assert ids(titles.relations.rows(0, "cast", as_of={"titles": 1})) == [1]
    page = titles.relations.page(0, "cast", 1, as_of="before")
    assert ids(page.rows) == [0]
    assert ids(titles.relations.page(0, "cast", 1, page.next, as_of="before").rows) == [1]
    counted = titles.relations.counts([0, 1], "cast", as_of="before")
    assert counted["count"].to_pylist() == [2, 1]
    then = {commit.version: commit.time for commit in cast.history.commits()}[cast.version - 1]
    assert ids(cast.relations.rows(0, "people", as_of=then)) == [0]
    with pytest.raises(UnknownRow):
        cast.relations.rows(0, "people")


def test_versions_that_do_not_fit_together_are_refused(store: Store) -> None:
    cast = store["cast"]
    with pytest.raises(BadData, match=r"numbers its own versions.*as_of=\{'cast': 1"):
        cast.relations.rows(0, "people", as_of=1)
    with pytest.raises(UnknownTable, match="'titles'"):
        cast.relations.rows(0, "people", as_of={"titles": 1})
    with pytest.raises(LamellaError, match="No version of it has a name"):
        cast.relations.rows(0, "people", as_of="before")
    cast.columns.cast("person", "int32")
    with pytest.raises(StoreProblem, match="'person' was added or cast later"):
        cast.relations.rows(0, "people", as_of={"cast": 1})
    assert ids(cast.relations.rows(0, "people", as_of={"people": 1})) == [0]


def test_links_are_the_ways_that_lead_from_a_table(store: Store) -> None:
    store.relations.declare("people.chief", "people._id")

    def ways(table: str) -> list[tuple[str, str, tuple[str, ...]]]:
        return [(link.other, link.direction, link.columns) for link in store.relations.links(table)]

    assert ways("cast") == [("titles", "out", ("title",)), ("people", "out", ("person",))]
    assert ways("titles") == [("cast", "in", ("code",))]
    assert ways("people") == [
        ("cast", "in", ("_id",)),
        ("people", "out", ("chief",)),
        ("people", "in", ("_id",)),
    ]
    store["cast"].columns.drop("title")
    assert store.relations.links("titles")[0].relation.problem == "column 'title' of cast was dropped"
    with pytest.raises(UnknownTable, match="nobody"):
        store.relations.links("nobody")
    with pytest.raises(BadData, match="the table name"):
        store.relations.links(["cast"])  # type: ignore[arg-type]


def test_condition_is_met_by_the_related_rows_alone(store: Store) -> None:
    cast, titles, people = store["cast"], store["titles"], store["people"]
    assert ids(cast.read(where=titles.relations.condition(0, "cast"))) == [0, 1]
    assert ids(people.read(where=cast.relations.condition(2, "people"))) == [0]
    assert titles.read(where=cast.relations.condition(3, "titles")).num_rows == 0
