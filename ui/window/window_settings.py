"""The settings in a window: their tab, how they are applied, and the actions for theme and text size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from lamella.core.settings import Value
from lamella.ui import theme
from lamella.ui.theme import TEXT_SCALES, Mode
from lamella.ui.window.action_state import ActionSet
from lamella.ui.window.memory import Memory

if TYPE_CHECKING:
    from lamella.ui.settings.page import SettingsPage
    from lamella.ui.window.window import Window

TITLE, ICON, TIP = "Settings", "settings", "Behaviour and appearance of Lamella"


def show_settings(window: Window) -> SettingsPage | None:
    """Show the settings tab; None if it is a pending tab, which is opened now."""
    for widget in window.tabs.widgets:
        if getattr(widget, "workspace_kind", "") == "settings":
            window.tabs.show_tab(widget)
            from lamella.ui.settings.page import SettingsPage

            return widget if isinstance(widget, SettingsPage) else None
    page = make_settings(window)
    window.tabs.add(page, TITLE, ICON, TIP)
    return page


def make_settings(window: Window) -> SettingsPage:
    from lamella.ui.settings.page import SettingsPage

    return SettingsPage(window.memory.settings, partial(change_setting, window), window.tasks)


def change_setting(window: Window, name: str, value: Value) -> None:
    """Save a setting and apply it, if that is possible while the program runs. Raises `BadSetting`."""
    window.memory.change(name, value)
    if name == "theme":
        theme.current().set_mode(str(value))
    elif name == "text_scale":
        theme.current().set_text_scale(float(value))
    elif name == "restore_workspace":
        window.save_workspace(bool(value))


class Appearance(QObject):
    def __init__(self, memory: Memory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._memory = memory

    def mark(self, actions: ActionSet) -> None:
        """Check the action of the current theme."""
        for mode in Mode:
            actions[f"theme_{mode}"].setChecked(theme.current().mode is mode)

    def set_mode(self, mode: str) -> None:
        self._memory.theme = mode
        theme.current().set_mode(mode)

    def toggle(self) -> None:
        self.set_mode(Mode.LIGHT if theme.current().dark else Mode.DARK)

    def step_text(self, step: int) -> None:
        """Change the text size by one step up or down; 0 returns to the system's."""
        now = theme.current().text_scale
        nearest = min(range(len(TEXT_SCALES)), key=lambda i: abs(TEXT_SCALES[i] - now))
        scale = 1.0 if step == 0 else TEXT_SCALES[min(max(nearest + step, 0), len(TEXT_SCALES) - 1)]
        self._memory.text_scale = scale
        theme.current().set_text_scale(scale)
