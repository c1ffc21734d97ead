"""The strip of column cards between the grid's header and its rows, aligned with the columns. Brushing a
histogram or clicking a value requests a filter."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from lamella.core.filters import And, Filter, Or, Predicate
from lamella.core.query.cards import LARGE_ROWS, Bars, ColumnCard
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import EngineRows
from lamella.core.scan.snapshot import Snapshot
from lamella.ui import theme
from lamella.ui.cards.loader import CardLoader, Face
from lamella.ui.cards.painter import PADDING, CardPainter, Mark
from lamella.ui.cards.words import bar_counts, bar_text, value_counts
from lamella.ui.grid.scrolling import CellPlaces
from lamella.ui.tasks import Tasks

Key = Qt.Key
LEAST_WIDTH = 96
AFTER_ROWS_MS = 16
WAIT_MS = 60
"""Columns that are passed faster than this while scrolling are not counted."""
RANGES = frozenset({"eq", "in", "between", "gt", "gte", "lt", "lte", "is_null", "is_true", "is_false"})


def conditions_on(where: Filter | None, name: str) -> tuple[Filter, ...]:
    """The conditions, among those that every row must meet, that a new range or list of values of this column
    would replace."""
    parts = where.children if isinstance(where, And) else (where,)
    return tuple(part for part in parts if part is not None and _is_range(part, name))


def _is_range(part: Filter, name: str) -> bool:
    if isinstance(part, Or):
        return all(_is_range(child, name) for child in part.children)
    return isinstance(part, Predicate) and part.column == name and part.operator in RANGES


def _values_of(conditions: Sequence[Filter]) -> list[Any]:
    """The values that the conditions list; empty if there are other conditions."""
    values: list[Any] = []
    for condition in conditions:
        if not isinstance(condition, Predicate) or condition.operator not in ("eq", "in"):
            return []
        values += condition.values
    return values


class CardStrip(QWidget):
    """The strip of cards. `filter_requested` carries a condition, and the conditions of the current filter
    that it replaces; `column_opened` the name of a column whose caption was double-clicked."""

    filter_requested = Signal(object, object)
    column_opened = Signal(str)

    def __init__(self, grid: CellPlaces, tasks: Tasks) -> None:
        super().__init__(grid)
        self._grid = grid
        self.loader = CardLoader(tasks, self)
        self.card_painter = CardPainter()
        self._is_shown, self._has_rows, self._waits = True, False, False
        self._large = False
        self._by_keys = False
        self._offset = -1
        self._current = -1
        self._item: Mark | None = None
        self._hover: tuple[int, Mark] | None = None
        self._brush: tuple[int, Mark] | None = None
        self._gathered_places: tuple[int, tuple[int, ...]] | None = None
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._want)
        self.loader.arrived.connect(self._take_card)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Column cards")
        theme.current().changed.connect(self._restyle)

    # ------------------------------------------------------------------ rows shown

    def set_rows(
        self, rows: Snapshot | EngineRows | None, where: Filter | None, computed: ComputedView | None = None
    ) -> None:
        """Show cards of these rows, and of those among them that meet the filter. `computed` has the columns
        that the rows lack."""
        self._brush = self._gathered_places = self._item = self._hover = None
        self._waits = False
        self._large = rows is not None and (isinstance(rows, EngineRows) or rows.num_rows > LARGE_ROWS)
        self.loader.set_rows(rows, where, computed)
        if rows is not None and not self._has_rows:
            self._has_rows = True
            self._grid.updateGeometries()
        self._soon.start(AFTER_ROWS_MS)
        self.update()

    def set_shown(self, is_visible: bool) -> None:
        """Show or hide the strip; hidden, it takes no room, and nothing is counted for it."""
        if is_visible == self._is_shown:
            return
        self._is_shown = is_visible
        self.setVisible(is_visible)
        if not is_visible:
            self.loader.want(())
        self._grid.updateGeometries()
        self._grid.horizontalHeader().viewport().update()
        if is_visible:
            self._want()

    @property
    def is_shown(self) -> bool:
        return self._is_shown

    @property
    def wanted_height(self) -> int:
        """The height; None if there are no rows to show cards of."""
        return self.card_painter.height if self._is_shown and self._has_rows else 0

    @property
    def least_width(self) -> int:
        """The minimum width at which a card is useful; narrower columns still have one."""
        return theme.current().px(LEAST_WIDTH) if self._is_shown else 0

    def stop(self) -> None:
        """Cancel all counting."""
        self._soon.stop()
        self.loader.stop()

    def wait_for_rows(self) -> None:
        """Pause while rows are being read; `set_rows` or `go_on` ends the pause."""
        self._waits = True
        self.loader.hold(())

    def go_on(self) -> None:
        """Resume, because no other rows came."""
        self._waits = False
        self._soon.start(AFTER_ROWS_MS)

    def follow(self) -> None:
        """Follow the columns after they were scrolled, moved, resized, hidden or shown."""
        offset = self._grid.horizontalHeader().offset()
        if offset != self._offset:
            self._offset = offset
            self.follow_columns()

    def follow_columns(self) -> None:
        if self._is_shown:
            self.update()
            self.loader.hold(self._names(self._on_screen()))
            self._soon.start(WAIT_MS)

    def _want(self) -> None:
        if not self._is_shown or self._waits:
            return
        if not self._grid.grid_model.pages.is_settled:  # rows have priority over cards
            self._soon.start(AFTER_ROWS_MS)
            return
        self._soon.stop()
        columns = self._on_screen()
        if not self._large:
            columns += self._grid.visible_columns()
        self.loader.want(self._names(columns))

    def _on_screen(self) -> list[int]:
        return self._grid.columns_between(0, self._grid.viewport().width() - 1)

    def _names(self, columns: Sequence[int]) -> list[str]:
        names = self._grid.grid_model.names
        with_cards = [column for column in columns if column < len(names) and self._has_card(column)]
        return list(dict.fromkeys(names[column] for column in with_cards))

    def _has_card(self, column: int) -> bool:
        """Whether a column has a card; those of rows inside groups have none."""
        tree = self._grid.grid_model.tree
        return tree is None or tree.first_levels[column] <= tree.last_level

    def _take_card(self, name: str) -> None:
        names = self._grid.grid_model.names
        if name in names:
            self.update(self.card_rect(names.index(name)))
            if self.hasFocus() and names.index(name) == self._current:
                self._say_current()

    def _restyle(self) -> None:
        self.card_painter.restyle()
        self._grid.updateGeometries()
        self.update()

    # ------------------------------------------------------------------ places

    def card_rect(self, column: int) -> QRect:
        header = self._grid.horizontalHeader()
        return QRect(self._grid.x_of(column), 0, header.sectionSize(column), self.height())

    def column_at(self, x: int) -> int:
        header = self._grid.horizontalHeader()
        inside = 0 <= x + header.offset() < header.length()
        return header.logicalIndex(self._grid.pinning.place_at(x)) if inside else -1

    def face_of(self, column: int) -> Face | None:
        names = self._grid.grid_model.names
        return self.loader.face(names[column]) if 0 <= column < len(names) else None

    def card_of(self, column: int) -> ColumnCard | None:
        face = self.face_of(column)
        return None if face is None else face.card

    def bars_of(self, column: int) -> Bars | None:
        card = self.card_of(column)
        if card is None or card.scale is None:
            return None
        bars = self.card_painter.bars(card, self.card_rect(column).width())
        return bars if len(bars) else None

    def _items(self, column: int) -> int:
        """The number of bars or values that can be selected."""
        bars, face = self.bars_of(column), self.face_of(column)
        if bars is not None:
            return len(bars)
        return 0 if face is None else self.card_painter.value_rows(face)

    def mark_at(self, point: QPoint) -> tuple[int, Mark] | None:
        """The column at a point, and the part of its card there; an empty mark elsewhere on a card."""
        column = self.column_at(point.x())
        face = self.face_of(column)
        if face is None or face.card is None:
            return None
        rect = self.card_rect(column)
        inside = point - rect.topLeft()
        if self.card_painter.missing_rect(face, rect.width()).adjusted(-2, 0, 2, 0).contains(inside):
            return column, Mark(null=face.card.shown_figures.nulls > 0)
        places = self.card_painter.places(rect.width())
        if inside.y() < places.line:
            return column, Mark()
        bars = self.bars_of(column)
        if bars is not None:
            place = (inside.x() - PADDING) // places.pitch(len(bars))
            return column, Mark(place, place) if 0 <= place < len(bars) else Mark()
        place = inside.y() // places.line - 1
        return column, Mark(place, place) if place < self.card_painter.value_rows(face) else Mark()

    def _nearest_bar(self, column: int, x: int) -> int:
        bars, rect = self.bars_of(column), self.card_rect(column)
        if bars is None:
            return -1
        pitch = self.card_painter.places(rect.width()).pitch(len(bars))
        return min(max((x - rect.left() - PADDING) // pitch, 0), len(bars) - 1)

    # ---------------------------------------------------------------- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, area, look = QPainter(self), event.rect(), theme.current()
        painter.fillRect(area, look.color("window"))
        end = 0
        for zone, _pinned in self._grid.zones(area):
            for column in self._grid.columns_between(zone.left(), zone.right()):
                end = max(end, self._paint_card(painter, column, zone))
        painter.setPen(look.color("border"))
        painter.drawLine(area.left(), self.height() - 1, min(end, area.right() + 1) - 1, self.height() - 1)
        self._grid.pinning.paint_edge(painter, 0, self.height())
        painter.end()

    def _paint_card(self, painter: QPainter, column: int, zone: QRect) -> int:
        """Paint the card of a column, as far as it lies in `zone`; return where it ends."""
        rect, look = self.card_rect(column), theme.current()
        painter.save()
        painter.setClipRect(rect.intersected(zone))
        painter.save()
        painter.translate(rect.topLeft())
        if self._has_card(column):
            self.card_painter.paint(
                painter, self.face_of(column), rect.width(), self._mark(column), self.note_of(column)
            )
        painter.restore()
        painter.setPen(look.color("border"))
        painter.drawLine(rect.topRight(), rect.bottomRight())
        if self._by_keys and self.hasFocus() and column == self._current:
            painter.setPen(look.color("accent"))
            painter.drawRect(rect.adjusted(0, 0, -2, -2))
        painter.restore()
        return rect.right() + 1

    def _mark(self, column: int) -> Mark | None:
        if self._brush is not None and self._brush[0] == column:
            return self._brush[1]
        if self._gathered_places is not None and self._gathered_places[0] == column:
            return Mark(also=frozenset(self._gathered_places[1]), strong=True)
        if self.hasFocus() and self._current == column and self._item is not None:
            return self._item
        return self._hover[1] if self._hover is not None and self._hover[0] == column else None

    def note_of(self, column: int) -> str:
        """The brushed range, as text; empty if nothing is brushed."""
        mark = self._mark(column)
        card, bars = self.card_of(column), self.bars_of(column)
        if mark is None or not mark.strong or mark.first < 0 or card is None or bars is None:
            return ""
        return bar_text(card, bars, mark.low, mark.high)

    # ------------------------------------------------------------------- mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        hit = self.mark_at(event.position().toPoint())
        if event.button() is not Qt.MouseButton.LeftButton or hit is None:
            return
        column, mark = hit
        self._current, self._item, self._by_keys = column, None, False
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if mark.null:
            self._ask_for_values(column, [None])
        elif mark.first >= 0 and self.bars_of(column) is not None:
            self._brush = (column, Mark(mark.first, mark.last, strong=True))
        elif mark.first >= 0 and control:
            self._gather(column, mark.first)
        elif mark.first >= 0:
            self._ask_for_places(column, [mark.first])
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._brush is not None:
            column, mark = self._brush
            self._brush = (column, Mark(mark.first, self._nearest_bar(column, point.x()), strong=True))
            self.update(self.card_rect(column))
            return
        hit = self.mark_at(point) if self.rect().contains(point) else None
        if hit != self._hover:
            self._hover = hit
            can = hit is not None and (hit[1].null or hit[1].first >= 0)
            self.setCursor(Qt.CursorShape.PointingHandCursor if can else Qt.CursorShape.ArrowCursor)
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        if self._brush is not None:
            (column, mark), self._brush = self._brush, None
            self._ask_for_bars(column, mark)
        if self._gathered_places is None:
            self._grid.setFocus(Qt.FocusReason.MouseFocusReason)
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        column, hit = self.column_at(point.x()), self.mark_at(point)
        if column >= 0 and (hit is None or (hit[1].first < 0 and not hit[1].null)):
            self.column_opened.emit(self._grid.grid_model.names[column])

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = None
        self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the column's header."""
        column = self.column_at(event.pos().x())
        header = self._grid.horizontalHeader()
        if column >= 0 and hasattr(header, "menu_requested"):
            header.menu_requested.emit(column, event.globalPos())

    # -------------------------------------------------------------------- keys

    def focus_card(self, place: int) -> None:
        """Move the keyboard to the card of the column at this position from left to right."""
        if self._is_shown and self._grid.grid_model.columnCount():
            self._current, self._item, self._by_keys = self._grid.column_at(place), None, True
            self.setFocus(Qt.FocusReason.OtherFocusReason)
            self._grid.show_column(place)
            self._say_current()
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, alt = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key == Key.Key_Escape:
            self._escape()
        elif alt and key == Key.Key_Down:
            self._grid.setFocus(Qt.FocusReason.OtherFocusReason)
        elif key in (Key.Key_Left, Key.Key_Right) and not alt:
            self._go_on(1 if key == Key.Key_Right else -1)
        elif key in (Key.Key_Up, Key.Key_Down) and not alt:
            self._choose(1 if key == Key.Key_Down else -1, shift)
        elif key in (Key.Key_Return, Key.Key_Enter):
            self._take_item()
        elif key == Key.Key_Space and self._item is not None and self.bars_of(self._current) is None:
            self._gather(self._current, self._item.first)
            self.update()
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Key.Key_Control and self._gathered_places is not None:
            self._ask_for_gathered()
        else:
            super().keyReleaseEvent(event)

    def _escape(self) -> None:
        """End a brush first, then a choice, then leave the strip."""
        if self._brush is None and self._gathered_places is None and self._item is None:
            self._grid.setFocus(Qt.FocusReason.OtherFocusReason)
        self._brush = self._gathered_places = self._item = None
        self.update()

    def _go_on(self, by: int) -> None:
        header, place = self._grid.horizontalHeader(), self._grid.place(self._current) + by
        while 0 <= place < header.count() and header.isSectionHidden(header.logicalIndex(place)):
            place += by
        if 0 <= place < header.count():
            self.focus_card(place)

    def _choose(self, by: int, extend: bool) -> None:
        items = self._items(self._current)
        if not items:
            return
        last = -1 if self._item is None else self._item.last
        last = min(max(last + by, 0), items - 1)
        together = extend and self._item is not None and self.bars_of(self._current) is not None
        first = self._item.first if together and self._item is not None else last
        self._item = Mark(first, last, strong=True)
        self._say_current()
        self.update()

    def _take_item(self) -> None:
        if self._gathered_places is not None:
            self._ask_for_gathered()
        elif self._item is not None and self.bars_of(self._current) is not None:
            self._ask_for_bars(self._current, self._item)
        elif self._item is not None:
            self._ask_for_places(self._current, [self._item.first])
        elif self._items(self._current):
            self._choose(1, extend=False)

    # ----------------------------------------------------------------- filters

    def _gather(self, column: int, place: int) -> None:
        """Add a value to the list of chosen ones, or remove it."""
        before = (
            self._gathered_places[1]
            if self._gathered_places is not None and self._gathered_places[0] == column
            else ()
        )
        after = tuple(p for p in before if p != place) if place in before else (*before, place)
        self._gathered_places = (column, after) if after else None

    def _ask_for_gathered(self) -> None:
        assert self._gathered_places is not None
        (column, places), self._gathered_places = self._gathered_places, None
        card = self.card_of(column)
        if card is not None:
            listed = _values_of(conditions_on(self.loader.where, card.column))
            values = [card.top[place].value for place in places]
            self._ask_for_values(column, [*(v for v in listed if v not in values), *values])

    def _ask_for_places(self, column: int, places: Sequence[int]) -> None:
        card = self.card_of(column)
        if card is not None:
            self._ask_for_values(column, [card.top[place].value for place in places])

    def _ask_for_values(self, column: int, values: Sequence[Any]) -> None:
        card = self.card_of(column)
        if card is not None and (card.is_comparable or list(values) == [None]):
            self._ask(card, card.value_filter(values))

    def _ask_for_bars(self, column: int, mark: Mark) -> None:
        card, bars = self.card_of(column), self.bars_of(column)
        if card is not None and bars is not None and bars.can_filter and mark.high < len(bars):
            self._ask(card, card.range_filter(bars, mark.low, mark.high))

    def _ask(self, card: ColumnCard, condition: Filter) -> None:
        self._item = None
        self.filter_requested.emit(condition, conditions_on(self.loader.where, card.column))

    # ------------------------------------------------------------ descriptions

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            column = self.column_at(event.pos().x())
            text = self.tip(column, self.mark_at(event.pos()))
            QToolTip.showText(
                event.globalPos(), text, self, self.card_rect(column) if column >= 0 else QRect()
            )
            return True
        return super().event(event)

    def tip(self, column: int, hit: tuple[int, Mark] | None) -> str:
        """All figures of a card, first those of the hovered part."""
        text = self._words(column, None if hit is None else hit[1])
        return f"<p style='white-space: pre'>{html.escape(text)}</p>" if "<" in text else text

    def _words(self, column: int, mark: Mark | None) -> str:
        face = self.face_of(column)
        if face is None:
            return "Counting…" if column >= 0 and self._has_card(column) else ""
        if face.card is None or face.texts is None:
            return face.error
        item = self._item_words(column, face, mark)
        return f"{item}\n\n{face.texts.summary}" if item else face.texts.summary

    def _item_words(self, column: int, face: Face, mark: Mark | None) -> str:
        assert face.card is not None and face.texts is not None
        if mark is None or mark.first < 0 or mark.high >= self._items(column):
            return ""
        bars = self.bars_of(column)
        if bars is None:
            return f"{face.texts.values[mark.first]}: {value_counts(face.card, mark.first)}"
        words = bar_text(face.card, bars, mark.low, mark.high)
        return f"{words}: {bar_counts(bars, mark.low, mark.high)}"

    def _say_current(self) -> None:
        """Report the current part to screen readers."""
        names = self._grid.grid_model.names
        if not 0 <= self._current < len(names):
            return
        words = self._words(self._current, self._item).replace("\n", ". ").replace(". . ", ". ")
        self.setAccessibleName(f"Card of {names[self._current]}: {words}")
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.NameChanged))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self._gathered_places is not None:
            self._ask_for_gathered()
        self._brush = self._item = None
        self.update()
