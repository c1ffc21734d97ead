"""The commits of a table as a list along a line of versions, read page by page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

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
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from lamella.core.errors import visible, visible_name
from lamella.core.phrases import sentence_case
from lamella.core.store.commit import Commit
from lamella.ui import theme

COMMIT = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
SIGNS = (("inserted", "+", "success"), ("deleted", "−", "danger"), ("updated", "±", "warning"))
WORDS = {"inserted": "added", "deleted": "removed", "updated": "changed"}
DAYS_BY_NAME = 7


def title_of(commit: Commit) -> str:
    return sentence_case(visible_name(commit.message or commit.kind))


def time_text(time: dt.datetime | None, now: dt.datetime) -> str:
    """A time such as `today 11:20`, `yesterday 17:05`, `Mon 9:14`, `12 May` or `12 May 2024`."""
    if time is None:
        return ""
    local = time.astimezone(now.tzinfo)
    days, clock = (now.date() - local.date()).days, f"{local.hour}:{local.minute:02}"
    if days in (0, 1):
        return f"{'today' if not days else 'yesterday'} {clock}"
    if 0 < days < DAYS_BY_NAME:
        return f"{local:%a} {clock}"
    date = f"{local.day} {local:%b}"
    return date if local.year == now.year else f"{date} {local.year}"


def counts_of(commit: Commit) -> list[tuple[str, str]]:
    """The counts of a commit as texts such as `+2`, each with the name of its colour."""
    counts = ((getattr(commit, name), sign, ink) for name, sign, ink in SIGNS)
    return [(f"{sign}{count:,}", ink) for count, sign, ink in counts if count]


def details_of(commit: Commit, now: dt.datetime) -> str:
    parts = [str(commit.version), time_text(commit.time, now)]
    parts += [f"'{visible(commit.name)}'"] if commit.name else []
    parts += [commit.kind] if commit.kind not in ("change", "create") else []
    return " · ".join(filter(None, parts))


class CommitModel(QAbstractListModel):
    """The commits, newest first. `more_requested` is emitted when the user scrolls to commits that are not
    read yet: those of versions before the last one."""

    more_requested = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.commits: list[Commit] = []
        self.total = 0
        self._waits = False

    def show(self, commits: Sequence[Commit], total: int) -> None:
        self.beginResetModel()
        self.commits, self.total, self._waits = list(commits), total, False
        self.endResetModel()

    def append(self, commits: Sequence[Commit]) -> None:
        self._waits = False
        if not commits:
            self.total = len(self.commits)  # the others expired meanwhile
            return
        first = len(self.commits)
        self.beginInsertRows(NO_PARENT, first, first + len(commits) - 1)
        self.commits += commits
        self.endInsertRows()

    def place_of(self, version: int) -> int:
        """The row of a version, or -1 if it has not been read."""
        return next((place for place, c in enumerate(self.commits) if c.version == version), -1)

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.commits)

    def canFetchMore(self, parent: Index) -> bool:
        return not self._waits and 0 < len(self.commits) < self.total

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            self._waits = True
            self.more_requested.emit(self.commits[-1].version)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        commit = self.commits[index.row()]
        if role == COMMIT:
            return commit
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            counts = [f"{getattr(commit, n):,} {word}" for n, word in WORDS.items() if getattr(commit, n)]
            now = dt.datetime.now().astimezone()
            return f"{title_of(commit)}, version {details_of(commit, now)}, {', '.join(counts) or 'no rows'}"
        if role == Qt.ItemDataRole.ToolTipRole:
            at = "" if commit.time is None else f"\n{commit.time.astimezone():%Y-%m-%d %H:%M:%S}"
            return f"{title_of(commit)}\nVersion {commit.version}{at}"
        return None


class CommitPainter(QStyledItemDelegate):
    """Paints a point on the line of versions, what was done, and the counts of rows."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        look = theme.current()
        return QSize(0, look.line_height() + look.line_height("caption") + 2 * theme.S)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        commit, look, place = index.data(COMMIT), theme.current(), option.rect
        if commit is None:
            return
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(place, look.color("accent_soft"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(place, look.color("hover"))
        self._paint_point(painter, place, index, selected)
        inner = place.adjusted(look.px(28), theme.S, -theme.S, -theme.S)
        counts = counts_of(commit)
        right = inner.right() + 1
        painter.setFont(look.tabular_font("caption"))
        metrics = QFontMetrics(painter.font())
        for text, ink in reversed(counts):
            right -= metrics.horizontalAdvance(text)
            painter.setPen(look.color(ink))
            line = QRect(right, inner.top(), inner.right() + 1 - right, look.line_height())
            painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
            right -= theme.XS
        room = right - inner.left() - theme.XS
        painter.setFont(look.font())
        painter.setPen(look.color("text"))
        title = QFontMetrics(painter.font()).elidedText(title_of(commit), Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRect(inner.left(), inner.top(), room, look.line_height()), 0, title)
        painter.setFont(look.tabular_font("caption"))
        painter.setPen(look.color("muted"))
        below = QRect(inner.left(), inner.top() + look.line_height(), inner.width(), metrics.height())
        now = dt.datetime.now().astimezone()
        text = metrics.elidedText(details_of(commit, now), Qt.TextElideMode.ElideRight, below.width())
        painter.drawText(below, 0, text)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(look.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(place.adjusted(0, 0, -1, -1))
        painter.restore()

    def _paint_point(self, painter: QPainter, place: QRect, index: Index, selected: bool) -> None:
        look = theme.current()
        x, y, radius = place.left() + look.px(14), place.top() + theme.S + look.line_height() // 2, look.px(5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("border_strong"), 2))
        last = index.row() == index.model().rowCount() - 1
        painter.drawLine(x, y if not index.row() else place.top(), x, y if last else place.bottom() + 1)
        ink = look.color("accent" if selected or not index.row() else "muted")
        painter.setPen(QPen(ink, 2))
        painter.setBrush(ink if selected else look.color("window"))
        painter.drawEllipse(x - radius, y - radius, 2 * radius, 2 * radius)
