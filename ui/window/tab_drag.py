"""Tabs dragged out of their bar: to another window or a new one, or as a file to other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QCursor, QDropEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication

from lamella.core.remote.addresses import is_address
from lamella.ui.window.drag_source import file_data, run_drag

if TYPE_CHECKING:
    from lamella.ui.window.tab_set import TabSet
    from lamella.ui.window.workspace import Workspace

TAB = "application/x-lamella-tab"
"""Says that a tab is dragged; which one, `TabDrag` knows."""

BELOW_MOUSE = QPoint(120, 12)
"""From the upper left corner of a new window to the mouse that let go: its first tab is there."""
DRAG_EVENTS = (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop)


class DragWindow(Protocol):
    tabs: TabSet
    workspace: Workspace
    others: Callable[[], Sequence[Any]]

    def move_tab(self, target: Any = None, place: QPoint | None = None) -> None: ...

    def move(self, place: QPoint) -> None: ...


class TabDrag(QObject):
    """Of one window: takes the tabs of others that are dropped anywhere on it."""

    source: ClassVar[TabDrag | None] = None
    """Of the window whose current tab is being dragged."""

    def __init__(self, window: DragWindow) -> None:
        super().__init__(window)  # type: ignore[call-overload]
        self._window = window
        window.tabs.dragged_out.connect(self.drag)
        window.installEventFilter(self)  # type: ignore[attr-defined]

    def drag(self) -> None:
        """The current tab, until the mouse lets go."""
        window = self._window
        tab = window.tabs.dataset_tab
        is_file = tab is not None and len(tab.key) == 1 and not is_address(tab.key[0])
        data = file_data([Path(tab.key[0])]) if tab is not None and is_file else QMimeData()
        current = window.tabs.current
        moves = current is not None and window.workspace.item_of(current) is not None
        if moves:
            data.setData(TAB, b"")
        if not data.formats():
            return
        TabDrag.source, escape = self, EscapeWatch(self)
        try:
            action = run_drag(window.tabs, data)
        finally:
            TabDrag.source = None
            escape.deleteLater()
        place = None if escape.was_pressed else void_under_mouse()
        if moves and action is Qt.DropAction.IgnoreAction and place is not None:
            QTimer.singleShot(0, self, partial(self._drop_in_void, place - BELOW_MOUSE))

    def _drop_in_void(self, place: QPoint) -> None:
        """A new window for the tab, or, where the window has no other one, the window itself."""
        window = self._window
        if len(window.tabs.widgets) > 1:
            window.move_tab(None, place)
        else:
            window.move(place)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() not in DRAG_EVENTS or not isinstance(event, QDropEvent):
            return False
        source = TabDrag.source
        if source is None or not event.mimeData().hasFormat(TAB):
            return False
        if source is self:
            event.ignore()
            return True
        event.acceptProposedAction()
        if event.type() == QEvent.Type.Drop:  # once the drag is over, for the tab that is dragged closes
            QTimer.singleShot(0, source, partial(source._window.move_tab, self._window))
        return True


class EscapeWatch(QObject):
    """Whether Esc ended a drag. On X11 the buttons do not tell: Qt takes them for released when a drag ends,
    whichever way."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.was_pressed = False
        # Once the drag has begun: its own filter takes all keys, and the last one installed comes first
        QTimer.singleShot(0, self, lambda: QApplication.instance().installEventFilter(self))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            self.was_pressed |= event.key() == Qt.Key.Key_Escape
        return False


def void_under_mouse() -> QPoint | None:
    """Where the mouse let go outside every window of the program. None over one, and while the button is
    still down: then Esc ended the drag, where the system tells of buttons meanwhile."""
    if QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton:
        return None
    place = QCursor.pos()
    windows = (one for one in QApplication.topLevelWidgets() if one.isVisible() and not one.isMinimized())
    return None if any(one.frameGeometry().contains(place) for one in windows) else place
