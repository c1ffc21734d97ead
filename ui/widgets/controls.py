"""Small controls: a flat button with an icon, forms, rows of fields, and a layout that wraps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QBoxLayout,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.ui import theme
from lamella.ui.widgets.hosts import parent_of

ICON_GAP = "\u2009\u2009"
"""The gap between the icon and the text of a button, for which style sheets have no setting."""


class IconButton(QToolButton):
    """A flat button with an icon. `says` is its tooltip and accessible name."""

    def __init__(self, icon: str, says: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self.say(says)
        self._draw()
        theme.current().changed.connect(self._draw)

    def say(self, says: str) -> None:
        self.setToolTip(says)
        self.setAccessibleName(says)

    def _draw(self) -> None:
        self.setIconSize(theme.current().icon_size())
        self.setIcon(theme.current().icon(self._icon_name))


TEXT_MARGIN = 9
"""The left margin with which numbers begin where the texts of other fields do."""


class NumberBox(QSpinBox):
    """Keeps the number away from the border: Qt ignores the padding of spin boxes in style sheets."""

    def __init__(self, *args: Any, **properties: Any) -> None:
        super().__init__(*args, **properties)
        self.lineEdit().setTextMargins(TEXT_MARGIN, 0, 0, 0)


class DecimalBox(QDoubleSpinBox):
    """Like `NumberBox`, for numbers with decimals."""

    def __init__(self, *args: Any, **properties: Any) -> None:
        super().__init__(*args, **properties)
        self.lineEdit().setTextMargins(TEXT_MARGIN, 0, 0, 0)


class ElidedButton(QToolButton):
    """An icon and one line of text, cut off in its middle if there is no room."""

    def __init__(self, least: int, most: int, parent: QWidget | None = None) -> None:
        """`least` and `most` are the widths of the text, in pixels at the default text size."""
        super().__init__(parent)
        self._least, self._most, self._whole = least, most, ""
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def say(self, text: str) -> None:
        self._whole = text
        self._elide()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return self._hint(self._most)

    def minimumSizeHint(self) -> QSize:
        return self._hint(self._least)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _hint(self, width: int) -> QSize:
        advance = self.fontMetrics().horizontalAdvance(ICON_GAP + self._whole) + 1  # it may be rounded down
        return QSize(self._around() + min(advance, theme.current().px(width)), super().sizeHint().height())

    def _around(self) -> int:
        """The width of what is beside the text."""
        return super().sizeHint().width() - self.fontMetrics().horizontalAdvance(self.text())

    def _elide(self) -> None:
        room = min(self.width() - self._around(), theme.current().px(self._most))
        text = ICON_GAP + self._whole
        self.setText(self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, room))


LEAST_LABEL = 40


class ElidedLabel(QLabel):
    """One line of text, cut off if there is no room; the tooltip then shows all of it. It is as wide as it
    can be, or with `most` as its text, up to so many pixels at the default text size."""

    def __init__(
        self, text: str = "", where: Qt.TextElideMode = Qt.TextElideMode.ElideRight, most: int | None = None
    ) -> None:
        super().__init__(textFormat=Qt.TextFormat.PlainText)
        self._elide_mode, self._whole, self._most = where, text, most
        policy = QSizePolicy.Policy.Ignored if most is None else QSizePolicy.Policy.Preferred
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        self.say(text)

    @property
    def whole(self) -> str:
        """The text before it was cut off."""
        return self._whole

    def say(self, text: str) -> None:
        self._whole = text
        self.setAccessibleName(text)
        self._elide()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        if self._most is None:
            return hint
        advance = self.fontMetrics().horizontalAdvance(self._whole) + 1
        return QSize(min(advance, theme.current().px(self._most)), hint.height())

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return hint if self._most is None else QSize(min(hint.width(), LEAST_LABEL), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        elided = self.fontMetrics().elidedText(self._whole, self._elide_mode, self.contentsRect().width())
        self.setText(elided)
        self.setToolTip(self._whole if elided != self._whole else "")


CONTROL_HEIGHT = 28


def fill_height(*fields: QWidget) -> None:
    """Make fields as high as the highest beside them: those in the mono font are higher than others."""
    for field in fields:
        field.setSizePolicy(field.sizePolicy().horizontalPolicy(), QSizePolicy.Policy.Minimum)


class FieldForm(QFormLayout):
    """A form whose labels are centred vertically on their field, or on the first line of a tall one."""

    def addRow(self, *parts: Any) -> None:
        if len(parts) == 2 and isinstance(parts[0], str) and parts[0]:
            label = QLabel(parts[0])
            label.setMinimumHeight(max(CONTROL_HEIGHT, theme.current().line_height() + theme.M))
            if isinstance(parts[1], QWidget):
                label.setBuddy(parts[1])
            parts = label, parts[1]
        super().addRow(*parts)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        for row in range(self.rowCount()):  # Qt stretches labels beside tall fields
            label, field = (
                self.itemAt(row, role) for role in (self.ItemRole.LabelRole, self.ItemRole.FieldRole)
            )
            if (
                label is not None
                and field is not None
                and field.geometry().height() > label.sizeHint().height()
            ):
                place = label.geometry()
                label.setGeometry(QRect(place.topLeft(), QSize(place.width(), label.sizeHint().height())))


class EmptyNote(QLabel):
    """A hint in the middle of a view that has no rows."""

    def __init__(self, view: QAbstractItemView, text: str) -> None:
        super().__init__(text, view.viewport(), wordWrap=True)
        theme.variant(self, "muted")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setMargin(theme.M)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._model = view.model()
        for changed in (self._model.rowsInserted, self._model.rowsRemoved, self._model.modelReset):
            changed.connect(self._follow)
        view.viewport().installEventFilter(self)
        self._follow()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._follow()
        return False

    def _follow(self) -> None:
        self.setGeometry(parent_of(self).rect())
        self.setVisible(self._model.rowCount() == 0)


class FieldRow(QWidget):
    """A row of fields, and a cross that the subclass lays out with them. `changed` is emitted on every edit.
    The focus proxy is the first field."""

    changed = Signal()
    removed = Signal()

    def __init__(self, says: str, parent: QWidget | None = None) -> None:
        """`says` describes what the cross does."""
        super().__init__(parent)
        self.remove = IconButton("close", says)
        self.remove.clicked.connect(self.removed)


Row = TypeVar("Row", bound=FieldRow)


class FieldRows(QWidget, Generic[Row]):
    """A list of rows of fields. `changed` is emitted on every edit in them, and when users add or remove
    rows."""

    changed = Signal()

    def __init__(
        self,
        add: QAbstractButton,
        new: Callable[[], Row],
        parent: QWidget | None = None,
        *,
        never_empty: bool = False,
    ) -> None:
        """`new` creates the row that the button `add` adds; with `never_empty`, also one that replaces the
        last row when it is removed."""
        super().__init__(parent)
        self.rows: list[Row] = []
        self._new, self._never_empty = new, never_empty
        layout = self._lines = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        add.clicked.connect(self._add_new)

    def append(self, row: Row) -> Row:
        self.rows.append(row)
        self._lines.addWidget(row)
        row.changed.connect(self.changed)
        row.removed.connect(lambda: self._remove(row))
        row.show()  # layouts show new widgets only later, and hidden widgets cannot have the focus
        return row

    def clear(self) -> None:
        while self.rows:
            self._drop(self.rows[-1])

    def _add_new(self) -> None:
        self.append(self._new()).setFocus()
        self.changed.emit()

    def _remove(self, row: Row) -> None:
        self._drop(row)
        if self._never_empty and not self.rows:
            self.append(self._new())
        self.changed.emit()

    def _drop(self, row: Row) -> None:
        self.rows.remove(row)
        row.hide()
        row.deleteLater()


def without_mnemonic(text: str) -> str:
    """The text with "&" escaped, which marks a shortcut letter in tabs and menus."""
    return text.replace("&", "&&")


LONGEST_WORD = 24
ZERO_WIDTH_SPACE = "\u200b"


def breakable(text: str) -> str:
    return re.sub(rf"(\S{{{LONGEST_WORD}}})(?=\S)", rf"\1{ZERO_WIDTH_SPACE}", text)


class Reason(QLabel):
    """The reason why something is impossible, beside or below it; hidden while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.setMinimumWidth(1)  # its text must not make the form wider
        theme.variant(self, "danger")
        self.hide()

    def say(self, reason: str) -> None:
        self.setText(breakable(reason))
        self.setVisible(bool(reason))


class FlowLayout(QLayout):
    """A layout that wraps. Lines are as tall as their tallest widget; widgets have their size hints."""

    def __init__(self, gap: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, place: int) -> QLayoutItem | None:
        return self._items[place] if 0 <= place < len(self._items) else None

    def takeAt(self, place: int) -> QLayoutItem | None:
        return self._items.pop(place) if 0 <= place < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, move: bool) -> int:
        """Arrange the widgets, or only return the height that the lines need."""
        line: list[tuple[QLayoutItem, int]] = []
        left, top, tallest = rect.x(), rect.y(), 0
        for item in self._items:
            if item.isEmpty():
                continue
            hint = item.sizeHint()
            if line and left + hint.width() > rect.right() + 1:
                self._place(line, top, tallest, move)
                line, left, top, tallest = [], rect.x(), top + tallest + self._gap, 0
            line.append((item, left))
            left += hint.width() + self._gap
            tallest = max(tallest, hint.height())
        self._place(line, top, tallest, move)
        return top + tallest - rect.y()

    def _place(self, line: list[tuple[QLayoutItem, int]], top: int, height: int, move: bool) -> None:
        for item, left in line if move else ():
            hint = item.sizeHint()
            item.setGeometry(QRect(QPoint(left, top + (height - hint.height()) // 2), hint))


class TwoPartBar(QFrame):
    """Two groups of controls, side by side or, if there is no room, one below the other. Subclasses fill
    `first` and `second`."""

    def __init__(self, parent: QWidget | None = None, *, stretches: tuple[int, int] = (0, 1)) -> None:
        super().__init__(parent)
        theme.variant(self, "bar")
        self.first, self.second = QHBoxLayout(), QHBoxLayout()
        self.parts = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        for part, stretch in zip((self.first, self.second), stretches, strict=True):
            part.setSpacing(theme.XS)
            self.parts.addLayout(part, stretch)
        self.parts.setSpacing(theme.S)

    def minimumSizeHint(self) -> QSize:
        """The minimum size of the wider part, because the other one may be below it."""
        margins = self.contentsMargins() + self.parts.contentsMargins()
        wide = max(part.minimumSize().width() for part in (self.first, self.second))
        return QSize(wide + margins.left() + margins.right(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:  # the width of its content has changed
            self.fit()
        return super().event(event)

    def fit(self) -> None:
        margins = self.contentsMargins() + self.parts.contentsMargins()
        room = self.width() - margins.left() - margins.right() - self.parts.spacing()
        fits = self.first.minimumSize().width() + self.second.minimumSize().width() <= room
        directions = QBoxLayout.Direction
        self.parts.setDirection(directions.LeftToRight if fits else directions.TopToBottom)
