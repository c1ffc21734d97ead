"""Files on servers open in tabs like local files."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from lamella.core.remote import http
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.servers import servers
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.main_window import MainWindow
from tests.remote_servers import REGION, WebServer, s3_server, web_server


@pytest.fixture
def web() -> Iterator[WebServer]:
    files.forget_all()
    with web_server() as server:
        sink = io.BytesIO()
        pq.write_table(pa.table({"carrier": ["AA", "UA"], "n": [1, 2]}), sink)
        server.files["/flights.parquet"] = sink.getvalue()
        server.files["/rows.csv"] = b"n,word\n1,one\n2,two\n"
        yield server


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", ["flights.parquet", "rows.csv"])
def test_a_file_elsewhere_opens_in_a_tab(window: MainWindow, web: WebServer, settled, cell_text, name: str):
    window.open_paths([RemotePath(f"{web.url}/{name}")])
    tab = settled()
    assert tab.dataset.num_rows == 2
    assert cell_text(tab, 1, "n") == "2"
    assert tab.name == name


def test_stop_is_heard_while_a_server_is_silent(
    qtbot: QtBot, window: MainWindow, web: WebServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http, "SILENT_SECONDS", 60.0)
    servers.forget()
    requested, over = threading.Event(), threading.Event()
    web.before_answer = lambda: requested.set() or over.wait(60)
    window.open_paths([RemotePath(f"{web.url}/flights.parquet")])
    qtbot.waitUntil(requested.is_set)
    window.tasks.cancel_all()
    qtbot.waitUntil(lambda: not window.tasks.running)
    assert not over.is_set()
    over.set()
    servers.forget()


def test_a_delta_table_elsewhere_is_shown_at_any_version(
    qtbot: QtBot, window: MainWindow, settled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An incomplete last commit is reported, with the version to open."""
    server = s3_server()
    monkeypatch.setenv("TEST_ACCESS_KEY", server.access_key)
    monkeypatch.setenv("TEST_SECRET_KEY", server.secret_key)
    secrets = {"access_key": "env:TEST_ACCESS_KEY", "secret_key": "env:TEST_SECRET_KEY"}
    Connections().save(Connection("lab", "s3", endpoint=server.endpoint, region=REGION, secrets=secrets))
    bucket = server.bucket(f"delta-{os.getpid()}")
    write_deltalake(tmp_path / "trips", pa.table({"n": [1, 2, 3]}))
    write_deltalake(tmp_path / "trips", pa.table({"n": [4, 5]}), mode="append")
    for path in (tmp_path / "trips").rglob("*.*"):
        server.put(bucket, path.relative_to(tmp_path).as_posix(), path.read_bytes())
    window.open_paths([RemotePath(f"s3://{bucket}/trips")])
    tab = settled()
    assert tab.view.num_rows == 5
    tab.reopening.show_version(0)
    qtbot.waitUntil(lambda: settled().view.num_rows == 3)
    window.commands["close_tab"].trigger()
    server.put(bucket, f"trips/_delta_log/{1:020}.json", b"")
    files.forget_all()
    window.open_paths([RemotePath(f"s3://{bucket}/trips")])
    qtbot.waitUntil(lambda: window.findChildren(ErrorDialog) != [])
    (dialog,) = window.findChildren(ErrorDialog)
    assert "Open version 0" in dialog.details
    dialog.close()
    servers.forget()


@pytest.mark.slow
def test_one_that_is_not_there_says_so(qtbot, window: MainWindow, web: WebServer):
    window.open_paths([RemotePath(f"{web.url}/none.parquet")])
    qtbot.waitUntil(lambda: window.findChildren(ErrorDialog) != [])
    (said,) = window.findChildren(ErrorDialog)
    assert "none.parquet is not there" in said.windowTitle() + " ".join(
        label.text() for label in said.findChildren(QLabel)
    )
    said.close()
