"""Draws column cards: the caption, bars of a histogram, or the most frequent values with their shares."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from lamella.core.query.cards import Bars, ColumnCard
from lamella.ui import theme
from lamella.ui.cards.loader import Face

PADDING = theme.S
BAR, GAP, WIDEST_BAR = 3, 1, 24
ROWS = 3
MET_ALPHA = 0.86
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
CACHE_SIZE = 2000


@dataclass(frozen=True)
class Mark:
    """What is hovered over, chosen or brushed on a card: bars or values `first` to `last`, those in `also`,
    or the nulls."""

    first: int = -1
    last: int = -1
    null: bool = False
    strong: bool = False
    also: frozenset[int] = frozenset()

    @property
    def low(self) -> int:
        return min(self.first, self.last)

    @property
    def high(self) -> int:
        return max(self.first, self.last)


@dataclass(frozen=True)
class Places:
    """The positions of the parts of a card, from its upper left corner."""

    width: int
    line: int
    height: int

    @property
    def inner(self) -> int:
        return self.width - 2 * PADDING - 1

    @property
    def top(self) -> int:
        """The upper edge of the bars."""
        return self.line + theme.XS

    @property
    def base(self) -> int:
        return self.height - theme.S - 1

    @property
    def most_bars(self) -> int:
        return max(1, (self.inner + GAP) // (BAR + GAP))

    def pitch(self, bars: int) -> int:
        return min(max(BAR + GAP, self.inner // max(bars, 1)), WIDEST_BAR + GAP)

    def bar(self, place: int, bars: int) -> QRect:
        """The area of a bar at its full height."""
        pitch = self.pitch(bars)
        return QRect(PADDING + place * pitch, self.top, pitch - GAP, self.base - self.top)

    def row(self, place: int) -> QRect:
        return QRect(PADDING, (place + 1) * self.line, self.inner, self.line)


def paint_heights(
    painter: QPainter, counts: Sequence[int], last_width: float, area: QRectF, pitch: float, ink: QColor
) -> None:
    """Draw a bar for each count, at a distance of `pitch`, the greatest as high as the area. The last bar
    covers `last_width` times as many values as the others."""
    if not any(counts):
        return
    dense = [*counts[:-1], counts[-1] / last_width]
    most, left, base, room, width = (
        max(dense),
        area.left(),
        area.bottom(),
        area.height(),
        max(1.0, pitch - GAP),
    )
    for place, count in enumerate(dense):
        if count:
            height = max(1, round(room * count / most))
            painter.fillRect(QRectF(left + place * pitch, base - height, width, height), ink)


class CardPainter:
    """Paints cards. Restyle it after the theme has changed. Coordinates are relative to one card."""

    def __init__(self) -> None:
        self._bars: OrderedDict[tuple[int, int], tuple[ColumnCard, Bars]] = OrderedDict()
        self._elided_texts: dict[tuple[str, int], str] = {}
        self.restyle()

    def restyle(self) -> None:
        look = theme.current()
        self.font = look.tabular_font("caption")
        self.metrics = QFontMetrics(self.font)
        self.line = max(self.metrics.height(), look.px(14))
        self.height = (ROWS + 1) * self.line + theme.S
        self._italic = QFont(self.font)
        self._italic.setItalic(True)
        names = ("window", "border", "text", "muted", "faint", "hover", "accent", "accent_soft", "card")
        self._ink = {name: look.color(name) for name in names}
        self._ink["met"] = QColor(look.color("card_met"))
        self._ink["met"].setAlphaF(MET_ALPHA)
        self._ink["solid_met"] = look.color("card_met")
        self._elided_texts.clear()

    def places(self, width: int) -> Places:
        return Places(width, self.line, self.height)

    def bars(self, card: ColumnCard, width: int) -> Bars:
        """The histogram as drawn on a card of this width."""
        most = self.places(width).most_bars
        bars = self._bars.get((id(card), most))
        if bars is None or bars[0] is not card:
            bars = (card, card.bars(most))
            self._bars[id(card), most] = bars
            if len(self._bars) > CACHE_SIZE:
                self._bars.popitem(last=False)
        return bars[1]

    def value_rows(self, face: Face) -> int:
        return 0 if face.card is None else min(len(face.card.top), ROWS)

    def missing_rect(self, face: Face, width: int) -> QRect:
        """The rectangle of the share of nulls; empty if there are none."""
        if face.texts is None or not face.texts.missing:
            return QRect()
        places = self.places(width)
        wide = min(self.metrics.horizontalAdvance(face.texts.missing) + 2, places.inner)
        return QRect(PADDING + places.inner - wide, 0, wide, self.line)

    def paint(self, painter: QPainter, face: Face | None, width: int, mark: Mark | None, note: str) -> None:
        """Paint a card; `note` replaces the caption."""
        painter.setFont(self.font)
        places = self.places(width)
        if face is None:
            self._paint_waiting(painter, places)
        elif face.card is None or face.texts is None:
            painter.setPen(self._ink["faint"])
            painter.drawText(
                QRect(PADDING, 0, places.inner, self.line), LEFT, self._fit_text("no card", places.inner)
            )
        else:
            self._paint_caption(painter, face, places, mark, note)
            if face.card.scale is not None:
                self._paint_bars(painter, self.bars(face.card, width), places, mark)
            else:
                self._paint_values(painter, face, places, mark)

    def _paint_waiting(self, painter: QPainter, places: Places) -> None:
        ink, middle = self._ink["hover"], (self.line - theme.S) // 2
        painter.fillRect(PADDING, middle, places.inner * 3 // 5, theme.S, ink)
        painter.fillRect(PADDING, places.base - theme.XS, places.inner, theme.XS, ink)

    def _paint_caption(
        self, painter: QPainter, face: Face, places: Places, mark: Mark | None, note: str
    ) -> None:
        """Paint the caption. If space is short, the range is left out before the share of nulls."""
        assert face.texts is not None
        room = places.inner
        if note:
            painter.setPen(self._ink["accent"])
            painter.drawText(QRect(PADDING, 0, room, self.line), LEFT, self._fit_text(note, room))
            return
        if face.texts.missing:
            rect = self.missing_rect(face, places.width)
            if mark is not None and mark.null:
                painter.fillRect(
                    rect.adjusted(-2, 0, 2, 0), self._ink["accent_soft" if mark.strong else "hover"]
                )
            painter.setPen(self._ink["muted"])
            painter.drawText(rect, RIGHT, self._fit_text(face.texts.missing, rect.width()))
            room -= rect.width() + theme.S
        painter.setPen(self._ink["muted"])
        fitting = (text for text in face.texts.captions if self.metrics.horizontalAdvance(text) <= room)
        painter.drawText(QRect(PADDING, 0, max(room, 0), self.line), LEFT, next(fitting, ""))

    def _paint_bars(self, painter: QPainter, bars: Bars, places: Places, mark: Mark | None) -> None:
        count = len(bars)
        if mark is not None and mark.first >= 0 and count:
            low, high = (
                places.bar(min(mark.low, count - 1), count),
                places.bar(min(mark.high, count - 1), count),
            )
            ground = low.united(high)
            painter.fillRect(ground, self._ink["accent_soft" if mark.strong else "hover"])
            if mark.strong:
                painter.fillRect(
                    QRect(ground.left(), places.base + 1, ground.width(), 2), self._ink["accent"]
                )
        area, pitch = QRectF(PADDING, places.top, places.inner, places.base - places.top), places.pitch(count)
        paint_heights(painter, bars.counts, bars.last_width, area, pitch, self._ink["card"])
        if bars.matching_counts is not None:
            paint_heights(painter, bars.matching_counts, bars.last_width, area, pitch, self._ink["met"])

    def _paint_values(self, painter: QPainter, face: Face, places: Places, mark: Mark | None) -> None:
        assert face.card is not None and face.texts is not None
        rows = self.value_rows(face)
        shares = face.texts.shares[:rows]
        end = max(map(self.metrics.horizontalAdvance, (*shares, "00%")))
        widest = max(map(self.metrics.horizontalAdvance, face.texts.values[:rows]), default=0) + 1
        room = places.inner
        if room - end - theme.XS < widest <= room:
            end = 0  # a readable value is worth more than its share
        bar = room - end - 2 * theme.XS - min(widest + theme.S, room * 9 // 20)
        if bar < theme.XS or not end or room - end - bar - 2 * theme.XS < widest <= room - end - theme.XS:
            bar = 0
        value = room - (end + theme.XS if end else 0) - (bar + theme.XS if bar else 0)
        for place in range(rows):
            self._paint_value(painter, face, place, places.row(place), (value, bar), mark)

    def _paint_value(
        self,
        painter: QPainter,
        face: Face,
        place: int,
        row: QRect,
        widths: tuple[int, int],
        mark: Mark | None,
    ) -> None:
        assert face.card is not None and face.texts is not None
        top, text = face.card.top[place], face.texts.values[place]
        value, bar = widths
        if mark is not None and (mark.low <= place <= mark.high or place in mark.also):
            painter.fillRect(
                row.adjusted(-theme.XS, 0, theme.XS, 0), self._ink["accent_soft" if mark.strong else "hover"]
            )
        words = top.value == ""
        painter.setPen(self._ink["faint" if words else "text"])
        if words:
            painter.setFont(self._italic)
        value_room = max(value, 0)
        painter.drawText(
            QRect(row.left(), row.top(), value_room, row.height()), LEFT, self._fit_text(text, value_room)
        )
        painter.setFont(self.font)
        painter.setPen(self._ink["muted"])
        if value < row.width():
            painter.drawText(row, RIGHT, face.texts.shares[place])
        if bar:
            self._paint_share(
                painter,
                face.card,
                place,
                QRect(row.left() + value + theme.XS // 2, row.top(), bar, row.height()),
            )

    def _paint_share(self, painter: QPainter, card: ColumnCard, place: int, room: QRect) -> None:
        """Paint a value's share of all rows, and inside it that of the filtered rows, on the same scale."""
        rows = card.top[:ROWS]
        shares = [
            (row.total / max(card.figures.rows, 1), row.count / max(card.shown_figures.rows, 1))
            for row in rows
        ]
        most = max(max(pair) for pair in shares) or 1.0
        whole, met = shares[place]
        tall = max(theme.S, round(self.line * 0.57))
        grey = QRect(
            room.left(), room.center().y() - tall // 2 + 1, max(1, round(room.width() * whole / most)), tall
        )
        if whole:
            painter.fillRect(grey, self._ink["card"])
        if card.matching_figures is not None:
            inside = QRect(
                grey.left(), grey.top() + tall // 4, max(1, round(room.width() * met / most)), tall // 2
            )
            painter.fillRect(inside, self._ink["solid_met"])

    def _fit_text(self, text: str, width: int) -> str:
        key = (text, width)
        fitted = self._elided_texts.get(key)
        if fitted is None:
            if len(self._elided_texts) > CACHE_SIZE:
                self._elided_texts.clear()
            fitted = self.metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
            self._elided_texts[key] = fitted
        return fitted
