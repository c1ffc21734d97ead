"""Small print: captions of one or two lines, and the estimate of what a benchmark needs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.costs import Costs, Estimate, estimate
from lamella.core.bench.results.figures import shown_bytes
from lamella.ui import theme
from lamella.ui.bench.quantities import about
from lamella.ui.tasks import Handle, Tasks


class Caption(QLabel):
    """A caption that wraps in a narrow panel, so that nothing is cut off. In a low panel it can be limited to
    one line; the tooltip then has the full text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words, self._short = "", False
        theme.variant(self, "caption")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    @property
    def full_text(self) -> str:
        """The full text, even if it is cut off."""
        return self._words

    def tell(self, text: str) -> None:
        self._words = text
        self._show()
        self.setVisible(bool(text))

    def set_short(self, short: bool) -> None:
        if short == self._short:
            return
        self._short = short
        self.setWordWrap(not short)
        across = QSizePolicy.Policy.Ignored if short else QSizePolicy.Policy.Preferred
        self.setSizePolicy(across, QSizePolicy.Policy.Preferred)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._short:
            self._show()

    def _show(self) -> None:
        text = self._fitting() if self._short else self._words
        self.setText(text)
        self.setToolTip(self._words if text != self._words else "")

    def _fitting(self) -> str:
        """As many parts as fit; if not even one does, its beginning, if that is long enough to be useful."""
        room, parts = self.contentsRect().width(), self._words.split(SEPARATOR)
        for count in range(len(parts), 0, -1):
            text = SEPARATOR.join(parts[:count])
            if self.fontMetrics().horizontalAdvance(text) + BEARING <= room:
                return text
        cut = self.fontMetrics().elidedText(parts[0], Qt.TextElideMode.ElideRight, room)
        return cut if len(cut) >= LEAST_LETTERS else ""


SEPARATOR = " · "
BEARING = 2
"""Pixels by which a letter may stick out of the width of its text."""
LEAST_LETTERS = 8
WAIT_MILLISECONDS = 80
SHOWN_PROBLEMS = 2


class EstimateNote(QFrame):
    """Shows the estimate. It is computed off the GUI thread, since thousands of child processes may be
    planned.

    With `words_apart`, the owner places the `words` elsewhere, and the note is visible only while something
    does not fit. With `can_fit`, it offers to leave out the sizes that do not fit: `fit_requested` carries
    the others.
    """

    changed = Signal()
    fit_requested = Signal(tuple)

    def __init__(
        self,
        tasks: Tasks,
        costs: Callable[[], Costs],
        words_apart: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.estimate: Estimate | None = None
        self.can_fit = False
        self._tasks, self._costs, self._words_apart = tasks, costs, words_apart
        self._choice: Choice | None = None
        self._handle: Handle | None = None
        self._wait = QTimer(self, interval=WAIT_MILLISECONDS, singleShot=True)
        self._wait.timeout.connect(self._ask)
        self.words, self.problem, self.fit = (
            Caption(self),
            Caption(self),
            QPushButton("Leave out what does not fit"),
        )
        self._build()

    @property
    def refusal(self) -> str:
        """Why the benchmark does not fit on this machine; empty if it does, or while that is unknown."""
        problems = self.estimate.problems if self.estimate else ()
        more = len(problems) - SHOWN_PROBLEMS
        lines = [*problems[:SHOWN_PROBLEMS], *([f"{more:,} more do not fit"] if more > 0 else [])]
        return "".join(f"{line}. " for line in lines).strip()

    def show_choice(self, choice: Choice | None, problem: str) -> None:
        """Estimate a choice; `problem` says why there is none."""
        text = self.words.text() if self.estimate else "Estimating…"
        self._choice, self.estimate = choice, None
        self.words.tell(problem or text)
        self.problem.tell("")
        self.fit.hide()
        self.setVisible(not self._words_apart)
        if self._handle is not None:
            self._handle.cancel()
        if choice is None:
            self._wait.stop()
        else:
            self._wait.start()

    def _ask(self) -> None:
        choice = self._choice
        if choice is not None:
            self._handle = self._tasks.read(
                lambda job: estimate(choice, self._costs()), self._show, owner=self, quiet=True
            )

    def _show(self, estimate: Estimate) -> None:
        self.estimate, self._handle = estimate, None
        self.words.tell(
            SEPARATOR.join(
                (
                    f"about {about(estimate.seconds)}",
                    f"{shown_bytes(estimate.disk_bytes)} on disk",
                    f"{shown_bytes(estimate.memory_bytes)} of memory",
                )
            )
        )
        self.problem.tell(self.refusal)
        self.setVisible(not self._words_apart or bool(self.refusal))
        self.fit.setVisible(self.can_fit and bool(self.refusal) and bool(estimate.fitting_rows))
        self.changed.emit()

    def _build(self) -> None:
        theme.variant(self, "panel")
        theme.variant(self.problem, "danger")
        theme.variant(self.fit, "link")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        if self._words_apart:
            layout.setContentsMargins(theme.L, theme.S, theme.L, theme.M)
            self.words.set_short(True)
            self.hide()
        else:
            layout.addWidget(self.words)
        line = QHBoxLayout()
        line.addWidget(self.problem, 1)
        line.addWidget(self.fit)
        layout.addLayout(line)
        self.problem.hide()
        self.fit.hide()
        self.fit.clicked.connect(
            lambda: self.fit_requested.emit(self.estimate.fitting_rows if self.estimate else ())
        )
