"""`lamella compare`: files, tables and versions against each other."""

from __future__ import annotations

import json

import pytest

from lamella import Store
from lamella.app import cli


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("id,name,price\n1,pen,1.5\n2,nib,2\n3,ink,8\n")
    (tmp_path / "new.csv").write_text("id,name,price\n1,pen,1.5\n3,Ink,7\n4,cap,2\n")
    with Store.open("shop") as store:
        table = store.create_table("goods", {"id": [1, 2], "name": ["pen", "nib"], "price": [1.5, 2.0]})
        table.insert([{"id": 3, "name": "ink", "price": 8.0}])
        table.history.name_version("first", 1)
    return tmp_path


def run(capsys, *words: str) -> str:
    assert cli.main(["compare", *words]) == cli.OK, capsys.readouterr().err
    return capsys.readouterr().out


def test_files_are_compared_and_written(files, capsys):
    assert run(capsys, "old.csv", "new.csv") == (
        "old → new\n1 added, 1 removed, 1 changed\n  name: 1\n  price: 1, by at most 1\n"
    )
    loose = run(capsys, "old.csv", "new.csv", "--key", "id", "--ignore-case", "--tolerance", "1")
    assert "1 added, 1 removed\n" in loose
    rows = [json.loads(line) for line in run(capsys, "old.csv", "new.csv", "--format", "jsonl").splitlines()]
    assert [row["_change"] for row in rows] == ["removed", "changed", "added"]
    assert rows[1]["price_before"] == 8.0
    assert "wrote 3 rows to" in run(capsys, "old.csv", "new.csv", "--out", "out.csv")
    assert (files / "out.csv").read_text().splitlines()[0].startswith('"_change","_columns","id"')
    assert cli.main(["compare", "old.csv", "new.csv", "--exit-code"]) == 1
    assert cli.main(["compare", "old.csv", "old.csv", "--exit-code"]) == 0
    assert "no row differs" in capsys.readouterr().out


def test_versions_are_compared_and_differences_applied(files, capsys):
    assert "1 added" in run(capsys, "shop:goods@1", "shop")
    assert "1 removed" in run(capsys, "shop:goods", "shop:goods@first")
    assert "no row differs" in run(capsys, "shop:goods", "shop:goods")
    preview = run(capsys, "shop:goods", "new.csv", "--apply", "--delete", "--preview")
    assert "would be applied to goods: 1 row added, 1 row changed, 1 row deleted" in preview
    assert "applied to goods: 1 row added, 1 row changed, 1 row deleted" in run(
        capsys, "shop:goods", "new.csv", "--apply", "--delete"
    )
    assert "no row differs" in run(capsys, "shop:goods", "new.csv", "--key", "id")
    assert cli.main(["compare", "new.csv", "shop:goods", "--apply"]) == 2
    assert "Only the newest version of a store's table" in capsys.readouterr().err
    assert cli.main(["compare", "new.csv", "shop:goods", "--delete"]) == 2
    assert cli.main(["compare", "new.csv", "shop:goods", "--key", "nothing"]) == 2
    assert "has no column 'nothing'" in capsys.readouterr().err
