"""A disk that gets full during any operation: an error gives the reason, nothing is lost, no file is left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lamella import Store, col
from lamella.core.errors import FileProblem, StoreProblem
from lamella.core.store.importing import import_file
from lamella.core.store.paths import RESERVE
from tests.mounts import filled, small_disk

ROWS = 30_000
STEP = 24 << 10
Work = Callable[[Store], object]
PlaceHistory = Callable[[Path, int], None]


def numbers(count: int, seed: int) -> dict[str, list[int]]:
    return {name: [(i + seed) * 7919**p % 99_991 for i in range(count)] for p, name in enumerate("xyz", 1)}


def changed_rows(count: int, value: int) -> list[dict[str, int]]:
    return [{"_id": i, "x": value} for i in range(count)]


def imported(store: Store) -> None:
    lines = "".join(f"{i},{i * 7919 % 99_991}\n" for i in range(ROWS))
    source = store.path.parent.with_name(f"{store.path.parent.name}-rows.csv")
    source.write_text("a,b\n" + lines)
    try:
        import_file(source, store)
    finally:
        source.unlink()


def together(store: Store) -> None:
    with store.transaction():
        store["t"].update(changed_rows(300, 5))
        store.create_table("more", numbers(ROWS, 5))
        store["t"].update_where(None, {"$inc": {"y": 1}})


WORKS: dict[str, Work] = {
    "create a table": lambda store: store.create_table("more", numbers(ROWS, 5)),
    "create a small table": lambda store: store.create_table("more", [{"x": 1}]),
    "import a file": imported,
    "insert many": lambda store: store["t"].insert(numbers(ROWS, 9)),
    "insert few": lambda store: store["t"].insert(numbers(300, 9)),
    "update all": lambda store: store["t"].update_where(None, {"$inc": {"x": 1}}),
    "update a third": lambda store: store["t"].update(changed_rows(ROWS // 3 + 1_000, 7)),
    "update few": lambda store: store["t"].update(changed_rows(2_000, 7)),
    "delete many": lambda store: store["t"].delete(where=col("x") > 30_000),
    "cast a column": lambda store: store["t"].columns.cast("y", "float64"),
    "flush": lambda store: store["t"].maintenance.flush(),
    "compact": lambda store: store["t"].maintenance.compact(),
    "transform": lambda store: store["t"].transform(lambda rows: {"z": rows.column("x")}),
    "several tables": together,
    "copy a table": lambda store: store.copy_table("t", "more"),
    "back up": lambda store: store.backup(store.path.with_name("backup")),
    "undo": lambda store: store["t"].history.undo(),
}


def begun(folder: Path) -> Store:
    """Reopen the store, so that its log has no room that was reserved while the disk had space."""
    with Store.open(folder) as store:
        table = store.create_table("t", numbers(ROWS, 0))
        table.insert(numbers(100, 1))
        table.update(changed_rows(200, -1))
    return Store.open(folder)


def everything(store: Store) -> dict[str, object]:
    """Each table's version, columns and rows."""
    return {name: (store[name].version, store[name].read().to_pydict()) for name in store.tables}


def assert_clean(store: Store) -> None:
    assert store.maintenance.verify().problems == ()
    assert list((store.path / "tmp").iterdir()) == []


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_what_finds_no_room_changes_nothing_and_works_once_there_is_some(work: Work) -> None:
    """Each round has a little more space, so that the work fails at a later point."""
    with small_disk(9_000) as disk, begun(disk / "s") as store:
        before, failures, room, is_complete = everything(store), 0, 0, False
        while not is_complete:
            with filled(disk, leave=room):
                try:
                    work(store)
                except (StoreProblem, FileProblem) as problem:
                    assert str(disk) in problem.what and problem.why
                    failures += 1
                else:
                    is_complete = True
                assert is_complete or everything(store) == before
            assert_clean(store)
            room += STEP
        assert failures
        if work not in (WORKS["flush"], WORKS["compact"], WORKS["back up"]):
            assert everything(store) != before
        after = everything(store)
        store.close()
        with Store.open(disk / "s") as again:
            assert everything(again) == after
            again["t"].insert(numbers(5, 3))
            assert_clean(again)


@pytest.mark.parametrize("work", [WORKS["compact"], WORKS["update all"]], ids=["compact", "update all"])
def test_the_error_of_work_without_room_keeps_no_files(work: Work) -> None:
    with small_disk(9_000) as disk, begun(disk / "s") as store:
        with filled(disk, leave=STEP), pytest.raises((StoreProblem, FileProblem)) as kept:
            work(store)
        store["t"].maintenance.compact()
        store["t"].update_where(None, {"$inc": {"x": 1}})
        store["t"].maintenance.expire(keep_versions=1)
        assert store.maintenance.vacuum().problems == []
        assert kept.value.__traceback__ is not None


def test_a_store_that_finds_no_room_is_not_made_and_can_be_later() -> None:
    with small_disk(600) as disk:
        for room in range(0, 64 << 10, 8 << 10):
            with filled(disk, leave=room):
                try:
                    Store.open(disk / "s").close()
                except StoreProblem as problem:
                    assert problem.why
        with Store.open(disk / "s") as store:
            assert store.tables == []


def test_a_full_disk_can_still_be_read() -> None:
    with small_disk(2_000) as disk:
        with Store.open(disk / "s") as store:
            store.create_table("t", [{"x": 1}])
        with filled(disk), Store.open(disk / "s", read_only=True) as store:
            assert store["t"].read().to_pylist() == [{"_id": 0, "x": 1}]


@pytest.fixture(scope="module")
def place_history(tmp_path_factory: pytest.TempPathFactory) -> PlaceHistory:
    """A function that copies a store with this many commits to a folder; each store is created once."""
    folders: dict[int, Path] = {}

    def place(folder: Path, commits: int) -> None:
        if commits not in folders:
            folders[commits] = tmp_path_factory.mktemp("history") / "s"
            make_history(folders[commits], commits)
        shutil.copytree(folders[commits], folder)

    return place


def make_history(folder: Path, commits: int) -> None:
    with Store.open(folder) as store:
        table = store.create_table("t", numbers(ROWS, 0))
        table.update_where(None, {"$inc": {"x": 1, "y": 1, "z": 1}})
        for value in range(commits):
            table.update(changed_rows(2, value))
        table.maintenance.compact()
        store.create_table("u", numbers(ROWS, 3))


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("opened_full", [False, True], ids=["open before", "opened on the full disk"])
@pytest.mark.parametrize("commits", [0, 30, 1_500])
def test_a_full_disk_is_relieved_by_dropping_a_table(
    place_history: PlaceHistory, commits: int, opened_full: bool
) -> None:
    with small_disk(12_000) as disk:
        place_history(disk / "s", commits)
        before = None if opened_full else Store.open(disk / "s")
        with filled(disk), before or Store.open(disk / "s") as store:
            with pytest.raises(StoreProblem, match="check the free space"):
                while True:
                    store["u"].insert(numbers(1_000, 5))
            store.drop_table("t")
            assert store.tables == ["u"]
            store["u"].insert([{"x": 1}])
            assert_clean(store)
            assert (store.path / RESERVE).stat().st_size > 0


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("commits", [0, 30, 1_500])
def test_a_full_disk_is_relieved_by_dropping_a_table_in_a_transaction(
    place_history: PlaceHistory, commits: int
) -> None:
    with small_disk(12_000) as disk:
        place_history(disk / "s", commits)
        with Store.open(disk / "s") as store, filled(disk):
            with pytest.raises(StoreProblem, match="check the free space"):
                while True:
                    store["u"].insert(numbers(1_000, 5))
            with store.transaction():
                store.drop_table("t")
                store["u"].delete(ids=[0])
            assert store.tables == ["u"]
            store["u"].insert([{"x": 1}])
            assert_clean(store)
            assert (store.path / RESERVE).stat().st_size > 0


def test_a_drop_that_is_taken_back_leaves_room_for_another(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"x": 1}])
        with pytest.raises(KeyError), store.transaction():
            store.drop_table("t")
            raise KeyError
        assert store.tables == ["t"]
        assert (store.path / RESERVE).stat().st_size > 0


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("commits", [0, 1_500])
def test_a_full_disk_is_relieved_by_letting_versions_expire(
    place_history: PlaceHistory, commits: int
) -> None:
    with small_disk(12_000) as disk:
        place_history(disk / "s", commits)
        with Store.open(disk / "s") as store, filled(disk):
            store["t"].maintenance.expire(keep_versions=1)
            assert store.maintenance.vacuum().bytes > 100_000
            store["t"].insert([{"x": 1}])
            assert_clean(store)


def test_a_table_is_dropped_again_and_again_on_a_full_disk(place_history: PlaceHistory) -> None:
    with small_disk(12_000) as disk:
        place_history(disk / "s", 0)
        with Store.open(disk / "s") as store:
            for _ in range(5):
                store.create_table("v", numbers(ROWS, 7))
                with filled(disk):
                    store.drop_table("v")
            assert store["t"].num_rows == ROWS
            assert_clean(store)


def test_a_file_of_the_users_is_not_room_for_a_full_disk(tmp_path: Path) -> None:
    """A folder that is not a store is refused as usual, and nothing in it is touched."""
    (tmp_path / "catalog.sqlite").write_text("not a catalog")
    (tmp_path / RESERVE).write_text("mine")
    with pytest.raises(StoreProblem, match="not the catalog of a store"):
        Store.open(tmp_path)
    assert (tmp_path / RESERVE).read_text() == "mine"


LIMITED = """
import resource, sys
from lamella import Store
from lamella.core.errors import StoreProblem
store = Store.open(sys.argv[1])
table = store["t"]
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, unlimited[1]))
try:
    table.insert({"x": [i * 7919 % 99_991 for i in range(200_000)]})
except StoreProblem as problem:
    assert "too large" in str(problem), problem
else:
    sys.exit("the file was as large as it liked")
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
assert table.num_rows == 1_500
assert list((store.path / "tmp").iterdir()) == []
table.insert({"x": list(range(2_000))})
assert store.maintenance.verify().problems == ()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file's size")
def test_a_file_that_may_not_grow_on_is_an_error_too(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", {"x": list(range(1_500))})
    subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "s")], check=True)
