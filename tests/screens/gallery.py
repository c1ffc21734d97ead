"""Pictures of every screen of the real window on the sample data, in the sizes and looks that people use.

Each screen is brought up anew in each size: `chart-bar-1000-dark.png` and so on, and `chart-bar-150%.png` in
large text. `sheets/chart-bar.png` has all of a screen at once. What is cut off is listed in `cut.txt`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from lamella.app import logs, tour
from lamella.app.tour import Camera, Tour
from lamella.core.errors import FileProblem, LamellaError
from lamella.ui import theme
from lamella.ui.theme import Mode
from tests.screens import answers, edits, files, servers, stores, tables
from tests.screens.cut_texts import cut_texts
from tests.screens.stage import Screen, close_popups, popups

SCREENS: tuple[Screen, ...] = (
    *tables.SCREENS, *edits.SCREENS, *answers.SCREENS, *stores.SCREENS, *files.SCREENS, *servers.SCREENS
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A size, scale and set of modes in which the window is photographed."""

    name: str
    size: QSize
    modes: tuple[Mode, ...] = (Mode.LIGHT, Mode.DARK)
    text_scale: float = 1.0


FORMS = (
    Form("1000", QSize(1000, 700)),
    Form("1280", QSize(1280, 800)),
    Form("1600", QSize(1600, 1000)),
    Form("150%", QSize(1280, 800), (Mode.LIGHT,), 1.5),
)
SCREEN = {"name": "wide", "x": 0, "y": 0, "width": 1920, "height": 1200}
"""A pop-up stays on its screen, and without this one is 800 pixels wide."""

SHARP = 2
"""Pixels a point from which on only the table is taken: the sharpness of everything else is the same."""

FRAMELESS = Qt.WindowType.FramelessWindowHint
GAP, CAPTION = 12, 22


class Gallery(Camera):
    """Takes the whole window with what is open over it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.cut: list[str] = []
        """A line for each text that is cut off: picture, widget, text."""

    def take_screen(self, window: QWidget, name: str, modes: Sequence[Mode]) -> list[Path]:
        look, pictures = theme.current(), []
        for mode in sorted(
            modes, key=lambda mode: mode is not look.mode
        ):  # a change takes a third of a second
            look.set_mode(mode)
            for _ in range(3):
                QApplication.processEvents()
            for top in (window, *popups(window)):
                self.paint_plots(top)
            target = self.folder / (f"{name}-{mode.value}.png" if len(modes) > 1 else f"{name}.png")
            if not _with_popups(window).save(str(target)):
                raise FileProblem(target, "the picture cannot be written", fix=tour.ELSEWHERE)
            pictures.append(target)
        for top in (window, *popups(window)):
            self.cut += [f"{name}: {fault}" for fault in cut_texts(top)]
        pictures.sort(reverse=True)  # light first
        self.pictures += pictures
        return pictures

    def make_sheet(self, name: str, pictures: Sequence[Path]) -> None:
        """All pictures of a screen as one, for the eye to go over: light at the left, dark at the right."""
        rows = [pictures[start : start + 2] for start in range(0, len(pictures), 2)]
        images = [[QImage(str(path)) for path in row] for row in rows]
        width = 2 * max(image.width() for row in images for image in row) + 3 * GAP
        height = sum(row[0].height() + CAPTION + GAP for row in images) + GAP
        sheet = QImage(width, height, QImage.Format.Format_RGB32)
        sheet.fill(QColor("#808080"))
        painter, top = QPainter(sheet), GAP
        painter.setFont(QFont(QApplication.font().family(), 11))
        for paths, row in zip(rows, images, strict=True):
            left = GAP
            for path, image in zip(paths, row, strict=True):
                painter.drawText(left, top + CAPTION - 6, path.stem)
                painter.drawImage(left, top + CAPTION, image)
                left += width // 2
            top += row[0].height() + CAPTION + GAP
        painter.end()
        folder = self.folder / "sheets"
        folder.mkdir(exist_ok=True)
        sheet.save(str(folder / f"{name}.png"))


def _with_popups(window: QWidget) -> QPixmap:
    picture = window.grab()
    painter = QPainter(picture)
    for popup in popups(window):
        place = window.mapFromGlobal(popup.mapToGlobal(QPoint()))
        painter.drawPixmap(place, popup.grab())
        if isinstance(popup, QDialog) and not popup.windowFlags() & FRAMELESS:  # a desktop would draw one
            painter.setPen(theme.current().color("border_strong"))
            painter.drawRect(QRect(place, popup.size()).adjusted(-1, -1, 0, 0))
    painter.end()
    return picture


def take_forms(frames: Tour, gallery: Gallery, screen: Screen, forms: Sequence[Form]) -> None:
    """Bring a screen up anew in each form, and take it. Raises what keeps it from coming up."""
    look, pictures = theme.current(), []
    for form in forms:
        look.set_text_scale(form.text_scale)
        QApplication.processEvents()  # a window is no narrower than its widgets were at another scale
        frames.window.resize(form.size)
        QApplication.processEvents()
        try:
            screen.show(frames)
            pictures += gallery.take_screen(frames.window, f"{screen.name}-{form.name}", form.modes)
            screen.leave(frames)
        finally:
            close_popups(frames)
            look.set_text_scale(1.0)
    if len(pictures) > 1:
        gallery.make_sheet(screen.name, pictures)


def chosen(names: Sequence[str]) -> list[Screen]:
    """All, or those whose names begin as one of these; raises LamellaError where none does."""
    screens = [screen for screen in SCREENS if not names or screen.name.startswith(tuple(names))]
    if not screens:
        raise LamellaError(
            f"No screen is called {', '.join(names)}: {', '.join(screen.name for screen in SCREENS)}"
        )
    return screens


def run(folder: Path, names: Sequence[str]) -> int:
    """Take the pictures; the exit code says whether all screens came up."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="lamella-screens-") as home:
        os.environ["LAMELLA_HOME"] = home
        config = Path(home) / "screens.json"
        config.write_text(json.dumps({"screens": [SCREEN]}), encoding="utf-8")
        if os.environ.get("QT_QPA_PLATFORM", "offscreen") == "offscreen":
            os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={config}"
        screens, gallery = chosen(names), Gallery(folder)
        logs.install(echoes=True)
        frames = tour.begin(gallery)
        forms = FORMS
        if frames.window.devicePixelRatio() >= SHARP:
            screens = [candidate for candidate in SCREENS if candidate.name == "table"]
            forms = (Form("200%", FORMS[1].size),)
        for screen in screens:
            began = time.monotonic()
            try:
                take_forms(frames, gallery, screen, forms)
            except Exception as failure:  # noqa: BLE001 -- the other screens are taken all the same
                failures.append(f"{screen.name}: {type(failure).__name__}: {failure}")
                frames.errors.clear()
            print(f"{screen.name}: {time.monotonic() - began:.1f} s", flush=True)
        frames.end()
        logs.uninstall()
        servers.stop()
    (folder / "cut.txt").write_text("\n".join(gallery.cut), encoding="utf-8")
    print(f"{len(gallery.pictures)} pictures of {len(screens)} screens are in {folder.absolute()}")
    print(f"{len(gallery.cut)} texts are cut off: {folder / 'cut.txt'}")
    print("\n".join(failures), file=sys.stderr)
    return int(bool(failures))


def main(words: Sequence[str]) -> int:
    """The folder, and the names of screens; the exit code."""
    parser = argparse.ArgumentParser("dev.py shots", description="Take pictures of the window's screens.")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("names", nargs="*", metavar="name", help="a screen, or how several begin; all")
    arguments = parser.parse_args(words)
    try:
        return run(arguments.folder, arguments.names)
    except LamellaError as problem:
        print(problem, file=sys.stderr)
        return 2
