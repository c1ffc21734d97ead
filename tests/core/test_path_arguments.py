"""Arguments that are no local paths, addresses among them, are refused without creating anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lamella import Store, open_dataset, sql
from lamella.app.__main__ import main
from lamella.core.bridge import connect
from lamella.core.errors import BadData, FileProblem, LamellaError
from lamella.core.store.importing import import_file
from lamella.core.transfer.generate import make
from lamella.core.validation import path_of

ADDRESSES = [
    "s3://bucket/store",
    "postgres://user:secret@server/base",
    "file:///tmp/store",
    "https://example.org/trips.parquet",
    "gs://bucket/*.parquet",
    "S3A://bucket",
    "mongodb+srv://server",
]
NO_PATHS = [
    "\0",
    "a\0b",
    "",
    "x" * 5_000,
    "~nobody-is-called-so/store",
    None,
    7,
    b"store",
    ["store"],
    object(),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("here")
    with Store.open(path / "own") as store:
        store.create_table("t", [{"n": 1}])
    (path / "rows.csv").write_text("n\n1\n")
    return path


@pytest.fixture
def current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a store `own`, a file `rows.csv`, and nothing else."""
    monkeypatch.chdir(folder)
    return folder


def with_own(work: Callable[[Store], object]) -> None:
    with Store.open("own") as store:
        work(store)


CALLS: dict[str, Callable[[str], object]] = {
    "open a store": Store.open,
    "open a store to read": lambda path: Store.open(path, read_only=True),
    "restore from": lambda path: Store.restore_backup(path, "restored"),
    "restore to": lambda path: Store.restore_backup("own", path),
    "back up": lambda path: with_own(lambda store: store.backup(path)),
    "export": lambda path: with_own(lambda store: store["t"].export(path, format="csv")),
    "partitioned": lambda path: with_own(lambda store: store["t"].export(path, partition_by=["n"])),
    "open in place": open_dataset,
    "cache": lambda path: open_dataset("rows.csv", cache_dir="" if path is None else path),
    "import": lambda path: with_own(lambda store: import_file(path, store)),
    "make": lambda path: make("mixed", 10, path),
    "SQL": lambda path: sql("select * from t", {"t": path}),
    "SQLite": connect,
}


OF_FILES = ("export", "partitioned", "open in place", "import", "SQL")
"""What takes addresses of files elsewhere, too: tests/core/remote has those that mean something."""
OF_THIS_MACHINE = [name for name in CALLS if name not in OF_FILES]


@pytest.mark.parametrize("name", OF_FILES)
@pytest.mark.parametrize(
    "address", ["postgres://user:secret@server/base", "mongodb+srv://server", "file:///a/b"]
)
def test_an_address_that_means_nothing_is_refused(current_folder: Path, name: str, address: str) -> None:
    before = set(current_folder.rglob("*"))
    with pytest.raises(LamellaError, match="begins with") as caught:
        CALLS[name](address)
    assert "secret" not in str(caught.value)
    assert set(current_folder.glob("*")) <= before


@pytest.mark.parametrize("call", [CALLS[name] for name in OF_THIS_MACHINE], ids=OF_THIS_MACHINE)
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_no_path(current_folder: Path, call: Callable[[str], object], address: str) -> None:
    before = set(current_folder.rglob("*"))
    with pytest.raises(FileProblem, match=r"cannot be at an address that begins with [A-Za-z0-9+]+:\."):
        call(address)
    assert set(current_folder.glob("*")) <= before


@pytest.mark.slow(except_every=7)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("value", NO_PATHS, ids=[ascii(value)[:20] for value in NO_PATHS])
def test_what_is_no_path_is_refused(current_folder: Path, call: Callable[..., object], value: object) -> None:
    before = set(current_folder.rglob("*"))
    with pytest.raises(LamellaError):
        call(value)
    assert set(current_folder.glob("*")) <= before


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_path_object_of_an_address_is_no_path(current_folder: Path, address: str) -> None:
    with pytest.raises(FileProblem, match="cannot be at an address"):
        Store.open(Path(address))
    assert {path.name for path in current_folder.iterdir()} == {"own", "rows.csv"}


COMMANDS = [
    ["import", "rows.csv", "{}"],
    ["import", "{}", "own"],
    ["backup", "own", "{}"],
    ["backup", "{}", "copy"],
    ["restore", "own", "{}"],
    ["restore", "{}", "copy"],
    ["export", "own", "t", "{}/x.csv"],
    ["make-data", "10", "{}/x.parquet"],
    ["query", "{}", "--sql", "select 1"],
    ["verify", "{}"],
    ["compact", "{}"],
    ["relations", "{}"],
    ["bench", "--table", "{}", "--rows", "10"],
]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("address", ["s3://bucket/store", "postgres://server/base"])
def test_commands_refuse_addresses(
    current_folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    address: str,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # where nothing listens
    try:
        code = main([word.format(address) for word in command])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code, capsys.readouterr()
    assert "Traceback" not in capsys.readouterr().err
    assert {path.name for path in current_folder.iterdir()} == {"own", "rows.csv"}


@pytest.mark.parametrize("name", ["C:", "a:b", "s3:", "trips 10:30", "-"])
def test_names_with_colons_are_names(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if sys.platform == "win32" and ":" in name:
        pytest.skip("no file of Windows has a colon in its name")
    assert path_of(f"./{name}/s", "the store") == tmp_path / name / "s"
    (tmp_path / name).mkdir()
    assert path_of(Path(f"{name}/s"), "the store") == tmp_path / name / "s"


@pytest.mark.parametrize("drive", ["C:/data/store", "d:\\store", "C:store"])
def test_drives_are_no_schemes(drive: str) -> None:
    assert os.fspath(path_of(drive, "the store")).endswith(drive)


def test_a_path_is_absolute_and_home_is_resolved(
    current_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(current_folder))
    monkeypatch.setenv("USERPROFILE", str(current_folder))
    assert path_of("~/s", "the store") == current_folder / "s"
    assert path_of("s", "the store") == current_folder / "s"
    with pytest.raises(BadData, match="the store None is not a path"):
        path_of(None, "the store")
