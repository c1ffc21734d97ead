"""The part of a console below its editor: results, plans and changes as tabs, and errors."""

from __future__ import annotations

from itertools import count

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QLabel, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.sql.change_panel import ChangePanel
from lamella.ui.sql.plan_view import PlanView
from lamella.ui.sql.result_tab import ResultTab
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.widgets.popover import close_popups

Page = ResultTab | PlanView | ChangePanel
HINT = "Ctrl+Enter runs the statement at the cursor, or the selection. Ctrl+Shift+Enter runs all."


class ResultPages(QWidget):
    """`current_changed` is emitted when another page comes to the front."""

    current_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar, self.stack, self.messages = QTabBar(self), QStackedWidget(self), MessageBar(self)
        self.hint = QLabel(HINT, self)
        theme.variant(self.hint, "muted")
        self.hint.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        self.hint.setWordWrap(True)
        self.bar.setAccessibleName("Results")
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.bar.hide()
        self.bar.currentChanged.connect(self._show)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.messages)
        layout.addWidget(self.bar)
        layout.addWidget(self.hint)
        layout.addWidget(self.stack, 1)
        self.stack.hide()
        layout.addStretch(0)

    @property
    def pages(self) -> list[Page]:
        widgets = (self.stack.widget(place) for place in range(self.stack.count()))
        return [widget for widget in widgets if isinstance(widget, Page)]

    @property
    def current(self) -> Page | None:
        widget = self.stack.currentWidget()
        return widget if isinstance(widget, Page) else None

    @property
    def result(self) -> ResultTab | None:
        """The page in front, if it has rows."""
        current = self.current
        return current if isinstance(current, ResultTab) else None

    def add(self, page: Page, title: str, tip: str = "") -> None:
        """Add a page in front of the others."""
        self.hint.hide()
        self.stack.show()
        self.stack.addWidget(page)
        place = self.bar.addTab(without_mnemonic(visible(self._free_title(title))))
        self.bar.setTabToolTip(place, visible(tip))
        self.bar.setVisible(self.bar.count() > 1)
        self.bar.setCurrentIndex(place)
        self._show(place)

    def _free_title(self, title: str) -> str:
        """The title, with a number if statements that begin in the same line have it already."""
        used_titles = {self.bar.tabText(place) for place in range(self.bar.count())}
        titles = (title if number == 1 else f"{title} ({number})" for number in count(1))
        return next(free for free in titles if without_mnemonic(visible(free)) not in used_titles)

    def remove(self, page: Page) -> None:
        """Remove a page. If it has the keyboard, the focus proxy gets it: Qt would choose a neighbour."""
        place = self.stack.indexOf(page)
        if place < 0:
            return
        focus = QApplication.focusWidget()
        if focus is not None and page.isAncestorOf(focus):
            self.setFocus()
        close_popups(page)
        if isinstance(page, ResultTab):
            page.stop()
        self.stack.removeWidget(page)
        page.deleteLater()
        self.bar.removeTab(place)
        self.bar.setVisible(self.bar.count() > 1)
        self.stack.setVisible(bool(self.stack.count()))
        self.hint.setVisible(not self.stack.count())
        self.current_changed.emit()

    def clear(self) -> None:
        self.messages.clear()
        for page in self.pages:
            self.remove(page)

    def _show(self, place: int) -> None:
        if 0 <= place < self.stack.count():
            self.stack.setCurrentIndex(place)
        self.current_changed.emit()
