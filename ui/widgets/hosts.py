"""Hosts of parts: the window, tabs and grids, of which a protocol says what a part needs; parents of widgets,
and the application.

No protocol can say that a host is a widget, too.
"""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget


def widget_of(host: object) -> QWidget:
    """Return a host as the widget that it is, which can own objects and dialogs."""
    if not isinstance(host, QWidget):
        raise TypeError(f"{type(host).__name__} is not a widget")
    return host


def parent_of(widget: QWidget) -> QWidget:
    """The widget that a part lies in or opens from."""
    return widget_of(widget.parentWidget())


def set_focus_proxy(widget: QWidget, proxy: QWidget | None) -> None:
    """Let another widget take the focus for this one, or none."""
    widget.setFocusProxy(cast("QWidget", proxy))  # Qt takes None, its types do not


def application() -> QCoreApplication:
    """The application, which exists as long as any widget."""
    current = QCoreApplication.instance()
    if current is None:
        raise RuntimeError("there is no application yet")
    return current
