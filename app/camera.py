"""Pictures of the window, light and dark."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from lamella.core.errors import FileProblem
from lamella.ui import theme

ELSEWHERE = "Choose another folder"
MODES = (theme.Mode.DARK, theme.Mode.LIGHT)


class Camera:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(folder, "no pictures can be written here", why, ELSEWHERE) from error

    def take(self, widget: QWidget, name: str) -> None:
        """`NN-name-light.png` and `NN-name-dark.png`; leaves the look light."""
        number = len(self.taken) // len(MODES) + 1
        for mode in MODES:
            theme.current().set_mode(mode)
            QApplication.processEvents()
            QApplication.processEvents()
            target = self.folder / f"{number:02}-{name}-{mode.value}.png"
            if not widget.grab().save(str(target)):
                raise FileProblem(target, "the picture cannot be written", fix=ELSEWHERE)
            self.taken.append(target)
