"""`Table` reads and changes rows; all other operations are on its attributes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.query.builder import Query
from lamella.core.store import Table

MOST_NAMES = 45
TABLE = {
    "columns": "Columns",
    "history": "History",
    "indexes": "Indexes",
    "maintenance": "Maintenance",
    "relations": "TableRelations",
}
STORE = {"maintenance": "StoreMaintenance", "relations": "StoreRelations", "views": "StoreViews"}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def collaborators(thing: object) -> dict[str, str]:
    """The collaborators: attributes whose classes are defined in `core.store`."""
    values = {name: inspect.getattr_static(thing, name) for name in public(thing)}
    kinds = {
        name: type(getattr(thing, name)) for name, value in values.items() if isinstance(value, property)
    }
    return {
        name: kind.__name__
        for name, kind in kinds.items()
        if kind.__module__.startswith("lamella.core.store.")
    }


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    return store.create_table("t", [{"n": 1}])


def test_a_table_has_few_names_and_five_collaborators(table: Table) -> None:
    assert len(public(table)) <= MOST_NAMES
    assert collaborators(table) == TABLE


def test_a_store_has_fewer_names_and_three_collaborators(store: Store) -> None:
    assert len(public(store)) <= MOST_NAMES // 2
    assert collaborators(store) == STORE


def test_all_steps_of_a_query_lead_from_a_table(table: Table) -> None:
    assert type(table.query()) is Query and table.query().count() == 1


def test_collaborators_say_whose_they_are_and_hold_no_more_than_they_need(table: Table) -> None:
    for name in TABLE:
        collaborator = getattr(table, name)
        assert "'t'" in repr(collaborator)
        assert not hasattr(collaborator, "__dict__"), "made at each use, so it is small"


def test_a_collaborator_follows_its_table(store: Store, table: Table) -> None:
    columns, history = table.columns, table.history
    store.rename_table("t", "u")
    columns.add("m", int)
    assert list(columns) == ["n", "m"] and "m" in columns and columns[-1] == "m"
    assert [commit.table for commit in history.commits()] == ["u", "u"]
    history.undo()
    assert list(columns) == ["n"]


def test_renaming_takes_two_names_or_a_dict(table: Table) -> None:
    table.columns.add("m", int)
    table.columns.rename({"n": "m", "m": "n"})
    table.columns.rename("m", "k")
    assert list(table.columns) == ["k", "n"]
