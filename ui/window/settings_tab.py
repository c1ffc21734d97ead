"""The settings in a tab of a window, applied to it at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from lamella.core.settings import Value
from lamella.ui import theme
from lamella.ui.window.pending_tab import PendingTab
from lamella.ui.window.window import Window

if TYPE_CHECKING:
    from lamella.ui.settings.page import SettingsPage

TITLE, ICON, TIP = "Settings", "settings", "What Lamella does, and how it looks"


def show_settings(window: Window) -> SettingsPage | None:
    """In front of the other tabs. None where the tab is there from before and is opened now."""
    for widget in window.tabs.widgets:
        if getattr(widget, "workspace_kind", "") == "settings":
            window.tabs.show_tab(widget)
            return None if isinstance(widget, PendingTab) else widget  # type: ignore[return-value]
    page = make_settings(window)
    window.tabs.add(page, TITLE, ICON, TIP)
    return page


def make_settings(window: Window) -> SettingsPage:
    from lamella.ui.settings.page import SettingsPage

    return SettingsPage(window.memory.settings, partial(change_setting, window))


def restore_settings(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    page = make_settings(window)
    page.search.setText(str(state.get("search", "")))
    place.become(page)


def change_setting(window: Window, name: str, value: Value) -> None:
    """Save it, and apply what can be applied while the program runs. Raises `BadSetting`."""
    window.memory.change(name, value)
    if name == "theme":
        theme.current().set_mode(str(value))
    elif name == "text_scale":
        theme.current().set_text_scale(float(value))
    elif name == "restore_workspace":
        window.save_workspace(bool(value))
