"""The tabs in the middle: datasets and the benchmark, or what to do next when there are none."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QTabWidget, QWidget

from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.window.dataset_tab import DatasetTab

Key = tuple[str, ...]


class TabSet(QStackedWidget):
    """`current_changed` also when the last tab closes. `may_close` is asked before a tab does."""

    current_changed = Signal()

    def __init__(self, empty: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.closed: list[Key] = []
        self.may_close: Callable[[QWidget], bool] = lambda widget: True
        self.tabs = QTabWidget(self)
        self.tabs.setTabsClosable(True)
        self.tabs.setMovable(True)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setExpanding(False)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.tabBar().setAccessibleName("Open tabs")
        self.tabs.tabCloseRequested.connect(self.close_at)
        self.tabs.currentChanged.connect(lambda _: self.current_changed.emit())
        self.addWidget(empty)
        self.addWidget(self.tabs)
        theme.current().changed.connect(self._restyle)

    @property
    def current(self) -> QWidget | None:
        return self.tabs.currentWidget()

    @property
    def title(self) -> str:
        """Of the current tab; empty when there is none."""
        return self.current.property("title") if self.current else ""

    @property
    def dataset_tab(self) -> DatasetTab | None:
        """The current tab when it shows a dataset."""
        current = self.current
        return current if isinstance(current, DatasetTab) else None

    @property
    def dataset_tabs(self) -> list[DatasetTab]:
        return [tab for tab in self.widgets if isinstance(tab, DatasetTab)]

    @property
    def widgets(self) -> list[QWidget]:
        return [self.tabs.widget(place) for place in range(self.tabs.count())]

    def find(self, key: Key) -> DatasetTab | None:
        return next((tab for tab in self.dataset_tabs if tab.key == key), None)

    def add(self, widget: QWidget, title: str, icon: str, tip: str) -> None:
        widget.setProperty("icon", icon)
        widget.setProperty("title", visible(title))
        place = self.tabs.addTab(widget, theme.current().icon(icon), without_mnemonic(visible(title)))
        self.tabs.setTabToolTip(place, visible(tip))
        self.setCurrentIndex(1)
        self.show_tab(widget)

    def show_tab(self, widget: QWidget) -> None:
        self.tabs.setCurrentWidget(widget)
        widget.setFocus()

    def close_at(self, place: int) -> None:
        widget = self.tabs.widget(place)
        if widget is None or not self.may_close(widget):
            return
        if isinstance(widget, DatasetTab):
            self.closed.append(widget.key)
            widget.stop()
        self.tabs.removeTab(place)
        widget.deleteLater()
        if self.tabs.count() == 0:
            self.setCurrentIndex(0)
        self.current_changed.emit()

    def _restyle(self) -> None:
        for place, widget in enumerate(self.widgets):
            self.tabs.setTabIcon(place, theme.current().icon(widget.property("icon")))
