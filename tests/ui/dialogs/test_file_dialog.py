"""Choosing files and folders: Qt's own dialog never reads what is in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QFileSystemModel, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

import lamella.ui
from lamella.ui.dialogs.file_dialog import FileDialog, ask_file, ask_files, ask_folder, ask_new_file

LONG_AGO = 1_000_000_000
"""When files of tests were read last: reading one changes that."""


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "odd files"
    folder.mkdir()
    for name in ("no suffix", "rows.csv", "locked"):
        (folder / name).write_text("a,b\n1,2\n")
        os.utime(folder / name, (LONG_AGO, (folder / name).stat().st_mtime))
    (folder / "below").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
        (folder / "link to a pipe").symlink_to(folder / "pipe")
    (folder / "locked").chmod(0)
    yield folder
    (folder / "locked").chmod(0o600)


def listing(qtbot: QtBot, dialog: FileDialog, folder: Path) -> dict[str, str]:
    """The kinds of the files in a folder, once all are listed."""
    model = dialog.findChild(QFileSystemModel)
    assert isinstance(model, QFileSystemModel)
    count = sum(path.is_file() or path.is_dir() for path in folder.iterdir())
    place = model.index(str(folder))
    qtbot.waitUntil(lambda: model.rowCount(place) == count)

    def kinds() -> dict[str, str]:
        rows = range(model.rowCount(place))
        return {model.index(row, 0, place).data(): model.index(row, 2, place).data() for row in rows}

    qtbot.waitUntil(lambda: all(kinds().values()))
    return kinds()


def test_no_file_is_read_to_list_it_or_while_its_path_is_typed(
    qtbot: QtBot, parent: QWidget, folder: Path
) -> None:
    dialog = ask_file(parent, "Open", lambda path: None, folder)
    kinds = listing(qtbot, dialog, folder)
    assert kinds["below"] == "Folder" and kinds["no suffix"] == kinds["locked"] == "File"
    assert "csv" in kinds["rows.csv"].casefold()
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert field is not None
    for path in folder.iterdir():
        field.setText(str(path))
    assert dialog.selectedFiles()
    for name in ("no suffix", "rows.csv", "locked"):
        assert (folder / name).stat().st_atime == LONG_AGO, f"{name} was read"
    dialog.reject()


@pytest.mark.skipif(not os.path.exists("/proc/kmsg"), reason="needs a file that never answers")  # noqa: PTH110
def test_a_file_that_never_answers_can_be_typed(qtbot: QtBot, parent: QWidget) -> None:
    dialog = ask_new_file(parent, "New", lambda path: None, Path("/proc/new"))
    QTest.keyClicks(dialog.findChild(QLineEdit, "fileNameEdit"), "/proc/kmsg")
    model = dialog.findChild(QFileSystemModel)
    assert isinstance(model, QFileSystemModel)
    qtbot.waitUntil(
        lambda: model.index("/proc/kmsg").isValid() and bool(model.type(model.index("/proc/kmsg")))
    )
    dialog.reject()


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda parent, then, at: ask_file(parent, "", then, at), "rows.csv"),
        (lambda parent, then, at: ask_files(parent, "", lambda paths: then(*paths), at), "rows.csv"),
        (lambda parent, then, at: ask_folder(parent, "", then, at), "below"),
        (lambda parent, then, at: ask_new_file(parent, "", then, at / "new.svg"), "other.svg"),
    ],
)
def test_each_dialog_answers_with_a_path_and_goes(
    qtbot: QtBot,
    parent: QWidget,
    folder: Path,
    ask: Callable[[QWidget, Callable[[Path], None], Path], FileDialog],
    answer: str,
) -> None:
    answers: list[Path] = []
    dialog = ask(parent, answers.append, folder)
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert field is not None and dialog.directory().path() == str(folder)
    field.setText(answer.removesuffix(".svg"))
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not shiboken6.isValid(dialog))
    assert answers == [folder / answer]
    again = FileDialog(parent, "")
    assert again.directory().path() == str(folder), "the next dialog begins where this one ended"


def test_nothing_else_in_the_window_makes_a_file_dialog() -> None:
    root = Path(lamella.ui.__file__).parent
    users = [path.name for path in root.rglob("*.py") if QFileDialog.__name__ in path.read_text("utf-8")]
    assert users == ["file_dialog.py"]


def test_back_leads_to_the_folder_of_the_start_and_no_further(qtbot: QtBot, parent, folder: Path) -> None:
    dialog = ask_file(parent, "Open", print, folder)
    model = dialog.findChild(QFileSystemModel)
    back, forward = (dialog.findChild(QToolButton, name) for name in ("backButton", "forwardButton"))
    assert isinstance(back, QToolButton) and isinstance(forward, QToolButton)
    assert not back.isEnabled()
    for path in (folder / "below", folder.parent):
        dialog.setDirectory(str(path))
    back.click()
    back.click()
    assert Path(model.rootPath()) == folder and not back.isEnabled()
    forward.click()
    assert Path(model.rootPath()) == folder / "below" and back.isEnabled() and forward.isEnabled()
    back.click()
    assert Path(model.rootPath()) == folder and not back.isEnabled()
    dialog.reject()
