"""Dialogs about the folder of a store: back it up, restore a backup, move or rename it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.store.backup import Backup, is_backup, restore
from lamella.core.store.destination import (
    Destination,
    destination,
    folder_name_problem,
    free_name,
    nearest_folder,
)
from lamella.core.store.paths import is_store
from lamella.core.store.sizes import folder_bytes
from lamella.core.store.store import Store
from lamella.core.validation import in_home
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.file_dialog import ask_folder
from lamella.ui.dialogs.work_dialog import WorkDialog
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm, Reason, breakable

WIDTH = 520
LOOK_AFTER_MS = 150
SLOW_AFTER_MS = 300
"""A disk that takes longer to answer is said to be waited for."""


class StoreDialog(WorkDialog):
    """A dialog that says what will happen, does it, and says what happened. `finished_work` has the result. A
    subclass fills `form`, implements `work`, and describes the result in `outcome_of`."""

    finished_work = Signal(object)
    stopped_work = Signal()
    stopped_text = "Stopped; nothing was changed."

    def __init__(self, title: str, verb: str, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(tasks, parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title, self.about, self.outcome = QLabel(visible(title)), QLabel(), QLabel()
        theme.variant(self.title, "title")
        for label in (self.about, self.outcome):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setMinimumWidth(1)
            label.hide()
        self.form = FieldForm(horizontalSpacing=theme.L, verticalSpacing=theme.S)
        self.reason = Reason()
        self.accept_button = QPushButton(verb)
        theme.variant(self.accept_button, "primary")
        self.accept_button.setDefault(True)
        self.accept_button.clicked.connect(self.start)
        self.other_buttons = QHBoxLayout(spacing=theme.S)
        """Further buttons, for what can be done afterwards."""
        buttons = QHBoxLayout(spacing=theme.S)
        buttons.addWidget(self.status, 1)
        buttons.addLayout(self.other_buttons)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.accept_button)
        layout = self._lines = QVBoxLayout(self)
        margin = theme.L + theme.XS
        layout.setContentsMargins(margin, margin, margin, margin)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addWidget(self.about)
        layout.addLayout(self.form)
        for widget in (self.reason, self.outcome, self.progress):
            layout.addWidget(widget)
        layout.addStretch(1)
        layout.addLayout(buttons)
        self.setMinimumWidth(theme.current().px(WIDTH))

    def say(self, text: str) -> None:
        """Show what will be done."""
        self.about.setText(breakable(visible(text)))
        self.about.setVisible(bool(text))
        self._fit()

    def offer(self, verb: str) -> None:
        """Let the work be begun, once it is known what it will do. The keyboard was on the button beside."""
        self.accept_button.setText(verb)
        self.accept_button.setEnabled(True)
        if self.focusWidget() in (None, self.cancel_button):
            self.accept_button.setFocus()

    def offer_nothing(self, text: str) -> None:
        """Say why there is nothing to do; the dialog can only be closed."""
        self._lock(True)
        self.accept_button.hide()
        self.cancel_button.setText("Close")
        self.say(text)

    def work(self) -> Callable[[Job], Any]:
        """The function that does the work. Calling it blocks."""
        raise NotImplementedError

    def outcome_of(self, result: Any) -> str:
        raise NotImplementedError

    @property
    def _begin(self) -> Callable[..., Handle]:
        return self._tasks.write

    def start(self) -> None:
        self.reason.say("")
        self._run(self._begin, self.work(), self._finish, self.windowTitle())
        self._fit()

    def _finish(self, result: Any) -> None:
        self.accept_button.hide()
        self.cancel_button.setText("Close")
        self.reason.say("")
        self.outcome.setText(breakable(visible(self.outcome_of(result))))
        self.outcome.show()
        self._lock(True)
        self.cancel_button.setDefault(True)
        self.cancel_button.setFocus()
        self._fit()
        self.finished_work.emit(result)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()  # subclasses have added their fields by now

    def _fit(self) -> None:
        self.resize(self.width(), self._lines.totalHeightForWidth(self.width()))

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
        self.reason.say(message(error))
        self._fit()

    def _handle_stop(self) -> None:
        self.reason.say(self.stopped_text)
        self._fit()
        self.stopped_work.emit()

    def _lock(self, locked: bool) -> None:
        self.accept_button.setEnabled(not locked)
        for row in range(self.form.rowCount()):
            item = self.form.itemAt(row, QFormLayout.ItemRole.FieldRole)
            field = None if item is None else item.widget()
            if field is not None:
                field.setEnabled(not locked)


class FolderField(QWidget):
    """The path of a folder, typed or chosen. A name alone is a folder in `base`."""

    changed = Signal()

    def __init__(
        self, name: str, path: str, tasks: Tasks, base: Path | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name, self._tasks = name, tasks
        self._base = base or Path.home()
        self.field = QLineEdit(path, accessibleName=name)
        self.button = QPushButton("Choose…")
        self.button.setAccessibleName(f"Choose: {name}")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.field, 1)
        layout.addWidget(self.button)
        self.setFocusProxy(self.field)
        self.field.textChanged.connect(self.changed)
        self.button.clicked.connect(self._choose)

    @property
    def path(self) -> Path | None:
        text = self.field.text().strip()
        if not text:
            return None
        return Path(os.path.abspath(self._base / in_home(text)))  # noqa: PTH100 -- resolves ".."

    def _choose(self) -> None:
        path = self.path or Path.home()
        self._tasks.read(
            lambda job: nearest_folder(path), self._ask, owner=self, quiet=True, may_be_endless=True
        )

    def _ask(self, start: Path) -> None:
        ask_folder(self.window(), self._name, lambda path: self.field.setText(str(path)), start)


class FolderDialog(StoreDialog):
    """A dialog whose fields name folders, which are looked at off the GUI thread when the fields have not
    changed for a while. A subclass says in `look` what is read from the disk, and describes it in
    `_show`; the button waits until then."""

    def __init__(self, title: str, verb: str, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(title, verb, tasks, parent)
        self._looking: Handle | None = None
        self._answer: Any = None
        """What the disk says about the fields as they are; None while it is not known."""
        self._starts_next = False
        """Whether Enter was pressed while the disk was looked at."""
        self._pause = QTimer(self, singleShot=True, interval=LOOK_AFTER_MS)
        self._pause.timeout.connect(self._look)
        self._slow = QTimer(self, singleShot=True, interval=SLOW_AFTER_MS)
        self._slow.timeout.connect(self._say_slow)

    @property
    def is_looking(self) -> bool:
        return self._pause.isActive() or self._looking is not None

    def look(self) -> Callable[[], Any] | None:
        """The function that reads the disk for the fields as they are; None if they need none. Calling it
        blocks."""
        raise NotImplementedError

    def _show(self, answer: Any) -> bool:
        """Say what will be done and what is in the way, and return whether it can be done. `answer` is what
        `look` read, or None if nothing is known, yet or at all."""
        raise NotImplementedError

    def _follow(self) -> None:
        """Drop what is known of other folders, and look at those of the fields after a pause."""
        self._stop_looking()
        self.accept_button.setEnabled(False)
        if self.look() is None:
            self._describe()
        else:
            self._pause.start()

    def _look(self) -> None:
        self._stop_looking()
        look = self.look()
        if look is None:
            self._describe()
            return

        def take(answer: Any) -> None:
            starts = self._starts_next
            self._stop_looking()
            self._answer = answer
            self._describe()
            if starts and self.accept_button.isEnabled():
                self.accept_button.click()

        def fail(error: Exception) -> None:
            self._stop_looking()
            self._fail(error)

        self.accept_button.setEnabled(False)
        self._slow.start()
        self._looking = self._tasks.read(
            lambda job: look(), take, fail, owner=self, quiet=True, may_be_endless=True
        )

    def _describe(self) -> None:
        """Show what is known once more, such as when the size of the store has been added up."""
        if self.is_looking or self.is_working or not self.accept_button.isVisibleTo(self):
            return
        can_start = self._show(self._answer)
        self._fit()
        self.accept_button.setEnabled(can_start)

    def _stop_looking(self) -> None:
        self._pause.stop()
        self._slow.stop()
        self._starts_next, self._answer = False, None
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self.status.clear()

    def _say_slow(self) -> None:
        self._show(None)
        self.status.setText("Waiting for the disk…")
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.is_looking and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._looking is None:
                self._look()
            self._starts_next = True
            return
        super().keyPressEvent(event)

    def done(self, result: int) -> None:
        self._stop_looking()
        super().done(result)


def room_text(size: int, free: int | None) -> str:
    """How much space a copy takes, and how much is free, as far as is known."""
    takes = [f"It takes up to {size_text(size)}."] if size else []
    return " ".join([*takes, *([] if free is None else [f"{size_text(free)} are free there."])])


def lacks_room(size: int, free: int | None) -> str:
    return "The disk may not have enough space for it." if free is not None and size > free else ""


class BackupDialog(FolderDialog):
    """Copies the store while it is in use, so it is not modal."""

    def __init__(self, store: Store, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(f"Back up {store.name}", "Back up", tasks, parent)
        self._store, self._bytes = store, 0
        self.folder = FolderField("Folder of the backup", str(Path.home() / f"{store.name} backup"), tasks)
        self.link = QCheckBox("Hard links instead of copies, on the same disk only")
        self.link.setToolTip("Takes no space; does not help if the disk fails")
        self.form.addRow("Folder", self.folder)
        self.form.addRow("", self.link)
        self.folder.changed.connect(self._follow)
        self.link.toggled.connect(self._describe)
        self._show(None)
        self._look()
        self.folder.setFocus()
        tasks.read(lambda job: folder_bytes(store.path), self._take_size, self._fail,
                   owner=self, quiet=True)  # fmt: skip

    @property
    def _begin(self) -> Callable[..., Handle]:
        return self._tasks.copy

    def is_of(self, store: Store) -> bool:
        return store is self._store

    def come_forward(self, why: str) -> None:
        """Be seen, and say why another act has to wait for the backup."""
        self.raise_()
        self.activateWindow()
        self.reason.say(why)
        self._fit()

    def _take_size(self, size: int) -> None:
        self._bytes = size
        self._describe()

    def look(self) -> Callable[[], tuple[Destination, bool]] | None:
        folder, store = self.folder.path, self._store.path
        return None if folder is None else lambda: (destination(folder), is_backup(folder, store))

    def _show(self, answer: tuple[Destination, bool] | None) -> bool:
        place, has_backup = answer or (None, False)
        parts = ["The store is copied as it is now; you can go on working."]
        size = 0 if self.link.isChecked() else self._bytes
        free = None if place is None else place.free
        if has_backup:
            parts += ["There is already a backup: only new files are copied.", room_text(0, free)]
        else:
            parts.append(room_text(size, free))
        self.say(" ".join(filter(None, parts)))
        why_not = "" if place is None else place.problem
        self.reason.say(why_not or lacks_room(size, free))
        return place is not None and not why_not

    def work(self) -> Callable[[Job], Backup]:
        folder, link = self.folder.path, self.link.isChecked()
        assert folder is not None
        return lambda job: self._store.backup(folder, link, job)

    def outcome_of(self, result: Backup) -> str:
        copied = f"{quantity(result.copied, 'file')} copied, {size_text(result.bytes)}."
        lines = [f"Backed up to {result.path}: {copied if result.copied else 'there were no new files.'}"]
        if result.kept:
            kept_files = quantity(result.kept, "file")
            lines[0] += f" {kept_files} of an earlier backup {'was' if result.kept == 1 else 'were'} kept."
        lines += [f"{path} is damaged: its checksum differs." for path in result.damaged]
        return "\n".join(
            [*lines, *(["Restore these files from an earlier backup."] if result.damaged else [])]
        )


class RestoreDialog(FolderDialog):
    """Restores a backup as a new store and opens it."""

    def __init__(
        self,
        tasks: Tasks,
        parent: QWidget | None = None,
        backup: Path | None = None,
        near: Path | None = None,
    ) -> None:
        super().__init__("Restore a backup", "Restore", tasks, parent)
        self._near, self._proposal = near, ""
        self.backup = FolderField("Folder of the backup", str(backup or ""), tasks)
        self.folder = FolderField("Folder of the store", "", tasks)
        self.form.addRow("Backup", self.backup)
        self.form.addRow("To", self.folder)
        for field in (self.backup, self.folder):
            field.changed.connect(self._follow)
        self._show(None)
        self._look()
        (self.backup if backup is None else self.folder).setFocus()
        self.backup.changed.connect(self._find_name)
        self._find_name()

    def _find_name(self) -> None:
        """Propose the backup's own name, with a number if it exists, unless another was typed."""
        backup = self.backup.path
        if self._near is None or backup is None or not backup.name:
            return
        folder = self._near / backup.name

        def propose(free: Path) -> None:
            if self.backup.path == backup and self.folder.field.text() in ("", self._proposal):
                self._proposal = str(free)
                self.folder.field.setText(self._proposal)

        self._tasks.read(lambda job: free_name(folder), propose, self._fail,
                        owner=self, quiet=True, may_be_endless=True)  # fmt: skip

    def look(self) -> Callable[[], tuple[int | None, Destination | None]] | None:
        backup, folder = self.backup.path, self.folder.path
        if backup is None and folder is None:
            return None
        return lambda: (
            0 if backup is None else folder_bytes(backup) if is_store(backup) else None,
            None if folder is None else destination(folder),
        )

    def _show(self, answer: tuple[int | None, Destination | None] | None) -> bool:
        size, place = answer or (0, None)
        free = None if place is None else place.free
        about = "The backup is copied to a new folder, compared with its checksums, and opened there."
        self.say(f"{about} {room_text(size or 0, free)}".strip())
        why_not = ""
        if size is None:
            why_not = "There is no store in the folder of the backup."
        elif place is not None and place.is_occupied:
            why_not = f"{place.path} already exists. Choose a new folder."
        elif place is not None:
            why_not = place.problem
        self.reason.say(why_not or lacks_room(size or 0, free))
        return self.backup.path is not None and place is not None and not why_not

    def work(self) -> Callable[[Job], Backup]:
        backup, folder = self.backup.path, self.folder.path
        assert backup is not None and folder is not None
        return lambda job: restore(backup, folder, False, job)

    def outcome_of(self, result: Backup) -> str:
        return f"Restored to {result.path}: {quantity(result.copied, 'file')}, {size_text(result.bytes)}."


class MoveDialog(FolderDialog):
    """Asks where to move a store or for its new name. The opener of the dialog does the work (`work_given`),
    because the tabs of the store have to follow."""

    def __init__(
        self,
        store: Store,
        rename: bool,
        move: Callable[[Path, Job], Any],
        tasks: Tasks,
        parent: QWidget | None = None,
    ) -> None:
        verb = "Rename" if rename else "Move"
        super().__init__(f"{verb} {store.name}", verb, tasks, parent)
        self._path, self._move, self._renames, self._bytes = store.path, move, rename, 0
        self.name = QLineEdit(store.name, accessibleName="New name")
        self.folder = FolderField("New place", str(store.path.parent), tasks, store.path.parent)
        if rename:
            self.form.addRow("Name", self.name)
            self.name.selectAll()
        else:
            self.form.addRow("Into the folder", self.folder)
        self.name.textChanged.connect(self._follow)
        self.folder.changed.connect(self._follow)
        self._look()
        (self.name if rename else self.folder).setFocus()
        if not rename:
            source = store.path
            tasks.read(lambda job: folder_bytes(source), self._take_size, self._fail, owner=self, quiet=True)

    def _take_size(self, size: int) -> None:
        self._bytes = size
        self._describe()

    @property
    def target(self) -> Path | None:
        if self._renames:
            name = self.name.text().strip()
            return None if folder_name_problem(name) else self._path.with_name(name)
        folder = self.folder.path
        return None if folder is None else folder / self._path.name

    def look(self) -> Callable[[], tuple[Destination, bool]] | None:
        target, source = self.target, self._path
        if target is None or target == source or source in target.parents:
            return None

        def look() -> tuple[Destination, bool]:
            place = destination(target)
            return place, place.is_on_disk_of(source)

        return look

    def _show(self, answer: tuple[Destination, bool] | None) -> bool:
        target, source = self.target, self._path
        about, why_not = "", ""
        if target is None:
            why_not = folder_name_problem(self.name.text().strip()) if self._renames else ""
        elif target == source:
            about = "Choose a new name for the store's folder." if self._renames else "Choose another folder."
        elif source in target.parents:
            why_not = "A store cannot be moved into itself."
        elif answer is None:
            about = f"→ {target}"
        else:
            place, is_same_disk = answer
            why_not = f"{target} already exists." if place.is_occupied else place.problem
            if why_not:
                about = ""
            elif is_same_disk:
                about = f"→ {target}\nNo data is copied: this is a single step."
            else:
                why_not = lacks_room(self._bytes, place.free)
                about = (
                    f"→ {target}\nThis is another disk: the files are copied, compared with their checksums,"
                    f" and then removed here. {room_text(self._bytes, place.free)}"
                )
        self.say(f"{source}\n{about} Open tabs follow." if about else str(source))
        self.reason.say(why_not)
        return answer is not None and bool(about)

    def work(self) -> Callable[[Job], Any]:
        target = self.target
        assert target is not None
        return lambda job: self._move(target, job)

    def outcome_of(self, result: Any) -> str:
        return str(result)
