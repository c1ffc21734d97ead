"""The action table as QActions of one window, and what the current tab allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy, QToolBar, QToolButton, QWidget

from lamella.core.datasets.delta import DeltaDataset
from lamella.core.datasets.preview import takes_types
from lamella.core.errors import LamellaError
from lamella.core.query.source import Remote
from lamella.core.query.steps import Where
from lamella.ui import theme
from lamella.ui.actions import (
    ACTIONS,
    BY_ID,
    ICONS_ONLY,
    LABELLED_ACTIONS,
    TOOLBAR,
    Action,
    Situation,
    sequences,
    shown_keys,
)
from lamella.ui.dialogs.command_palette import SUBMENU
from lamella.ui.widgets.controls import ICON_GAP, IconButton
from lamella.ui.widgets.hosts import application
from lamella.ui.widgets.list_menu import MenuKey
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.nested_values import is_struct
from lamella.ui.window.tab_set import TabSet, is_console


def situation(
    tabs: TabSet, busy: bool, no_home: LamellaError | None = None, origin: object | None = None
) -> Situation:
    """`origin` is the row that led to the current tab."""
    tab = tabs.dataset_tab
    around = Situation(
        tab=tabs.current is not None,
        console=is_console(tabs.current),
        closed_tabs=bool(tabs.closed_tabs),
        busy=busy,
        no_import=str(no_home or ""),
        undo=getattr(tabs.current, "undo_text", ""),
        redo=getattr(tabs.current, "redo_text", ""),
    )
    if tab is None:
        return around
    content, read_only = tab.content, tab.table is not None and tab.table.store.read_only
    undo, redo = ("", "") if content is None or read_only else (content.undo, content.redo)
    rows_shown = not (tab.charting.is_shown or tab.profiling.is_shown or tab.comparing.is_shown)
    return Situation(
        dataset=True,
        console=around.console,
        table=tab.table is not None,
        read_otherwise=takes_types(tab.dataset),
        versions=isinstance(tab.dataset, DeltaDataset),
        remote=isinstance(tab.dataset, Remote),
        cell=tab.grid.selection.current is not None and rows_shown,
        selection=_has_selection(tab),
        compared=tab.comparing.is_shown,
        several_rows=sum(block.num_rows for block in tab.grid.selection.blocks) > 1,
        filtered=any(isinstance(step, Where) for step in tab.line.active),
        editable=tab.editable is not None and not read_only,
        steps=bool(tab.line.steps),
        back=tab.visits.can_go_back or origin is not None,
        forward=tab.visits.can_go_forward,
        sorted=bool(tab.sort),
        related=bool(tab.relations.of_column(current_column(tab))),
        groups=tab.groups.step is not None,
        levels=tab.groups.has_levels,
        tree=tab.grid.grid_model.tree is not None,
        totals=tab.groups.has_totals,
        hidden_columns=tab.grid.horizontalHeader().hiddenSectionCount() > 0,
        pinned=_is_pinned(tab),
        nested=tab.grid.is_nested,
        struct=_is_struct(tab),
        pinned_columns=tab.grid.pinning.count > 0,
        undo="the last unsaved edit" if tab.review.undoable else undo,
        staged=tab.review.is_unsaved,
        redo="the last edit that was undone" if tab.review.can_redo else redo,
        closed_tabs=around.closed_tabs,
        tab=True,
        busy=busy,
        no_import=around.no_import,
    )


def _has_selection(tab: DatasetTab) -> bool:
    if tab.comparing.is_shown and tab.comparing.view is not None:
        return bool(tab.comparing.view.grid.selection.blocks)
    return bool(tab.grid.selection.blocks) and not (tab.charting.is_shown or tab.profiling.is_shown)


def current_column(tab: DatasetTab) -> str | None:
    """The name of the current cell's column, which may be an empty string; None without a current cell, or in
    a column of rows inside groups."""
    name = tab.grid.current_name
    return name if tab.view is None or name in tab.view.schema.names else None


def _is_struct(tab: DatasetTab) -> bool:
    current = tab.grid.selection.current
    column = -1 if current is None else tab.grid.column_at(current[1])
    return column >= 0 and is_struct(tab.grid.field(column).type)


def _is_pinned(tab: DatasetTab) -> bool:
    current = tab.grid.selection.current
    return current is not None and current[1] < tab.grid.pinning.count


class ActionSet(QObject):
    """The table's actions as QActions of one window, kept enabled or disabled by the situation."""

    def __init__(self, window: QWidget, handlers: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(window)
        self._actions: dict[str, QAction] = {}
        self._situation: Situation | None = None
        self._enabled_states: dict[str, bool] = {}
        for entry in ACTIONS:
            self._actions[entry.id] = self._build(window, entry, handlers[entry.id])
        modes = QActionGroup(self)  # choosing the checked one again keeps it checked
        for mode in theme.Mode:
            modes.addAction(self._actions[f"theme_{mode}"])
        theme.current().changed.connect(self._retint)
        self._retint()
        self.update(Situation())
        window.addActions(self.actions())  # when complete: the window gets an event for each later change
        MenuKey.install()

    def __getitem__(self, action_id: str) -> QAction:
        return self._actions[action_id]

    def actions(self) -> list[QAction]:
        return list(self._actions.values())

    def attach(self, grid: QWidget) -> None:
        """Let the keys of a grid's actions work while it has the keyboard."""
        grid.addActions([self._actions[entry.id] for entry in ACTIONS if entry.in_grid])

    def update(self, situation: Situation) -> None:
        if situation == self._situation:
            return
        self._situation = situation
        for entry in ACTIONS:
            allowed = bool(entry.when(situation))
            if self._enabled_states.get(entry.id) is not allowed:
                self._enabled_states[entry.id] = allowed
                self._actions[entry.id].setEnabled(allowed)
        importing = BY_ID["import"]
        self["import"].setToolTip(situation.no_import or _tip(importing.tip, importing))
        self["pin_column"].setText("Unpin column" if situation.pinned else BY_ID["pin_column"].text)
        self["save_view"].setText("Save the edits" if situation.staged else BY_ID["save_view"].text)
        self._describe("undo", "Undo", situation.undo)
        self._describe("redo", "Redo", situation.redo)

    def fill(self, menu: QMenu, entries: Iterable[Action]) -> QMenu:
        """Add actions to a menu, with a separator between groups. A submenu stands where its first action
        would."""
        group, submenus = None, dict[str, QMenu]()
        for entry in entries:
            if group not in (None, (entry.menu, entry.group)):
                menu.addSeparator()
            group = (entry.menu, entry.group)
            inside = menu
            if entry.submenu:
                if entry.submenu not in submenus:
                    submenus[entry.submenu] = menu.addMenu(entry.submenu)
                inside = submenus[entry.submenu]
            inside.addAction(self._actions[entry.id])
        return menu

    def context_menu(self, name: str, parent: QWidget, *more: str) -> QMenu:
        """The context menu `name`, with the entries of the menus `more` merged in."""
        names = {name, *more}
        menu = QMenu(parent)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return self.fill(menu, (entry for entry in ACTIONS if not names.isdisjoint(entry.context)))

    def _build(self, window: QWidget, entry: Action, handler: Callable[[], object]) -> QAction:
        action = QAction(entry.text, window)
        action.setObjectName(entry.id)
        if entry.submenu:
            action.setProperty(SUBMENU, entry.submenu)
        if entry.in_grid:
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)  # otherwise that of the window
        if entry.keys:
            action.setShortcuts(sequences(entry))
        if entry.checkable:
            action.setCheckable(True)
        action.setIconText(ICON_GAP + (entry.toolbar or entry.text))
        action.setToolTip(_tip(entry.tip or entry.text.rstrip("…"), entry))
        action.triggered.connect(lambda _checked=False: handler())
        return action

    def _describe(self, action_id: str, verb: str, what: str) -> None:
        action, entry = self._actions[action_id], BY_ID[action_id]
        action.setText(f"{verb}: {what}" if what else verb)
        action.setIconText(ICON_GAP + verb)
        action.setToolTip(_tip(f"{verb}: {what}" if what else f"Nothing to {verb.lower()}", entry))

    def _retint(self) -> None:
        for entry in ACTIONS:
            if entry.icon:
                self._actions[entry.id].setIcon(theme.current().icon(entry.icon))


class ActionBar(QToolBar):
    """The toolbar: a button with the menus, the actions, and a field that opens the command palette. Where it
    is too narrow for all names, some actions show only their icons."""

    def __init__(self, commands: ActionSet, parent: QWidget | None = None) -> None:
        super().__init__("Actions", parent)
        self._width = 0
        self.setIconSize(theme.current().icon_size())  # before the button is measured
        self.menu_button = IconButton("menu", "Menu (Alt shows it as a bar)")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu_place = self.addWidget(self.menu_button)
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.buttons: dict[str, QToolButton] = {}
        for place, group in enumerate(TOOLBAR):
            if place:
                self.addSeparator()
            for action_id in group:
                self.addAction(commands[action_id])
                button = self.widgetForAction(commands[action_id])
                assert isinstance(button, QToolButton)
                button.setAccessibleName(BY_ID[action_id].toolbar)
                self.buttons[action_id] = button
        self._add_search(commands["palette"])
        theme.current().changed.connect(self._fit)

    def show_menus(self, menus: Sequence[QMenu]) -> None:
        """Put the menus behind the button at the left; no button where the system has a menu bar of its
        own."""
        own = QMenu(self.menu_button)
        for menu in menus:
            own.addMenu(menu)
        self.menu_button.setMenu(own)
        self._menu_place.setVisible(bool(menus))

    def _add_search(self, action: QAction) -> None:
        between = QWidget()
        between.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(between)
        self.search = QPushButton()
        theme.variant(self.search, "search")
        self.search.setToolTip(action.toolTip())
        self.search.setAccessibleName("Search commands, columns and tables")
        self.search.clicked.connect(action.trigger)
        self._search_keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self.addWidget(self.search)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != self._width:
            self._width = event.size().width()
            self._fit()

    def _fit(self) -> None:
        look = theme.current()
        self.setIconSize(look.icon_size())
        self.search.setIcon(look.icon("search"))
        self.search.setText(f"Search   {self._search_keys}")
        fixed = SLACK + self.menu_button.sizeHint().width() + self.search.sizeHint().width()
        self._pad_buttons("")
        icons = self._widths(Qt.ToolButtonStyle.ToolButtonIconOnly)
        names = self._widths(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        room, named_ids = self.width() - fixed - sum(icons.values()), set[str]()
        for action_id in LABELLED_ACTIONS:
            room -= names[action_id] - icons[action_id]
            if room < 0:
                break
            named_ids.add(action_id)
        for action_id, button in self.buttons.items():
            with_name = action_id in named_ids and action_id not in ICONS_ONLY
            style = Qt.ToolButtonStyle
            button.setToolButtonStyle(
                style.ToolButtonTextBesideIcon if with_name else style.ToolButtonIconOnly
            )
        if sum(icons.values()) + fixed > self.width():
            self.search.setText("")
            self._pad_buttons("tight")

    def _widths(self, style: Qt.ToolButtonStyle) -> dict[str, int]:
        for button in self.buttons.values():
            button.setToolButtonStyle(style)
        return {action_id: button.sizeHint().width() for action_id, button in self.buttons.items()}

    def _pad_buttons(self, look: str) -> None:
        for button in self.buttons.values():
            if (button.property("variant") or "") != look:
                theme.variant(button, look)


class AltKey(QObject):
    """Notices in a window when Alt is pressed and released, with no other key, click or window between."""

    alone = Signal()
    _OTHER_USES = (
        QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride, QEvent.Type.MouseButtonPress, QEvent.Type.Wheel,
        QEvent.Type.WindowDeactivate,
    )  # fmt: skip

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window, self._is_pressed = window, False
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Alt:
            self._follow_alt(event)
        elif self._is_pressed and event.type() in self._OTHER_USES and not _is_alt(event):
            self._stop()
        return False

    def _follow_alt(self, event: QKeyEvent) -> None:
        if event.type() is QEvent.Type.KeyPress and not event.isAutoRepeat():
            self._stop()
            if not event.modifiers() & ~Qt.KeyboardModifier.AltModifier:
                self._is_pressed = True
                application().installEventFilter(self)  # shortcuts do not reach the window
        elif event.type() is QEvent.Type.KeyRelease and self._is_pressed and not event.isAutoRepeat():
            self._stop()
            self.alone.emit()

    def _stop(self) -> None:
        if self._is_pressed:
            self._is_pressed = False
            application().removeEventFilter(self)


def _is_alt(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Alt


SLACK = 24 * len(TOOLBAR)
"""Pixels of separators and margins."""


def _tip(text: str, entry: Action) -> str:
    return f"{text} ({shown_keys(entry)})" if entry.keys else text
