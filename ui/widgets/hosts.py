"""Hosts of parts: the window, tabs and grids, of which a protocol says what a part needs.

No protocol can say that a host is a widget, too.
"""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def widget_of(host: object) -> QWidget:
    """Return a host as the widget that it is, which can own objects and dialogs."""
    if not isinstance(host, QWidget):
        raise TypeError(f"{type(host).__name__} is not a widget")
    return host
