"""The export dialog: which rows, the format and its options, a preview, and what would be lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import FileProblem, LamellaError, visible
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import quantity, size_text
from lamella.core.remote.addresses import is_address
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.transfer.exporting import Export, Preview, preview
from lamella.core.transfer.formats import FORMATS, Format
from lamella.core.validation import in_home
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.export_options import ExportChoices, FormatOptions
from lamella.ui.dialogs.file_dialog import FileDialog
from lamella.ui.dialogs.reading_columns import FirstRows
from lamella.ui.dialogs.work_dialog import PreviewDialog
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import FieldForm
from lamella.ui.widgets.message_bar import DANGER, MessageBar

STEPS = 1000
SAMPLE_ROWS, SHOWN_ROWS = 1_000, 20
PAUSE_MS = 150
OPTIONS_WIDTH, PREVIEW_WIDTH, HEIGHT = 330, 480, 640
MOST_NAMES = 4
LOSSES_LINES = 6


class WriteRows(Protocol):
    def __call__(
        self, path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job
    ) -> Export: ...


@dataclass(frozen=True)
class ExportRows:
    """Rows that can be exported. `sample` returns the first rows, up to a number; `write` and `sample` run on
    a worker. `format` is the only one possible, with `fixed_options`; empty if all are possible."""

    label: str
    total: int | None
    sample: Callable[[int, Job], pa.Table]
    write: WriteRows
    format: str = ""
    fixed_options: Mapping[str, Any] = field(default_factory=dict)


class ExportDialog(PreviewDialog):
    """`exported` carries what was written. Not modal; closing it stops a running export. `sources` are
    the files that the rows come from, which no export may replace."""

    exported = Signal(Export)

    def __init__(
        self,
        name: str,
        rows: Sequence[ExportRows],
        folder: Path,
        choices: ExportChoices,
        tasks: Tasks,
        parent: QWidget | None = None,
        sources: Sequence[Path] = (),
    ) -> None:
        super().__init__(tasks, PAUSE_MS, parent)
        self._name, self._rows, self._choices = name, list(rows), choices
        self._sources = sources
        self._folder = Path(choices.folder) if choices.folder and Path(choices.folder).is_dir() else folder
        self._samples: dict[int, pa.Table] = {}
        self._export: Export | None = None
        self.setWindowTitle("Export")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make()
        self._lay_out()
        self._choose_format(with_path=True)
        self._restyle()
        theme.current().changed.connect(self._restyle)

    # ------------------------------------------------------------------ looks

    def _make(self) -> None:
        self.title = QLabel(f"Export {visible(self._name)}")
        theme.variant(self.title, "title")
        self.rows_box = QComboBox(accessibleName="Rows")
        self.rows_box.addItems([rows.label for rows in self._rows])
        self.rows_box.currentIndexChanged.connect(lambda _: self._choose_rows())
        self.format_box = QComboBox(accessibleName="Format")
        self.format_box.addItems([format.label for format in FORMATS])
        self.format_box.setCurrentIndex([format.id for format in FORMATS].index(self._choices.format))
        self.format_box.currentIndexChanged.connect(lambda _: self._choose_format())
        self.path_edit = QLineEdit(accessibleName="File")
        self.path_edit.textEdited.connect(self._follow_suffix)
        self.browse = QPushButton("Browse…")
        self.browse.clicked.connect(self._browse)
        self.options_area = QScrollArea(widgetResizable=True)
        self.options_area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.options_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = QPlainTextEdit(readOnly=True, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName("The first lines of the file")
        self.table = FirstRows("The first rows of the file")
        self.preview = QStackedWidget()
        self.preview.addWidget(self.text)
        self.preview.addWidget(self.table)
        self.losses = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.losses.setAccessibleName("What may be lost")
        theme.variant(self.losses, "caption")
        self.losses.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.losses_area = QScrollArea(widgetResizable=True)
        self.losses_area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.losses_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.losses_area.setWidget(self.losses)
        self.message = MessageBar(self)
        self.show_button, self.export_button = QPushButton("Show in folder"), QPushButton("Export")
        theme.variant(self.export_button, "primary")
        self.export_button.setDefault(True)
        self.show_button.hide()
        self.show_button.clicked.connect(self.show_in_folder)
        self.export_button.clicked.connect(lambda _: self.start())

    def _lay_out(self) -> None:
        file = QHBoxLayout()
        file.setSpacing(theme.S)
        file.addWidget(self.path_edit, 1)
        file.addWidget(self.browse)
        form = FieldForm(horizontalSpacing=theme.L, verticalSpacing=theme.M)
        form.addRow("Rows", self.rows_box)
        form.addRow("Format", self.format_box)
        form.addRow("File", file)
        right = QVBoxLayout()
        right.setSpacing(theme.S)
        right.addWidget(self._heading("Preview"))
        right.addWidget(self.preview, 1)
        right.addWidget(self._heading("What may be lost"))
        right.addWidget(self.losses_area)
        left = QVBoxLayout()
        left.setSpacing(theme.S)
        left.addWidget(self._heading("Options"))
        left.addWidget(self.options_area, 1)
        self.preview.setMinimumWidth(PREVIEW_WIDTH)
        middle = QHBoxLayout()
        middle.setSpacing(theme.XL)
        middle.addLayout(left)
        middle.addLayout(right, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.status, 1)
        for button in (self.show_button, self.cancel_button, self.export_button):
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addLayout(form)
        layout.addLayout(middle, 1)
        layout.addWidget(self.message)
        layout.addWidget(self.progress)
        layout.addLayout(buttons)
        self.resize(OPTIONS_WIDTH + PREVIEW_WIDTH + 3 * theme.XL, HEIGHT)

    def _restyle(self) -> None:
        """Adapt to the text size."""
        look = theme.current()
        self.text.setFont(look.mono_font())
        self.losses_area.setFixedHeight(LOSSES_LINES * look.line_height("caption"))
        wide = self.options.sizeHint().width() + self.options_area.verticalScrollBar().sizeHint().width()
        self.options_area.setMinimumWidth(max(OPTIONS_WIDTH, wide + theme.S))

    def _heading(self, text: str) -> QLabel:
        label = QLabel(text)
        theme.variant(label, "caption")
        return label

    # ---------------------------------------------------------------- choices

    @property
    def format(self) -> Format:
        return FORMATS[self.format_box.currentIndex()]

    @property
    def rows(self) -> ExportRows:
        return self._rows[self.rows_box.currentIndex()]

    @property
    def values(self) -> dict[str, Any]:
        """The format's options that differ from the defaults."""
        return {**self.options.values(), **self.rows.fixed_options}

    @property
    def path(self) -> Path:
        text = self.path_edit.text().strip()
        if is_address(text):
            return path_or_address(text)
        return self._folder / in_home(text) if text else self._folder

    def choose_format(self, format_id: str) -> None:
        self.format_box.setCurrentIndex([format.id for format in FORMATS].index(format_id))

    def _choose_rows(self) -> None:
        only = self.rows.format
        self.format_box.setEnabled(not only)
        self.format_box.setToolTip("No other format has versions" if only else "")
        if only and only != self.format.id:
            self.choose_format(only)
        else:
            self._choose_format()

    def _choose_format(self, with_path: bool = False) -> None:
        format = self.format
        columns = self._columns()
        options = self._choices.options.get(format.id, {})
        self.options = FormatOptions(format, columns, options, self.rows.fixed_options)
        self.options.changed.connect(self._forget_export)
        self.options_area.setWidget(self.options)
        if with_path:
            self._propose(self._folder / Path(self._name).stem)
        elif Path(self.path_edit.text()).suffix.casefold() not in format.suffixes:
            self._put_suffix()
        self._forget_export()

    def _put_suffix(self) -> None:
        text = self.path_edit.text().strip()
        path = path_or_address(text) if text else self._folder / Path(self._name).stem
        has_suffix = any(path.suffix.casefold() in each.suffixes for each in FORMATS)
        self._propose(path.with_suffix("") if has_suffix else path)

    def _propose(self, path: Path) -> None:
        """Propose a path, given without suffix."""
        suffix = self.format.suffixes[0]
        beside = " export" if self._is_source(path.with_name(f"{path.name}{suffix}")) else ""
        self.path_edit.setText(f"{path}{beside}{suffix}")

    def _is_source(self, path: Path) -> bool:
        if isinstance(path, RemotePath) or not path.exists():
            return False
        return any(source.exists() and path.samefile(source) for source in self._sources)

    def _follow_suffix(self, text: str) -> None:
        """Choose the format by the typed suffix."""
        suffix = Path(text.strip()).suffix.casefold()
        if self.rows.format:
            return
        for place, format in enumerate(FORMATS):
            if suffix in format.suffixes and place != self.format_box.currentIndex():
                self.format_box.setCurrentIndex(place)

    def _columns(self) -> list[str]:
        sample = self._samples.get(self.rows_box.currentIndex())
        return [] if sample is None else sample.column_names

    def _forget_export(self) -> None:
        self._export = None
        self.show_button.hide()
        self._pause.start()

    def _browse(self) -> None:
        path = self.path
        folder = self._folder if isinstance(path, RemotePath) else path.parent
        dialog = FileDialog(self, "Export to", folder)
        dialog.setAcceptMode(FileDialog.AcceptMode.AcceptSave)
        dialog.setOption(FileDialog.Option.DontConfirmOverwrite)  # asked once, when it is written
        dialog.setNameFilters([f"{f.label} (*{' *'.join(f.suffixes)})" for f in FORMATS])
        dialog.selectNameFilter(dialog.nameFilters()[self.format_box.currentIndex()])
        dialog.selectFile(path.name)
        dialog.fileSelected.connect(lambda path: self._take(path, dialog.selectedNameFilter()))
        dialog.open()

    def _take(self, path: str, name_filter: str) -> None:
        self.path_edit.setText(path)
        if any(Path(path).suffix.casefold() in format.suffixes for format in FORMATS):
            self._follow_suffix(path)
        else:
            labels = [format.label for format in FORMATS]
            self.format_box.setCurrentIndex(labels.index(name_filter.rpartition(" (")[0]))
            self._put_suffix()

    # ---------------------------------------------------------------- preview

    def _read_preview(self) -> None:
        if self.is_working:
            return
        self._stop_reading()
        place, format, values = self.rows_box.currentIndex(), self.format, self.values
        rows, sample = self._rows[place], self._samples.get(place)

        def read(job: Job) -> tuple[pa.Table, Preview | Exception]:
            table = rows.sample(SAMPLE_ROWS, job) if sample is None else sample
            try:
                return table, preview(format, values, table, rows.total, self._name)
            except LamellaError as error:
                return table, error

        self._reading = self._tasks.read(
            read,
            lambda answer: self._show_preview(place, *answer),
            self._fail_preview,
            owner=self,
            quiet=True,
        )

    def _show_preview(self, place: int, sample: pa.Table, preview: Preview | Exception) -> None:
        self._reading = None
        is_first = place not in self._samples
        self._samples[place] = sample
        if is_first and any(option.kind == "columns" for option in self.format.options):
            self._choose_format()  # its fields list the columns, which are now known
        self._show_losses(sample.schema)
        if isinstance(preview, Exception):
            self.status.setText("")
            self.export_button.setEnabled(False)
            self.message.say(str(preview), kind=DANGER, stays=True)
            return
        self.export_button.setEnabled(not self.is_working)
        self.message.clear()
        if preview.text is None:
            self.table.show_rows(sample.slice(0, SHOWN_ROWS))
        else:
            self.text.setPlainText(visible(preview.text.replace("\r\n", "\n")))
        self.preview.setCurrentIndex(0 if preview.text is not None else 1)
        about = "" if preview.bytes is None else f"About {size_text(preview.bytes)}"
        self.status.setText(about)

    def _fail_preview(self, error: Exception) -> None:
        self._reading = None
        self.message.say(message(error), kind=DANGER, stays=True)

    def _show_losses(self, schema: pa.Schema) -> None:
        lines = [self.format.always] if self.format.always else []
        for names, text in self.format.losses_of(schema):
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            lines.append(f"{', '.join(map(visible, names[:MOST_NAMES]))}{more}: {text}.")
        self.losses.setText("\n".join(lines) or f"Nothing: {self.format.label} preserves everything.")

    # ----------------------------------------------------------------- export

    def start(self, overwrite: bool = False) -> None:
        rows, format, path = self._rows[self.rows_box.currentIndex()], self.format, self.path
        values = self.values
        adds = format.adds(format.values(values))
        try:
            format.refuse_target(path, format.values(values))
        except FileProblem as problem:
            self.message.say(f"{problem.headline}. {problem.why}. {problem.fix}", kind=DANGER, stays=True)
            return
        if self._is_source(path) and not adds:
            self.message.say(f"The rows come from {path.name}. Choose another name", kind=DANGER, stays=True)
            return
        elsewhere = isinstance(path, RemotePath)  # a remote file's existence is checked by the export
        if not elsewhere and path.exists() and not overwrite and not adds:
            self.message.say(
                f"{path.name} already exists", ("Replace it", lambda: self.start(True)), stays=True
            )
            return
        self._choices.save(format, self._folder if elsewhere else path.parent, self.options.lasting())
        self.message.clear()
        self._run(
            self._tasks.read,
            lambda job: rows.write(path, format.id, values, overwrite, job),
            self._finish,
            f"Exporting to {path.name}",
        )

    def _lock(self, locked: bool) -> None:
        parts = (self.rows_box, self.format_box, self.path_edit, self.browse, self.options_area)
        for part in (*parts, self.export_button):
            part.setEnabled(not locked)
        self.format_box.setEnabled(not locked and not self.rows.format)

    def _pace(self, progress: Progress, seconds: float) -> str:
        return f"{progress.done / seconds:,.0f} rows/s" if progress.done and seconds > 1 else ""

    def _finish(self, export: Export) -> None:
        self._export = export
        rows = quantity(export.rows, "row")
        files = "" if export.files == 1 else f" in {export.files:,} files"
        what = rows if export.versions is None else _versions_text(export.versions, export.expired)
        self.status.setText(f"Exported {what}, {size_text(export.bytes)}{files}")
        self.cancel_button.setText("Close")
        if not isinstance(export.path, RemotePath):
            self.show_button.show()
            self.show_button.setFocus()
        self.exported.emit(export)

    def _fail(self, error: Exception) -> None:
        replace = [("Replace it", lambda: self.start(True))] if _is_taken(error) else []
        self.message.say(f"Nothing was exported. {message(error)}", *replace, kind=DANGER, stays=True)

    def _handle_stop(self) -> None:
        self.status.setText("Stopped; nothing was exported")

    def show_in_folder(self) -> None:
        if self._export is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._export.path.parent)))


def _is_taken(error: Exception) -> bool:
    return isinstance(error, FileProblem) and error.problem == "is there already"


def _versions_text(versions: int, expired: int) -> str:
    text = quantity(versions, "version")
    return f"{text} ({expired:,} earlier ones have expired)" if expired else text
