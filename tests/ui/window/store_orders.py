"""A store with a table of orders, and the dialogs of a store's page."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.ui.stores.store_dialogs import StoreDialog
from lamella.ui.stores.store_page import StorePage

ROWS = 60_000
LEFT = Qt.MouseButton.LeftButton


def create_orders(store: Store) -> None:
    """Create a table with an earlier version of its own files, and a small one."""
    rows = pa.table({"n": list(range(ROWS)), "text": [f"word {i % 977}" for i in range(ROWS)]})
    table = store.create_table("orders", rows)
    table.update_where(None, {"$inc": {"n": 1}})
    table.maintenance.compact()
    table.update([{"_id": 0, "n": 0}])
    store.create_table("kinds", {"n": [1, 2], "name": ["one", "two"]})


def press(qtbot: QtBot, page: StorePage, act: str, kind: type[StoreDialog]) -> StoreDialog:
    """Open the dialog of a button of the page, and wait until it describes what it will do."""
    qtbot.mouseClick(page.buttons[act] if act != "expire" else page.expire, LEFT)
    dialog = page.window().findChildren(kind)[-1]
    qtbot.waitUntil(lambda: bool(dialog.about.text()) and "Looking" not in dialog.about.text())
    return dialog


def carry_out(qtbot: QtBot, dialog: StoreDialog) -> str:
    """Carry out the act of a dialog, and return its outcome; the dialog is closed."""
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    qtbot.mouseClick(dialog.accept_button, LEFT)
    qtbot.waitUntil(lambda: dialog.outcome.isVisible() and not dialog.is_working)
    text = dialog.outcome.text()
    dialog.reject()
    return text.replace("\u200b", "")
