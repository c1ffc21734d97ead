"""The form for how a file is read: detected options that can be corrected, and a preview of the first
rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.options import BY_NAME, ENCODINGS
from lamella.core.datasets.preview import ColumnPreview, FilePreview, is_sheet, preview, unit_of
from lamella.core.datasets.text.bad_lines import is_undecodable, place_of
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, sentence_case
from lamella.ui import theme
from lamella.ui.dialogs.bad_lines import BadLinesDialog
from lamella.ui.dialogs.reading_columns import FirstRows, ReadingColumns
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm, FlowLayout, NumberBox
from lamella.ui.widgets.popover import ChoiceButton
from lamella.ui.window.file_readings import FileReading, with_options

LABELS: dict[str, list[tuple[Any, str]]] = {
    "delimiter": [(",", ", comma"), (";", "; semicolon"), ("\t", "tab"), ("|", "| pipe"), ("\x1f", "none")],
    "decimal": [(".", "1,234.50"), (",", "1.234,50")],
    "dates": [
        ("iso", "year first · 2025-01-31"),
        ("day-first", "day first · 31.01.2025"),
        ("month-first", "month first · 01/31/2025"),
        ("month-names", "month by name · 31 Jan 2025"),
    ],
    "encoding": [],
    "quote": [('"', '"'), ("'", "'"), ("", "none")],
    "header": [(True, "names"), (False, "values")],
}
"""The labels of the choices, by option, in the order of the screen."""
ENCODING_LABELS = {
    "utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16 BE", "cp1252": "Windows-1252",
    "cp1250": "Windows-1250", "cp1251": "Windows-1251", "cp1253": "Windows-1253", "cp1254": "Windows-1254",
    "latin-1": "Latin-1", "iso8859-1": "Latin-1",
}  # fmt: skip
THOUSANDS = [
    (None, "as found"),
    ("", "none"),
    (".", ". point"),
    (",", ", comma"),
    (" ", "space"),
    ("'", "' apostrophe"),
]
BROKEN_BYTES = [(None, "leave their lines out"), ("replace", "read as \ufffd")]
PAUSE_MS, COUNT_AFTER_MS = 150, 400


class ReadingForm(QWidget):
    """The form of one file. `described` carries its preview after each change; `failed` why it cannot be read
    with these options; `changed` is emitted after changes that need no new reading, such as names and choices
    of columns. The owner places `detect_button`."""

    described = Signal(FilePreview)
    failed = Signal(Exception)
    changed = Signal()

    def __init__(
        self,
        path: Path,
        reading: FileReading,
        tasks: Tasks,
        parent: QWidget | None = None,
        *,
        table: str | None = None,
        choosing: bool = False,
    ) -> None:
        """`choosing`: columns can be left out."""
        super().__init__(parent)
        self._path, self._table, self._tasks = path, table, tasks
        self.reading = reading
        self.preview: FilePreview | None = None
        self._shown_reading: FileReading | None = None
        self._looking: Handle | None = None
        self._counting: Handle | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self.look)
        self._count_later = QTimer(self, singleShot=True, interval=COUNT_AFTER_MS)
        self._count_later.timeout.connect(self._count)
        self._make(choosing)
        theme.current().changed.connect(self._show_detection)

    # ------------------------------------------------------------------ looks

    def _make(self, choosing: bool) -> None:
        self.boxes: dict[str, QComboBox] = {}
        self.options_row = QWidget()
        options = FlowLayout(theme.S, self.options_row)
        for name, choices in LABELS.items():
            options.addWidget(self._labelled_box(name, choices))
        options.addWidget(self._more_options())
        self.detect_button = QPushButton("All detected", self)
        theme.variant(self.detect_button, "link")
        self.detect_button.clicked.connect(self.detect_again)
        self.detect_button.hide()
        self.options_row.hide()
        self._make_sheet_row()
        self.columns = ReadingColumns(choosing)
        self.columns.type_chosen.connect(self._choose_type)
        self.columns.changed.connect(self.changed)
        self._make_yes_no_row()
        self._make_problem_row()
        heading = QLabel("As it will be")
        theme.variant(heading, "heading")
        self.first_rows = FirstRows("The first rows as they will be")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.options_row)
        layout.addWidget(self.sheet_row)
        layout.addWidget(self.columns, 3)
        layout.addWidget(self.yes_no_row)
        layout.addWidget(self.problem_row)
        layout.addWidget(heading)
        layout.addWidget(self.first_rows, 2)

    def _make_problem_row(self) -> None:
        self.problem_icon, self.problem = QLabel(), QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.becomes = QComboBox(accessibleName="What values that do not fit become")
        self.becomes.addItems(["null", "text"])
        self.becomes.activated.connect(self._make_text)
        self.show_rows = QPushButton("Show rows")
        theme.variant(self.show_rows, "link")
        self.show_rows.clicked.connect(self._show_problems)
        self.replace_bytes = QPushButton("Read broken bytes as \ufffd")
        theme.variant(self.replace_bytes, "link")
        self.replace_bytes.clicked.connect(lambda: self._choose("bad_bytes", "replace"))
        self.problem_row = QWidget()
        problem = QHBoxLayout(self.problem_row)
        problem.setContentsMargins(0, 0, 0, 0)
        problem.setSpacing(theme.S)
        problem.addWidget(self.problem_icon)
        problem.addWidget(self.problem, 1)
        problem.addWidget(self.becomes)
        problem.addWidget(self.replace_bytes)
        problem.addWidget(self.show_rows)
        self.problem_row.hide()

    def _make_sheet_row(self) -> None:
        self.cells = QLineEdit(accessibleName="Cells of the sheet", placeholderText="B3:F200")
        self.cells.setMaximumWidth(theme.current().px(160))
        self.cells.editingFinished.connect(lambda: self._choose("cells", self.cells.text().strip() or None))
        self.sheet_row = QWidget()
        sheet = QHBoxLayout(self.sheet_row)
        sheet.setContentsMargins(0, 0, 0, 0)
        sheet.addWidget(QLabel("Cells"))
        sheet.addWidget(self.cells)
        sheet.addStretch(1)
        self.sheet_row.hide()

    def _make_yes_no_row(self) -> None:
        """Make the row that offers to read words such as ja and nein as true and false."""
        self.yes_no_words = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.read_yes_no = QPushButton("Read as true and false")
        theme.variant(self.read_yes_no, "link")
        self.read_yes_no.clicked.connect(self._take_yes_no)
        self.yes_no_row = QWidget()
        row = QHBoxLayout(self.yes_no_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.S)
        row.addWidget(self.yes_no_words)
        row.addWidget(self.read_yes_no)
        row.addStretch(1)
        self.yes_no_row.hide()

    def _labelled_box(self, name: str, choices: Sequence[tuple[Any, str]]) -> QWidget:
        box = QComboBox(accessibleName=BY_NAME[name].label)
        box.setToolTip(sentence_case(BY_NAME[name].help))
        for value, text in choices:
            box.addItem(text, value)
        box.activated.connect(lambda place: self._choose(name, box.itemData(place)))
        self.boxes[name] = box
        return _under_label(BY_NAME[name].label, box)

    def _more_options(self) -> QWidget:
        form = QWidget()
        fields = FieldForm(form)
        self.thousands = QComboBox(accessibleName="Thousands")
        for value, text in THOUSANDS:
            self.thousands.addItem(text, value)
        self.thousands.activated.connect(
            lambda place: self._choose("thousands", self.thousands.itemData(place))
        )
        self.broken_bytes = QComboBox(accessibleName=BY_NAME["bad_bytes"].label)
        self.broken_bytes.setToolTip(sentence_case(BY_NAME["bad_bytes"].help))
        for value, text in BROKEN_BYTES:
            self.broken_bytes.addItem(text, value)
        self.broken_bytes.activated.connect(
            lambda place: self._choose("bad_bytes", self.broken_bytes.itemData(place))
        )
        self.skip = NumberBox(minimum=0, maximum=100_000, accessibleName="Lines above the table to skip")
        self.skip.editingFinished.connect(self._choose_skip)
        self.nulls = QLineEdit(accessibleName="Words for no value", placeholderText="k. A., -")
        self.nulls.editingFinished.connect(self._choose_nulls)
        self.booleans = QLineEdit(accessibleName="Words for yes and no", placeholderText="ja/nein, Y/N")
        self.booleans.editingFinished.connect(
            lambda: self._choose_text("booleans", _words(self.booleans.text()) or None)
        )
        self.zone = QLineEdit(
            accessibleName="Time zone of times without one", placeholderText="Europe/Berlin"
        )
        self.zone.editingFinished.connect(lambda: self._choose_text("zone", self.zone.text().strip() or None))
        fields.addRow("Thousands", self.thousands)
        fields.addRow("Skip lines", self.skip)
        fields.addRow("Null words", self.nulls)
        fields.addRow("Yes/no words", self.booleans)
        fields.addRow("Time zone", self.zone)
        fields.addRow(BY_NAME["bad_bytes"].label, self.broken_bytes)
        self.more_button = ChoiceButton("More options", form)
        self.more_button.say("More")
        theme.variant(self.more_button, "chip")
        return _under_label(" ", self.more_button)

    # --------------------------------------------------------------- choosing

    @property
    def options(self) -> dict[str, Any]:
        """The options that the user chose."""
        return dict(self.reading.options)

    def _choose(self, name: str, value: Any) -> None:
        options = self.options
        options.pop(name, None)
        if value is not None:
            options[name] = value
        self._take(options)

    def _take(self, options: Mapping[str, Any]) -> None:
        if dict(options) != self.options:
            self.reading = with_options(self.reading, options)
            self.stop()
            self._pause.start()
            self.changed.emit()

    def _choose_skip(self) -> None:
        if self.preview is not None and self.skip.value() != self.preview.findings.get("skip_rows"):
            self._choose("skip_rows", self.skip.value())

    def _choose_nulls(self) -> None:
        self._choose("nulls", tuple(_words(self.nulls.text())) or None)

    def _choose_text(self, name: str, value: Any) -> None:
        """Take a typed value, which may not be valid for the option."""
        try:
            self._choose(name, BY_NAME[name].read(value))
        except BadData as error:
            self.failed.emit(error)

    def _take_yes_no(self) -> None:
        if self.preview is not None:
            self._choose_text("booleans", [*self.options.get("booleans", ()), *self.preview.yes_no])

    def _choose_type(self, key: str, name: str | None) -> None:
        """Choose a type; None for the detected one."""
        types = dict(self.options.get("types", ()))
        types.pop(key, None)
        if name is not None:
            types[key] = name
        self._choose("types", tuple(types.items()) or None)

    def _make_text(self, place: int) -> None:
        misfit = self._misfit()
        if place == 1 and misfit is not None:
            self._choose_type(misfit.key, "string")
        self.becomes.setCurrentIndex(0)

    def detect_again(self) -> None:
        """Reset every choice."""
        self._take({})

    # ------------------------------------------------------------- previewing

    def look(self) -> None:
        """Read the beginning of the file, off the GUI thread."""
        self.stop()
        path, reading, table = self._path, self.reading, self._table

        def work(job: Job) -> FilePreview:
            return preview(
                path,
                reading.options,
                ragged=reading.ragged,
                checksums=reading.checksums,
                table=table,
                job=job,
            )

        self._looking = self._tasks.read(work, self._show, self._fail, owner=self, quiet=True)

    def stop(self) -> None:
        self._count_later.stop()
        for handle in (self._looking, self._counting):
            if handle is not None:
                handle.cancel()
        self._looking = self._counting = None

    @property
    def busy(self) -> bool:
        return self._looking is not None or self._pause.isActive()

    @property
    def ready(self) -> bool:
        """Whether the preview matches the choices, rather than being read again or having failed."""
        return self.preview is not None and self._shown_reading == self.reading and self.columns.ready

    def _fail(self, error: Exception) -> None:
        self._looking = None
        self.failed.emit(error)

    def _show(self, file: FilePreview) -> None:
        self._looking, self._shown_reading = None, self.reading
        self._describe(file)
        if not file.is_counted:
            self._count_later.start()

    def _count(self) -> None:
        """Read the whole file to find its problems and count its rows."""
        file = self.preview
        if file is not None:
            self._counting = self._tasks.read(
                file.check, self._describe, self.failed.emit, owner=self, quiet=True
            )

    def _describe(self, file: FilePreview) -> None:
        self.preview = file
        self.options_row.setVisible(file.is_text)
        self.detect_button.setVisible(file.is_typed)
        self.sheet_row.setVisible(is_sheet(file.dataset))
        self.cells.setText(self.options.get("cells", ""))
        for name, value in file.findings.items():
            if name in self.boxes:
                _show_choice(self.boxes[name], name, value)
        self.skip.setValue(file.findings.get("skip_rows", 0))
        place = self.thousands.findData(self.options.get("thousands"))
        self.thousands.setCurrentIndex(max(0, place))
        self.broken_bytes.setCurrentIndex(max(0, self.broken_bytes.findData(self.options.get("bad_bytes"))))
        self.nulls.setText(", ".join(self.options.get("nulls", ())))
        self.booleans.setText(_yes_no_text(self.options.get("booleans", ())))
        self.zone.setText(self.options.get("zone", ""))
        self.yes_no_words.setText(f"Columns that hold only {_yes_no_text(file.yes_no)} are text.")
        self.yes_no_row.setVisible(bool(file.yes_no))
        self.columns.show_columns(file.columns, dict(self.options.get("types", ())), file.is_typed)
        self.first_rows.show_rows(file.head)
        self._show_detection()
        self._say_problems(file)
        self.described.emit(file)

    def _show_detection(self) -> None:
        has_options = bool(self.options)
        self.detect_button.setText("Detect again" if has_options else "All detected")
        self.detect_button.setEnabled(has_options)
        look = theme.current()
        icon = look.icon("refresh", "accent") if has_options else look.icon("check", "success")
        if not has_options:  # the button is disabled, and its icon is not
            picture = icon.pixmap(look.icon_size())
            icon = QIcon(picture)
            icon.addPixmap(picture, QIcon.Mode.Disabled)
        self.detect_button.setIconSize(look.icon_size())
        self.detect_button.setIcon(icon)
        self.problem_icon.setPixmap(look.icon("warning", "warning").pixmap(look.icon_size()))

    def _misfit(self) -> ColumnPreview | None:
        columns = self.preview.columns if self.preview is not None else ()
        return next((column for column in columns if column.misfits), None)

    def _say_problems(self, file: FilePreview) -> None:
        misfit, unit = self._misfit(), unit_of(file.dataset)
        lines = [problem for problem in file.problems if not problem.column]
        sentences = []
        if misfit is not None:
            values = [p for p in file.problems if p.column == misfit.name]
            some = " and ".join(f"{_short(p.text)} in {place_of(p, unit)}" for p in values[:2])
            remainder = misfit.misfits - len(values[:2])
            more = f", and {remainder:,} more," if remainder > 0 else ""
            verb = "is" if misfit.misfits == 1 else "are"
            kind = misfit.remark.partition(" not ")[2]
            becomes = "It becomes" if misfit.misfits == 1 else "They become"
            sentences.append(f"{misfit.name}: {some}{more} {verb} not {kind}. {becomes}")
        if lines:
            count = quantity(len(lines), "line")
            verb = "is" if len(lines) == 1 else "are"
            left = f"{count} that cannot be read {verb} left out, {place_of(lines[0], unit)} first."
            sentences.insert(0, left)
        self.problem.setText(" ".join(sentences))
        self.becomes.setVisible(misfit is not None)
        self.replace_bytes.setVisible(any(map(is_undecodable, lines)))
        self.problem_row.setVisible(bool(sentences))

    def _show_problems(self) -> None:
        if self.preview is not None:
            BadLinesDialog(
                self._path.name, self.preview.problems, self, unit=unit_of(self.preview.dataset)
            ).show()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _yes_no_text(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join("/".join(pair) for pair in pairs)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"


def _show_choice(box: QComboBox, name: str, value: Any) -> None:
    """Show the current value, which may not be among those offered."""
    if name == "encoding" and not box.count():
        for encoding in ENCODINGS:
            box.addItem(ENCODING_LABELS.get(encoding, encoding), encoding)
    place = box.findData(value)
    if place < 0:
        box.insertItem(0, ENCODING_LABELS.get(value, str(value)), value)
        place = 0
    box.setCurrentIndex(place)


def _under_label(title: str, widget: QWidget) -> QWidget:
    holder = QWidget()
    label = QLabel(title)
    theme.variant(label, "caption")
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.XS)
    layout.addWidget(label)
    layout.addWidget(widget)
    label.setBuddy(widget)
    return holder
