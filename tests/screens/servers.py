"""Screens of servers: connections, what lies in a bucket, rows that a Spark server holds. The servers of the
tests on loopback stand for those of a user."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella import open_dataset
from lamella.app.tour import Tour, dialog_of
from lamella.core.query import agg
from lamella.core.query.expressions import col
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Where
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.kinds import KINDS
from lamella.ui.dialogs.answer_comparison import AnswerComparison
from lamella.ui.remote.connections_dialog import ConnectionsDialog
from lamella.ui.remote.server_browser import ServerBrowser
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.engine_comparison import compare
from tests import spark_servers
from tests.remote_servers import REGION, s3_server
from tests.screens.stage import Screen, plain, quiet, settled_after_pause

FILES = {
    "trips/2024/01.parquet": 1000,
    "trips/2024/02.parquet": 20_000,
    "cities.parquet": 500,
    "weather.parquet": 9000,
}
SECRETS = {"access_key": "env:EXAMPLE_ACCESS_KEY", "secret_key": "env:EXAMPLE_SECRET_KEY"}
_running = ExitStack()


def stop() -> None:
    """End the servers that were started."""
    _running.close()


def rows(number: int) -> pa.Table:
    words, figures = [f"k{n % 7}" for n in range(number)], [n % 100 for n in range(number)]
    return pa.table({"id": range(number), "k": words, "n": figures})


@cache
def bucket() -> str:
    """A bucket with files in folders, to which the connection `lab` leads."""
    server = s3_server()
    os.environ |= {"EXAMPLE_ACCESS_KEY": server.access_key, "EXAMPLE_SECRET_KEY": server.secret_key}
    name = server.bucket("analytics")
    for key, number in FILES.items():
        sink = pa.BufferOutputStream()
        pq.write_table(rows(number), sink)
        server.put(name, key, bytes(sink.getvalue()))
    lab = Connection("lab", "s3", endpoint=server.endpoint, region=REGION, places=(name,), secrets=SECRETS)
    Connections().save(lab, replace=True)
    return name


@cache
def spark_address() -> str:
    return _running.enter_context(spark_servers.sail()).address


# ------------------------------------------------------------------------ connections


def connections(tour: Tour) -> ConnectionsDialog:
    plain(tour)
    tour.window.commands["connections"].trigger()
    quiet(tour)
    return dialog_of(tour, ConnectionsDialog)


def no_connections(tour: Tour) -> None:
    connections(tour)


def new_connection(kind: str) -> Screen:
    def show(tour: Tour) -> None:
        place = [kind_.name for kind_ in KINDS].index(kind)
        connections(tour).add_button.menu().actions()[place].trigger()
        quiet(tour)

    return Screen(f"connection-{kind}", show)


def saved_connections(tour: Tour) -> None:
    bucket()
    dialog = connections(tour)
    dialog.list.setCurrentRow(0)
    dialog.test_button.click()
    tour.wait("the server answers", lambda: not dialog.is_working)
    quiet(tour)


# ---------------------------------------------------------------------------- browsing


def browser(tour: Tour, address: str = "") -> ServerBrowser:
    plain(tour)
    tour.window.commands["open_server"].trigger()
    server_browser = dialog_of(tour, ServerBrowser)
    quiet(tour)
    if address:
        server_browser.address.setText(address)
        QTest.keyClick(server_browser.address, Qt.Key.Key_Return)
        tour.wait("it is listed", lambda: not server_browser.is_working)
        quiet(tour)
    return server_browser


def empty_browser(tour: Tour) -> None:
    browser(tour)


def bucket_browser(tour: Tour) -> None:
    server_browser = browser(tour, f"s3://lab@{bucket()}/")
    server_browser.list.setCurrentIndex(server_browser.list.sorted_entries.index(0, 0))


def missing_bucket(tour: Tour) -> None:
    bucket()
    browser(tour, "s3://lab@no-such-bucket/")


def spark_browser(tour: Tour) -> None:
    browser(tour, f"{spark_address()}/")


# ------------------------------------------------------------------------------- Spark


def trips(tour: Tour) -> DatasetTab:
    """A file that the server sees, as an open table."""
    path = Path(tour.window.library.stores[-1].path).parent / "trips.parquet"
    if not path.exists():
        pq.write_table(rows(5000), path)
    tour.window.opening.open_key((f"{spark_address()}/parquet:{path}",))
    tour.wait("the trips are shown", lambda: tour.window.tabs.title.startswith("trips"))
    return settled_after_pause(tour)


def spark_steps(tour: Tour) -> None:
    plain(tour)
    figures = (("rows", agg.count()), ("mean_n", agg.mean(col("n"))))
    trips(tour).apply(Line.of([Where(col("n") > 20), Group(("k",), figures)]))
    settled_after_pause(tour)


def spark_key(tour: Tour) -> None:
    plain(tour)
    trips(tour)
    tour.window.commands["row_key"].trigger()
    quiet(tour)


def compared_engines(tour: Tour) -> None:
    """The answers of the server beside those of a file that lacks some rows."""
    spark_steps(tour)
    path = Path(tour.window.library.stores[-1].path).parent / "fewer.parquet"
    pq.write_table(rows(4900), path)
    tab = settled_after_pause(tour)
    compare(tab, path.name, lambda: open_dataset(path))
    dialog_of(tour, AnswerComparison)
    quiet(tour)


SCREENS = (
    Screen("connections-none", no_connections),
    *map(new_connection, ("s3", "hdfs", "spark")),
    Screen("connections", saved_connections),
    Screen("browser-empty", empty_browser),
    Screen("browser", bucket_browser),
    Screen("browser-missing", missing_bucket),
    Screen("browser-spark", spark_browser),
    Screen("spark-steps", spark_steps),
    Screen("spark-compare", compared_engines),
    Screen("spark-key", spark_key),
)
