"""The tabs of a window: datasets, the benchmark and others, or a page of next steps when there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from PySide6.QtCore import QEvent, QPoint, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QMenu, QStackedWidget, QTabBar, QTabWidget, QWidget

from lamella.core.errors import visible, visible_name
from lamella.ui import theme
from lamella.ui.widgets.controls import IconButton, without_mnemonic
from lamella.ui.widgets.popover import close_popups
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.pending_tab import PendingTab

Key = tuple[str, ...]
UNSAVED_MARK = " •"
MOST_WIDTH = 320
"""The most width of a tab, in pixels at the default text size."""
ANY_HEIGHT = 16_777_215  # Qt's QWIDGETSIZE_MAX
AWAY = 2
"""How far from the bar a tab must be dragged to leave it, in multiples of Qt's drag distance."""


def is_console(tab: QWidget | None) -> bool:
    """Whether a tab is an SQL console; does not load the console code."""
    return getattr(tab, "workspace_kind", "") == "sql" and hasattr(tab, "keep_draft")


@runtime_checkable
class Reopenable(Protocol):
    """A tab without a dataset that can be reopened as it was, by its key."""

    @property
    def closed_key(self) -> Key: ...

    def stop(self) -> None: ...


class TabBar(QTabBar):
    """The bar of tabs; a middle click closes one. `layout_changed` is emitted when tabs are added, removed or
    resized; `dragged_out` when the current tab is dragged up or down, out of the bar."""

    layout_changed = Signal()
    dragged_out = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._is_pressed = False
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        theme.current().changed.connect(self._fit_crosses)

    def tabSizeHint(self, index: int) -> QSize:
        return super().tabSizeHint(index).boundedTo(QSize(theme.current().px(MOST_WIDTH), ANY_HEIGHT))

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)  # those without room are reached by the arrows

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._is_pressed = event.button() is Qt.MouseButton.LeftButton and self._tab_under(event) >= 0
        if event.button() is not Qt.MouseButton.MiddleButton:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        y, far = event.position().toPoint().y(), AWAY * QApplication.startDragDistance()
        is_away = not -far <= y <= self.height() + far
        if not (self._is_pressed and is_away and event.buttons() & Qt.MouseButton.LeftButton):
            super().mouseMoveEvent(event)
            return
        self._is_pressed = False
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        place, keys = event.position(), event.modifiers()
        over = QMouseEvent(QEvent.Type.MouseButtonRelease, place, event.globalPosition(), left, none, keys)
        super().mouseReleaseEvent(over)  # ends the moving of a tab within the bar
        self.dragged_out.emit()

    def _tab_under(self, event: QMouseEvent) -> int:
        return self.tabAt(event.position().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._is_pressed = False
        if event.button() is not Qt.MouseButton.MiddleButton:
            super().mouseReleaseEvent(event)
            return
        place = self._tab_under(event)
        if place >= 0:
            self.tabCloseRequested.emit(place)

    def tabInserted(self, index: int) -> None:
        super().tabInserted(index)
        for cross in self._crosses(index):
            cross.setAccessibleName("Close tab")
        self._fit_crosses()

    def _crosses(self, index: int) -> list[QWidget]:
        sides = (QTabBar.ButtonPosition.LeftSide, QTabBar.ButtonPosition.RightSide)
        return [cross for side in sides if (cross := self.tabButton(index, side)) is not None]

    def _fit_crosses(self) -> None:
        """Give the crosses the size of other icons: Qt and the style sheet leave them small."""
        side = theme.current().icon_size() + QSize(theme.SPACE, theme.SPACE)
        for index in range(self.count()):
            for cross in self._crosses(index):
                cross.resize(side)
        self.setIconSize(theme.current().icon_size())  # lays out the tabs again

    def tabLayoutChange(self) -> None:
        super().tabLayoutChange()
        self.layout_changed.emit()


class TabSet(QStackedWidget):
    """The stack of tabs. `current_changed` is also emitted when the last tab closes; `may_close` is called
    before a tab closes; `dragged_out` is emitted when the current tab is dragged out of the bar."""

    current_changed = Signal()
    dragged_out = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.closed_tabs: list[Key | Mapping[str, Any]] = []
        """The keys of closed tabs, or their workspace items."""
        self.item_of: Callable[[QWidget], Mapping[str, Any] | None] = lambda widget: None
        self.may_close: Callable[[QWidget], bool] = lambda widget: True
        self.tabs = QTabWidget(self)
        bar = TabBar(self.tabs)
        self.tabs.setTabBar(bar)
        pages = self.tabs.findChild(QStackedWidget)
        assert pages is not None
        self.pages = pages
        """The parent of the tabs' widgets. A widget that gets this parent only when it is added is styled
        again with all its children, which takes a tenth of the time of opening a tab."""
        self.tabs.setTabsClosable(True)
        self.tabs.setMovable(True)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setExpanding(False)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.tabBar().setAccessibleName("Open tabs")
        self.list_button = IconButton("chevron-down", "All tabs", self.tabs)
        self.list_button.clicked.connect(self._open_list)
        self.tabs.setCornerWidget(self.list_button)
        bar.layout_changed.connect(self._show_list_button)
        bar.dragged_out.connect(self.dragged_out)
        self.tabs.tabCloseRequested.connect(self.close_at)
        self.tabs.currentChanged.connect(lambda _: self.current_changed.emit())
        self.addWidget(self.tabs)
        theme.current().changed.connect(self._restyle)

    def set_empty_page(self, page: QWidget) -> None:
        """Set the page that is shown while no tab is open."""
        self.insertWidget(0, page)
        self.setCurrentIndex(0)

    @property
    def current(self) -> QWidget | None:
        return self.tabs.currentWidget()

    @property
    def title(self) -> str:
        """The title of the current tab; empty if there is none."""
        return self.current.property("title") if self.current else ""

    @property
    def dataset_tab(self) -> DatasetTab | None:
        """The current tab if it shows a dataset, or the dataset tab inside it: a console's result."""
        current = self.current
        if isinstance(current, DatasetTab):
            return current
        front: DatasetTab | None = getattr(current, "front_tab", None)
        return front

    @property
    def dataset_tabs(self) -> list[DatasetTab]:
        return [tab for tab in self.widgets if isinstance(tab, DatasetTab)]

    @property
    def widgets(self) -> list[QWidget]:
        widgets = map(self.tabs.widget, range(self.tabs.count()))
        return [widget for widget in widgets if widget is not None]

    def find_dataset(self, key: Key) -> DatasetTab | None:
        return next((tab for tab in self.dataset_tabs if tab.key == key), None)

    def find_pending(self, key: Key) -> PendingTab | None:
        """The pending tab of a dataset."""
        return next((tab for tab in self.pending_tabs if tab.key == key), None)

    def with_key(self, key: Key) -> QWidget | None:
        """The tab of a dataset, pending or open."""
        return self.find_dataset(key) or self.find_pending(key)

    @property
    def pending_tabs(self) -> list[PendingTab]:
        return [tab for tab in self.widgets if isinstance(tab, PendingTab)]

    def pending_of(self, kind: str, store: Path) -> PendingTab | None:
        """The pending tab of a kind that shows a store as a whole."""
        return next(
            (
                tab for tab in self.pending_tabs
                if tab.workspace_kind == kind and tab.saved_state.get("store") == str(store)
            ),
            None,
        )  # fmt: skip

    def add(self, widget: QWidget, title: str, icon: str, tip: str, before: QWidget | None = None) -> None:
        """Add a tab at the end and show it; or insert it before another one, without showing it."""
        self._insert(
            self.tabs.count() if before is None else self.tabs.indexOf(before), widget, title, icon, tip
        )
        self.setCurrentIndex(1)
        if before is None:
            self.show_tab(widget)

    def add_pending(self, tab: PendingTab, title: str, icon: str, tip: str) -> None:
        """Add a pending tab at the end without showing it."""
        with QSignalBlocker(self.tabs):  # the first tab would become current
            self._insert(self.tabs.count(), tab, title, icon, tip)
        tab.became.connect(partial(self._replace, tab))
        tab.close_requested.connect(lambda: self.close_at(self.tabs.indexOf(tab)))
        self.setCurrentIndex(1)

    def _replace(self, tab: PendingTab, widget: QWidget) -> None:
        place, is_current = self.tabs.indexOf(tab), tab is self.current
        has_keyboard = tab.has_keyboard
        title, icon, tip = (tab.property(name) for name in ("title", "icon", "tip"))
        with QSignalBlocker(self.tabs):
            self._insert(place, widget, title, icon, tip)
            self.tabs.removeTab(self.tabs.indexOf(tab))
            if is_current:
                self.tabs.setCurrentWidget(widget)
        if is_current and (has_keyboard or self.focusWidget() is None):
            widget.setFocus()
        tab.deleteLater()
        self.current_changed.emit()

    def _insert(self, place: int, widget: QWidget, title: str, icon: str, tip: str) -> None:
        widget.setProperty("icon", icon)
        widget.setProperty("title", visible_name(title))
        widget.setProperty("tip", visible(tip))
        self.tabs.insertTab(place, widget, theme.current().icon(icon), without_mnemonic(visible_name(title)))
        self.tabs.setTabToolTip(place, visible(tip))

    def rename(self, widget: QWidget, title: str, tip: str) -> None:
        widget.setProperty("title", visible_name(title))
        widget.setProperty("tip", visible(tip))
        place = self.tabs.indexOf(widget)
        self.tabs.setTabText(place, without_mnemonic(visible_name(title)))
        self.tabs.setTabToolTip(place, visible(tip))

    def mark(self, widget: QWidget, unsaved: str) -> None:
        """Mark a tab as unsaved, with a text for its tooltip; an empty text removes the mark."""
        place, title = self.tabs.indexOf(widget), without_mnemonic(widget.property("title"))
        text, tip = title + (UNSAVED_MARK if unsaved else ""), widget.property("tip")
        if self.tabs.tabText(place) != text:
            self.tabs.setTabText(place, text)
        self.tabs.setTabToolTip(place, f"{tip}\n{unsaved}, not saved yet" if unsaved else tip)

    def show_tab(self, widget: QWidget) -> None:
        self.tabs.setCurrentWidget(widget)
        widget.setFocus()

    def step(self, step: int) -> None:
        """Show the next or previous tab, wrapping around at the ends."""
        count = self.tabs.count()
        if count:
            self.show_tab(self.widgets[(self.tabs.currentIndex() + step) % count])

    def close_at(self, place: int) -> None:
        widget = self.tabs.widget(place)
        if widget is None or not self.may_close(widget):
            return
        close_popups(widget)
        if isinstance(widget, DatasetTab | PendingTab):
            closed = self.item_of(widget) or widget.key
            if closed is not None:
                self.closed_tabs.append(closed)
            widget.stop()
        elif isinstance(widget, Reopenable):
            self.closed_tabs.append(widget.closed_key)
            widget.stop()
        self.tabs.removeTab(place)
        widget.deleteLater()
        if self.tabs.count() == 0:
            self.setCurrentIndex(0)
        self.current_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_list_button()

    def _show_list_button(self) -> None:
        """Show the button that lists the tabs if not all of them fit."""
        bar = self.tabs.tabBar()
        needs = sum(bar.tabRect(place).width() for place in range(bar.count()))
        self.list_button.setVisible(needs > self.width())

    def _open_list(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for place, widget in enumerate(self.widgets):
            action = menu.addAction(self.tabs.tabIcon(place), self.tabs.tabText(place))
            action.setToolTip(self.tabs.tabToolTip(place))
            action.triggered.connect(partial(self.show_tab, widget))
            if widget is self.current:
                menu.setDefaultAction(action)
        menu.setToolTipsVisible(True)
        corner = self.list_button.mapToGlobal(QPoint(self.list_button.width(), self.list_button.height()))
        menu.popup(corner - QPoint(menu.sizeHint().width(), 0))

    def _restyle(self) -> None:
        for place, widget in enumerate(self.widgets):
            self.tabs.setTabIcon(place, theme.current().icon(widget.property("icon")))
