"""The values of a column with their counts, to be searched, ticked and applied with Enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QCloseEvent, QGuiApplication, QHideEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.nested_values import python_values
from lamella.core.errors import LamellaError, visible
from lamella.core.filters.binding import bind_predicate
from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import COMPARABLE, Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.builder import Query
from lamella.core.query.steps import Aggregate, Group, Limit, Sort, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.filters.tree import text_of, type_of
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import breakable
from lamella.ui.widgets.field_buttons import add_search_icon
from lamella.ui.widgets.hosts import parent_of

Key = Qt.Key
Index = QModelIndex | QPersistentModelIndex
MOST_VALUES = 1_000
SEARCH_MS = 200
COUNT = "rows with this value"
WIDTH, ROW, SHOWN_ROWS = 280, 24, 10
BAR, LEAST_BAR = 0.34, 0.14
"""The length of the longest bar, as a share of the width: the maximum, and the minimum beside long texts."""
CHECK_ROOM = 48
"""Pixels for the check box and gaps."""
UNKNOWN = -1


def can_be_picked(type_: pa.DataType | None) -> bool:
    """Whether conditions can list values of this type."""
    return type_ is not None and kind_of(type_) in COMPARABLE


@dataclass(frozen=True)
class ValueRequest:
    """The values of a column, or of a field inside one by its path, in the given rows."""

    rows: Query
    column: str
    types: Mapping[str, pa.DataType]
    with_null: bool = False

    @property
    def type(self) -> pa.DataType:
        type_ = type_of(self.column, self.types)
        assert type_ is not None
        return type_


@dataclass(frozen=True)
class ValueCount:
    """A value. `count` is `UNKNOWN` for a chosen value that is not among the most frequent. `key` is equal
    for values that conditions treat as equal."""

    value: Any
    text: str
    count: int
    key: object


@dataclass(frozen=True)
class ValueCounts:
    """Counted values; `cut` means that there are more values than these, which are the most frequent."""

    values: tuple[ValueCount, ...]
    cut: bool = False


def keys_of(values: Sequence[Any], request: ValueRequest) -> list[object]:
    not_null = [value for value in values if value is not None]
    predicate = Predicate(request.column, "in", tuple(not_null))
    exact = iter(bind_predicate(predicate, request.types, "this table").exact if not_null else ())
    return [None if value is None else next(exact) for value in values]


def value_count(value: Any, count: int, key: object) -> ValueCount:
    text = "NULL" if value is None else visible(text_of(value)) or "(empty text)"
    return ValueCount(value, text, count, key)


def read_counts(request: ValueRequest, words: str, job: Job) -> ValueCounts:
    """The most frequent values; of texts, those that contain `words`. Blocks."""
    rows, name = request.rows, request.column
    if not request.with_null:
        rows = rows.then(Where(Predicate(name, "not_null")))
    if words and kind_of(request.type) is Kind.TEXT:
        rows = rows.then(Where(Predicate(name, "contains", (words,), True)))
    count = COUNT + " " * (name == COUNT)
    rows = rows.then(Group((name,), ((count, Aggregate("count")),)))
    answer = rows.then(Sort((SortKey(count, True), SortKey(name)))).then(Limit(MOST_VALUES + 1)).read(job)
    values = python_values(answer.column(0))
    keys, counts = keys_of(values, request), answer.column(1).to_pylist()
    value_counts = [value_count(*item) for item in zip(values, counts, keys, strict=True)]
    return ValueCounts(tuple(value_counts[:MOST_VALUES]), len(value_counts) > MOST_VALUES)


class ValueList(QAbstractListModel):
    """The values that match the search. Those chosen at the beginning come first."""

    ticked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.longest = 0
        """The length of the longest value, in characters."""
        self.values: list[ValueCount] = []
        self.first: list[ValueCount] = []
        self.chosen_values: dict[object, ValueCount] = {}
        self.greatest_count = 1
        self._counts: ValueCounts = ValueCounts(())
        self._words = ""

    def choose(self, values: Sequence[ValueCount]) -> None:
        self.first, self.chosen_values = list(values), {value.key: value for value in values}
        self._arrange()

    def show_counts(self, counts: ValueCounts) -> None:
        self._counts = counts
        self.greatest_count = max((value.count for value in counts.values), default=1)
        by_key = {value.key: value for value in counts.values}
        gone = UNKNOWN if counts.cut or self._words else 0
        self.first = [
            by_key.get(value.key, ValueCount(value.value, value.text, max(value.count, gone), value.key))
            for value in self.first
        ]
        self.chosen_values = {key: by_key.get(key, value) for key, value in self.chosen_values.items()}
        self._arrange()

    def search(self, words: str) -> None:
        self._words = words.casefold()
        self._arrange()

    @property
    def last_of_first(self) -> int:
        """The row of the last value chosen at the beginning; -1 if no other value follows it."""
        count = sum(self._words in value.text.casefold() for value in self.first)
        return count - 1 if 0 < count < len(self.values) else -1

    def _arrange(self) -> None:
        self.beginResetModel()
        first = {value.key for value in self.first}
        further = [value for value in self._counts.values if value.key not in first]
        self.values = [value for value in (*self.first, *further) if self._words in value.text.casefold()]
        self.longest = max((len(value.text) for value in self.values), default=0)
        self.endResetModel()

    def is_chosen(self, row: int) -> bool:
        return self.values[row].key in self.chosen_values

    def tick(self, row: int) -> None:
        value = self.values[row]
        if value.key in self.chosen_values:
            del self.chosen_values[value.key]
        else:
            self.chosen_values[value.key] = value
        self.dataChanged.emit(self.index(row), self.index(row))
        self.ticked.emit()

    def tick_all(self, on: bool) -> None:
        """Tick or untick all values that are shown."""
        for value in self.values:
            if on:
                self.chosen_values.setdefault(value.key, value)
            else:
                self.chosen_values.pop(value.key, None)
        self.dataChanged.emit(self.index(0), self.index(len(self.values) - 1))
        self.ticked.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt has it
        return 0 if parent.isValid() else len(self.values)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        value = self.values[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return value.text
        on = value.key in self.chosen_values
        if role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.AccessibleTextRole:
            count = f", {quantity(value.count, 'row')}" if value.count != UNKNOWN else ""
            return f"{value.text}{count}, {'chosen' if on else 'not chosen'}"
        return None


class ValueDelegate(QStyledItemDelegate):
    """Paints check box and text at the left, then the bar, then the count."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, max(theme.current().px(ROW), theme.current().line_height() + theme.S))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        look, model, rect = theme.current(), index.model(), option.rect
        assert isinstance(model, ValueList)
        value = model.values[index.row()]
        current = option.state & QStyle.StateFlag.State_Selected
        over = option.state & QStyle.StateFlag.State_MouseOver
        if current or over:
            painter.fillRect(rect, look.color("accent_soft" if current else "hover"))
        count = "–" if value.count == UNKNOWN else f"{value.count:,}"
        metrics = painter.fontMetrics()
        widest = metrics.horizontalAdvance(f"0{model.greatest_count:,}")
        right = rect.right() - theme.S
        room = right - widest - rect.left() - look.px(CHECK_ROOM)  # for text and bar
        wide = room - model.longest * metrics.averageCharWidth()
        wide = max(round(LEAST_BAR * rect.width()), min(round(BAR * rect.width()), wide))
        bars = QRect(right - widest - wide, rect.top(), wide, 0)
        name_option = QStyleOptionViewItem(option)
        name_option.rect = QRect(
            rect.left() + theme.XS, rect.top(), bars.left() - rect.left() - theme.M, rect.height()
        )
        name_option.state &= ~(QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
        super().paint(painter, name_option, index)
        painter.save()
        if value.count > 0:
            long = max(2, round(bars.width() * value.count / model.greatest_count))
            high = look.px(8)
            is_chosen = value.key in model.chosen_values
            bar = QRect(bars.left(), rect.top() + (rect.height() - high) // 2, long, high)
            painter.fillRect(bar, look.color("card_met" if is_chosen else "card"))
        painter.setFont(look.tabular_font())
        painter.setPen(look.color("muted"))
        painter.drawText(
            rect.adjusted(0, 0, -theme.S, 0),
            Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight,
            count,
        )
        if index.row() == model.last_of_first:
            painter.setPen(look.color("border"))
            painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.restore()


@dataclass
class _Reading:
    handle: Handle | None = None
    words: str = ""
    counts: ValueCounts = field(default_factory=lambda: ValueCounts(()))


class ValuePicker(QWidget):
    """Picks values. `changed` carries the ticked values after every tick; `closed` is emitted once, and says
    whether to apply them, which Escape declines. Enter also takes the current value, if it was searched for
    or nothing is ticked yet.

    The counts are dropped when it is hidden.
    """

    changed = Signal(object)
    closed = Signal(object, bool)

    def __init__(
        self, request: ValueRequest, tasks: Tasks, values: Sequence[Any], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.request, self._tasks = request, tasks
        self._reading, self._began = _Reading(), bool(values)
        self._searching = self._over = self._is_cancelled = False
        self.model = ValueList(self)
        keys = keys_of(values, request)
        self.model.choose([value_count(value, UNKNOWN, key) for value, key in zip(values, keys, strict=True)])
        self._wait = QTimer(self, singleShot=True, interval=SEARCH_MS)
        self._wait.timeout.connect(self._read)
        self._build()
        self._read()

    @property
    def values(self) -> list[Any]:
        return [value.value for value in self.model.chosen_values.values()]

    @property
    def reading(self) -> bool:
        return self._reading.handle is not None

    # ------------------------------------------------------------------- reading

    def _read(self) -> None:
        self.stop()
        request, words = self.request, self.search.text().strip()
        self._reading.words = words
        self._say()
        self._reading.handle = self._tasks.read(
            lambda job: read_counts(request, words, job), self._take, self._fail, owner=self, quiet=True
        )
        self._say()

    def stop(self) -> None:
        self._wait.stop()
        if self._reading.handle is not None:
            self._reading.handle.cancel()
            self._reading.handle = None

    def _take(self, counts: ValueCounts) -> None:
        self._reading.handle, self._reading.counts = None, counts
        row = self._current()
        self.model.show_counts(counts)
        self._go(max(row, 0))
        self._say()

    def _fail(self, error: Exception) -> None:
        self._reading.handle = None
        self._state.setText(breakable(str(error)))
        theme.variant(self._state, "danger")
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)

    def _search(self, words: str) -> None:
        self._searching = True
        self.model.search(words.strip())
        self._go(0)
        self._say()
        is_partial = self._reading.counts.cut or self._reading.words
        if is_partial and kind_of(self.request.type) is Kind.TEXT:
            self._wait.start()

    def _say(self) -> None:
        counts, many = self._reading.counts, len(self.model.chosen_values)
        if self.reading:
            self._state.setText("Counting…")
        elif counts.cut:
            self._state.setText(f"{many:,} of the {MOST_VALUES:,} most frequent")
        else:
            self._state.setText(f"{many:,} of {len(counts.values):,}")
        if not self._reading.words:
            more = "more than " if counts.cut else ""
            say = "Search" if self.reading else f"Search {more}{len(counts.values):,} values"
            self.search.setPlaceholderText(say)

    # ---------------------------------------------------------------------- keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._press(event):
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: Any) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == event.Type.KeyPress:
            return self._press(event)
        return super().eventFilter(watched, event)

    def _press(self, event: QKeyEvent) -> bool:
        """Handle a key, also in the search field, where Space is typed only after other characters."""
        key, moves = event.key(), {Key.Key_Down: 1, Key.Key_Up: -1, Key.Key_PageDown: SHOWN_ROWS,
                                   Key.Key_PageUp: -SHOWN_ROWS}  # fmt: skip
        if key in moves:
            self._searching = False
            self._go(self._current() + moves[Key(key)])
        elif key in (Key.Key_Return, Key.Key_Enter):
            self._enter()
        elif key == Key.Key_Escape:
            self._is_cancelled = True
            self.window().close()
        elif key == Key.Key_Space and not self._searching:
            if self._current() >= 0:
                self.model.tick(self._current())
        else:
            return False
        return True

    def _enter(self) -> None:
        row = self._current()
        if (self._searching or not self._began) and row >= 0 and not self.model.is_chosen(row):
            self.model.tick(row)
        self.window().close()

    def _current(self) -> int:
        return self.list.currentIndex().row()

    def _go(self, row: int) -> None:
        row = min(max(row, 0), len(self.model.values) - 1)
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.stop()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Finish here, not on hiding: the window may be closing, and with it the listeners."""
        super().closeEvent(event)
        self.finish()

    def finish(self) -> None:
        """Emit the choice, once."""
        if not self._over:
            self._over = True
            self.closed.emit(self.values, not self._is_cancelled)

    # ------------------------------------------------------------------- building

    def _build(self) -> None:
        self.search = QLineEdit(accessibleName="Search the values")
        add_search_icon(self.search)
        self.search.installEventFilter(self)
        self.search.textEdited.connect(self._search)
        self.list = QListView(accessibleName="Values", uniformItemSizes=True, mouseTracking=True)
        theme.variant(self.list, "plain")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setItemDelegate(ValueDelegate(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setModel(self.model)
        self.list.clicked.connect(lambda index: self.model.tick(index.row()))
        self.model.ticked.connect(self._take_tick)
        self._state = QLabel()
        self._state.setWordWrap(True)
        theme.variant(self._state, "muted")
        below = QHBoxLayout()
        below.addWidget(self._state, 1)
        for text, on in (("All", True), ("None", False)):
            button = QToolButton(text=text, toolTip=f"{'Tick' if on else 'Untick'} all values that are shown")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, on=on: self.model.tick_all(on))
            below.addWidget(button)
        self.done_button = QPushButton("Done", toolTip="Apply the ticked values (Enter); Escape cancels")
        theme.variant(self.done_button, "primary")
        self.done_button.clicked.connect(lambda: self.window().close())
        below.addWidget(self.done_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.search)
        layout.addWidget(self.list)
        layout.addLayout(below)
        look = theme.current()
        row = max(look.px(ROW), look.line_height() + theme.S)
        self.list.setFixedHeight(SHOWN_ROWS * row + 2)
        self.setMinimumWidth(look.px(WIDTH))
        self.setFocusProxy(self.search)

    def _take_tick(self) -> None:
        self._began = True
        self._say()
        self.changed.emit(self.values)


class PickerPopup(QFrame):
    """Contains a picker until it is closed, and is deleted then."""

    def __init__(self, picker: ValuePicker, owner: QWidget) -> None:
        super().__init__(owner, Qt.WindowType.Popup)
        theme.variant(self, "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._picker = picker
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.S, theme.S, theme.S, theme.S)
        layout.addWidget(picker)

    def open_at(self, top_left: QPoint, avoid: int = 0) -> None:
        """Open at a point of the screen; if there is no room below, open above it, clear of the height
        `avoid`."""
        self.adjustSize()
        screen = (parent_of(self).screen() or QGuiApplication.primaryScreen()).availableGeometry()
        left = min(top_left.x(), screen.right() - self.width() - theme.S)
        top = top_left.y()
        if top + self.height() > screen.bottom() and top - avoid - self.height() >= screen.top():
            top -= avoid + self.height()
        top = min(top, screen.bottom() - self.height())
        self.move(max(screen.left(), left), max(screen.top(), top))
        self.show()
        self._picker.search.setFocus(Qt.FocusReason.PopupFocusReason)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self._picker.finish()


def open_below(picker: ValuePicker, owner: QWidget, widget: QWidget) -> None:
    """Open the picker under a widget, in a popup of `owner`."""
    gap = theme.XS
    place = widget.mapToGlobal(QPoint(0, widget.height() + gap))
    PickerPopup(picker, owner).open_at(place, widget.height() + 2 * gap)
