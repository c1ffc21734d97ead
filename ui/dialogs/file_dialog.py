"""The one way in which the window asks for files and folders.

Where the desktop has no dialog of its own, Qt shows one, whose icons and kinds come from the contents of
files, and for the path that is being typed it reads them on the GUI thread. A file may never answer:
`/proc/kmsg` waits for the next message of the kernel. `NameIcons` decides from the name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from PySide6.QtCore import QDir, QFileInfo, QMimeDatabase, QObject
from PySide6.QtGui import QAbstractFileIconProvider, QIcon
from PySide6.QtWidgets import QFileDialog, QFileIconProvider, QFileSystemModel, QToolButton, QWidget

Kind = QAbstractFileIconProvider.IconType
FileMode = QFileDialog.FileMode


class NameIcons(QFileIconProvider):
    """Icons and kinds of files by their names, and by whether they are folders. Qt asks on two threads."""

    def __init__(self) -> None:
        super().__init__()
        self._icons = {
            kind: super(NameIcons, self).icon(kind) for kind in (Kind.Folder, Kind.File, Kind.Drive)
        }
        self._names = QMimeDatabase()

    def icon(self, of: Kind | QFileInfo) -> QIcon:
        if not isinstance(of, QFileInfo):
            return super().icon(of)
        return self._icons[Kind.Drive if of.isRoot() else Kind.Folder if of.isDir() else Kind.File]

    def type(self, info: QFileInfo) -> str:
        if info.isRoot() or info.isDir():
            return "Drive" if info.isRoot() else "Folder"
        kind = self._names.mimeTypeForFile(info.fileName(), QMimeDatabase.MatchMode.MatchExtension)
        return "File" if kind.isDefault() else kind.comment() or kind.name()


@cache
def name_icons() -> NameIcons:
    """The icons of all dialogs: a dialog's thread may ask until the dialog is gone."""
    return NameIcons()


class _WayBack(QObject):
    """Keeps the button Back of Qt's own dialog from leading before the folder in which the dialog began."""

    def __init__(self, dialog: QFileDialog) -> None:
        super().__init__(dialog)
        self._count = 0
        """How many times the button can be pressed."""
        model, buttons = dialog.findChild(QFileSystemModel), dialog.findChildren(QToolButton)
        buttons_by_name = {button.objectName(): button for button in buttons}
        self._back, forward = buttons_by_name.get("backButton"), buttons_by_name.get("forwardButton")
        if model is None or self._back is None or forward is None:  # a dialog of the desktop
            return
        model.rootPathChanged.connect(lambda _: self._move(1))
        self._back.clicked.connect(lambda: self._move(-2))  # its change of the folder counted 1
        forward.clicked.connect(lambda: self._move(0))
        self._move(0)

    def _move(self, step: int) -> None:
        self._count += step
        assert self._back is not None
        self._back.setEnabled(self._count > 0)


class FileDialog(QFileDialog):
    """Asks for files or a folder, beginning in `folder`, or in the folder of the last answer. It removes
    itself when it is closed."""

    _last_folder = ""

    def __init__(self, parent: QWidget, title: str, folder: Path | None = None, filters: str = "") -> None:
        # Qt begins to read a folder before icons can be set: first one that has no files of users
        super().__init__(parent, title, QDir.rootPath(), filters)
        self.setIconProvider(name_icons())
        self.setOption(QFileDialog.Option.DontUseCustomDirectoryIcons)
        self.setDirectory(str(folder or FileDialog._last_folder or Path.home()))
        _WayBack(self)
        self.filesSelected.connect(self._note)
        self.finished.connect(self.deleteLater)

    def _note(self, names: Sequence[str]) -> None:
        FileDialog._last_folder = str(Path(names[0]).parent)


def ask_file(
    parent: QWidget, title: str, then: Callable[[Path], object], folder: Path | None = None, filters: str = ""
) -> FileDialog:
    """Ask for a file that exists."""
    return _ask(FileDialog(parent, title, folder, filters), FileMode.ExistingFile, then)


def ask_files(
    parent: QWidget,
    title: str,
    then: Callable[[list[Path]], object],
    folder: Path | None = None,
    filters: str = "",
) -> FileDialog:
    """Ask for files that exist."""
    dialog = FileDialog(parent, title, folder, filters)
    dialog.filesSelected.connect(lambda names: then([Path(name) for name in names]))
    return _ask(dialog, FileMode.ExistingFiles)


def ask_folder(
    parent: QWidget, title: str, then: Callable[[Path], object], folder: Path | None = None
) -> FileDialog:
    """Ask for a folder that exists."""
    return _ask(FileDialog(parent, title, folder), FileMode.Directory, then)


def ask_new_file(
    parent: QWidget, title: str, then: Callable[[Path], object], proposal: str | Path, filters: str = ""
) -> FileDialog:
    """Ask where to write a file. `proposal` is its name, or its path; a file that exists is asked about."""
    path = Path(proposal)
    dialog = FileDialog(parent, title, path.parent if path.is_absolute() else None, filters)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(path.suffix.removeprefix("."))
    dialog.selectFile(path.name)
    return _ask(dialog, FileMode.AnyFile, then)


def _ask(dialog: FileDialog, mode: FileMode, then: Callable[[Path], object] | None = None) -> FileDialog:
    dialog.setFileMode(mode)
    if then is not None:
        dialog.fileSelected.connect(lambda name: then(Path(name)))
    dialog.open()
    return dialog
