"""Buttons inside line edits, which grow with the text: those that Qt itself puts there keep their size."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMargins, QObject, QRect, Qt
from PySide6.QtWidgets import QLineEdit

from lamella.ui import theme
from lamella.ui.widgets.controls import IconButton

AROUND = 6
"""Pixels by which a button is wider than its icon."""


class FieldButton(IconButton):
    """A button inside a line edit, at its end or, if it is `leading`, at its beginning. A button is farther
    inside than those that were added before it. `says` is its tooltip and accessible name."""

    def __init__(self, field: QLineEdit, icon: str, says: str, *, leading: bool = False) -> None:
        super().__init__(icon, says, field)
        self.leading = leading
        theme.variant(self, "inside")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        (field.findChild(_Arrangement) or _Arrangement(field)).add(self)
        self.show()


class _Arrangement(QObject):
    """Places the buttons of a field, and keeps its text clear of them. Text margins that the field has before
    its first button are added to theirs."""

    def __init__(self, field: QLineEdit) -> None:
        super().__init__(field)
        self._field, self._margins = field, field.textMargins()
        self._buttons: list[FieldButton] = []
        field.installEventFilter(self)
        theme.current().changed.connect(self._arrange)

    def add(self, button: FieldButton) -> None:
        self._buttons.append(button)
        button.installEventFilter(self)
        self._arrange()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        shows = (QEvent.Type.ShowToParent, QEvent.Type.HideToParent)
        if event.type() in ((QEvent.Type.Resize,) if watched is self._field else shows):
            self._arrange()
        return False

    def _arrange(self) -> None:
        look = theme.current()
        side = look.icon_size().width()
        width, height, gap = side + AROUND, min(side + AROUND, self._field.height()), theme.SPACE
        top = (self._field.height() - height) // 2
        left, right = gap, self._field.width() - gap
        for button in self._buttons:
            if button.isHidden():
                continue
            if button.leading:
                button.setGeometry(QRect(left, top, width, height))
                left += width + gap
            else:
                button.setGeometry(QRect(right - width, top, width, height))
                right -= width + gap
        buttons = QMargins(left - gap, 0, self._field.width() - gap - right, 0)
        self._field.setTextMargins(self._margins + buttons)


def add_clear_button(field: QLineEdit) -> FieldButton:
    """A cross that empties the field like an edit of the user; hidden while the field is empty."""
    button = FieldButton(field, "close", "Clear")
    button.setVisible(bool(field.text()))
    field.textChanged.connect(lambda text: button.setVisible(bool(text)))
    button.clicked.connect(lambda: _clear(field))
    return button


def add_search_icon(field: QLineEdit) -> None:
    """A magnifying glass at the beginning of a field, which only says what the field is for."""
    FieldButton(field, "search", "Search", leading=True).setAttribute(
        Qt.WidgetAttribute.WA_TransparentForMouseEvents
    )


def _clear(field: QLineEdit) -> None:
    field.clear()
    field.textEdited.emit("")
