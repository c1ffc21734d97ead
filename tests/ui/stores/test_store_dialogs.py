"""Dialogs about folders of stores on a disk that does not answer at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.core.jobs import Job
from lamella.core.store.destination import Destination, destination
from lamella.ui.dialogs.file_dialog import FileDialog
from lamella.ui.stores import new_store as new_store_module
from lamella.ui.stores import store_dialogs
from lamella.ui.stores.new_store import NewStoreDialog
from lamella.ui.stores.store_dialogs import BackupDialog, FolderDialog, MoveDialog, RestoreDialog
from lamella.ui.tasks import Tasks

RETURN = Qt.Key.Key_Return


class Disk:
    """A disk below `folder` that answers once `answers` is set."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.answers = folder, threading.Event()
        self.looks: list[Path] = []
        self.threads: set[threading.Thread] = set()

    def destination(self, path: Path) -> Destination:
        self.wait(path)
        return destination(path)

    def wait(self, path: Path) -> None:
        self.looks.append(path)
        self.threads.add(threading.current_thread())
        if path.is_relative_to(self.folder):
            assert self.answers.wait(60)


@pytest.fixture
def disk(tmp_path: Path, tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk(tmp_path / "medium")
    for module in (store_dialogs, new_store_module):
        monkeypatch.setattr(module, "destination", disk.destination)
    yield disk
    disk.answers.set()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "shop") as store:
        yield store


def shown(qtbot: QtBot, dialog: FolderDialog) -> FolderDialog:
    qtbot.addWidget(dialog)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    dialog.open()
    return dialog


def said(dialog: FolderDialog) -> str:
    return f"{dialog.about.text()}\n{dialog.reason.text()}".replace("\u200b", "")


@pytest.fixture
def moves() -> list[Path]:
    return []


@pytest.fixture
def move(qtbot: QtBot, tasks: Tasks, store: Store, moves: list[Path], disk: Disk) -> MoveDialog:
    def work(target: Path, job: Job) -> str:
        moves.append(target)
        return f"Moved to {target}"

    dialog = MoveDialog(store, False, work, tasks)
    shown(qtbot, dialog)
    return dialog


def test_a_move_waits_for_a_slow_disk_before_it_can_begin(
    qtbot: QtBot, move: MoveDialog, disk: Disk, moves: list[Path]
) -> None:
    move.folder.field.setText(str(disk.folder))
    assert not move.accept_button.isEnabled()
    qtbot.waitUntil(lambda: bool(disk.looks))
    qtbot.waitUntil(lambda: move.status.text() == "Waiting for the disk…")
    assert f"→ {disk.folder / 'shop'}" in said(move) and not move.accept_button.isEnabled()
    disk.answers.set()
    qtbot.waitUntil(move.accept_button.isEnabled)
    assert "a single step" in said(move) and not move.status.text() and not moves
    assert threading.main_thread() not in disk.threads


def test_a_late_answer_about_an_older_folder_is_dropped(
    qtbot: QtBot, tasks: Tasks, move: MoveDialog, disk: Disk, tmp_path: Path
) -> None:
    (disk.folder / "shop" / "full").mkdir(parents=True)
    move.folder.field.setText(str(disk.folder))
    qtbot.waitUntil(lambda: bool(disk.looks))
    move.folder.field.setText(str(tmp_path / "elsewhere"))
    qtbot.waitUntil(move.accept_button.isEnabled)
    text = said(move)
    assert f"→ {tmp_path / 'elsewhere' / 'shop'}" in text
    with qtbot.waitSignal(tasks.finished):
        disk.answers.set()
    QApplication.processEvents()
    assert said(move) == text and move.accept_button.isEnabled()


def test_several_keys_are_one_look(qtbot: QtBot, move: MoveDialog, disk: Disk, tmp_path: Path) -> None:
    move.folder.field.selectAll()
    QTest.keyClicks(move.folder.field, str(tmp_path / "a"))
    qtbot.waitUntil(move.accept_button.isEnabled)
    assert disk.looks[-1] == tmp_path / "a" / "shop" and len(disk.looks) < len(str(tmp_path))


def test_enter_waits_for_the_disk_and_begins_what_is_possible(
    qtbot: QtBot, move: MoveDialog, disk: Disk, moves: list[Path]
) -> None:
    move.folder.field.setText(str(disk.folder))
    QTest.keyClick(move.folder.field, RETURN)
    qtbot.waitUntil(lambda: bool(disk.looks))
    assert not moves and not move.is_working
    disk.answers.set()
    qtbot.waitUntil(move.outcome.isVisible)
    assert moves == [disk.folder / "shop"]


def test_enter_for_a_folder_that_is_taken_begins_nothing(
    qtbot: QtBot, move: MoveDialog, disk: Disk, moves: list[Path]
) -> None:
    (disk.folder / "shop" / "full").mkdir(parents=True)
    move.folder.field.setText(str(disk.folder))
    QTest.keyClick(move.folder.field, RETURN)
    disk.answers.set()
    qtbot.waitUntil(lambda: "already exists" in said(move))
    assert not moves and not move.accept_button.isEnabled()


def test_typing_after_enter_takes_it_back(
    qtbot: QtBot, move: MoveDialog, disk: Disk, moves: list[Path], tmp_path: Path
) -> None:
    move.folder.field.setText(str(disk.folder))
    QTest.keyClick(move.folder.field, RETURN)
    move.folder.field.setText(str(tmp_path / "elsewhere"))
    qtbot.waitUntil(move.accept_button.isEnabled)
    disk.answers.set()
    assert not moves and not move.is_working


def test_a_dialog_closes_while_a_disk_does_not_answer(qtbot: QtBot, move: MoveDialog, disk: Disk) -> None:
    move.folder.field.setText(str(disk.folder))
    qtbot.waitUntil(lambda: bool(disk.looks))
    move.reject()
    assert not move.isVisible()


def test_a_backup_goes_to_another_folder_while_the_disk_of_the_first_does_not_answer(
    qtbot: QtBot, tasks: Tasks, store: Store, disk: Disk, tmp_path: Path
) -> None:
    dialog = shown(qtbot, BackupDialog(store, tasks))
    assert isinstance(dialog, BackupDialog) and "The store is copied" in said(dialog)
    dialog.folder.field.setText(str(disk.folder))
    qtbot.waitUntil(lambda: disk.folder in disk.looks)
    qtbot.waitUntil(lambda: "It takes up to" in said(dialog) or bool(dialog.status.text()))
    assert not dialog.accept_button.isEnabled()
    dialog.folder.field.setText(str(tmp_path / "safe"))
    QTest.keyClick(dialog.folder.field, RETURN)
    qtbot.waitUntil(dialog.outcome.isVisible)
    assert (tmp_path / "safe" / "catalog.sqlite").exists()


def test_a_name_alone_is_a_folder_at_home_or_in_the_proposed_folder(
    qtbot: QtBot, tasks: Tasks, store: Store, move: MoveDialog, tmp_path: Path
) -> None:
    backup = shown(qtbot, BackupDialog(store, tasks))
    assert isinstance(backup, BackupDialog)
    for field, base in ((backup.folder, Path.home()), (move.folder, store.path.parent)):
        field.field.setText("safe")
        assert field.path == base / "safe"
        field.field.setText(str(tmp_path / "elsewhere"))
        assert field.path == tmp_path / "elsewhere"


def test_a_restore_proposes_a_free_name_and_waits_for_both_folders(
    qtbot: QtBot, tasks: Tasks, store: Store, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.backup(tmp_path / "medium" / "safe")
    near = tmp_path / "stores"
    (near / "safe").mkdir(parents=True)

    def is_store(folder: Path) -> bool:
        disk.wait(folder)
        return folder.name == "safe"

    monkeypatch.setattr(store_dialogs, "is_store", is_store)
    dialog = shown(qtbot, RestoreDialog(tasks, near=near))
    assert isinstance(dialog, RestoreDialog) and dialog.folder.path is None
    dialog.backup.field.setText(str(tmp_path / "weekly"))
    qtbot.waitUntil(lambda: dialog.folder.path == near / "weekly")
    dialog.backup.field.setText(str(disk.folder / "safe"))
    qtbot.waitUntil(lambda: dialog.folder.path == near / "safe 2")
    qtbot.waitUntil(lambda: disk.folder / "safe" in disk.looks)
    assert not dialog.accept_button.isEnabled()
    disk.answers.set()
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    assert threading.main_thread() not in disk.threads
    dialog.folder.field.setText(str(near / "mine"))
    dialog.backup.field.setText(str(tmp_path / "other"))
    qtbot.waitUntil(lambda: not tasks.running)
    assert dialog.folder.path == near / "mine", "a name that was typed stays"


def test_a_folder_is_chosen_once_its_disk_has_answered(
    qtbot: QtBot, move: MoveDialog, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nearest(path: Path) -> Path:
        disk.wait(path)
        return disk.folder.parent

    monkeypatch.setattr(store_dialogs, "nearest_folder", nearest)
    move.folder.field.setText(str(disk.folder))
    move.folder.button.click()
    assert not move.findChildren(FileDialog)
    disk.answers.set()
    qtbot.waitUntil(lambda: bool(move.findChildren(FileDialog)))
    (dialog,) = move.findChildren(FileDialog)
    assert dialog.directory().path() == str(disk.folder.parent)
    dialog.reject()


@pytest.fixture
def new_store(qtbot: QtBot, tasks: Tasks, disk: Disk, tmp_path: Path) -> NewStoreDialog:
    dialog = NewStoreDialog(tasks, near=tmp_path)
    shown(qtbot, dialog)
    qtbot.waitUntil(lambda: dialog.name.text() == "New store")
    return dialog


@pytest.mark.parametrize(
    ("name", "folder", "reason"),
    [
        ("shop", "", "already holds a store"),
        ("full", "", "is not an empty folder"),
        ("two\nlines", "", "cannot contain a line break"),
        ("new", "full/file", "is not a folder"),
        ("new", "shop/data", "is the folder of a store"),
        ("n" * 300, "", "too long"),
    ],
)
def test_a_new_store_says_why_it_cannot_be_there(
    qtbot: QtBot, new_store: NewStoreDialog, store: Store, tmp_path: Path, name: str, folder: str, reason: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    new_store.folder.field.setText(str(tmp_path / folder))
    new_store.name.setText(name)
    qtbot.waitUntil(lambda: reason in said(new_store))
    assert not new_store.accept_button.isEnabled()


def test_a_new_store_shows_its_whole_path_and_is_created_with_enter(
    qtbot: QtBot, new_store: NewStoreDialog, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    new_store.folder.field.setText("here/../there")
    QTest.keyClicks(new_store.name, "with spaces ")
    qtbot.waitUntil(new_store.accept_button.isEnabled)
    assert f"→ {tmp_path / 'there' / 'with spaces'}" in said(new_store)
    assert threading.main_thread() not in disk.threads
    with qtbot.waitSignal(new_store.finished_work) as signal:
        QTest.keyClick(new_store.name, RETURN)
    assert signal.args == [tmp_path / "there" / "with spaces"] and not new_store.isVisible()
    assert (tmp_path / "there" / "with spaces" / "catalog.sqlite").exists()
