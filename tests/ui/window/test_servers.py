"""Files on a server: looked for, opened, imported and exported to, by clicks and keys, on a real S3."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.servers import servers
from lamella.ui.main_window import MainWindow
from lamella.ui.remote.server_browser import ServerBrowser
from tests.remote_servers import REGION, S3Server, s3_server

_numbers = itertools.count()


def parquet_bytes(rows: int) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": list(range(rows)), "word": [f"w{n % 7}" for n in range(rows)]}), sink)
    return bytes(sink.getvalue())


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> S3Server:
    server = s3_server()
    monkeypatch.setenv("TEST_ACCESS_KEY", server.access_key)
    monkeypatch.setenv("TEST_SECRET_KEY", server.secret_key)
    servers.forget()
    files.forget_all()
    return server


@pytest.fixture
def bucket(s3: S3Server) -> str:
    """A bucket with a folder of two months, a file beside it, and a connection that names it."""
    name = s3.bucket(f"window-{os.getpid()}-{next(_numbers)}")
    for key, rows in (("trips/01.parquet", 10), ("trips/02.parquet", 20), ("cities.parquet", 5)):
        s3.put(name, key, parquet_bytes(rows))
    Connections().save(
        Connection("lab", "s3", endpoint=s3.endpoint, region=REGION, places=(name,),
                   secrets={"access_key": "env:TEST_ACCESS_KEY", "secret_key": "env:TEST_SECRET_KEY"}),
        replace=True,
    )  # fmt: skip
    return name


@pytest.fixture
def browse(qtbot: QtBot, window: MainWindow) -> Callable[[], ServerBrowser]:
    def open_it() -> ServerBrowser:
        window.commands["open_server"].trigger()
        browser = window.findChildren(ServerBrowser)[-1]
        qtbot.waitUntil(lambda: browser.places.count() > 0)
        return browser

    return open_it


def names(browser: ServerBrowser) -> list[str]:
    entries = browser.list.sorted_entries
    return [entries.index(row, 0).data() for row in range(entries.rowCount())]


def go_to(qtbot: QtBot, browser: ServerBrowser, address: str, count: int) -> None:
    browser.address.setText(address)
    QTest.keyClick(browser.address, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not browser.is_working and len(names(browser)) == count)


def test_a_connection_leads_to_folders_and_to_an_open_file(
    qtbot: QtBot, window: MainWindow, bucket: str, browse: Callable[[], ServerBrowser]
) -> None:
    browser = browse()
    place = browser.places.visualItemRect(browser.places.item(0)).center()
    QTest.mouseClick(browser.places.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: names(browser) == ["trips", "cities.parquet"])
    browser.list.setCurrentIndex(browser.list.sorted_entries.index(0, 0))
    QTest.keyClick(browser.list, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: names(browser) == ["01.parquet", "02.parquet"])
    assert browser.count.text() == "2 files"
    browser.list.setCurrentIndex(browser.list.sorted_entries.index(1, 0))
    QTest.keyClick(browser.list, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.content is not None
    )
    tab = window.tabs.dataset_tab
    assert tab is not None and tab.view is not None
    assert tab.view.num_rows == 20 and tab.name == "02.parquet"
    assert window.memory.recent[0].name == "02.parquet"


@pytest.mark.slow
def test_a_folder_is_opened_as_one_table(
    qtbot: QtBot, window: MainWindow, bucket: str, browse: Callable[[], ServerBrowser]
) -> None:
    browser = browse()
    go_to(qtbot, browser, f"s3://{bucket}/", 2)
    browser.list.setCurrentIndex(browser.list.sorted_entries.index(0, 0))
    assert browser.open_button.text() == "Open folder as one table"
    browser.open_button.click()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.view is not None)
    tab = window.tabs.dataset_tab
    assert tab is not None and tab.view is not None and tab.view.num_rows == 30


@pytest.mark.slow
def test_names_are_narrowed_and_the_way_leads_up(
    qtbot: QtBot, bucket: str, browse: Callable[[], ServerBrowser]
) -> None:
    browser = browse()
    go_to(qtbot, browser, f"s3://{bucket}/trips/", 2)
    QTest.keyClicks(browser.narrow, "02")
    assert names(browser) == ["02.parquet"]
    QTest.keyClick(browser, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: names(browser) == ["trips", "cities.parquet"])
    assert not browser.up_button.isEnabled()


def test_what_is_not_there_is_said_and_the_browser_stays(
    qtbot: QtBot, bucket: str, browse: Callable[[], ServerBrowser]
) -> None:
    browser = browse()
    browser.address.setText(f"s3://{bucket}/nowhere/")
    QTest.keyClick(browser.address, Qt.Key.Key_Return)
    qtbot.waitUntil(browser.messages.isVisible)
    assert "nowhere" in browser.messages.label.text()
    browser.address.setText("s4://bucket/")
    QTest.keyClick(browser.address, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "Did you mean s3://" in browser.messages.label.text())


def test_wrong_credentials_are_said_without_any_of_them(
    qtbot: QtBot,
    s3: S3Server,
    bucket: str,
    browse: Callable[[], ServerBrowser],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_SECRET_KEY", "a-secret-that-is-wrong")
    browser = browse()
    browser.address.setText(f"s3://{bucket}/")
    QTest.keyClick(browser.address, Qt.Key.Key_Return)
    qtbot.waitUntil(browser.messages.isVisible)
    text = browser.messages.label.text()
    assert "credentials" in text and "a-secret" not in text and s3.access_key not in text


def test_the_rows_shown_are_exported_to_the_server(
    qtbot: QtBot, window: MainWindow, s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    path = tmp_path / "seven.parquet"
    pq.write_table(pa.table({"n": list(range(7))}), path)
    window.open_paths([path])
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.view is not None)
    from lamella.ui.dialogs.export_dialog import ExportDialog

    window.commands["export"].trigger()
    dialog = window.findChildren(ExportDialog)[-1]
    qtbot.waitUntil(lambda: dialog.is_settled)
    dialog.path_edit.selectAll()
    QTest.keyClicks(dialog.path_edit, f"s3://{bucket}/out/seven.parquet")
    qtbot.waitUntil(lambda: dialog.is_settled)
    with qtbot.waitSignal(dialog.exported):
        dialog.export_button.click()
    body = s3.client.get_object(Bucket=bucket, Key="out/seven.parquet")["Body"].read()
    assert pq.read_table(pa.BufferReader(body)).num_rows == 7
    dialog.start()
    qtbot.waitUntil(lambda: any(button.text() == "Replace it" for button in dialog.message.buttons))
