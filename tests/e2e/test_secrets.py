"""No secret appears on the screen, in printed output or in any file of the user's folder."""

from __future__ import annotations

import base64
import io
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from lamella import LamellaError, export, open_dataset
from lamella.app import crash, logs
from lamella.app.bootstrap import application
from lamella.app.cli import main
from lamella.app.program import Program
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.servers import servers
from lamella.ui.dialogs.error_dialog import ErrorDialog
from tests.e2e.test_start import end
from tests.remote_servers import REGION, WebServer, s3_server, web_server

SECRETS = {
    "SECRET_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY11",
    "SESSION_TOKEN": "FwoGZXIvYXdzEBYaSessionToken4711",
    "ACCOUNT_KEY": "QWNjb3VudEtleU5vYm9keU1heVNlZTEyMzQ1Njc4OTA=",
    "SAS": "sv=2024-11-04&sp=r&sig=SasSignatureNobodyMaySee",
    "GOOGLE_TOKEN": "ya29.googleBearerNobodyMaySee",
    "HDFS_TOKEN": "hdfsDelegationNobodyMaySee",
    "WEB_TOKEN": "webBearerNobodyMaySee",
    "WEB_PASSWORD": "webPasswordNobodyMaySee",
    "SPARK_TOKEN": "sparkTokenNobodyMaySee",
}
SIGNATURE, PASSWORD = "signedQueryNobodyMaySee", "passwordNobodyMaySee"
IN_SPARK_ADDRESS = "sparkAddressNobodyMaySee"


def forms_of(secret: str) -> set[bytes]:
    """The secret in plain, as escaped in addresses, and as encoded in a basic login header."""
    login = base64.b64encode(f"ann:{secret}".encode()).decode()
    return {form.encode() for form in (secret, quote(secret), quote(secret, safe=""), login)}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    files.forget_all()
    servers.forget()
    with web_server() as server:
        sink = io.BytesIO()
        pq.write_table(pa.table({"n": [1, 2]}), sink)
        server.files["/signed.parquet"] = sink.getvalue()
        yield server
    servers.forget()


@pytest.fixture
def addresses(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One address for each kind of secret; none of them can be opened."""
    s3 = s3_server()
    monkeypatch.setenv("ACCESS_KEY", s3.access_key)
    key = {"access_key": "env:ACCESS_KEY", "secret_key": "env:SECRET_KEY"}
    host = web.url[7:]
    connections = [
        Connection("wrong", "s3", endpoint=s3.endpoint, region=REGION, secrets=key),
        Connection("session", "s3", endpoint=s3.endpoint, region=REGION,
                   secrets={**key, "session_token": "env:SESSION_TOKEN"}),
        Connection("account", "az", endpoint=web.url, account="ann",
                   secrets={"account_key": "env:ACCOUNT_KEY"}),
        Connection("sas", "az", endpoint=web.url, account="ann", secrets={"sas_token": "env:SAS"}),
        Connection("google", "gs", endpoint=web.url, secrets={"token": "env:GOOGLE_TOKEN"}),
        Connection("cluster", "hdfs", endpoint=web.url, secrets={"token": "env:HDFS_TOKEN"}),
        Connection("bearer", "http", secrets={"token": "env:WEB_TOKEN"}),
        Connection("login", "http", account="ann", secrets={"password": "env:WEB_PASSWORD"}),
        Connection("spark", "spark", endpoint=f"sc://{host}", secrets={"token": "env:SPARK_TOKEN"}),
    ]  # fmt: skip
    for connection in connections:
        Connections().save(connection)
    return [
        "s3://wrong@lake/trips.parquet", "s3://session@lake/trips.parquet", "az://account@lake/trips.parquet",
        "az://sas@lake/trips.parquet", "gs://google@lake/trips.parquet", "hdfs://cluster@node/trips.parquet",
        f"http://bearer@{host}/none.parquet", f"http://login@{host}/none.parquet", f"sc://{host}/trips",
        f"http://{host}/none.parquet?X-Amz-Signature={SIGNATURE}",
        f"az://lake/trips.parquet?sig={SIGNATURE}", f"http://ann:{PASSWORD}@{host}/none.parquet",
        f"s3://ann:{PASSWORD}@lake/trips.parquet", f"sc://{host}/trips;token={IN_SPARK_ADDRESS}",
    ]  # fmt: skip


def texts_shown() -> Iterator[str]:
    """The texts of all widgets."""
    for widget in QApplication.allWidgets():
        yield f"{widget.windowTitle()} {widget.toolTip()} {widget.accessibleName()}"
        if isinstance(widget, QLabel | QLineEdit):
            yield widget.text()
        elif isinstance(widget, QPlainTextEdit):
            yield widget.toPlainText()
        elif isinstance(widget, QComboBox):
            yield from (widget.itemText(place) for place in range(widget.count()))


def paths_of(addresses: list[str]) -> Iterator[Path]:
    """The addresses that are not refused immediately."""
    for address in addresses:
        with suppress(LamellaError):
            yield path_or_address(address)


def failures(addresses: list[str], rows: Path) -> Iterator[LamellaError]:
    """The errors of opening and exporting, in this process and by commands."""
    source = open_dataset(rows)
    for address in addresses:
        with pytest.raises(LamellaError) as opening:
            open_dataset(address)
        yield opening.value
        with pytest.raises(LamellaError) as exporting:
            export(source, address, format="parquet")
        yield exporting.value
        assert main(["query", address, "--limit", "1"]) != 0
        assert main(["export", str(rows), address, "--format", "parquet"]) != 0


def test_no_secret_is_seen_or_found(
    qtbot: QtBot, web: WebServer, addresses: list[str], tmp_path: Path, lamella_home: Path,
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [1]}), rows)
    handler = logs.start()
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    application()
    program = Program(restores=True)
    window = program.window
    window.show()
    for error in failures(addresses, rows):
        crash.log_and_tell(error)
        texts += [str(error), repr(error), crash.report_text(error)]
    signed = f"{web.url}/signed.parquet?X-Amz-Signature={SIGNATURE}"
    window.open_paths([*paths_of([signed, *addresses])])
    qtbot.waitUntil(
        lambda: not window.tasks.running and window.findChildren(ErrorDialog) != [], timeout=30_000
    )
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    texts += texts_shown()
    for dialog in window.findChildren(ErrorDialog):
        texts += [dialog.details]
        dialog.close()
    window.quit()
    end(window)
    logs.stop(handler)
    output = capsys.readouterr()
    texts += [output.out, output.err]
    assert any("signed.parquet" in json.dumps(text) for text in texts)
    actual = {path: path.read_bytes() for path in lamella_home.rglob("*") if path.is_file()}
    assert {"connections.json", "state.json", "lamella.log"} <= {path.name for path in actual}
    everything = {"what is shown": "\n".join(texts).encode(errors="replace"), **actual}
    for secret in (*SECRETS.values(), SIGNATURE, PASSWORD, IN_SPARK_ADDRESS):
        for form in forms_of(secret):
            assert [str(place) for place, content in everything.items() if form in content] == [], secret
