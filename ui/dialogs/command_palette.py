"""The command palette: finds commands and destinations by part of their name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QAction, QIcon, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.ui import theme

WIDTH, HEIGHT = 560, 420
ICON = 16
ROW_PADDING = 12
MOST_OF_A_GROUP = 7
"""The most offers per group if several groups have some; a single group is listed completely."""
COMMANDS, SUBMENU = "Commands", "submenu"
"""The group of commands, and the property of an action that says in which submenu it is."""
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Offer:
    """A command or destination. `icon` is one of resources/icons, or returns a picture in the colours of the
    theme; `detail` is shown at the right."""

    name: str
    do: Callable[[], object]
    group: str = ""
    icon: str | Callable[[], QIcon] = ""
    detail: str = ""
    folded_name: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded_name", self.name.casefold())


def command_offers(actions: Iterable[QAction]) -> list[Offer]:
    """Offers of the actions that are enabled."""
    return [
        Offer(
            _name(action),
            action.trigger,
            COMMANDS,
            action.icon,
            action.shortcut().toString(action.shortcut().SequenceFormat.NativeText),
        )
        for action in actions
        if action.isEnabled()
    ]


def _name(action: QAction) -> str:
    """The name of an action, after that of its submenu: there is more than one Rename."""
    name, submenu = action.text().rstrip("…"), str(action.property(SUBMENU) or "")
    return name if submenu.casefold() in name.casefold() else f"{submenu}: {name}"


def matching(offers: Iterable[Offer], text: str) -> list[Offer]:
    """The offers whose names contain every word of `text`, the closest first; all offers for an empty
    text."""
    words = text.casefold().split()
    if not words:
        return list(offers)
    matches = [offer for offer in offers if all(word in offer.folded_name for word in words)]
    return sorted(matches, key=lambda offer: _distance(offer.folded_name, words))


def _distance(name: str, words: Sequence[str]) -> int:
    """0 for the name itself, 1 for its beginning, 2 for the beginning of a word in it."""
    if name == " ".join(words):
        return 0
    if name.startswith(words[0]):
        return 1
    return 2 if all(_begins_a_word(name, word) for word in words) else 3


def _begins_a_word(name: str, word: str) -> bool:
    place = name.find(word)
    while place > 0 and name[place - 1].isalnum():
        place = name.find(word, place + 1)
    return place >= 0


class OfferModel(QAbstractListModel):
    """Each row is an offer, or a text between them: the heading of a group, or how many more it has."""

    def __init__(self, offers: Sequence[Offer], parent: QObject) -> None:
        super().__init__(parent)
        self._groups: dict[str, list[Offer]] = {}
        for offer in offers:
            self._groups.setdefault(offer.group, []).append(offer)
        self.rows: list[Offer | str] = []

    def filter(self, text: str) -> None:
        matches = {group: matching(offers, text) for group, offers in self._groups.items()}
        words = text.casefold().split()
        groups = [group for group, offers in matches.items() if offers]
        if words:
            groups.sort(key=lambda group: _distance(matches[group][0].folded_name, words))
        rows: list[Offer | str] = []
        for place, group in enumerate(groups):
            whole = len(groups) == 1 or (place == 0 and not words)
            listed = matches[group] if whole else matches[group][:MOST_OF_A_GROUP]
            rows += [group] if len(self._groups) > 1 else []
            rows += listed
            more = len(matches[group]) - len(listed)
            rows += [f"{more:,} more: keep typing to find them"] if more else []
        self.beginResetModel()
        self.rows = rows or [f"Nothing is called '{visible(text.strip())}'"]
        self.endResetModel()

    def is_heading(self, row: int) -> bool:
        return self.rows[row] in self._groups

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row if isinstance(row, str) else visible(row.name)
        if role == Qt.ItemDataRole.AccessibleTextRole and isinstance(row, Offer):
            return ", ".join(part for part in (visible(row.name), row.detail, row.group) if part)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        is_offer = isinstance(self.rows[index.row()], Offer)
        return (
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable if is_offer else Qt.ItemFlag.NoItemFlags
        )


class OfferPainter(QStyledItemDelegate):
    """Looks colours up when a row is painted, so that they follow the theme."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, theme.current().line_height() + ROW_PADDING)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, look = index.model(), theme.current()
        assert isinstance(model, OfferModel)
        row = model.rows[index.row()]
        inner = option.rect.adjusted(theme.S, 0, -theme.S, 0)
        painter.save()
        if isinstance(row, str):
            heading = model.is_heading(index.row())
            painter.setFont(look.font("caption", bold=heading))
            painter.setPen(look.color("muted"))
            across = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(inner, across, row)
        else:
            _paint_offer(painter, option, inner, row)
        painter.restore()


def _paint_offer(painter: QPainter, option: QStyleOptionViewItem, inner: QRect, offer: Offer) -> None:
    look, side = theme.current(), theme.current().px(ICON)
    if option.state & QStyle.StateFlag.State_Selected:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color("accent_soft"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawRoundedRect(option.rect, theme.RADIUS, theme.RADIUS)
    icon = offer.icon() if callable(offer.icon) else look.icon(offer.icon) if offer.icon else QIcon()
    if not icon.isNull():
        icon.paint(painter, QRect(inner.left(), inner.center().y() - side // 2 + 1, side, side))
    inner.setLeft(inner.left() + side + theme.S)
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.setFont(look.font("caption"))
    room = painter.fontMetrics()
    detail = room.elidedText(visible(offer.detail), Qt.TextElideMode.ElideLeft, inner.width() // 2)
    painter.setPen(look.color("muted"))
    painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, detail)
    inner.setRight(inner.right() - room.horizontalAdvance(detail) - theme.M)
    painter.setFont(look.font())
    painter.setPen(look.color("text"))
    name = painter.fontMetrics().elidedText(visible(offer.name), Qt.TextElideMode.ElideRight, inner.width())
    painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft, name)


class CommandPalette(QDialog):
    """Enter runs the chosen offer; groups are in the order in which they first occur. As a popup, it receives
    keys that are typed before the desktop has made it the active window."""

    def __init__(
        self,
        offers: Sequence[Offer],
        parent: QWidget | None = None,
        title: str = COMMANDS,
        hint: str = "Find a command, step, column, table, view, tab or file",
        begin_at: int = 0,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(hint)
        self.field.setAccessibleName(hint)
        self.field.installEventFilter(self)
        self.model = OfferModel(offers, self)
        self.list = QListView(self)
        self.list.setObjectName("offers")
        self.list.setAccessibleName(title)
        self.list.setUniformItemSizes(True)
        self.list.setModel(self.model)
        self.list.setItemDelegate(OfferPainter(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.activated.connect(self._do)
        self.list.clicked.connect(self._do)
        self.field.textChanged.connect(self._filter)
        frame = QFrame(self)
        theme.variant(frame, "popup")
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(frame)
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(theme.M, theme.M, theme.M, theme.M)
        layout.setSpacing(theme.S)
        layout.addWidget(self.field)
        layout.addWidget(self.list)
        look = theme.current()
        self.resize(look.px(WIDTH), look.px(HEIGHT))
        look.changed.connect(self.list.viewport().update)
        self._filter("")
        self._choose(begin_at)
        self.field.setFocus()

    @property
    def offers(self) -> list[Offer]:
        return [row for row in self.model.rows if isinstance(row, Offer)]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            key, page = event.key(), max(1, self.list.viewport().height() // self.list.sizeHintForRow(0) - 1)
            steps = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: page,
                Qt.Key.Key_PageUp: -page,
            }
            if key in steps:
                self._step(steps[Qt.Key(key)])
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._do(self.list.currentIndex())
                return True
        return False

    def _step(self, step: int) -> None:
        """Move the choice; single steps wrap around at the ends, pages stop there."""
        count = len(self.offers)
        if count:
            places = [n for n, row in enumerate(self.model.rows) if isinstance(row, Offer)]
            at = places.index(self.list.currentIndex().row()) + step
            self._choose(at % count if abs(step) == 1 else min(max(at, 0), count - 1))

    def _choose(self, place: int) -> None:
        """Run the offer at an index among those shown."""
        rows = [n for n, row in enumerate(self.model.rows) if isinstance(row, Offer)]
        if rows:
            self.list.setCurrentIndex(self.model.index(rows[place], 0))
        if place == 0:
            self.list.scrollToTop()

    def _filter(self, text: str) -> None:
        self.model.filter(text)
        self._choose(0)

    def _do(self, index: QModelIndex) -> None:
        offer = self.model.rows[index.row()] if index.isValid() else ""
        if isinstance(offer, Offer):
            self.accept()
            offer.do()
