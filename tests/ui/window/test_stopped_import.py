from __future__ import annotations

from lamella.core.jobs import Job
from lamella.ui.window import library


def test_a_stopped_import_says_so_and_leaves_the_offer(
    window, locked_tab, store, go_to, qtbot, settled, monkeypatch
) -> None:
    go_to(locked_tab, 3, "note")
    window.commands["edit_cell"].trigger()
    real = library.import_dataset

    def stopped_at_once(dataset, into, name, job: Job):
        window.tasks.writing[0].cancel()
        return real(dataset, into, name, job)

    monkeypatch.setattr(library, "import_dataset", stopped_at_once)
    locked_tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: "was stopped; nothing was kept" in locked_tab.messages.label.text())
    assert "flights" in locked_tab.messages.label.text() and store.tables == []
    monkeypatch.setattr(library, "import_dataset", real)
    locked_tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not locked_tab)
    assert settled().table is not None and store.tables == ["flights"]
