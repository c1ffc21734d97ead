"""A damaged write-ahead log is distinguished from the remains of a crash at its end."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.store.folder import CATALOG
from lamella.core.store.verify import FRAME_HEADER_BYTES, HEADER_BYTES, log_damage

COMMITS = 30
PAGE = 4096
FRAME = FRAME_HEADER_BYTES + PAGE


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose process was killed: its commits are still in the log."""
    folder = tmp_path_factory.mktemp("log")
    Store.open(folder / "s").close()
    with Store.open(folder / "s") as store:
        store.create_table("t", {"n": [0, 1]})
        for value in range(COMMITS):
            store["t"].update([{"_id": 1, "n": value}])
        shutil.copytree(folder / "s", folder / "crashed", ignore=shutil.ignore_patterns("*-shm"))
    return folder / "crashed"


@pytest.fixture
def store(crashed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crashed, tmp_path / "s"))


def log_of(store: Path) -> Path:
    return store / f"{CATALOG}-wal"


def ends(store: Path) -> list[int]:
    """The end offsets of the frames that complete a commit."""
    content = log_of(store).read_bytes()
    starts = range(HEADER_BYTES, len(content) - FRAME + 1, FRAME)
    return [at + FRAME for at in starts if any(content[at + 4 : at + 8])]


def change(store: Path, at: int, length: int = 1) -> None:
    content = bytearray(log_of(store).read_bytes())
    content[at : at + length] = bytes(byte ^ 255 for byte in content[at : at + length])
    log_of(store).write_bytes(content)


def told(store: Path) -> list[str]:
    with Store.open(store, read_only=True) as opened:
        return [problem for problem in opened.maintenance.verify().problems if "-wal" in problem]


def newest(store: Path) -> int:
    with Store.open(store, read_only=True) as opened:
        return int(opened["t"].get(1)["n"])


def test_a_log_that_is_whole_has_no_problems(store: Path) -> None:
    assert (log_damage(store / CATALOG), newest(store)) == (None, COMMITS - 1)


@pytest.mark.parametrize("part", ["page", "number", "salt", "checksum"])
def test_commits_behind_a_bad_frame_are_lost_and_told(store: Path, part: str) -> None:
    place = {"page": FRAME_HEADER_BYTES + 1_000, "number": 1, "salt": 9, "checksum": 17}[part]
    change(store, ends(store)[8] + place)
    assert newest(store) < 10
    (problem,) = told(store)
    assert "is damaged, so SQLite ends the log there" in problem
    assert "commits after it are lost" in problem


def test_a_log_whose_beginning_is_damaged_is_told(store: Path) -> None:
    change(store, 20)
    assert "SQLite ignores all of it" in told(store)[0]
    change(store, 0, HEADER_BYTES + FRAME)
    assert "SQLite ignores all of it" in told(store)[0]


def test_what_a_crash_may_leave_at_the_end_is_no_damage(store: Path) -> None:
    """A crash may leave any subset of the last commit's frames written."""
    last, before = ends(store)[-1], ends(store)[-2]
    for at in range(before, last, FRAME):
        whole = log_of(store).read_bytes()
        change(store, at + 100, 64)
        assert log_damage(store / CATALOG) is None
        log_of(store).write_bytes(whole)


@pytest.mark.parametrize("cut", [0, 10, HEADER_BYTES, HEADER_BYTES + 5, HEADER_BYTES + FRAME])
def test_a_log_that_is_cut_off_cannot_be_told_from_a_shorter_one(store: Path, cut: int) -> None:
    log_of(store).write_bytes(log_of(store).read_bytes()[:cut])
    assert log_damage(store / CATALOG) is None


def test_the_log_of_a_store_in_use_has_no_damage(tmp_path: Path) -> None:
    """The last frame is followed by frames of earlier rounds and rolled-back changes, and reserved room."""
    chance = random.Random(3)
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": list(range(500)), "s": ["a" * 50] * 500})
        for number in range(60):
            if chance.random() < 0.3:
                with pytest.raises(KeyError), store.transaction():
                    table.insert([{"n": number, "s": "b" * 500}] * 200)
                    raise KeyError
            table.update([{"_id": chance.randrange(500), "n": number}] * 1)
            assert log_damage(tmp_path / "s" / CATALOG) is None, number


def test_a_big_endian_log_is_read_as_well(store: Path) -> None:
    """Another computer may have written the log: the byte order of its checksums differs."""
    content = bytearray(log_of(store).read_bytes())
    content[3] |= 1
    log_of(store).write_bytes(bytes(content))  # its checksums are still those of little-endian words
    assert "SQLite ignores all of it" in str(log_damage(store / CATALOG))
