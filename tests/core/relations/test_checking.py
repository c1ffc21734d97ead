"""Rows that point at nothing are found, counted and shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.errors import BadData, Cancelled, StoreProblem, TypeConflict, UnknownColumn, UnknownRelation
from lamella.core.jobs import Job
from lamella.core.relations.checking import Dangling


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("titles", {"code": ["t1", "t2", "t2"], "part": [1, 1, 2]})
        opened.create_table(
            "cast", {"title": ["t1", "x", None, "t2"] * 5_000, "part": [1.0, 2.0, None, 2.5] * 5_000}
        )
        opened.relations.declare("cast.title", "titles.code")
        opened.relations.declare(["cast.title", "cast.part"], ["titles.code", "titles.part"], name="both")
        yield opened


def test_rows_that_point_at_nothing_are_counted_with_examples(store: Store) -> None:
    single, both = store.relations.check()
    assert (single.rows, single.unset, single.dangling, single.repeated) == (20_000, 5_000, 5_000, 1)
    assert single.examples == (Dangling(1, ("x",)),)
    assert (both.rows, both.unset, both.dangling, both.repeated) == (20_000, 5_000, 10_000, 0)
    assert both.examples == (Dangling(1, ("x", 2.0)), Dangling(3, ("t2", 2.5)))
    assert single.problems == (
        "cast_title: 5,000 of 20,000 rows of cast point at nothing in titles, such as 'x' (_id 1)",
    )


def test_examples_are_of_different_keys_from_all_over_the_table(store: Store) -> None:
    store["cast"].insert([{"title": f"y{n // 2}"} for n in range(20)])
    (checked,) = store.relations.check("cast_title")
    assert [each.key for each in checked.examples] == [("x",), ("y0",), ("y1",), ("y2",), ("y3",)]
    assert [each.row_id for each in checked.examples][1:] == [20_000, 20_002, 20_004, 20_006]


def test_what_was_mended_is_well_again(store: Store) -> None:
    store["titles"].insert([{"code": "x", "part": 2}])
    (checked,) = store.relations.check("cast_title")
    assert checked.problems == ()
    assert str(checked) == (
        "cast_title: 20,000 rows of cast, all is well; rows without a key: 5,000; repeated keys in titles: 1"
    )
    store["titles"].delete(ids=[0])
    store["cast"].update([{"_id": 4, "title": "t2"}])
    (checked,) = store.relations.check("cast_title")
    assert checked.dangling == 4_999 and checked.examples == (Dangling(0, ("t1",)),)


def test_cardinality_says_how_many_rows_belong_together(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c") as store:
        store.create_table("lands", {"code": ["no", "it", "no"], "capital": [0, 1, None]})
        store.create_table("towns", {"land": ["no", "it", "it", None], "name": ["Oslo", "Rome", "Bari", "?"]})
        store.relations.declare("lands.capital", "towns._id")
        store.relations.declare("towns.land", "lands.code")
        capital, land = store.relations.check()
        assert (capital.shared, capital.cardinality) == (0, ("1", "1"))
        assert (land.shared, land.cardinality) == (1, ("n", "n"))
        store["lands"].delete(ids=[2])
        assert store.relations.check("towns_land")[0].cardinality == ("n", "1")


def test_try_out_checks_what_is_not_declared(store: Store) -> None:
    tried = store.relations.try_out("cast.part", "titles.part")
    assert (tried.rows, tried.unset, tried.dangling) == (20_000, 5_000, 5_000)
    assert len(store.relations) == 2
    with pytest.raises(UnknownColumn, match="Did you mean 'code'"):
        store.relations.try_out("cast.title", "titles.cod")
    with pytest.raises(TypeConflict, match=r"cast\.part is double, titles\.code is string"):
        store.relations.try_out("cast.part", "titles.code")


def test_rename_keeps_the_relation_and_its_place(store: Store) -> None:
    renamed = store.relations.rename("cast_title", "plays in")
    assert str(renamed) == "plays in: cast.title → titles.code"
    assert [each.name for each in store.relations] == ["plays in", "both"]
    assert store.relations.links("cast")[0].relation.name == "plays in"
    assert store.relations.rename("both", "both").name == "both"
    with pytest.raises(StoreProblem, match="already has a relation 'both'"):
        store.relations.rename("plays in", "both")
    with pytest.raises(UnknownRelation, match="Did you mean 'plays in'"):
        store.relations.rename("play in", "other")
    with pytest.raises(BadData, match="needs a name"):
        store.relations.rename("both", " ")


def test_a_relation_that_cannot_be_followed_is_a_problem(store: Store) -> None:
    store["cast"].columns.drop("part")
    assert store.relations.check("both")[0].problems == ("both: column 'part' of cast was dropped",)
    with pytest.raises(UnknownRelation, match="'bothh'"):
        store.relations.check("bothh")


def test_empty_tables_are_well(tmp_path: Path) -> None:
    with Store.open(tmp_path / "e") as store:
        store.create_table("a", {"k": [1]})
        store.create_table("b", {"k": [1]})
        store["a"].delete(ids=[0])
        store.relations.declare("a.k", "b.k")
        assert str(store.relations.check()[0]) == "a_k: 0 rows of a, all is well"
        store["b"].delete(ids=[0])
        store["a"].history.undo()
        assert store.relations.check()[0].examples == (Dangling(0, (1,)),)


def test_a_check_can_be_stopped(store: Store) -> None:
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        store.relations.check(job=job)
