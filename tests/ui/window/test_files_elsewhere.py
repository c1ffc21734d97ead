"""Files of servers open in tabs as those of this machine do."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtWidgets import QLabel

from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.main_window import MainWindow
from tests.remote_servers import WebServer, web_server


@pytest.fixture
def web() -> Iterator[WebServer]:
    files.forget_all()
    with web_server() as server:
        sink = io.BytesIO()
        pq.write_table(pa.table({"carrier": ["AA", "UA"], "n": [1, 2]}), sink)
        server.files["/flights.parquet"] = sink.getvalue()
        server.files["/rows.csv"] = b"n,word\n1,one\n2,two\n"
        yield server


@pytest.mark.parametrize("name", ["flights.parquet", "rows.csv"])
def test_a_file_elsewhere_opens_in_a_tab(window: MainWindow, web: WebServer, settled, shown, name: str):
    window.open_paths([RemotePath(f"{web.url}/{name}")])
    tab = settled()
    assert tab.dataset.num_rows == 2
    assert shown(tab, 1, "n") == "2"
    assert tab.name == name


def test_one_that_is_not_there_says_so(qtbot, window: MainWindow, web: WebServer):
    window.open_paths([RemotePath(f"{web.url}/none.parquet")])
    qtbot.waitUntil(lambda: window.findChildren(ErrorDialog) != [])
    (said,) = window.findChildren(ErrorDialog)
    assert "none.parquet is not there" in said.windowTitle() + " ".join(
        label.text() for label in said.findChildren(QLabel)
    )
    said.close()
