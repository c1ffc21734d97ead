"""`lamella store` as people call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella import Store
from lamella.app import cli
from tests.property.damage import flip_bit


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "shop") as opened:
        orders = opened.create_table("orders", {"n": list(range(60_000)), "what": ["tea"] * 60_000})
        orders.update_where(None, {"$inc": {"n": 1}})
        orders.maintenance.compact()
        opened.create_table("empty", {"n": [1]}).delete(ids=[0])
    return tmp_path / "shop"


def test_sizes_lists_tables_columns_and_what_could_be_freed(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["store", "sizes", str(store), "--columns"]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith(f"{store}: ") and "format 3" in out
    assert [line.split()[0] for line in out.splitlines()[2:5]] == ["table", "empty", "orders"]
    assert "vacuum frees " in out and "  what  string, " in out
    next((store / "data").glob("orders-*/*.parquet")).unlink()
    assert cli.main(["store", "sizes", str(store)]) in (cli.OK, cli.DAMAGED)


def test_expire_and_vacuum_say_what_they_free_before_and_after(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expire = ["store", "expire", str(store), "orders", "--keep", "1"]
    assert cli.main([*expire, "--dry-run"]) == cli.OK
    planned = capsys.readouterr().out
    assert planned.startswith("orders: 1 version would expire; the oldest is 2; vacuum frees ")
    assert cli.main(expire) == cli.OK
    assert capsys.readouterr().out == planned.replace("would expire", "expired")
    assert cli.main(["store", "vacuum", str(store), "--dry-run"]) == cli.OK
    files, _, freed = capsys.readouterr().out.partition(" would be removed, which frees ")
    assert cli.main(["store", "vacuum", str(store)]) == cli.OK
    assert capsys.readouterr().out == f"Removed: {files}, which freed {freed}"


def test_move_and_restore(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["store", "move", str(store), str(tmp_path / "new")]) == cli.OK
    assert capsys.readouterr().out == f"moved to {tmp_path / 'new'}\n"
    assert cli.main(["backup", str(tmp_path / "new"), str(tmp_path / "copy")]) == cli.OK
    assert cli.main(["store", "restore", str(tmp_path / "copy"), str(tmp_path / "back")]) == cli.OK
    with Store.open(tmp_path / "back") as opened:
        assert opened["orders"].num_rows == 60_000


def test_what_is_missing_is_said(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        (["move", str(store)], "Give the new folder: lamella store move STORE TO"),
        (["expire", str(store), "orders"], "Give --keep N"),
        (["expire", str(store), "order", "--keep", "1"], "Did you mean 'orders'?"),
        (["sizes", str(store.with_name("nowhere"))], "there is no store here"),
    ):
        assert cli.main(["store", *words]) == cli.REFUSED
        assert says in capsys.readouterr().err
    with Store.open(store):
        assert cli.main(["store", "move", str(store), str(store.with_name("new"))]) == cli.REFUSED
    assert "is open, here or in another program" in capsys.readouterr().err


def test_salvage_counts_the_readable_rows_and_copies_them(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["store", "salvage", str(store)]) == cli.OK
    assert capsys.readouterr().out == "No rows to copy\n"
    with Store.open(store) as opened:
        opened["orders"].maintenance.compact(20_000)
        opened["orders"].maintenance.expire(keep_versions=1)
        opened.maintenance.vacuum()
    (file,) = (store / "data").glob("orders-*/*.parquet")
    flip_bit(file, 200)
    assert cli.main(["store", "salvage", str(store), "--dry-run"]) == cli.OK
    said = "orders: 40,000 rows can be read, 20,000 cannot\n"
    assert capsys.readouterr().out == said
    assert cli.main(["store", "salvage", str(store), "orders"]) == cli.OK
    copied = "40,000 rows of orders copied into the new table orders_readable\n"
    assert capsys.readouterr().out == said + copied
    with Store.open(store, read_only=True) as opened:
        assert opened["orders_readable"].read().column("n").to_pylist() == list(range(20_001, 60_001))
    assert cli.main(["store", "salvage", str(store), "orderz"]) == cli.REFUSED
    assert "Did you mean 'orders'" in capsys.readouterr().err
