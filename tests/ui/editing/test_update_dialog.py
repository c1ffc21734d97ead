"""Set values: seen beforehand, refused at the field, one commit at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QLineEdit, QRadioButton
from pytestqt.qtbot import QtBot

from lamella import Store, col
from lamella.core.errors import UnknownRow
from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.editing.preview_table import PreviewTable
from lamella.ui.editing.update_dialog import UpdateDialog
from lamella.ui.editing.update_plan import SelectedRows
from lamella.ui.tasks import Tasks

ROWS = 300
LATE = col("dep_delay") > 60


@pytest.fixture
def flights(tmp_path: Path) -> Iterator[Table]:
    data = pa.table(
        {
            "dep_delay": pa.array([None if n % 50 == 0 else n % 120 for n in range(ROWS)], pa.int16()),
            "carrier": pa.array([["AA", "UA", "DL"][n % 3] for n in range(ROWS)]),
            "stops": pa.array([["JFK"] for _ in range(ROWS)], pa.list_(pa.string())),
        }
    )
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("flights", data)


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    tasks.shutdown()


def opened(qtbot: QtBot, dialog: UpdateDialog) -> UpdateDialog:
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitExposed(dialog)
    return dialog


def news(dialog: UpdateDialog) -> str:
    return " ".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())


def apply_button(dialog: UpdateDialog) -> QAbstractButton:
    return next(b for b in dialog.findChildren(QAbstractButton) if b.text().startswith("Change"))


def type_value(qtbot: QtBot, dialog: UpdateDialog, text: str) -> QLineEdit:
    field = next(f for f in dialog.findChildren(QLineEdit) if f.accessibleName() == "New value")
    field.selectAll()
    qtbot.keyClicks(field, text)
    return field


def cells(dialog: UpdateDialog) -> list[list[str]]:
    table = dialog.findChild(PreviewTable)
    return [
        [table.item(row, place).text() for place in range(table.columnCount())]
        for row in range(table.rowCount())
    ]


def test_rows_that_meet_the_filter_change_in_one_commit(qtbot: QtBot, flights: Table, tasks: Tasks) -> None:
    late, before = flights.count(LATE), flights.version
    dialog = opened(qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "dep_delay", LATE))
    type_value(qtbot, dialog, "61")
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    same = flights.count(col("dep_delay") == 61)
    assert apply_button(dialog).text() == f"Change {late - same} rows"
    assert f"{same} of {late} have the value already" in news(dialog)
    assert len(cells(dialog)) == 20
    assert cells(dialog)[1][-2:] == ["62", "61"]
    with qtbot.waitSignal(dialog.committed) as caught:
        qtbot.mouseClick(apply_button(dialog), Qt.MouseButton.LeftButton)
    commit: Commit = caught.args[0]
    assert (commit.version, commit.table) == (before + 1, "flights")
    assert flights.count(col("dep_delay") == 61) == late
    assert flights.schema.field("dep_delay").type == pa.int16()
    assert not dialog.isVisible()


def test_selected_rows_come_first_and_only_they_change(qtbot: QtBot, flights: Table, tasks: Tasks) -> None:
    ids = flights.read(["_id"]).column(0).to_pylist()[10:13]
    chosen = SelectedRows(3, lambda job: ids)
    dialog = opened(
        qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "carrier", LATE, chosen)
    )
    offered = [button.text() for button in dialog.findChildren(QRadioButton)]
    assert offered == ["The 3 selected rows", "Rows where dep_delay is more than 60", "All 300 rows"]
    type_value(qtbot, dialog, "B6")
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    assert [row[0] for row in cells(dialog)] == [str(n) for n in ids]
    with qtbot.waitSignal(dialog.committed):
        qtbot.mouseClick(apply_button(dialog), Qt.MouseButton.LeftButton)
    changed = flights.read(["_id"], where=col("carrier") == "B6").column(0).to_pylist()
    assert changed == ids


def test_all_rows_can_be_set_to_null(qtbot: QtBot, flights: Table, tasks: Tasks) -> None:
    dialog = opened(qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "dep_delay"))
    qtbot.mouseClick(dialog.findChild(QCheckBox), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    assert cells(dialog)[1][-2:] == ["1", "null"]
    with qtbot.waitSignal(dialog.committed):
        qtbot.mouseClick(apply_button(dialog), Qt.MouseButton.LeftButton)
    assert flights.count(col("dep_delay").is_null()) == ROWS


@pytest.mark.parametrize(
    ("text", "reason"), [("soon", "not a number"), ("40000", "-32,768 to 32,767"), ("1.5", "whole")]
)
def test_a_value_that_does_not_fit_is_refused_at_the_field(
    qtbot: QtBot, flights: Table, tasks: Tasks, text: str, reason: str
) -> None:
    dialog = opened(qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "dep_delay"))
    field = type_value(qtbot, dialog, text)
    assert field.property("variant") == "invalid"
    assert reason in news(dialog)
    assert not apply_button(dialog).isEnabled()


def test_lists_are_typed_as_json_and_all_count_as_changing(
    qtbot: QtBot, flights: Table, tasks: Tasks
) -> None:
    dialog = opened(qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "stops"))
    type_value(qtbot, dialog, '["EWR", "SFO"]')
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    assert apply_button(dialog).text() == "Change 300 rows"
    assert cells(dialog)[0][-1] == '["EWR", "SFO"]'
    with qtbot.waitSignal(dialog.committed):
        qtbot.mouseClick(apply_button(dialog), Qt.MouseButton.LeftButton)
    assert flights.read(["stops"], limit=1).to_pylist() == [{"stops": ["EWR", "SFO"]}]


def test_nothing_to_change_cannot_be_applied(qtbot: QtBot, flights: Table, tasks: Tasks) -> None:
    dialog = opened(
        qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "carrier", col("carrier") == "AA")
    )
    type_value(qtbot, dialog, "AA")
    qtbot.waitUntil(lambda: "0 rows will change; 100 of 100 have the value already" in news(dialog))
    assert not apply_button(dialog).isEnabled()


def test_a_change_that_fails_is_told_in_the_dialog_and_can_be_tried_again(
    qtbot: QtBot, flights: Table, tasks: Tasks
) -> None:
    gone = flights.read(["_id"], limit=1).column(0).to_pylist()
    dialog = opened(
        qtbot,
        UpdateDialog(
            flights,
            "flights",
            flights.snapshot(),
            tasks,
            "carrier",
            selected=SelectedRows(1, lambda job: gone),
        ),
    )
    type_value(qtbot, dialog, "B6")
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    flights.delete(ids=gone)
    qtbot.mouseClick(apply_button(dialog), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "may have been deleted" in news(dialog))
    assert dialog.isVisible()
    assert apply_button(dialog).isEnabled()
    assert flights.count(col("carrier") == "B6") == 0


def test_stopping_before_its_turn_changes_nothing(qtbot: QtBot, flights: Table, tasks: Tasks) -> None:
    dialog = opened(qtbot, UpdateDialog(flights, "flights", flights.snapshot(), tasks, "carrier"))
    type_value(qtbot, dialog, "B6")
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    before, gate = flights.version, threading.Event()
    tasks.write(lambda job: gate.wait())
    qtbot.mouseClick(apply_button(dialog), Qt.MouseButton.LeftButton)
    stop = next(b for b in dialog.findChildren(QAbstractButton) if b.text() == "Stop")
    qtbot.mouseClick(stop, Qt.MouseButton.LeftButton)
    gate.set()
    qtbot.waitUntil(lambda: "Stopped; nothing was changed." in news(dialog))
    assert flights.version == before
    assert apply_button(dialog).isEnabled()
    assert dialog.isVisible()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            UnknownRow("Row 7 is gone", "Somebody deleted it", "Choose again"),
            "Somebody deleted it. Choose again.",
        ),
        (ZeroDivisionError("a bug"), "ZeroDivisionError: a bug."),
    ],
)
def test_what_was_not_seen_beforehand_cannot_be_applied(
    qtbot: QtBot, flights: Table, tasks: Tasks, error: Exception, told: str
) -> None:
    def broken(job: Job) -> list[int]:
        raise error

    chosen = SelectedRows(1, broken)
    made = UpdateDialog(flights, "flights", flights.snapshot(), tasks, "carrier", selected=chosen)
    dialog = opened(qtbot, made)
    type_value(qtbot, dialog, "B6")
    qtbot.waitUntil(lambda: told in news(dialog))
    assert not apply_button(dialog).isEnabled()
    dialog.findChildren(QRadioButton)[-1].click()
    qtbot.waitUntil(apply_button(dialog).isEnabled)
    assert "in the table's own order" in news(dialog)
