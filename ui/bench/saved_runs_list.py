"""The list of saved runs: searchable by words and tags, with notes that are edited in place, and a hint when
there are no runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QUrl,
    Signal,
)
from PySide6.QtGui import QDesktopServices, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.results.run import RunSummary
from lamella.core.bench.results.store import MOST_NOTE
from lamella.core.errors import LamellaError
from lamella.ui import theme
from lamella.ui.bench.quantities import about
from lamella.ui.widgets.field_buttons import add_clear_button

Index = QModelIndex | QPersistentModelIndex
HOW_TO_NOTE = "Double-click or press F2 to write a note; words that begin with # are tags"
MOST_CHARACTERS = 300
"""The most characters of a title or note in the list, which shows one line of it."""

RUN = Qt.ItemDataRole.UserRole


class SavedRunsModel(QAbstractListModel):
    """Open files first, then saved runs, newest first. `noted` is emitted when the user changes a note.

    A run in a file that is not saved here has a negative number.
    """

    noted = Signal(int, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.runs: list[RunSummary] = []
        self._all_runs: list[RunSummary] = []
        self._text = ""

    @property
    def count(self) -> int:
        """The number of all runs, including those excluded by the search."""
        return len(self._all_runs)

    @property
    def tags(self) -> Counter[str]:
        """The tags of all runs, with the number of runs that have each."""
        return Counter(tag for run in self._all_runs for tag in run.tags)

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        self._all_runs = list(runs)
        self._filter()

    def search(self, text: str) -> None:
        self._text = text
        self._filter()

    def _filter(self) -> None:
        self.beginResetModel()
        self.runs = [run for run in self._all_runs if run.matches(self._text)]
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt has it
        return 0 if parent.isValid() else len(self.runs)

    def data(self, index: Index, role: int = 0) -> Any:
        run = self.runs[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return one_line(run.title)
            case Qt.ItemDataRole.EditRole:
                return run.note
            case Qt.ItemDataRole.ToolTipRole:
                return description(run)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{number_of(run)}, {one_line(run.title)}, {shown_moment(run)}, {one_line(run.note)}"
            case _ if role == RUN:
                return run
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        plain = super().flags(index)
        return plain | Qt.ItemFlag.ItemIsEditable if self.runs[index.row()].id > 0 else plain

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run, text = self.runs[index.row()], str(value).strip()
        if role != Qt.ItemDataRole.EditRole or text == run.note:
            return False
        self.noted.emit(run.id, text)
        return True


class RunDelegate(QStyledItemDelegate):
    """Paints two lines: what was measured, and when, with the note."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        look = theme.current()
        lines = look.line_height() + look.line_height(theme.TextSize.CAPTION)
        return QSize(12 * look.line_height(), lines + 2 * theme.S)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        run, style = index.data(RUN), option.widget.style()
        self.initStyleOption(option, index)
        option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        upper, lower = _lines(option.rect)
        painter.save()
        number = number_of(run)
        self._write(painter, upper, number, "muted", right=True)
        room = upper.adjusted(0, 0, -painter.fontMetrics().horizontalAdvance(number) - theme.S, 0)
        self._write(painter, room, one_line(run.title), "text")
        painter.setFont(theme.current().font(theme.TextSize.CAPTION))
        left = self._write(painter, lower, shown_moment(run), "muted") + theme.M
        for word in one_line(run.note).split():
            color = "accent" if word.startswith("#") else "muted"
            left += self._write(painter, lower.adjusted(left, 0, 0, 0), f"{word} ", color)
        painter.restore()

    def _write(self, painter: QPainter, room: QRect, text: str, color: str, right: bool = False) -> int:
        """Draw a text and return its width."""
        if room.width() <= 0:
            return 0
        metrics = painter.fontMetrics()
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.setPen(theme.current().color(color))
        painter.drawText(room, int(side | Qt.AlignmentFlag.AlignVCenter), elided)
        return metrics.horizontalAdvance(text)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent, placeholderText="Note; words that begin with # are tags")
        editor.setMaxLength(MOST_NOTE)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.EditRole))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        model.setData(index, editor.text())

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        editor.setGeometry(option.rect)


def _lines(rect: QRect) -> tuple[QRect, QRect]:
    look = theme.current()
    inner = rect.adjusted(theme.M, theme.S, -theme.M, -theme.S)
    upper = QRect(inner.topLeft(), QSize(inner.width(), look.line_height()))
    return upper, QRect(upper.left(), upper.bottom() + 1, inner.width(), inner.bottom() - upper.bottom())


class SavedRunsList(QListView):
    """The list; several runs can be selected, two of them compared."""

    chosen_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.runs_model = SavedRunsModel(self)
        self.setModel(self.runs_model)
        self.setItemDelegate(RunDelegate(self))
        self.setAccessibleName("Saved runs")
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.selectionModel().selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        theme.current().changed.connect(self.scheduleDelayedItemsLayout)

    @property
    def selection(self) -> list[RunSummary]:
        """The selected runs, newest first."""
        rows = sorted(index.row() for index in self.selectionModel().selectedIndexes())
        return [self.runs_model.runs[row] for row in rows]

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """Show runs and keep the selection as far as it still exists; otherwise select the newest."""
        before = {run.id for run in self.selection}
        self.runs_model.show_runs(runs)
        self._choose_again(before)

    def search(self, text: str) -> None:
        before = {run.id for run in self.selection}
        self.runs_model.search(text)
        self._choose_again(before)

    def _choose_again(self, numbers: set[int]) -> None:
        runs = self.runs_model.runs
        self.choose([row for row, run in enumerate(runs) if run.id in numbers] or ([0] if runs else []))

    def choose(self, rows: Sequence[int]) -> None:
        selection = self.selectionModel()
        selection.blockSignals(True)
        selection.clearSelection()
        for row in rows:
            selection.select(self.runs_model.index(row, 0), selection.SelectionFlag.Select)
        if rows:
            selection.setCurrentIndex(self.runs_model.index(rows[0], 0), selection.SelectionFlag.NoUpdate)
        selection.blockSignals(False)
        self.viewport().update()
        self.chosen_changed.emit()

    def edit_note(self, row: int) -> None:
        self.edit(self.runs_model.index(row, 0))


class RunSearch(QWidget):
    """A field to search the runs, and a menu of their tags."""

    changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = QLineEdit(placeholderText="Search: words, #tags")
        add_clear_button(self.field)
        self.field.setAccessibleName("Search the saved runs")
        self.tags = QToolButton(text="#", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.tags.setToolTip("The tags in the notes of the runs")
        self.tags.setAccessibleName("Tags")
        self.tags.setMenu(QMenu(self.tags))
        self.count = QLabel()
        theme.variant(self.count, "caption")
        line = QHBoxLayout(self)
        line.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        line.setSpacing(theme.S)
        line.addWidget(self.field, 1)
        line.addWidget(self.count)
        line.addWidget(self.tags)
        self.field.textChanged.connect(self.changed)

    def show_counts(self, model: SavedRunsModel) -> None:
        visible_runs, whole = len(model.runs), model.count
        self.count.setText("" if visible_runs == whole else f"{visible_runs:,} of {whole:,}")
        menu = self.tags.menu()
        menu.clear()
        for tag, count in sorted(model.tags.items(), key=lambda item: (-item[1], item[0].casefold())):
            action = menu.addAction(f"#{tag}  ({count:,})")
            action.triggered.connect(lambda _, tag=tag: self.field.setText(f"#{tag} "))
        self.tags.setEnabled(not menu.isEmpty())


def one_line(text: str) -> str:
    return " ".join(text[:MOST_CHARACTERS].split())


def number_of(run: RunSummary) -> str:
    return f"Run {run.id}" if run.id > 0 else "File"


def shown_moment(run: RunSummary) -> str:
    """The time of a run in the user's own time zone."""
    return f"{run.started.astimezone():%Y-%m-%d %H:%M}"


def description(run: RunSummary) -> str:
    sizes = ", ".join(f"{rows:,}" for rows in run.sizes)
    failed = f", {run.failures} failed" if run.failures else ""
    lines = [
        run.title,
        f"{sizes} rows, {run.samples:,} samples{failed}, took {about(run.seconds)}",
        run.machine,
        run.command,
        run.note or (HOW_TO_NOTE if run.id > 0 else ""),
    ]
    return "\n".join(text[:MOST_CHARACTERS] for text in lines if text)


class SavedRunsHint(QWidget):
    move_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.words = QLabel(), QLabel()
        self.aside, self.folder = QPushButton("Move the file aside"), QPushButton("Open its folder")
        self._path = Path()
        self._build()

    def show_hint(self, title: str, words: str) -> None:
        self._show(title, words, problem=False)

    def show_problem(self, error: LamellaError, path: Path) -> None:
        self._path = path
        self._show("The saved runs cannot be shown", str(error), problem=True)

    def _show(self, title: str, words: str, problem: bool) -> None:
        self.title.setText(title)
        self.words.setText(words)
        theme.variant(self.words, "danger" if problem else "muted")
        for button in (self.aside, self.folder):
            button.setVisible(problem)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))

    def _build(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.aside, "primary")
        self.aside.setToolTip(
            "The file is renamed, and the next benchmark starts a new one: nothing is deleted"
        )
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (self.title, self.words):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addStretch(1)
        for button in (self.aside, self.folder):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, 0, theme.XL, 0)
        layout.setSpacing(theme.M)
        layout.addStretch(2)
        layout.addWidget(self.title)
        layout.addWidget(self.words)
        layout.addLayout(buttons)
        layout.addStretch(3)
        self.show_hint("", "")
        self.aside.clicked.connect(self.move_requested)
        self.folder.clicked.connect(self._open_folder)
