"""STORE:TABLE on the command line: every command takes it, and answers other spellings with it."""

from __future__ import annotations

import sqlite3
from argparse import Namespace
from pathlib import Path

import pytest

from lamella import Store
from lamella.app import cli
from lamella.app.commands.bench import source_of
from lamella.app.commands.table_reference import take_table
from lamella.core.errors import LamellaError


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Store.open("shop") as store:
        store.create_table("goods", {"id": [1, 2], "price": [1.5, 2.0]})
        store.create_table("other", {"x": [7]})
    (tmp_path / "new.csv").write_text("id,price\n3,8\n")
    return tmp_path


@pytest.fixture
def run(shop, capsys):
    def call(*words: str) -> tuple[int, str]:
        code = cli.main(list(words))
        output = capsys.readouterr()
        return code, output.out + output.err

    return call


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["query", "shop:goods", "--where", "id = 2", "--columns", "price"], "2.0"),
        (["query", "--group-by", "id", "shop:goods", "--agg", "n=count()"], "(2 rows)"),
        (["export", "shop:goods", "out.csv"], "2 rows are in"),
        (["change", "shop:goods", "--delete", "--where", "id = 2", "--preview"], "1 row would be deleted"),
        (["index", "shop:goods"], "no indexes"),
        (["index", "shop:goods", "id"], "sorted index on id"),
        (["checks", "shop:goods", "id", "--required", "yes"], "id: required"),
        (["summary", "shop:goods"], "goods: 2 rows"),
        (["verify", "shop:goods"], "1 table"),
        (["compact", "shop:goods"], "goods: "),
        (["store", "expire", "shop:goods", "--keep", "1"], "goods: 0 versions"),
        (["compare", "shop:goods@1", "shop:goods"], "no row differs"),
        (["import", "new.csv", "shop:goods", "--mode", "append"], "1 added"),
        (["import", "new.csv", "shop:a/b"], "table a/b of"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_every_command_takes_a_table_after_a_colon(run, words, answer):
    code, text = run(*words)
    assert (code, answer in text) == (0, True), text


@pytest.mark.parametrize(
    ("words", "guess"),
    [
        (["query", "shop/goods", "--limit", "1"], "Did you mean 'shop:goods'?"),
        (["query", "shop.goods", "--limit", "1"], "Did you mean 'shop:goods'?"),
        (["query", "shop", "goods"], "'goods' is no statement. Did you mean 'shop:goods'?"),
        (["query", "shop:goods", "--table", "other"], "given twice, by 'shop:goods' and 'other'"),
        (["query", "shop:goods", "select 1"], "Write 'shop' before the statement"),
        (["query", "shop:good", "--limit", "1"], "no table 'good'. Did you mean 'goods'?"),
        (["export", "shop:goods", "other", "out.csv"], "given twice"),
        (["change", "shop", "--set", "id=1"], "Did you mean 'shop:goods' or 'shop:other'?"),
        (["index", "shop"], "not given. Did you mean 'shop:goods' or 'shop:other'?"),
        (["index", "create", "shop"], "not 'create'. Did you mean 'shop:goods' or 'shop:other'?"),
        (["index", "create", "shop:goods", "id"], "Write lamella index shop:goods id."),
        (["index", "drop", "shop:goods", "id"], "Write lamella index shop:goods id --drop."),
        (["index", "list", "shop:goods"], "Write lamella index shop:goods."),
        (["index", "create"], "Write lamella index STORE:TABLE COLUMNS."),
        (["summary", "shop/goods"], "Did you mean 'shop:goods'?"),
        (["compare", "shop/goods", "new.csv"], "Did you mean 'shop:goods'?"),
        (["bench", "--table", "shop/goods"], "Did you mean 'shop:goods'?"),
        (["backup", "shop:goods", "copy"], "takes a whole store. Did you mean 'shop'?"),
        (["sqlite", "shop:goods", "--command", "select 1"], "takes a whole store. Did you mean 'shop'?"),
        (["import", "new.csv", "shop", "more"], "Files are imported. Did you mean 'shop:more'?"),
        (["import", "shop:goods", "copy"], "is a table of a store"),
        (["import", "new.csv", "shop/more"], "inside the store 'shop'"),
        (["import", "new.csv", "none:a/b"], "There is no store 'none' and no folder 'none:a'"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)  # fmt: skip
def test_another_spelling_is_answered_with_the_one_that_is_meant(run, shop, words, guess):
    before = sorted(shop.iterdir())
    code, text = run(*words)
    assert (code, guess in text) == (2, True), text
    assert sorted(shop.iterdir()) == before, "nothing is created"


def test_the_tables_of_a_store_are_named_where_one_is_missing(run, shop):
    with Store.open("shop") as store:
        for name in ("a", "b"):
            store.create_table(name, {"x": [7]})
    assert "Write STORE:TABLE. There are: a, b, goods, other" in run("index", "shop")[1]
    Store.open("empty").close()
    assert "It has no tables yet" in run("index", "empty")[1]


def test_a_command_without_an_argument_for_a_table_takes_whole_stores(shop):
    with pytest.raises(LamellaError, match="takes a whole store"):
        take_table(Namespace(store="shop:goods"), "store")
    take_table(Namespace(store="shop"), "store")


def test_a_file_of_several_tables_is_named_in_the_same_way(run, shop):
    connection = sqlite3.connect(shop / "shop.db")
    connection.executescript("create table a(n); insert into a values (1); create table b(n)")
    connection.close()
    assert "(1 row)" in run("query", "shop.db:a")[1]
    assert "1 row is in" in run("export", "shop.db:a", "a.csv")[1]
    assert "1 removed" in run("compare", "shop.db:a", "shop.db:b", "--by-order")[1]
    assert source_of("shop.db:b").table == "b"
    assert "'c'" in run("query", "shop.db:c")[1]


def test_a_folder_with_a_colon_is_a_folder(run, shop):
    (shop / "disk:1").mkdir()
    assert run("import", "new.csv", "disk:1/air")[0] == 0
    assert "(1 row)" in run("query", "disk:1/air:new")[1]
    assert run("import", "new.csv", "disk:1/air:a:b")[0] == 0
    with Store.open("disk:1/air") as store:
        assert store.tables == ["a:b", "new"]
