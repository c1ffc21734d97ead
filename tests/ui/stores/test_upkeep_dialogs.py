"""The dialogs of a store's upkeep: their sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.core.jobs import Job
from lamella.core.store.store import StoreMaintenance
from lamella.core.store.verify import Report
from lamella.ui.stores.upkeep_dialogs import VerifyDialog
from lamella.ui.tasks import Tasks

PROBLEM = "data/orders-1/0001.parquet: the checksum of the file differs from that of the catalog"


@pytest.mark.parametrize("count", [1, 2, 40])
def test_a_list_of_problems_is_as_high_as_its_lines(
    qtbot: QtBot, tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    report = Report(tuple(f"{number}: {PROBLEM}" for number in range(count)), 1, 1, 100, True)
    monkeypatch.setattr(StoreMaintenance, "verify", lambda *_: report)
    with Store.open(tmp_path / "shop") as store:
        dialog = VerifyDialog(store, tasks)
        qtbot.addWidget(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        dialog.open()
        qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(dialog.outcome.isVisible)
        shown, last = (
            dialog.problems.viewport(),
            dialog.problems.visualItemRect(dialog.problems.item(count - 1)),
        )
        if count < 40:
            assert 0 <= shown.height() - last.bottom() <= 4
        else:
            assert dialog.problems.verticalScrollBar().maximum() > 0 and dialog.height() < 500
        dialog.reject()


def test_what_is_stopped_says_so(
    qtbot: QtBot, tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verify(_: StoreMaintenance, quick: bool, job: Job) -> Report:
        while True:
            job.check()

    monkeypatch.setattr(StoreMaintenance, "verify", verify)
    with Store.open(tmp_path / "shop") as store:
        dialog = VerifyDialog(store, tasks)
        qtbot.addWidget(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        dialog.open()
        qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
        qtbot.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: not dialog.is_working)
        assert dialog.reason.text() == dialog.stopped_text and dialog.accept_button.isEnabled()
        dialog.reject()
