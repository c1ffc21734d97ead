"""A button that shows a choice, and opens a small form below it to change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QScrollArea,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.widgets.field_buttons import add_clear_button

LEAST_WIDTH = 260
LEAST_LETTERS, SHORT_LETTERS = 5, 11
"""How many letters of a choice are always shown, however narrow the window is; and up to how many a choice is
never cut."""
OPENS = " ▾"
SCREEN_MARGIN = 8
LIST_HEIGHT = 220
LONG_LIST = 12
"""A list with more rows can be searched."""
Index = QModelIndex | QPersistentModelIndex


def close_popups(owner: QWidget) -> None:
    """Close the menus, forms and lists that are open over a widget, before the widget itself is removed."""
    for popup in owner.findChildren(QWidget):
        if popup.isWindow() and popup.isVisible():
            popup.close()


def first_field(form: QWidget) -> QWidget:
    """The first widget of a form in the tab order; the form itself if there is none."""
    widget = form.nextInFocusChain()
    while widget is not None and widget is not form and form.isAncestorOf(widget):
        takes_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
        if takes_tab and widget.isEnabled() and widget.isVisibleTo(form):
            return widget
        widget = widget.nextInFocusChain()
    return form


class Popover(QFrame):
    """Holds one form, which scrolls if the screen is not high enough. Escape or a click outside closes it."""

    def __init__(self, form: QWidget, owner: QWidget) -> None:
        super().__init__(owner, Qt.WindowType.Popup)
        theme.variant(self, "popup")
        self.form = form
        form.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        self._area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(form)
        form.setAutoFillBackground(False)  # setWidget() turns it on
        self._area.viewport().setAutoFillBackground(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self._area)
        form.installEventFilter(self)

    def open_below(self, owner: QWidget) -> None:
        """Open below `owner`, on its screen."""
        self.open_at(owner.mapToGlobal(QPoint(0, owner.height() + theme.XS)), owner)

    def open_at(self, place: QPoint, owner: QWidget) -> None:
        """Open with the upper left corner at `place`, within the window of `owner` and its screen."""
        screen = (owner.screen() or QGuiApplication.primaryScreen()).availableGeometry()
        window = owner.window().geometry()
        self.fit()
        right = min(screen.right(), max(window.right(), window.left() + self.width() + SCREEN_MARGIN))
        left = min(place.x(), right - self.width() - SCREEN_MARGIN)
        lowest = screen.bottom() - self.height() - SCREEN_MARGIN
        self.move(max(screen.left(), left), max(screen.top(), min(place.y(), lowest)))
        self.show()
        first_field(self.form).setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            self.fit()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def fit(self) -> None:
        """Resize to what the form needs, within the screen."""
        screen = (self.screen() or QGuiApplication.primaryScreen()).availableGeometry()
        bar = self._area.verticalScrollBar().sizeHint().width()
        width = max(theme.current().px(LEAST_WIDTH), self.form.minimumSizeHint().width() + bar + 2)
        needs = self.form.heightForWidth(width - bar) if self.form.hasHeightForWidth() else -1
        height = max(needs, self.form.sizeHint().height()) + theme.S
        self.resize(QSize(width, min(height, round(0.7 * screen.height()))))


class ChoiceButton(QToolButton):
    """A button that shows the choice of `form`; `name` describes it for screen readers and the tooltip."""

    def __init__(self, name: str, form: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name, self._choice, self._more_text = name, "", ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.popover = Popover(form, self)
        self.say(name)
        self.clicked.connect(lambda: self.popover.open_below(self))

    def say(self, choice: str, more: str = "") -> None:
        """Show a choice. `more` is its full text, if `choice` is short for it."""
        self._choice, self._more_text = choice, more
        self._elide()
        self.updateGeometry()
        self.setAccessibleName(f"{self.name}: {choice}")

    def sizeHint(self) -> QSize:
        words = self.fontMetrics().horizontalAdvance(self._choice + OPENS)
        kerning = theme.XS  # at most
        return QSize(self._around() + words + kerning, super().sizeHint().height())

    def _around(self) -> int:
        """Pixels beside the text. Qt adds two spaces to them, which it leaves empty."""
        return super().sizeHint().width() - self.fontMetrics().horizontalAdvance(f"{self.text()}  ")

    def minimumSizeHint(self) -> QSize:
        hidden = "" if len(self._choice) <= SHORT_LETTERS else self._choice[LEAST_LETTERS:]
        least = self.sizeHint().width() - self.fontMetrics().horizontalAdvance(hidden)
        return QSize(
            least + (self.fontMetrics().horizontalAdvance("…") if hidden else 0), self.sizeHint().height()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        metrics = self.fontMetrics()
        room = self.width() - self._around() - metrics.horizontalAdvance(OPENS)
        elided = metrics.elidedText(self._choice, Qt.TextElideMode.ElideRight, max(0, room))
        self.setText(elided + OPENS)
        whole = self.name if elided == self._choice else f"{self.name}: {self._choice}"
        self.setToolTip(self._more_text or whole)


class CheckList(QAbstractListModel):
    """Names with check boxes."""

    changed = Signal()

    def __init__(self, names: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = list(names)
        self._checked_rows: set[int] = set()

    @property
    def checked_names(self) -> list[str]:
        """The checked names, in the order of the list."""
        return [self._names[row] for row in sorted(self._checked_rows)]

    def check(self, names: Sequence[str]) -> None:
        """Check these names and no others."""
        checked_names = set(names)
        rows = {row for row, name in enumerate(self._names) if name in checked_names}
        if rows != self._checked_rows:
            self._checked_rows = rows
            self.dataChanged.emit(self.index(0), self.index(len(self._names) - 1))
            self.changed.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt has it
        return 0 if parent.isValid() else len(self._names)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsUserCheckable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return visible(self._names[index.row()])
        if role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if index.row() in self._checked_rows else Qt.CheckState.Unchecked
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole:
            return False
        if Qt.CheckState(value) is Qt.CheckState.Checked:
            self._checked_rows.add(index.row())
        else:
            self._checked_rows.discard(index.row())
        self.dataChanged.emit(index, index)
        self.changed.emit()
        return True


class CheckDelegate(QStyledItemDelegate):
    """Checks an item on a click anywhere in its row: Qt does so only on the box."""

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        state = index.data(Qt.ItemDataRole.CheckStateRole)
        by_mouse = isinstance(event, QMouseEvent) and event.button() is Qt.MouseButton.LeftButton
        if state is None or not by_mouse:
            return super().editorEvent(event, model, option, index)
        if event.type() is not QEvent.Type.MouseButtonRelease:
            return False
        is_checked = Qt.CheckState(state) is Qt.CheckState.Checked
        new = Qt.CheckState.Unchecked if is_checked else Qt.CheckState.Checked
        return model.setData(index, new, Qt.ItemDataRole.CheckStateRole)


class ListSearch(QLineEdit):
    """Leaves in a list the rows that contain its text. It appears above long lists only."""

    def __init__(self, view: QListView, parent: QWidget) -> None:
        super().__init__(parent)
        self.setPlaceholderText("Find a column")
        self.setAccessibleName("Find a column")
        self._view = view
        add_clear_button(self)
        self.textChanged.connect(self._search)
        self.take_list()

    def take_list(self) -> None:
        """Start again, with another list in the view."""
        model = self._view.model()
        self.setVisible(model is not None and model.rowCount() > LONG_LIST)
        self.clear()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self._view.setFocus()
        else:
            super().keyPressEvent(event)

    def _search(self, text: str) -> None:
        model, words = self._view.model(), text.casefold()
        matches = [words in str(model.index(row, 0).data()).casefold() for row in range(model.rowCount())]
        for row, is_match in enumerate(matches):
            self._view.setRowHidden(row, not is_match)
        if True in matches:
            self._view.setCurrentIndex(model.index(matches.index(True), 0))


class ColumnsChoice(ChoiceButton):
    """A choice of columns, checked in a list and kept in its order."""

    changed = Signal()

    def __init__(self, label: str, names: Sequence[str], parent: QWidget | None = None) -> None:
        form = QWidget()
        self.list = QListView(accessibleName=label)
        self.list.setUniformItemSizes(True)  # otherwise Qt measures all rows, also those out of view
        self.list.setMinimumHeight(LIST_HEIGHT)
        self._columns = CheckList(names, self.list)
        self.list.setModel(self._columns)
        self.list.setItemDelegate(CheckDelegate(self.list))
        layout = QVBoxLayout(form)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        self.search = ListSearch(self.list, form)
        layout.addWidget(self.search)
        layout.addWidget(self.list)
        super().__init__(label, form, parent)
        theme.variant(self, "chip")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._say()
        self._columns.changed.connect(self._say)

    @property
    def names(self) -> list[str]:
        return self._columns.checked_names

    def choose(self, names: Sequence[str]) -> None:
        self._columns.check(names)

    def _say(self) -> None:
        names = ", ".join(map(visible, self.names))
        self.say(names or "none", names)
        self.changed.emit()
