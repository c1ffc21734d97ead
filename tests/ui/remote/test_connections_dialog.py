"""Connections are added, tried, changed and removed by clicks and keys, and no secret is written anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.remote.connections import Connection, Connections
from lamella.ui import theme
from lamella.ui.remote.connections_dialog import ConnectionsDialog, Probe
from lamella.ui.tasks import Tasks

LAB = Connection("lab", "s3", endpoint="http://minio.lab:9000", secrets={"access_key": "env:LAB_KEY"})
CLUSTER = Connection("cluster", "spark", endpoint="sc://spark.lab:15002")


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    saved = Connections(tmp_path / "connections.json")
    saved.save(LAB)
    saved.save(CLUSTER)
    return saved


@pytest.fixture
def open_dialog(qtbot: QtBot, tasks: Tasks, connections: Connections) -> Callable[..., ConnectionsDialog]:
    def open_it(probe: Probe = lambda connection, job: f"{connection.name} answers") -> ConnectionsDialog:
        dialog = ConnectionsDialog(connections, probe, tasks)
        qtbot.addWidget(dialog)
        dialog.show()
        qtbot.waitUntil(lambda: dialog.list.count() == len(connections))
        return dialog

    return open_it


def choose_kind(dialog: ConnectionsDialog, label: str) -> None:
    menu = dialog.add_button.menu()
    assert isinstance(menu, QMenu)
    next(action for action in menu.actions() if action.text() == label).trigger()


def type_into(dialog: ConnectionsDialog, name: str, text: str) -> None:
    field = dialog.form.fields[name]
    field.selectAll()
    QTest.keyClicks(field, text)


def test_a_connection_is_added(
    qtbot: QtBot, connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    dialog = open_dialog()
    choose_kind(dialog, "HDFS")
    type_into(dialog, "name", "hadoop")
    type_into(dialog, "endpoint", "http://namenode:9870")
    with qtbot.waitSignal(dialog.saved):
        QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert connections["hadoop"] == Connection("hadoop", "hdfs", endpoint="http://namenode:9870")
    qtbot.waitUntil(lambda: dialog.list.count() == 3)
    assert dialog.list.currentItem().text() == "hadoop"


def test_icons_follow_the_theme(open_dialog: Callable[..., ConnectionsDialog]) -> None:
    dialog, look = open_dialog(), theme.current()
    look.set_mode("dark" if not look.dark else "light")
    icons = [dialog.list.item(row).icon().pixmap(16).toImage() for row in range(dialog.list.count())]
    assert icons == [look.icon("database").pixmap(16).toImage()] * 2


def test_a_connection_is_renamed_and_keeps_its_secrets_references(
    qtbot: QtBot, connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    dialog = open_dialog()
    type_into(dialog, "name", "office")
    dialog.form.secrets[1].place_box.setCurrentIndex(dialog.form.secrets[1].place_box.findData("keyring"))
    QTest.keyClicks(dialog.form.secrets[1].name, "lab/me")
    with qtbot.waitSignal(dialog.saved):
        dialog.save_button.click()
    assert list(connections) == ["office", "cluster"]
    assert connections["office"].secrets == {"access_key": "env:LAB_KEY", "secret_key": "keyring:lab/me"}


def test_what_does_not_fit_is_marked_and_nothing_is_saved(
    connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    dialog = open_dialog()
    before = connections.path.read_bytes()
    type_into(dialog, "endpoint", "http://user:pass@minio.lab")
    dialog.save_button.click()
    assert "secrets are never saved" in dialog.form.reason.text()
    assert dialog.form.fields["endpoint"].property("variant") == "invalid"
    assert connections.path.read_bytes() == before


def test_a_secret_typed_instead_of_a_reference_is_not_repeated(
    open_dialog: Callable[..., ConnectionsDialog],
) -> None:
    dialog = open_dialog()
    dialog.form.secrets[0].name.setText("wJalr/XUtn FEMI")
    dialog.save_button.click()
    assert not dialog.form.reason.isHidden() and "wJalr" not in dialog.form.reason.text()


def test_a_name_that_is_taken_is_refused(
    qtbot: QtBot, connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    dialog = open_dialog()
    choose_kind(dialog, "Web server")
    type_into(dialog, "name", "lab")
    dialog.save_button.click()
    qtbot.waitUntil(lambda: "already" in dialog.form.reason.text())
    assert connections["lab"] == LAB


def test_the_server_is_asked_with_what_the_fields_say(
    qtbot: QtBot, connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    requests: list[Connection] = []

    def probe(connection: Connection, job: Job) -> str:
        requests.append(connection)
        if connection.region == "moon":
            raise LamellaError("http://minio.lab:9000 does not answer", "connection refused", "Check it")
        return "It answers"

    dialog = open_dialog(probe)
    dialog.test_button.click()
    qtbot.waitUntil(lambda: dialog.messages.label.text() == "It answers")
    type_into(dialog, "region", "moon")
    dialog.test_button.click()
    qtbot.waitUntil(lambda: "does not answer" in dialog.messages.label.text())
    assert [request.region for request in requests] == ["", "moon"]
    assert connections["lab"].region == ""


def test_anonymous_needs_no_secrets(
    qtbot: QtBot, connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    dialog = open_dialog()
    assert dialog.form.anonymous is not None
    dialog.form.anonymous.click()
    assert not dialog.form.secrets[0].isEnabled()
    with qtbot.waitSignal(dialog.saved):
        dialog.save_button.click()
    assert connections["lab"].anonymous and not connections["lab"].secrets


def test_a_connection_is_removed_and_brought_back(
    qtbot: QtBot, connections: Connections, open_dialog: Callable[..., ConnectionsDialog]
) -> None:
    dialog = open_dialog()
    with qtbot.waitSignal(dialog.saved):
        dialog.remove_button.click()
    qtbot.waitUntil(lambda: dialog.list.count() == 1)
    assert list(connections) == ["cluster"]
    dialog.messages.buttons[0].click()
    qtbot.waitUntil(lambda: dialog.list.count() == 2)
    assert connections["lab"] == LAB


def test_a_damaged_file_of_connections_says_so(qtbot: QtBot, connections: Connections, tasks: Tasks) -> None:
    connections.path.write_text("{", "utf-8")
    dialog = ConnectionsDialog(connections, lambda connection, job: "", tasks)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: "not JSON" in dialog.messages.label.text())
