"""Dragging tabs out of their bar: to another window or a new one, or as a file to other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QCursor, QDropEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication

from lamella.core.remote.addresses import is_address
from lamella.ui.widgets.hosts import application, widget_of
from lamella.ui.window.drag_source import file_data, run_drag

if TYPE_CHECKING:
    from lamella.ui.window.tab_set import TabSet
    from lamella.ui.window.workspace import Workspace

TAB = "application/x-lamella-tab"
"""Says that a tab is being dragged; `TabDrag.source` says which one."""

BELOW_MOUSE = QPoint(120, 12)
"""The distance from a new window's upper left corner to the mouse, so that the mouse is over its first
tab."""
DRAG_EVENTS = (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop)


class DragWindow(Protocol):
    tabs: TabSet
    workspace: Workspace
    other_windows: Callable[[], Sequence[Any]]

    def move_tab(self, target: Any = None, place: QPoint | None = None) -> None: ...

    def move(self, place: QPoint) -> None: ...


class TabDrag(QObject):
    """The drags of one window; it also takes tabs of other windows that are dropped anywhere on it."""

    source: ClassVar[TabDrag | None] = None
    """The one whose window's current tab is being dragged."""

    def __init__(self, window: DragWindow) -> None:
        super().__init__(widget_of(window))
        self._window = window
        window.tabs.dragged_out.connect(self.drag)
        widget_of(window).installEventFilter(self)

    def drag(self) -> None:
        """Drag the current tab until the mouse button is released."""
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
        """Move the tab to a new window or, if it is the only one, move the window itself."""
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
        if event.type() == QEvent.Type.Drop:  # after the drag, because the dragged tab closes
            QTimer.singleShot(0, source, partial(source._window.move_tab, self._window))
        return True


class EscapeWatch(QObject):
    """Records whether Esc ended a drag. On X11 the buttons do not tell: Qt reports them as released whenever
    a drag ends."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.was_pressed = False
        # Only once the drag has begun: its own filter takes all keys, and the last installed filter comes
        # first
        QTimer.singleShot(0, self, lambda: application().installEventFilter(self))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            self.was_pressed |= event.key() == Qt.Key.Key_Escape
        return False


def void_under_mouse() -> QPoint | None:
    """The point where the mouse was released outside all windows of the program; None over a window. Also
    None while the button is down, which means that Esc ended the drag, on systems that report buttons
    meanwhile."""
    if QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton:
        return None
    place = QCursor.pos()
    windows = (
        window_
        for window_ in QApplication.topLevelWidgets()
        if window_.isVisible() and not window_.isMinimized()
    )
    return None if any(window.frameGeometry().contains(place) for window in windows) else place
