"""Every test has a home of its own, no real screen, and leaves no thread running."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

from lamella.ui.feature_search import skip_feature_search

pytest_plugins = ["tests.slow_tests", "pytester"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # else each process that a test starts compiles all it imports
sys.dont_write_bytecode = False

skip_feature_search()  # before the modules that tests import


@pytest.hookimpl(trylast=True)  # the plugin says first whether slow tests run
def pytest_configure() -> None:
    from tests.slow_tests import examples  # not before pytest has imported its plugins itself

    settings.register_profile(
        "lamella",
        deadline=None,
        max_examples=examples(20),
        suppress_health_check=[HealthCheck.too_slow],
        derandomize="CI" in os.environ,  # what fails there is the change's fault, and can be had again
    )
    settings.load_profile("lamella")


PATIENCE_SECONDS = 30
"""For what comes at once, later on a machine with much else to do, or never: only failures take that long."""
PATIENCE_MS = 1000 * PATIENCE_SECONDS

gc.disable()  # what is collected stays; looking through it again and again took a third of the time


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import this worker's share of the modules before all of them are collected. Each worker compiles what
    it imports first and finds the rest compiled by the others."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    folders = [folder for each in session.config.args if (folder := session.config.rootpath / each).is_dir()]
    modules = sorted({path for folder in folders for path in folder.rglob("test_*.py")})
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # the collection reports it
            _ = pytest.Module.from_parent(session, path=path).obj


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> None:
    """Refuse bytes as a test's name: those of a compressed file may hold the time, so that two workers would
    collect different tests."""
    if isinstance(val, bytes) and len(val) > 16 and not val.isascii():  # a gzip header has 10
        pytest.fail(f"{argname}={val[:20]!r} needs an id: such bytes may differ from run to run", False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names with an address, such as `ids=repr` gives to what has no text of its own."""
    for item in items:
        if re.search(r" at 0x[0-9a-f]{6}", item.nodeid):
            raise pytest.UsageError(f"{item.nodeid} needs an id: its address differs from run to run")


_folders = itertools.count()


@pytest.fixture
def folder_of_test(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What this test has of the disk. pytest's own way to a new name reads the names of all folders that are
    there, which took 5 ms a test among those of thousands."""
    folder = tmp_path_factory.getbasetemp() / f"{next(_folders)}"
    folder.mkdir(0o700)
    return folder


@pytest.fixture
def tmp_path(folder_of_test: Path, request: pytest.FixtureRequest) -> Path:
    """A folder called after the test, as pytest's is."""
    folder = folder_of_test / re.sub(r"\W", "_", request.node.name)[:30]
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def lamella_home(folder_of_test: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the user's data, settings, cache and logs."""
    home = folder_of_test / "home"
    home.mkdir()
    monkeypatch.setenv("LAMELLA_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fails a test that leaves a Python thread of its own running."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    for thread in left:
        thread.join(PATIENCE_SECONDS)
    still = [thread.name for thread in left if thread.is_alive()]
    assert not still, f"threads still running: {still}"


class Bot(QtBot):
    """A `QtBot` with more patience that notices sooner that a condition is met: the waits of its base give up
    after five seconds, and look every 10 ms."""

    PAUSES_MS = (1, 1, 2, 2, 4)
    """Until a condition is looked at again; later each 8 ms."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: float = PATIENCE_MS) -> None:
        __tracebackhide__ = True
        end = time.monotonic() + timeout / 1000
        for pause in itertools.chain(self.PAUSES_MS, itertools.repeat(8)):
            failure = None
            try:
                answer = callback()
            except AssertionError as error:
                answer, failure = False, error
            if answer is None or answer is True:
                return
            if answer is not False:
                raise ValueError(f"A condition returned {answer!r}, neither True nor False")
            if time.monotonic() > end:
                raise self.TimeoutError(f"not met in {timeout:.0f} ms") from failure
            self.wait(pause)


for _name in ("waitSignal", "waitSignals", "waitExposed"):
    setattr(Bot, _name, functools.partialmethod(getattr(QtBot, _name), timeout=PATIENCE_MS))


@pytest.fixture
def qtbot(qapp: object, request: pytest.FixtureRequest) -> Bot:
    return Bot(request)


@pytest.fixture(scope="session")
def spark_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a Spark Connect server that the tests share: Sail, or what LAMELLA_SPARK names, `apache` or an
    address."""
    from tests import spark_servers

    named = os.environ.get("LAMELLA_SPARK", "sail")
    if named.startswith("sc://"):
        yield named
        return
    running = (
        spark_servers.apache_spark(tmp_path_factory.mktemp("spark"))
        if named == "apache"
        else spark_servers.sail()
    )
    with running as server:
        yield server.address


class Connection(sqlite3.Connection):
    """A connection to SQLite of which the suite knows whether it was closed."""

    unclosed: ClassVar[dict[int, str]] = {}
    _numbers: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, database: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(database, *arguments, **options)
        self._number = next(self._numbers)
        self.unclosed[self._number] = str(database)

    def close(self) -> None:
        super().close()
        self.unclosed.pop(self._number, None)


@pytest.fixture(scope="session", autouse=True)
def watched_connections() -> Iterator[None]:
    """Python 3.13 warns when an open connection is collected; this finds it on every version, at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Connection))
        yield


@pytest.fixture(autouse=True)
def no_connection_left(watched_connections: None) -> Iterator[None]:
    """Fails a test that leaves a connection to SQLite open, such as that of a store."""
    before = set(Connection.unclosed)
    yield
    left = [Connection.unclosed.pop(key) for key in Connection.unclosed.keys() - before]
    assert not left, f"not closed: {left}"
