"""Light, dark and the size of text: switched here, remembered by the program."""

from __future__ import annotations

from PySide6.QtCore import QObject

from lamella.ui import theme
from lamella.ui.theme import TEXT_SCALES, Mode
from lamella.ui.window.action_state import ActionSet
from lamella.ui.window.memory import Memory


class Appearance(QObject):
    def __init__(self, memory: Memory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._memory = memory

    def mark(self, actions: ActionSet) -> None:
        """Check the action of the mode in force."""
        for mode in Mode:
            actions[f"theme_{mode}"].setChecked(theme.current().mode is mode)

    def set_mode(self, mode: str) -> None:
        self._memory.theme = mode
        theme.current().set_mode(mode)

    def toggle(self) -> None:
        self.set_mode(Mode.LIGHT if theme.current().dark else Mode.DARK)

    def step_text(self, step: int) -> None:
        """One size up or down; 0 goes back to the system's."""
        now = theme.current().text_scale
        nearest = min(range(len(TEXT_SCALES)), key=lambda i: abs(TEXT_SCALES[i] - now))
        scale = 1.0 if step == 0 else TEXT_SCALES[min(max(nearest + step, 0), len(TEXT_SCALES) - 1)]
        self._memory.text_scale = scale
        theme.current().set_text_scale(scale)
