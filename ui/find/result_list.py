"""A list of search results: the position of each, and a snippet of its text around the match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from lamella.core.errors import visible
from lamella.core.query.cell_search import TextPattern
from lamella.ui import theme

BEFORE, AFTER = "\ue000", "\ue001"
"""Mark matches in a snippet: private-use characters, which texts do not contain."""
SNIPPET_LENGTH = 160
CONTEXT = 40
"""Characters of a text before its first match."""
CUT = "…"
CUT_PART = 3
"""Text before a match takes a third of its line where it is cut."""
UNDERLINE = 2
Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
RESULT = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Result:
    """A result. `place` describes its position; `snippet` has matches between `BEFORE` and `AFTER`. `row` is
    the row's number among those searched, `row_id` its id in a table. A `heading` is not a result."""

    place: str
    snippet: str = ""
    column: str = ""
    row: int = 0
    row_id: int | None = None
    heading: bool = False
    detail: str = ""
    key: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text for screen readers."""
        plain = self.snippet.replace(BEFORE, "").replace(AFTER, "")
        return ", ".join(part for part in (self.place, self.detail, plain) if part)


def snippet_of(text: str, pattern: TextPattern) -> str:
    """The part of a text around the first match of a pattern, with every match marked."""
    spans = pattern.spans(text[: 4 * SNIPPET_LENGTH]) or pattern.spans(text)
    begin = max(0, spans[0][0] - CONTEXT) if spans else 0
    begin += len(text[begin:]) - len(text[begin:].lstrip()) if begin else 0
    end = begin + SNIPPET_LENGTH
    parts, at = [CUT if begin else ""], begin
    for first, stop in spans:
        if first >= end:
            break
        parts += [text[at:first], BEFORE, text[first : min(stop, end)], AFTER]
        at = min(stop, end)
    parts += [text[at:end], CUT if end < len(text) else ""]
    return one_line("".join(parts))


def one_line(text: str) -> str:
    """The text on one line, keeping the marks of matches but no other characters that a line cannot show."""
    parts = text.replace("\n", "↵").replace("\t", " ").split(BEFORE)
    return BEFORE.join(AFTER.join(map(visible, part.split(AFTER))) for part in parts)


class ResultModel(QAbstractListModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.results: list[Result] = []

    def show(self, results: Sequence[Result]) -> None:
        """Show results; if they continue the ones already shown, those stay as they are."""
        count = 0
        for old, new in zip(self.results, results, strict=False):
            if old != new:
                break
            count += 1
        if count < len(self.results):
            self.beginRemoveRows(NO_PARENT, count, len(self.results) - 1)
            del self.results[count:]
            self.endRemoveRows()
        if count < len(results):
            self.beginInsertRows(NO_PARENT, count, len(results) - 1)
            self.results += results[count:]
            self.endInsertRows()

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.results)

    def flags(self, index: Index) -> Qt.ItemFlag:
        enabled = Qt.ItemFlag.ItemIsEnabled
        heading = self.results[index.row()].heading
        return enabled if heading else enabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        result = self.results[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return result.text
        return result if role == RESULT else None


class ResultList(QListView):
    """The list. `chosen` is emitted when a result is clicked, or on Enter."""

    chosen = Signal(Result)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.results = ResultModel(self)
        self.setModel(self.results)
        self.setItemDelegate(_Painter(self))
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Results")
        self.clicked.connect(self._choose)
        theme.current().changed.connect(self.scheduleDelayedItemsLayout)

    def show_results(self, results: Sequence[Result]) -> None:
        self.results.show(results)

    def step(self, direction: int) -> bool:
        """Go to the next result, or the previous one, wrapping around; False if there are none."""
        count, at = self.results.rowCount(), self.currentIndex().row()
        for steps in range(1, count + 1):
            row = (at + direction * steps) % count if at >= 0 or direction > 0 else count - steps
            if not self.results.results[row].heading:
                self.setCurrentIndex(self.results.index(row))
                self._choose(self.currentIndex())
                return True
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        result = index.data(RESULT)
        if isinstance(result, Result) and not result.heading:
            self.chosen.emit(result)


class _Painter(QStyledItemDelegate):
    """Paints two lines, the position and the snippet; one line for a heading."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        look, result = theme.current(), index.data(RESULT)
        line = look.line_height()
        return QSize(0, line + 2 * theme.S if result.heading else 2 * line + 2 * theme.S)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        look, result = theme.current(), index.data(RESULT)
        area: QRect = option.rect
        state = option.state
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, look.color("accent_soft"))
        elif state & QStyle.StateFlag.State_MouseOver and not result.heading:
            painter.fillRect(area, look.color("hover"))
        inner = area.adjusted(theme.M, theme.S, -theme.M, -theme.S)
        line = look.line_height()
        above = QRect(inner.left(), inner.top(), inner.width(), line)
        if result.heading:
            _line(painter, above, result.place, result.detail, look.font("body", bold=True))
        else:
            _line(painter, above, result.place, result.detail, look.font("caption"), "muted")
            below = QRect(inner.left(), inner.top() + line, inner.width(), line)
            _snippet(painter, below, result.snippet, look.font("body"))
        painter.restore()


def _line(
    painter: QPainter, area: QRect, text: str, detail: str, font: QFont, color: str = "text"
) -> None:  # fmt: skip
    look, metrics = theme.current(), QFontMetrics(font)
    caption = look.font("caption")
    room = QFontMetrics(caption).horizontalAdvance(detail)
    painter.setFont(caption)
    painter.setPen(look.color("muted"))
    painter.drawText(area, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), detail)
    painter.setFont(font)
    painter.setPen(look.color(color))
    left = area.adjusted(0, 0, -room - theme.S, 0)
    elided = metrics.elidedText(visible(text), Qt.TextElideMode.ElideMiddle, left.width())
    painter.drawText(left, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), elided)


def with_match_in_sight(snippet: str, metrics: QFontMetrics, width: int) -> str:
    """The snippet with less of its text before the first match, where the match would be cut off."""
    before, mark, rest = snippet.partition(BEFORE)
    match, found = (
        metrics.horizontalAdvance(text)
        for text in (rest.partition(AFTER)[0], rest.replace(BEFORE, "").replace(AFTER, ""))
    )
    if not mark or metrics.horizontalAdvance(before) + match <= width:
        return snippet
    room = min(max(width // CUT_PART, width - found), max(0, width - match))
    return f"{metrics.elidedText(before, Qt.TextElideMode.ElideLeft, room)}{mark}{rest}"


def _snippet(painter: QPainter, area: QRect, snippet: str, font: QFont) -> None:
    """Paint a snippet; matches have a coloured background and an underline."""
    look, metrics = theme.current(), QFontMetrics(font)
    snippet = with_match_in_sight(snippet, metrics, area.width())
    colors = look.colors
    painter.setFont(font)
    painter.setPen(look.color("text"))
    painter.setClipRect(area)
    x, flags = area.left(), int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    for number, part in enumerate(snippet.split(BEFORE)):
        match, _, tail = part.partition(AFTER) if number else ("", "", part)
        if match:
            width = metrics.horizontalAdvance(match)
            ground = QRect(x, area.top() + 1, width, area.height() - 2)
            painter.fillRect(ground, QColor(colors.behind[2]))
            painter.fillRect(
                ground.adjusted(0, ground.height() - UNDERLINE, 0, 0), QColor(colors.warning)
            )  # fmt: skip
            painter.drawText(QRect(x, area.top(), width + 1, area.height()), flags, match)
            x += width
        room = max(0, area.right() - x)
        elided = metrics.elidedText(tail, Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRect(x, area.top(), room, area.height()), flags, elided)
        x += metrics.horizontalAdvance(tail)
        if x > area.right():
            break
