"""A second launch hands its files to the window that is open, and to nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from lamella import resources
from lamella.app import bootstrap, cli, launch
from lamella.app.launch import CONFIRMATION, END, GREETING, FileOpenEvents, LaunchServer
from lamella.app.program import WINDOW_PAINTED
from tests.conftest import PATIENCE_SECONDS

PAINTED = WINDOW_PAINTED.partition(";")[0]
ODD_NAMES = (
    b"two words",
    b'it\'s "quoted"',
    b"100%F%20",
    b"line\nbreak",
    "Преглед".encode(),
    b"-n",
    b"\xff.csv",
)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a path is a pipe's name there")


@pytest.fixture
def runtime_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets: its path is short, as they must be."""
    folder = Path(tempfile.mkdtemp(prefix="lamella-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


class Launcher:
    """Starts the program as a desktop does."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *words: object, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lamella.app", *map(os.fsencode, map(str, words))]
        environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(command, cwd=cwd, env=environment, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def open_window(self, *words: object) -> subprocess.Popen[bytes]:
        windows = self.num_windows
        process = self.start(*words)
        wait_until(lambda: self.num_windows > windows)
        return process

    @property
    def num_windows(self) -> int:
        log = self.home / "log" / "lamella.log"
        return log.read_text("utf8").count(PAINTED) if log.exists() else 0

    @property
    def opened(self) -> set[Path]:
        state = self.home / "config" / "state.json"
        recent = json.loads(state.read_text("utf8")).get("recent", []) if state.exists() else []
        return set(map(Path, recent))


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def launcher(lamella_home: Path, runtime_folder: Path) -> Iterator[Launcher]:
    launcher_ = Launcher(lamella_home)
    yield launcher_
    for process in launcher_.processes:
        process.kill()
        process.wait()


@POSIX
def test_a_second_launch_hands_its_files_to_the_window(launcher, tmp_path):
    files = [tmp_path / os.fsdecode(name) for name in ODD_NAMES]
    for file in files:
        file.write_text("carrier,name\nAA,American\n")
    window = launcher.open_window()
    second = launcher.start("--", *(file.name for file in files), cwd=tmp_path)
    assert second.wait(PATIENCE_SECONDS) == cli.OK
    wait_until(lambda: launcher.opened == set(files))
    assert launcher.num_windows == 1 and window.poll() is None


@POSIX
def test_a_launch_hands_its_files_to_the_window_of_the_sample(launcher, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("carrier,name\nAA,American\n")
    window = launcher.open_window("--sample")
    assert launcher.start(file).wait(PATIENCE_SECONDS) == cli.OK
    wait_until(lambda: file in launcher.opened)
    assert launcher.num_windows == 1 and window.poll() is None


def test_a_new_window_leaves_later_launches_to_the_window_that_listens(qtbot, file_lists):
    second = LaunchServer()
    launch.listen_if_first(second)
    second.serve(lambda _files: pytest.fail("the files belong to the first window"))
    assert_handed_over(qtbot, [Path("/data/a")])
    assert file_lists == [[Path("/data/a")]]
    second.close()


@pytest.mark.slow
@POSIX
def test_a_new_window_is_opened_where_it_is_asked_for_or_the_other_one_crashed(launcher, tmp_path):
    first = launcher.open_window()
    second = launcher.open_window("--new-window", resources.sample("airlines"))
    assert first.poll() is None and second.poll() is None
    for process in (first, second):
        process.kill()  # the socket stays
        process.wait()
    third = launcher.open_window()
    assert launcher.start(resources.sample("planes")).wait(PATIENCE_SECONDS) == cli.OK
    wait_until(lambda: resources.sample("planes") in launcher.opened)
    assert third.poll() is None


@POSIX
def test_a_launch_does_not_wait_for_a_window_that_hangs(qtbot, runtime_folder, monkeypatch):
    monkeypatch.setattr(launch, "PATIENCE_MS", 20)
    hung = QLocalServer()
    assert hung.listen(launch.address())
    server = LaunchServer()
    assert not launch.hand_over([Path("/data/a")], server)
    assert hung.waitForNewConnection(1000 * PATIENCE_SECONDS)
    assert not hung.nextPendingConnection().readAll().data(), "its files would be opened twice"
    files: list[Path] = []
    server.serve(files.extend)
    assert_handed_over(qtbot, [Path("/data/b")])
    assert files == [Path("/data/b")]
    server.close()
    hung.close()


def assert_handed_over(qtbot, files: list[Path]) -> None:
    """Assert that a client in this process hands files over without blocking."""
    client = connect(qtbot)
    client.write(launch.encode(files))
    qtbot.waitUntil(client.canReadLine)
    assert client.readLine().data() == CONFIRMATION
    client.abort()


def connect(qtbot) -> QLocalSocket:
    client = QLocalSocket()
    client.connectToServer(launch.address())
    qtbot.waitUntil(client.canReadLine)
    assert client.readLine().data() == GREETING
    return client


@pytest.fixture
def file_lists(qtbot, runtime_folder) -> Iterator[list[list[Path]]]:
    server = LaunchServer()
    server.listen(launch.address())
    requests: list[list[Path]] = []
    server.serve(lambda files: requests.append(list(files)))
    yield requests
    server.close()


def test_many_files_are_handed_over(qtbot, file_lists):
    files = [Path(f"/data/{number:0100}").absolute() for number in range(10_000)]
    assert_handed_over(qtbot, files)
    assert_handed_over(qtbot, [])
    assert file_lists == [files, []]


@pytest.mark.parametrize(
    "message",
    [
        b"\0etc/passwd" + END,
        b"\0/data/a\0b" + END,
        b"--new-window" + END,
        b"/data/a" + END,
        b"\0/data/a" + END + b"more",
        b"\0" + END,
        b"/" * (launch.MOST_BYTES + 1),
    ],
    ids=["relative", "one relative", "option", "no separator", "after the end", "empty name", "oversized"],
)
def test_a_hostile_message_is_dropped(qtbot, file_lists, message):
    client = connect(qtbot)
    client.write(message)
    qtbot.waitUntil(lambda: client.state() == QLocalSocket.LocalSocketState.UnconnectedState)
    assert not client.readAll().data() and file_lists == []
    assert_handed_over(qtbot, [Path("/data/a").absolute()])


def test_a_launch_that_says_nothing_is_dropped(qtbot, file_lists, monkeypatch):
    monkeypatch.setattr(launch, "PATIENCE_MS", 20)
    client = connect(qtbot)
    qtbot.waitUntil(lambda: client.state() == QLocalSocket.LocalSocketState.UnconnectedState)
    assert file_lists == []


def test_a_crowd_of_launches_is_dropped(qtbot, file_lists):
    crowd = [connect(qtbot) for _ in range(launch.MOST_CONNECTIONS)]
    one_more = QLocalSocket()
    with qtbot.waitSignal(one_more.disconnected):
        one_more.connectToServer(launch.address())
    for client in crowd:
        client.abort()


OTHER_WINDOW = """
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    print(flush=True)
    connection, _ = server.accept()
    connection.sendall(sys.argv[2].encode())
    print(connection.recv(1000), flush=True)
"""


@POSIX
@pytest.mark.parametrize("greeting", ["lamella launch 2\n", "something\n", "x" * 1000])
def test_a_window_of_another_version_gets_no_files(qtbot, runtime_folder, greeting):
    words = [sys.executable, "-c", OTHER_WINDOW, launch.address(), greeting]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as window:
        assert window.stdout.readline() == b"\n"
        assert not launch.hand_over([Path("/data/a")], LaunchServer())
        assert window.stdout.readline() == b"b''\n"


def test_a_list_that_is_too_long_stays_here(qtbot, file_lists, monkeypatch):
    monkeypatch.setattr(launch, "MOST_BYTES", 10)
    assert not launch.hand_over([Path("/data/long")], LaunchServer())


@POSIX
def test_a_folder_of_somebody_else_is_not_used(qtbot, runtime_folder, caplog):
    (runtime_folder / "lamella").mkdir(mode=0o700)
    (runtime_folder / "lamella").chmod(0o777)
    with pytest.raises(PermissionError, match="private to this user"):
        launch.address()
    assert not launch.hand_over([], LaunchServer())
    assert "private to this user" in caplog.text


def test_two_homes_do_not_meet(runtime_folder, monkeypatch, tmp_path):
    address = launch.address()
    monkeypatch.setenv("LAMELLA_HOME", str(tmp_path / "other"))
    assert launch.address() != address
    monkeypatch.delenv("LAMELLA_HOME")
    assert launch.address() != address


@pytest.mark.parametrize("words", [["query", "{file}", "select 1"], ["--bench-systems", "tables"]])
def test_commands_have_nothing_to_do_with_windows(words, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "run", lambda *_: pytest.fail("a window"))
    assert cli.main([word.format(file=resources.sample("airlines")) for word in words]) == cli.OK


@pytest.mark.qt_log_ignore("does not support raise")
def test_the_window_comes_to_the_front(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.showMinimized()
    launch.raise_window(window)
    assert window.isVisible() and not window.isMinimized()


def test_files_that_macos_asks_for_are_opened(qtbot, qapp, tmp_path):
    events, files = FileOpenEvents(qapp), []
    early, late = tmp_path / "early 1.csv", tmp_path / "late.csv"
    QApplication.sendEvent(qapp, QFileOpenEvent(QUrl.fromLocalFile(str(early))))
    events.serve(files.extend)
    QApplication.sendEvent(qapp, QFileOpenEvent(QUrl.fromLocalFile(str(late))))
    qapp.removeEventFilter(events)
    events.deleteLater()
    assert files == [early, late]
