"""A display of its own with a window manager, for packaging/bundle_test, and two programs that run on it:
`screen.py drag FILE`, a small window that the file can be dragged from, and `screen.py picture FILE`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDrag, QImage, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel

SIZE = "1280x800x24"
PATIENCE = 90
STILL_SECONDS, MOVING_SECONDS = 0.6, 10.0
SOURCE_TITLE = "Drag source"
HERE = (sys.executable, __file__)


class Failed(Exception):
    """What a check found."""


def check(fact: bool, otherwise: str) -> None:
    if not fact:
        raise Failed(otherwise)


def output(command: list[str], code: int = 0, seconds: float = 600, **more: str) -> str:
    """What it prints, when it ends with this code."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
        env={**os.environ, **more}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    check(
        done.returncode == code,
        f"exit code {done.returncode} of {shlex.join(command[-3:])}: {done.stdout[-1500:]}",
    )
    return done.stdout


def wait(what: str, ready: Callable[[], object]) -> object:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.3)
    raise Failed(f"{what}: not after {PATIENCE} s")


class Screen:
    """A display of its own with a window manager; windows are found by their titles."""

    def __init__(self, pictures: Path) -> None:
        self.pictures = pictures
        self.display = ""

    @contextmanager
    def shown(self) -> Iterator[None]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        reading, writing = os.pipe()
        # By default the server ends every connection when the last client leaves: xdotool, which asks for the
        # window manager, would now and then take it along as it connects.
        options = ["-noreset", "-screen", "0", SIZE, "-ac", "-nolisten", "tcp"]
        server = ["Xvfb", "-displayfd", str(writing), *options]
        processes = [subprocess.Popen(server, pass_fds=[writing], **quiet)]
        os.close(writing)
        try:
            with os.fdopen(reading) as answer:  # one that nobody else has
                self.display = f":{answer.readline().strip()}"
            manager = subprocess.Popen(["openbox"], env=self.environment, **quiet)
            processes.insert(0, manager)
            wait("the window manager", lambda: self.ask("get_num_desktops"))
            yield
            check(manager.poll() is None, f"the window manager ended with exit code {manager.returncode}")
        finally:
            for process in processes:
                process.terminate()
                process.wait(10)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DISPLAY": self.display}

    def do(self, *words: str) -> str:
        return output(["xdotool", *words], DISPLAY=self.display).strip()

    def ask(self, *words: str) -> str:
        """What it prints; nothing where it fails, whatever it prints then."""
        command = ["xdotool", *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return "" if done.returncode else done.stdout.strip()

    def activate(self, window: str) -> None:
        """Bring it to the front, and wait until it has the focus."""

        def is_active() -> bool:
            self.ask("windowactivate", window)
            return self.ask("getactivewindow") == window

        wait(f"the focus of window {window}", is_active)

    def place(self, window: str) -> None:
        """In front, and where clicks are aimed at."""
        self.activate(window)
        self.do("windowsize", "--sync", window, "1100", "700", "windowmove", window, "150", "80")

    def titles(self) -> dict[str, str]:
        """Window by title, of Lamella's main window."""
        found = self.ask("search", "--onlyvisible", "--name", "Lamella")
        titles = {}
        for window in found.split():
            with suppress(Failed):
                titles[self.do("getwindowname", window)] = window
        return titles

    def window(self, part: str) -> str:
        """The window whose title has this in it, as soon as there is one."""

        def find() -> str | None:
            return next((window for title, window in self.titles().items() if part in title), None)

        return str(wait(f"a window called {part}; there are {list(self.titles())}", find))

    def picture(self, name: str) -> None:
        """Of the whole screen, once it stands still."""
        target = self.pictures / f"{name}.png"
        output([*HERE, "picture", str(target)], DISPLAY=self.display, QT_QPA_PLATFORM="xcb")

    def drag(self, file: str) -> None:
        """From a small window in the corner to the middle of what is behind it."""
        source = subprocess.Popen([*HERE, "drag", file], env={**self.environment, "QT_QPA_PLATFORM": "xcb"})
        try:
            search = ("search", "--onlyvisible", "--name", SOURCE_TITLE)
            window = str(wait("the window to drag from", lambda: self.ask(*search))).split()[0]
            self.do("windowmove", "--sync", window, "10", "10")
            self.do("windowraise", window, "mousemove", "50", "50", "mousedown", "1")
            for x in range(60, 701, 40):
                self.do("mousemove", str(x), str(50 + x // 2))
                time.sleep(0.05)
            time.sleep(0.5)
            self.do("mouseup", "1")
            with suppress(subprocess.TimeoutExpired):
                source.wait(10)
        finally:
            source.kill()
            source.wait()


# ------------------------------------------------------------------------- what runs on it


class DragSource(QLabel):
    def __init__(self, file: Path) -> None:
        super().__init__("Drag me")
        self._file = file
        self.setWindowTitle(SOURCE_TITLE)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self.setGeometry(0, 0, 120, 80)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 -- Qt's name
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(self._file))])
        drag = QDrag(self)
        drag.setMimeData(data)
        drag.exec(Qt.DropAction.CopyAction)
        QApplication.quit()


def drag(file: str) -> int:
    application = QApplication([])
    source = DragSource(Path(file))
    source.show()
    return application.exec()


def save_picture(file: str) -> int:
    """What never stands still, such as a cursor that blinks, is taken as it is after a while."""
    screen = QApplication([]).primaryScreen()
    before, end = QImage(), time.monotonic() + MOVING_SECONDS
    while (now := screen.grabWindow(0).toImage()) != before and time.monotonic() < end:
        before = now
        time.sleep(STILL_SECONDS)
    return 0 if now.save(file) else 1


if __name__ == "__main__":
    sys.exit({"drag": drag, "picture": save_picture}[sys.argv[1]](sys.argv[2]))
