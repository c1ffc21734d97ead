"""Importing one file into a store: how it is read, which columns, into which table, and with what effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.preview import FilePreview
from lamella.core.datasets.tables import SeveralTables
from lamella.core.errors import DamagedFile, LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.store.importing import ImportPlan, free_table_name, import_dataset, import_into, plan_import
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.reading_form import ReadingForm
from lamella.ui.dialogs.work_dialog import WorkDialog, fit_into_window
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.message_bar import DANGER, MessageBar
from lamella.ui.widgets.popover import ColumnsChoice
from lamella.ui.window.file_readings import FileReading, with_options

SIZE = QSize(960, 656)
PLAN_AFTER_MS = 250
NEW: Final = "new"
MODES: tuple[tuple[str, str], ...] = (
    (NEW, "as a new table"),
    ("append", "added to"),
    ("replace", "in place of the rows of"),
    ("upsert", "by key into"),
)


class FileImportDialog(WorkDialog):
    """`imported` carries the table with its rows; `several` is emitted if the file holds several tables, one
    of which must be chosen; `failed` carries errors that cannot be resolved here.

    Not modal: the window stays usable during an import. Closing the dialog stops the import.
    """

    imported = Signal(list)
    several = Signal(Exception)
    failed = Signal(Exception)

    def __init__(
        self,
        path: Path,
        stores: Sequence[Store],
        tasks: Tasks,
        parent: QWidget | None = None,
        *,
        table: str | None = None,
        reading: FileReading | None = None,
        name: str = "",
    ) -> None:
        """`table` is one of a file that holds several; `name` is suggested instead of the file's name."""
        super().__init__(tasks, parent)
        self._path, self._stores, self._proposed_name = path, list(stores), name
        self._planning: Handle | None = None
        self._table_names: Sequence[str] = ()
        self._plan: ImportPlan | None = None
        self._plan_later = QTimer(self, singleShot=True, interval=PLAN_AFTER_MS)
        self._plan_later.timeout.connect(self._ask_plan)
        self.setWindowTitle("Import")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.form = ReadingForm(path, reading or FileReading(), tasks, self, table=table, choosing=True)
        self.form.described.connect(self._describe)
        self.form.failed.connect(self._cannot_read)
        self.form.changed.connect(self._update)
        self._make(f"{path.name} · {table}" if table else path.name)
        self._lay_out()
        self._choose_mode()
        self.form.look()

    # ------------------------------------------------------------------ appearance

    def _draw_icon(self) -> None:
        look = theme.current()
        self.icon.setPixmap(look.icon("file").pixmap(look.icon_size()))

    def _make(self, what: str) -> None:
        self.title = QLabel(f"Import {visible(what)}")
        theme.variant(self.title, "title")
        self.icon = QLabel()
        self._draw_icon()
        theme.current().changed.connect(self._draw_icon)
        self.about = QLabel("Reading the file…")
        theme.variant(self.about, "muted")
        self.store_box = QComboBox(accessibleName="Store")
        self.store_box.addItems([store.name for store in self._stores])
        self.store_box.currentIndexChanged.connect(self._list_tables)
        self.mode_box = QComboBox(accessibleName="What to do with the rows")
        for mode, text in MODES:
            self.mode_box.addItem(text, mode)
        self.mode_box.currentIndexChanged.connect(self._choose_mode)
        self.name_edit = QLineEdit(self._proposed_name, accessibleName="Name of the new table")
        self.name_edit.textChanged.connect(self._update)
        self.table_box = QComboBox(accessibleName="Table")
        self.table_box.currentIndexChanged.connect(self._choose_table)
        self.key: ColumnsChoice | None = None
        self.plan = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.plan.hide()
        self.plan.setAccessibleName("What the import will do")
        self.message = MessageBar(self)
        self.import_button = QPushButton("Import")
        theme.variant(self.import_button, "primary")
        self.import_button.setDefault(True)
        self.import_button.setEnabled(False)
        self.import_button.clicked.connect(self._import)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(theme.S)
        top.addWidget(self.icon)
        top.addWidget(self.title)
        top.addWidget(self.about)
        top.addStretch(1)
        top.addWidget(self.form.detect_button)
        self._target = QHBoxLayout()
        self._target.setSpacing(theme.S)
        for part in (QLabel("Into"), self.store_box, self.mode_box, self.name_edit, self.table_box):
            self._target.addWidget(part)
        self._target.addStretch(1)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.status, 1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.import_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addLayout(top)
        layout.addWidget(self.form, 1)
        layout.addLayout(self._target)
        layout.addWidget(self.plan)
        layout.addWidget(self.message)
        layout.addWidget(self.progress)
        layout.addLayout(buttons)
        fit_into_window(self, SIZE * theme.current().text_scale)

    # ---------------------------------------------------------------- reading

    def _describe(self, preview: FilePreview) -> None:
        about = "" if preview.is_counted else "about "
        rows = quantity(preview.rows, "row")
        self.about.setText(" · ".join(part for part in (size_text(preview.size), about + rows) if part))
        self.message.clear()
        if not self.name_edit.isModified() and not self._proposed_name:
            self._propose_name()
        self._list_tables()
        self._replan()

    def _cannot_read(self, error: Exception) -> None:
        if isinstance(error, SeveralTables):
            self.several.emit(error)
            self.reject()
        elif isinstance(error, DamagedFile) and error.readable_anyway:
            self.message.say(error.headline, ("Import anyway", self._ignore_checksums), kind=DANGER)
        elif self.form.preview is None and not self.form.options:
            self.failed.emit(error)
            self.reject()
        else:
            again = [("Detect again", self.form.detect_again)] if self.form.options else []
            self.message.say(message(error), *again, kind=DANGER, stays=True)
        self._update()

    def _ignore_checksums(self) -> None:
        self.form.reading = FileReading(self.form.reading.ragged, "ignore", self.form.options)
        self.form.look()

    # ----------------------------------------------------------------- target

    @property
    def mode(self) -> Literal["new", "append", "replace", "upsert"]:
        mode: Literal["new", "append", "replace", "upsert"] = self.mode_box.currentData()
        return mode

    def _store(self) -> Store | None:
        place = self.store_box.currentIndex()
        return self._stores[place] if 0 <= place < len(self._stores) else None

    def _list_tables(self) -> None:
        store = self._store()
        if store is not None:
            self._tasks.read(lambda job: store.tables, self._show_tables, owner=self, quiet=True)

    def _show_tables(self, tables: list[str]) -> None:
        now = self.table_box.currentText()
        self.table_box.blockSignals(True)
        self.table_box.clear()
        self.table_box.addItems(tables)
        self.table_box.setCurrentIndex(max(0, self.table_box.findText(now)))
        self.table_box.blockSignals(False)
        self._table_names = tables
        if not self.name_edit.isModified():
            self._propose_name()
        self.mode_box.setEnabled(bool(tables))
        self._update()

    def _propose_name(self) -> None:
        preview = self.form.preview
        if preview is not None:
            self.name_edit.setText(
                free_table_name(self._proposed_name or preview.dataset.name, list(self._table_names))
            )

    def _choose_mode(self) -> None:
        is_new = self.mode == NEW
        self.name_edit.setVisible(is_new)
        self.table_box.setVisible(not is_new)
        self._choose_table()

    def _choose_table(self) -> None:
        if self.key is not None:
            self.key.setParent(None)
            self.key.deleteLater()
            self.key = None
        if self.mode == "upsert" and self.form.preview is not None:
            self.key = ColumnsChoice("key", list(self.form.columns.new_names.values()), self)
            self.key.changed.connect(self._replan)
            self._target.insertWidget(self._target.count() - 1, self.key)
        self._replan()

    def _replan(self) -> None:
        """Count the effect of the import again, after a short pause."""
        self._plan = None
        self._say_plan("")
        self._plan_later.start()
        self._update()

    def _key(self) -> list[str]:
        return self.key.names if self.key is not None else []

    def _ask_plan(self) -> None:
        preview, store, mode = self.form.preview, self._store(), self.mode
        if self._planning is not None:
            self._planning.cancel()
        if preview is None or store is None or not self.table_box.currentText():
            return
        if mode == NEW:
            return
        key, table, columns = self._key(), self.table_box.currentText(), self.form.columns.new_names
        if mode == "upsert" and not key:
            self._say_plan("Choose the columns that identify rows.")
            return

        def work(job: Job) -> ImportPlan:
            return plan_import(preview.dataset, store[table], mode, key, job, columns)

        self._say_plan("Counting what will change…")
        self._planning = self._tasks.read(work, self._show_plan, self._cannot_plan, owner=self, quiet=True)

    def _show_plan(self, plan: ImportPlan) -> None:
        self._planning, self._plan = None, plan
        self._say_plan(str(plan))
        self._update()

    def _cannot_plan(self, error: Exception) -> None:
        self._planning = None
        self._say_plan(message(error))
        self._update()

    def _say_plan(self, text: str) -> None:
        self.plan.setText(text)
        self.plan.setVisible(bool(text))

    # -------------------------------------------------------------- importing

    def _update(self) -> None:
        preview = self.form.preview
        for part in (self.form, self.store_box, self.mode_box, self.name_edit, self.table_box):
            part.setEnabled(not self.is_working)
        is_named = bool(self.name_edit.text().strip()) if self.mode == NEW else self._plan is not None
        refused = self._plan is not None and bool(self._plan.twice)
        ready = self.form.ready and is_named and not refused
        self.import_button.setEnabled(bool(self._stores) and ready and not self.is_working)
        self.import_button.setText(self._verb(preview))

    def _verb(self, preview: FilePreview | None) -> str:
        if preview is None or not preview.is_counted:
            return "Import"
        rows = quantity(preview.rows, "row")
        if self.mode == "replace" and self._plan is not None:
            return f"Replace {quantity(self._plan.existing, 'row')}"
        return f"Import {rows}"

    def _import(self) -> None:
        preview, store, mode = self.form.preview, self._store(), self.mode
        if preview is None or store is None or not self.form.ready:
            return
        self.form.stop()
        dataset, columns, key = preview.dataset, self.form.columns.new_names, self._key()
        name, target = self.name_edit.text().strip(), self.table_box.currentText()

        def work(job: Job) -> list[Table]:
            if mode == NEW:
                return [import_dataset(dataset, store, name, job, columns)]
            import_into(dataset, store[target], mode, key, job, columns)
            return [store[target]]

        self.message.clear()
        self._run(self._tasks.write, work, self._finish, self.title.text())

    def _lock(self, locked: bool) -> None:
        self._update()

    def _finish(self, tables: list[Table]) -> None:
        self.imported.emit(tables)
        self.accept()

    def _handle_stop(self) -> None:
        self.reject()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self.message.say(f"Nothing was imported. {error}", kind=DANGER, stays=True)
        else:
            self.failed.emit(error)
        self._list_tables()
        self._update()

    def done(self, result: int) -> None:
        self.form.stop()
        super().done(result)


class ReadingDialog(QDialog):
    """Chooses how to read a file that is open in place, or whose rows are used. `chosen` carries the reading,
    which is remembered for the file if `remembered`."""

    chosen = Signal(FileReading)

    def __init__(
        self,
        path: Path,
        table: str | None,
        reading: FileReading,
        tasks: Tasks,
        parent: QWidget | None = None,
        *,
        remembered: bool = True,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Read differently")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLabel(f"Read {visible(path.name)} differently")
        theme.variant(self.title, "title")
        choice = (
            "The choice is remembered for it." if remembered else "The choice applies to this change only."
        )
        note = QLabel(f"The file stays unchanged. {choice}")
        theme.variant(note, "muted")
        self.form = ReadingForm(path, reading, tasks, self, table=table)
        self.form.described.connect(self._describe)
        self.form.failed.connect(self._fail)
        self.form.changed.connect(self._update)
        self.message = MessageBar(self)
        self.cancel_button, self.read_button = QPushButton("Cancel"), QPushButton("Read")
        theme.variant(self.read_button, "primary")
        self.read_button.setDefault(True)
        self.read_button.setEnabled(False)
        self.read_button.clicked.connect(self._choose)
        self.cancel_button.clicked.connect(self.reject)
        self._lay_out(note)
        fit_into_window(self, SIZE * theme.current().text_scale)
        self.form.look()

    def _lay_out(self, note: QLabel) -> None:
        buttons = QHBoxLayout(spacing=theme.S)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.read_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        top = QHBoxLayout(spacing=theme.S)
        top.addWidget(self.title)
        top.addStretch(1)
        top.addWidget(self.form.detect_button)
        layout.addLayout(top)
        layout.addWidget(note)
        layout.addWidget(self.form, 1)
        layout.addWidget(self.message)
        layout.addLayout(buttons)

    def _describe(self, preview: FilePreview) -> None:
        self.message.clear()
        self._update()

    def _fail(self, error: Exception) -> None:
        again = [("Detect again", self.form.detect_again)] if self.form.options else []
        self.message.say(message(error), *again, kind=DANGER, stays=True)
        self.read_button.setEnabled(False)

    def _update(self) -> None:
        self.read_button.setEnabled(self.form.ready)

    def _choose(self) -> None:
        preview = self.form.preview
        if preview is None or not self.form.ready:
            return
        options = self.form.options
        options.pop("names", None)
        new_names = self.form.columns.new_names
        names = {c.key: new_names[c.name] for c in preview.columns if new_names.get(c.name, c.key) != c.key}
        if names:
            options["names"] = tuple(names.items())
        self.chosen.emit(with_options(self.form.reading, options))
        self.accept()

    def done(self, result: int) -> None:
        self.form.stop()
        super().done(result)
