"""The history and the snippets as a searchable list, in a form below a button."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.phrases import duration_text
from lamella.ui import theme
from lamella.ui.sql.saved_statements import Entry, Snippet

WIDTH, HEIGHT = 560, 320
Index = QModelIndex | QPersistentModelIndex
_STARTS = 110
"""How many characters of a statement are shown."""
_LONGEST_TIP = 2_000


@dataclass(frozen=True)
class SavedText:
    """A row of the list: its title, and a line in small type below it."""

    title: str
    about: str
    text: str
    name: str = ""


def of_history(entries: Sequence[Entry]) -> list[SavedText]:
    return [SavedText(_begin(entry.text), _about(entry), entry.text) for entry in entries]


def of_snippets(snippets: Sequence[Snippet]) -> list[SavedText]:
    return [SavedText(snippet.name, _begin(snippet.text), snippet.text, snippet.name) for snippet in snippets]


def _begin(text: str) -> str:
    return visible(" ".join(text.split())[:_STARTS])


def _about(entry: Entry) -> str:
    words = {"failed": "failed", "stopped": "stopped", "draft": "never run"}
    parts = [_time_text(entry.time)]
    if entry.outcome in words:
        parts.append(words[entry.outcome])
    else:
        many = "" if entry.rows == 1 else "s"
        parts += [f"{entry.rows:,} row{many}"] if isinstance(entry.rows, int) else []
        parts += [duration_text(entry.seconds)] if isinstance(entry.seconds, int | float) else []
    return " · ".join(part for part in parts if part)


def _time_text(time: str) -> str:
    try:
        moment = dt.datetime.fromisoformat(time)
    except (TypeError, ValueError):
        return ""
    return moment.strftime("%H:%M" if moment.date() == dt.datetime.now().date() else "%Y-%m-%d %H:%M")


class SavedTextPainter(QStyledItemDelegate):
    """Paints the title, and a line in small type below it. `renamed` has the name of a snippet, and its new
    name."""

    renamed = Signal(str, str)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        return QLineEdit(parent, accessibleName="Name of the snippet")

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.UserRole).name)
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        name = index.data(Qt.ItemDataRole.UserRole).name
        if editor.text() != name:
            self.renamed.emit(name, editor.text())

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = ""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        look = theme.current()
        lines = look.line_height() + look.line_height(theme.TextSize.CAPTION)
        return QSize(super().sizeHint(option, index).width(), lines + theme.M)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        look, entry = theme.current(), index.data(Qt.ItemDataRole.UserRole)
        area = option.rect.adjusted(theme.S, theme.M // 2, -theme.S, -theme.M // 2)
        painter.save()
        for text, font, color, side in (
            (entry.title, look.font(), "text", Qt.AlignmentFlag.AlignTop),
            (entry.about, look.tabular_font(theme.TextSize.CAPTION), "muted", Qt.AlignmentFlag.AlignBottom),
        ):
            painter.setFont(font)
            painter.setPen(look.color(color))
            elided = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, area.width())
            painter.drawText(area, Qt.AlignmentFlag.AlignLeft | side, elided)
        painter.restore()


class SavedList(QWidget):
    """`chosen` has the text of a row, on Enter or a double click; `deleted` has the name of a snippet,
    `renamed` its name and its new one, `cleared` has no value."""

    chosen = Signal(str)
    renamed = Signal(str, str)
    deleted = Signal(str)
    cleared = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field, self.list = QLineEdit(), QListWidget()
        self.empty = QLabel()
        self.remove, self.insert = QPushButton(), QPushButton("Insert")
        self.rename = QPushButton("Rename")
        self._rows: list[SavedText] = []
        self._deletes = False
        self.list.setUniformItemSizes(True)
        painter = SavedTextPainter(self.list)
        painter.renamed.connect(self.renamed)
        self.list.setItemDelegate(painter)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._filter)
        self.list.itemActivated.connect(lambda _: self._take())
        self.list.currentRowChanged.connect(lambda _: self._follow())
        self.insert.clicked.connect(self._take)
        self.remove.clicked.connect(self._remove)
        self.rename.clicked.connect(self._edit_name)
        self.rename.setToolTip("Rename the snippet (F2)")
        theme.variant(self.insert, "primary")
        theme.variant(self.empty, "muted")
        self._lay_out()

    def show_rows(self, rows: Sequence[SavedText], name: str, deletes: bool) -> None:
        """Show rows of the kind `name`; `deletes` says whether one is deleted at a time instead of all."""
        self._rows, self._deletes = list(rows), deletes
        self.field.clear()
        self.field.setPlaceholderText(f"Search the {name}")
        self.field.setAccessibleName(f"Search the {name}")
        self.list.setAccessibleName(name.capitalize())
        self.rename.setVisible(deletes)
        self.remove.setText("Delete" if deletes else "Clear the history")
        self.empty.setText(f"No {name} yet" if not rows else "Nothing matches")
        self._filter("")
        self.field.setFocus()

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.current().px(WIDTH), super().minimumSizeHint().height())

    @property
    def texts(self) -> list[SavedText]:
        return [self.list.item(row).data(Qt.ItemDataRole.UserRole) for row in range(self.list.count())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 6, Qt.Key.Key_PageUp: -6}
            by = moves.get(Qt.Key(event.key()))
            if by is not None and self.list.count():
                row = self.list.currentRow() + by
                self.list.setCurrentRow(max(0, min(row, self.list.count() - 1)))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._take()
                return True
            if event.key() == Qt.Key.Key_F2:
                self._edit_name()
                return True
        return super().eventFilter(watched, event)

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        self.list.clear()
        for row in self._rows:
            everything = f"{row.title} {row.text} {row.about}".casefold()
            if all(word in everything for word in words):
                item = QListWidgetItem(f"{row.title}\n{row.about}")
                item.setData(Qt.ItemDataRole.UserRole, row)
                if self._deletes:
                    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
                item.setToolTip(visible(row.text[:_LONGEST_TIP]))
                self.list.addItem(item)
        if self.list.count():
            self.list.setCurrentRow(0)
        self.empty.setVisible(not self.list.count())
        self.list.setVisible(bool(self.list.count()))
        self._follow()

    def _follow(self) -> None:
        has_row = self.list.currentItem() is not None
        self.insert.setEnabled(has_row)
        self.rename.setEnabled(has_row)
        self.remove.setEnabled(has_row if self._deletes else bool(self._rows))

    def _take(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole).text)

    def _edit_name(self) -> None:
        item = self.list.currentItem()
        if item is not None and self._deletes:
            self.list.setFocus()
            self.list.editItem(item)

    def _remove(self) -> None:
        item = self.list.currentItem()
        if not self._deletes:
            self.cleared.emit()
        elif item is not None:
            self.deleted.emit(item.data(Qt.ItemDataRole.UserRole).name)

    def _lay_out(self) -> None:
        look = theme.current()
        self.list.setMinimumHeight(look.px(HEIGHT))
        self.empty.setMinimumHeight(look.px(80))
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = QHBoxLayout()
        buttons.addWidget(self.remove)
        buttons.addWidget(self.rename)
        buttons.addStretch(1)
        buttons.addWidget(self.insert)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.field)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.empty, 1)
        layout.addLayout(buttons)
