"""Shows errors of statements: where they are, as a message, and with what can be done about them."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer

from lamella.core.errors import LamellaError, visible, with_full_stop
from lamella.core.phrases import quantity
from lamella.core.query.sql.completion import engine_words
from lamella.core.query.sql.dialects import Translation, translate
from lamella.core.query.sql.problems import SyntaxProblem, in_words, place_of_problem, syntax_problem
from lamella.core.query.sql.script import lexemes, with_dollars
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.sql.editor import SqlEditor
from lamella.ui.sql.open_names import OpenNames
from lamella.ui.sql.runner import Statement
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.message_bar import DANGER, Choice, MessageBar
from lamella.ui.window.failures import sentence

log = logging.getLogger(__name__)
_QUOTED_NAME = re.compile(r"'([^']+)'")
_LAST_WORD = re.compile(r'(?:[\w"]+\s*\.\s*)*("?[\w$]+"?)')
_MOST_FIXES = 2
CHECK_MS = 600
LONGEST_CHECKED = 100_000
"""The maximum number of characters that are checked while typing; longer texts are checked when they run."""


def remainder_text(num_waiting: int) -> str:
    """A sentence about the statements after one that failed or was stopped."""
    if not num_waiting:
        return ""
    return f" {quantity(num_waiting, 'statement')} after it did not run."


class ProblemMessages(QObject):
    def __init__(
        self, editor: SqlEditor, messages: MessageBar, names: OpenNames, tasks: Tasks, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._editor, self._messages, self._names, self._tasks = editor, messages, names, tasks

    def show(self, statement: Statement, error: Exception, num_waiting: int) -> None:
        """Show an error. `num_waiting` is the number of statements after it."""
        if not isinstance(error, LamellaError):
            log.error("Unexpected error in a statement", exc_info=error)
            details = ("Details", lambda: ErrorDialog(error, self._editor.window()).open())
            self._messages.say(sentence(error), details, kind=DANGER)
            return
        words, fix = in_words(error)
        place = place_of_problem(error, statement.text)
        own = place or (0, len(statement.text.split(maxsplit=1)[0]))
        first, last = statement.start + own[0], statement.start + own[1]
        explanation = " ".join(with_full_stop(part) for part in (words, fix) if part)
        self._editor.show_problem(first, last, explanation)
        text = self._editor.toPlainText()
        message = f"Line {text.count(chr(10), 0, first) + 1:,}: {explanation}{remainder_text(num_waiting)}"
        choices: list[Choice] = [("Go there", partial(self._editor.show_place, first))]
        if place is not None and fix.startswith("Did you mean"):
            before = text[first:last]
            begins = all(lexeme.kind == "comment" for lexeme in lexemes(statement.text[: place[0]]))
            for name in _QUOTED_NAME.findall(fix)[:_MOST_FIXES]:
                if begins:  # with a keyword
                    word = name.upper() if before.isupper() else name
                    choices.append((f"Use {word}", partial(self._replace, first, last, before, word)))
                else:
                    choices.append((f"Use {visible(name)}", partial(self._use, first, last, before, name)))
        self._messages.say(message, *choices, kind=DANGER)
        self._look_for_dialect(statement, message, choices)

    def _use(self, first: int, last: int, before: str, name: str) -> None:
        """Replace an unknown name; an alias before it, or arguments after it, stay."""
        word = _LAST_WORD.match(before)
        quoted = ".".join(engine_words().quote(part) for part in name.split("."))
        start, stop = (first + word.start(1), first + word.end(1)) if word is not None else (first, last)
        self._replace(start, stop, before[start - first : stop - first], quoted)

    def _replace(self, start: int, stop: int, before: str, text: str) -> None:
        if self._editor.toPlainText()[start:stop] == before:
            self._editor.replace_span(start, stop, text)
            self._editor.show_place(start + len(text))

    def _look_for_dialect(self, statement: Statement, message: str, choices: Sequence[Choice]) -> None:
        """Find out whether the statement is valid in another database."""
        sources = self._names.sources()

        def show(translation: Translation | None) -> None:
            stop = statement.start + len(statement.text)
            text_now = self._editor.toPlainText()[statement.start : stop]
            is_shown = self._messages.label.text() == visible(message) and not self._messages.isHidden()
            if translation is None or with_dollars(text_now) != statement.text or not is_shown:
                return
            use = ("Use DuckDB's form", partial(self._translate, statement, translation))
            reads_as = f"{message} {translation.remark}."
            self._messages.say(reads_as, use, *choices[:1], kind=DANGER, stays=True)

        self._tasks.read(
            lambda job: translate(statement.text, sources, job), show, lambda _: None, owner=self, quiet=True
        )

    def _translate(self, statement: Statement, translation: Translation) -> None:
        """Replace the statement by its translation, which undo reverts."""
        self._editor.replace_span(statement.start, statement.start + len(statement.text), translation.text)
        self._editor.show_place(statement.start)


class SyntaxCheck(QObject):
    """Underlines syntax errors while a text is typed: after a pause, off the GUI thread, without a message.
    Errors of a run stay marked."""

    def __init__(self, editor: SqlEditor, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._editor, self._tasks = editor, tasks
        self._marked_text: str | None = None
        """The reason of the problem that it has underlined."""
        self._pause = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._pause.timeout.connect(self._begin)
        editor.textChanged.connect(self._pause.start)

    def _begin(self) -> None:
        editor = self._editor
        text = editor.toPlainText()
        if len(text) > LONGEST_CHECKED:
            return
        if editor.completer.is_open:
            self._pause.start()
            return

        def show(problem: SyntaxProblem | None) -> None:
            if editor.toPlainText() == text:
                self._show(problem)

        self._tasks.read(lambda job: syntax_problem(text), show, lambda _: None, owner=self, quiet=True)

    def _show(self, problem: SyntaxProblem | None) -> None:
        editor, place = self._editor, self._editor.textCursor().position()
        if editor.problem and editor.problem != self._marked_text:
            return
        is_typed = problem is not None and problem.span[0] < place <= problem.span[1]
        if problem is None or is_typed:  # an unfinished word
            editor.clear_problem()
            self._marked_text = None
            return
        editor.show_problem(*problem.span, problem.text)
        self._marked_text = problem.text
