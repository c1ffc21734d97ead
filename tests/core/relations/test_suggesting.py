"""Relations that nobody declared are found by names and values, and told with their reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lamella import Store
from lamella.app import program as sample
from lamella.core.errors import Cancelled, UnknownTable
from lamella.core.jobs import Job
from lamella.core.relations.suggesting import likeness


def suggested(folder: Path, **tables: dict[str, list[Any]]) -> list[str]:
    with Store.open(folder / "s") as store:
        for name, columns in tables.items():
            store.create_table(name, columns)
        texts = [str(each).partition(" (")[0] for each in store.relations.suggest()]
        for each in store.relations.suggest():
            store.relations.declare(*each.endpoints)
        assert store.relations.suggest() == ()
        return texts


def test_the_sample_gives_itself_away(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        sample.fill(store, Job())
        assert store.relations.suggest() == ()
        known = [(relation.from_columns, relation.to_table) for relation in store.relations]
        for relation in store.relations:
            store.relations.drop(relation.name)
        actual = store.relations.suggest()
        assert sorted((each.from_columns, each.to_table) for each in actual) == sorted(known)
        assert str(actual[0]) == (
            "flights.carrier → airlines.carrier"
            " (100%: both columns are called 'carrier'; all of 16 different values are there)"
        )
        assert [each.score for each in actual] == sorted((each.score for each in actual), reverse=True)
        assert store.relations.suggest("flights", "airlines") == actual[:1]
        assert not store.relations


def test_numbers_have_to_be_called_like_what_they_point_at(tmp_path: Path) -> None:
    orders = {"customer_id": [3, 1, None, 3], "shipper": [2, 1, 2, 2], "amount": [1, 2, 3, 1]}
    people = {"id": [1, 2, 3, 4], "age": [50, 40, 50, 60]}
    assert suggested(tmp_path, orders=orders, customers=people) == ["orders.customer_id → customers.id"]


def test_keys_that_became_floats_and_row_ids_are_found(tmp_path: Path) -> None:
    visits = {"patient": [0.0, 2.0, None, 1.0, 2.0], "weight": [0.0, 1.0, 2.0, 1.5, 2.0]}
    assert suggested(tmp_path, visits=visits, patients={"name": ["a", "b", "c"]}) == [
        "visits.patient → patients._id"
    ]


def test_texts_say_it_themselves_when_most_of_them_are_there(tmp_path: Path) -> None:
    codes = ["no", "se", "dk", "fi", "is"]
    towns = {"at": ["no", "se", "dk", "xx", "no"], "size": ["s", "m", "l", "s", "m"], "few": ["no"] * 5}
    assert suggested(tmp_path, towns=towns, countries={"iso": codes, "area": [1, 2, 3, 4, 5]}) == [
        "towns.at → countries.iso"
    ]


def test_what_is_repeated_is_not_pointed_at(tmp_path: Path) -> None:
    assert suggested(tmp_path, a={"code": ["x", "y", "z", "x"]}, b={"code": ["x", "y", "z", "z"]}) == []


def test_several_columns_together_are_a_key(tmp_path: Path) -> None:
    places = [(shop, day) for shop in ("n", "s") for day in range(1, 150)]
    sales = {
        "shop": [shop for shop, _ in places] * 2,
        "day": [day for _, day in places] * 2,
        "year": [2020] * 2 * len(places),
        "sold": [n % 3 for n in range(2 * len(places))],
    }
    weather = {"shop": [s for s, _ in places], "day": [d for _, d in places], "year": [2020] * len(places)}
    assert suggested(tmp_path, sales=sales, weather=weather) == [
        "sales.shop, sales.day → weather.shop, weather.day"
    ]


def test_empty_tables_and_columns_suggest_nothing(tmp_path: Path) -> None:
    assert suggested(tmp_path, a={"code": [None, None]}, b={"code": ["x", "y"], "tags": [["x"], []]}) == []
    with Store.open(tmp_path / "s") as store:
        for name in ("a", "b"):
            store[name].delete(ids=[0, 1])
        assert store.relations.suggest() == ()
        with pytest.raises(UnknownTable, match="'aa'"):
            store.relations.suggest("aa")
        job = Job()
        job.cancel()
        store["a"].history.undo()
        with pytest.raises(Cancelled):
            store.relations.suggest(job=job)


@pytest.mark.parametrize(
    ("column", "table", "target", "least", "most"),
    [
        ("customer_id", "customers", "id", 1.0, 1.0),
        ("customerId", "Customers", "_id", 1.0, 1.0),
        ("person", "people", "_id", 1.0, 1.0),
        ("category", "categories", "code", 1.0, 1.0),
        ("carrier", "airlines", "carrier", 1.0, 1.0),
        ("home_team_id", "teams", "id", 0.8, 0.8),
        ("country_iso", "countries", "iso", 0.9, 0.9),
        ("customer", "customers", "name", 0.8, 0.8),
        ("colour", "colors", "id", 0.5, 0.8),
        ("id", "customers", "id", 0.0, 0.0),
        ("day", "customers", "id", 0.0, 0.0),
        ("", "", "", 0.0, 0.0),
        ("ключ_id", "ключ", "id", 1.0, 1.0),
    ],
)
def test_names_are_alike(column: str, table: str, target: str, least: float, most: float) -> None:
    score, reason = likeness(column, table, target)
    assert least <= score <= most
    assert bool(reason) == bool(score)
