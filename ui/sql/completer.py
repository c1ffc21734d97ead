"""The list of completions below the cursor of an editor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCompleter,
    QListView,
    QPlainTextEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from lamella.core.errors import visible
from lamella.core.query.sql.completion import Proposal, Proposals
from lamella.ui import theme

Index = QModelIndex | QPersistentModelIndex
Propose = Callable[[str, int], Proposals]
ICONS = {"column": "columns", "table": "table", "store": "database", "function": "function", "keyword": "sql"}
MOST_LINES = 10
WIDTH = 420
NAME_SHARE = 0.6
"""The most that a name takes of the width."""
BEFORE, BEHIND = 20_000, 5_000
"""How many characters around the cursor are considered for completions: statements are rarely longer."""


class ProposalModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.proposals: tuple[Proposal, ...] = ()

    def show(self, proposals: tuple[Proposal, ...]) -> None:
        self.beginResetModel()
        self.proposals = proposals
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.proposals)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        proposal = self.proposals[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return visible(proposal.name)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{visible(proposal.name)}, {_caption(proposal)}"
        if role == Qt.ItemDataRole.UserRole:
            return proposal
        return None


class ProposalPainter(QStyledItemDelegate):
    """Paints a proposal: an icon, the name, and at the right its kind with type or arguments."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme.current().px(WIDTH) // 2, theme.current().line_height() + theme.S)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors, proposal = theme.current(), index.data(Qt.ItemDataRole.UserRole)
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, colors.color("accent_soft"))
        side = colors.icon_size().width()
        area = option.rect.adjusted(theme.S, 0, -theme.S, 0)
        place = QRect(area.left(), area.top() + (area.height() - side) // 2, side, side)
        colors.icon(ICONS[proposal.kind]).paint(painter, place)
        area.setLeft(area.left() + side + theme.S)
        side_by_side = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setFont(colors.mono_font())
        metrics = QFontMetrics(colors.mono_font())
        room = round(area.width() * NAME_SHARE)
        name = metrics.elidedText(visible(proposal.name), Qt.TextElideMode.ElideRight, room)
        painter.setPen(colors.color("text"))
        painter.drawText(area, side_by_side, name)
        painter.setFont(colors.font("caption"))
        painter.setPen(colors.color("muted"))
        area.setLeft(area.left() + metrics.horizontalAdvance(name) + theme.M)
        caption = QFontMetrics(colors.font("caption"))
        detail = caption.elidedText(_caption(proposal), Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, detail)
        painter.restore()


class Completer(QCompleter):
    """Opens after a letter or a dot, and on Ctrl+Space. `propose` returns the proposals for a position."""

    def __init__(self, editor: QPlainTextEdit) -> None:
        super().__init__(editor)
        self._editor, self._model = editor, ProposalModel(self)
        self.propose: Propose = lambda text, place: Proposals(place)
        self._start = 0
        self._awaits_columns = False
        popup = self._popup = QListView()
        theme.variant(popup, "completions")
        popup.setUniformItemSizes(True)
        popup.setAccessibleName("Proposals")
        popup.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        popup.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setModel(self._model)
        self.setPopup(popup)
        popup.setItemDelegate(ProposalPainter(popup))  # setPopup() replaces it by its own
        self.setWidget(editor)
        self.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.setMaxVisibleItems(MOST_LINES)
        self.activated[QModelIndex].connect(self._take)  # type: ignore[index] # a signal with two signatures

    @property
    def is_open(self) -> bool:
        return self._popup.isVisible()

    def takes(self, event: QKeyEvent) -> bool:
        """Whether the open list handles a key."""
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape, Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
        plain = not event.modifiers() & Qt.KeyboardModifier.ControlModifier
        return self.is_open and event.key() in keys and plain

    def follow(self, event: QKeyEvent) -> None:
        """React to a key that the editor has handled: letters open the list or narrow it down."""
        typed = event.text()
        erased = event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete)
        letter = typed.isprintable() and typed != "" and (typed.isalnum() or typed in '_."')
        if letter or (erased and self.is_open):
            self._show(on_request=False)
        elif typed or event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End):
            self.close()

    def close(self) -> None:
        """Close the list, also if columns that are being read would have opened it."""
        self._popup.hide()
        self._awaits_columns = False

    def open(self) -> None:
        """Open the list, whatever precedes the cursor."""
        self._show(on_request=True)

    def refresh(self) -> None:
        """Show the proposals known by now, if the list is open, or would be if there had been any."""
        if self.is_open or self._awaits_columns:
            self._show(on_request=False)

    def _show(self, on_request: bool) -> None:
        editor = self._editor
        place = editor.textCursor().position()
        first = max(0, place - BEFORE)
        text, place = _around(editor, first, place)
        proposals = self.propose(text, place)
        self._awaits_columns = bool(proposals.unknown)
        self._start = first + proposals.start
        typed = text[proposals.start : place]
        is_whole = len(proposals.items) == 1 and proposals.items[0].text.casefold() == typed.casefold()
        if not proposals.items or (
            not on_request and ((not typed and text[place - 1 : place] != ".") or is_whole)
        ):
            self._popup.hide()
            return
        self._model.show(proposals.items)
        rect = editor.cursorRect()
        left = (
            QFontMetrics(editor.font()).horizontalAdvance(typed)
            + theme.current().icon_size().width()
            + theme.M
        )
        rect.translate(editor.viewport().x() - left, 0)
        rect.setWidth(theme.current().px(WIDTH))
        self.complete(rect)
        self._popup.setCurrentIndex(self.completionModel().index(0, 0))

    def _take(self, index: QModelIndex) -> None:
        proposal = index.data(Qt.ItemDataRole.UserRole)
        cursor = self._editor.textCursor()
        stop = cursor.position()
        text = proposal.text
        following = self._editor.document().characterAt(stop)
        if text.endswith("(") and following == "(":
            text = text[:-1]
        cursor.setPosition(self._start)
        cursor.setPosition(stop, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text)
        self._editor.setTextCursor(cursor)
        if text.endswith("."):
            self._show(on_request=True)


def _caption(proposal: Proposal) -> str:
    """The kind of a proposal, with its type, arguments or table: "column · BIGINT", "function (date)"."""
    if not proposal.detail:
        return proposal.kind
    return f"{proposal.kind}{' ' if proposal.kind == 'function' else ' · '}{visible(proposal.detail)}"


def _around(editor: QPlainTextEdit, first: int, place: int) -> tuple[str, int]:
    """The text from `first` to some characters after `place`, and the position of `place` in it."""
    document = editor.document()
    cursor = QTextCursor(document)
    cursor.setPosition(first)
    last = min(document.characterCount() - 1, place + BEHIND)
    cursor.setPosition(last, QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText().replace("\u2029", "\n"), place - first
