"""`lamella relations` as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamella import Store
from lamella.app import cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "shop") as store:
        store.create_table("customers", {"code": ["a", "b", "c"], "name": ["Ann", "Bo", "Cy"]})
        sold = {"customer": ["a", "b", "a", "c", "zz"], "customer_code": ["c", "b", "a", None, "a"]}
        store.create_table("orders", sold)
        store.relations.declare("orders.customer", "customers.code")
    return tmp_path / "shop"


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[str]]:
    code = cli.main(["relations", *map(str, words)])
    return code, capsys.readouterr().out.splitlines()


def test_relations_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, folder) == (0, ["orders_customer: orders.customer → customers.code"])
    code, (line,) = told(capsys, folder, "--json")
    assert (code, json.loads(line)["from_columns"]) == (0, ["customer"])


def test_rows_that_point_at_nothing_are_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, folder, "--check") == (
        cli.DAMAGED,
        ["orders_customer: 1 of 5 rows of orders point at nothing in customers, such as 'zz' (_id 4)"],
    )
    _, (line,) = told(capsys, folder, "--check", "--json")
    assert json.loads(line)["examples"] == [{"row_id": 4, "key": ["zz"]}]
    with Store.open(folder) as store:
        store["orders"].delete(ids=[4])
    assert told(capsys, folder, "--check") == (0, ["orders_customer: 4 rows of orders, all is well"])


def test_candidates_are_suggested_and_not_declared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (line,) = told(capsys, folder, "--suggest")
    assert code == 0 and line.startswith("orders.customer_code → customers.code (100%: ")
    with Store.open(folder) as store:
        assert len(store.relations) == 1
        store.drop_table("orders")
    assert told(capsys, folder) == (0, ["no relations; --suggest proposes some"])
    assert told(capsys, folder, "--check", "--suggest") == (
        0,
        ["no relations to check; --suggest proposes some", "nothing to suggest"],
    )
    assert told(capsys, folder, "--json") == (0, [])


def test_where_there_is_no_store_none_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["relations", str(tmp_path / "nothing")]) == cli.REFUSED
    assert "there is no store here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
