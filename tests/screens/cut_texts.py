"""Finds texts with less room than they need, and widgets that stick out of others.

Widgets that shorten their text on purpose end it with "…" themselves, and have all of it in their tooltips.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QRadioButton,
    QTabBar,
    QToolButton,
    QWidget,
)

SLACK = 1
"""Pixels that rounding may take."""


def cut_texts(window: QWidget) -> list[str]:
    """A line for each that is cut off, by the kind of widget, its name or text, and the missing pixels."""
    return list(_faults(window))


def _faults(window: QWidget) -> Iterator[str]:
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or not widget.visibleRegion().boundingRect().isValid():
            continue
        if isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox) and not isinstance(
            widget, QLineEdit
        ):
            continue
        missing = _missing(widget)
        if missing > SLACK:
            yield f"{_name(widget)} lacks {missing} px"
        out = _sticks_out(widget)
        if out > SLACK:
            yield f"{_name(widget)} sticks out of {type(widget.parentWidget()).__name__} by {out} px"


def _missing(widget: QWidget) -> int:
    """Pixels of width or height that the words of a widget lack."""
    if isinstance(widget, QLabel):
        return _missing_of_label(widget)
    if isinstance(widget, QCheckBox | QRadioButton):
        return widget.sizeHint().width() - widget.width() if widget.text() else 0
    if isinstance(widget, QToolButton) and widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
        return 0 if not widget.icon().isNull() else _advance(widget, widget.text()) - widget.width()
    if isinstance(widget, QPushButton | QToolButton):
        return _advance(widget, widget.text()) - widget.contentsRect().width()
    if isinstance(widget, QComboBox):
        return _advance(widget, widget.currentText()) + widget.iconSize().width() - widget.width()
    if isinstance(widget, QLineEdit):
        words = widget.placeholderText() if not widget.text() else ""
        return _advance(widget, words) - widget.contentsRect().width()
    return 0


def _missing_of_label(label: QLabel) -> int:
    if not label.text() or (label.pixmap() and not label.pixmap().isNull()):
        return 0
    if label.wordWrap():
        return label.heightForWidth(label.width()) - label.height()
    return max(label.sizeHint().width() - label.width(), _line_height(label) - label.height())


def _line_height(label: QLabel) -> int:
    return QFontMetrics(label.font()).height() if "<" not in label.text() else 0


def _advance(widget: QWidget, text: str) -> int:
    return max(map(QFontMetrics(widget.font()).horizontalAdvance, text.split("\n"))) if text else 0


def _sticks_out(widget: QWidget) -> int:
    """Pixels of a widget that its parent does not show. What can be scrolled may."""
    parent = widget.parentWidget()
    if parent is None or widget.isWindow() or isinstance(parent.parentWidget(), QAbstractScrollArea):
        return 0
    if isinstance(widget, QMenu) or isinstance(parent, QAbstractScrollArea | QTabBar):
        return 0
    lost: QRect = widget.geometry()
    inside = lost.intersected(parent.rect())
    return max(lost.width() - inside.width(), lost.height() - inside.height())


def _name(widget: QWidget) -> str:
    words = getattr(widget, "currentText", getattr(widget, "text", str))()
    words = (
        words or getattr(widget, "placeholderText", str)() or widget.accessibleName() or widget.objectName()
    )
    return f"{type(widget).__name__} {words[:60]!r}"
