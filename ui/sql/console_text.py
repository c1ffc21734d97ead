"""Operations on the text of a console: format it, save it as a snippet or file, and insert one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.query.sql.dialects import format_sql, place_in_format
from lamella.ui.dialogs.file_dialog import ask_file, ask_new_file
from lamella.ui.sql.editor import SqlEditor
from lamella.ui.sql.saved_statements import SavedStatements
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.message_bar import DANGER, MessageBar
from lamella.ui.window.failures import sentence

SQL_FILES = "SQL (*.sql);;All files (*)"


class ConsoleText(QObject):
    """`named` has the new name of the text; `replacing` is emitted before the whole text is replaced."""

    named = Signal(str)
    replacing = Signal()

    def __init__(
        self, editor: SqlEditor, messages: MessageBar, saved: SavedStatements, tasks: Tasks, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._editor, self._messages, self._saved_statements, self._tasks = editor, messages, saved, tasks

    def lay_out(self) -> None:
        """Format the selection, or the whole text; the cursor stays at its word."""
        text, span = self._editor.toPlainText(), self._editor.selected_span
        start, stop = span or (0, len(text))

        def show(text_laid_out: str) -> None:
            if self._editor.toPlainText() == text and text_laid_out:
                place = self._editor.textCursor().position() - start
                self._editor.replace_span(start, stop, text_laid_out)
                self._editor.go_to(start + place_in_format(text[start:stop], place, text_laid_out))

        self._tasks.read(lambda job: format_sql(text[start:stop]), show, self._fail, owner=self, quiet=True)

    def insert(self, text: str) -> None:
        """Insert a text below the existing one, if there is any."""
        now = self._editor.toPlainText()
        before = now.rstrip()
        lead = f"{before}{'' if before.endswith(';') else ';'}\n\n" if before else ""
        self._editor.replace_span(0, len(now), lead + text)
        self._editor.show_place(len(lead))

    def save_snippet(self, name: str, replace: bool = False) -> None:
        """Save the selection, or the whole text, as a snippet."""
        span, text = self._editor.selected_span, self._editor.toPlainText()
        snippet = text if span is None else text[slice(*span)]

        def finish(_: None) -> None:
            if span is None:
                self.named.emit(name)
            self._messages.say(f"Saved as snippet '{visible(name)}'", kind="message-success")

        def fail(error: Exception) -> None:
            is_taken = isinstance(error, LamellaError) and "already" in str(error) and not replace
            again = [("Replace it", partial(self.save_snippet, name, True))] if is_taken else []
            self._messages.say(sentence(error), *again, kind=DANGER)

        self._tasks.read(
            lambda job: self._saved_statements.save(name, snippet, replace),
            finish,
            fail,
            owner=self,
            quiet=True,
        )

    def open_file(self) -> None:
        """Replace the text by that of a file; undo brings it back."""
        ask_file(self._editor.window(), "Open a file of SQL", self._read, filters=SQL_FILES)

    def _read(self, path: Path) -> None:
        def show(text: str) -> None:
            self.replacing.emit()
            self._editor.replace_span(0, len(self._editor.toPlainText()), text)
            self._editor.go_to(0)
            self.named.emit(path.stem)

        self._tasks.read(
            lambda job: path.read_text(encoding="utf-8-sig", errors="replace"), show, self._fail_of(path),
            owner=self, quiet=True,
        )  # fmt: skip

    def save_file(self, title: str) -> None:
        ask_new_file(self._editor.window(), "Save the text", self._write, f"{title}.sql", SQL_FILES)

    def _write(self, path: Path) -> None:
        path, text = path.with_suffix(path.suffix or ".sql"), self._editor.toPlainText()

        def write(job: Job) -> None:
            from lamella.core.transfer.exporting import draft_of

            with draft_of(path) as draft:
                draft.write_text(text, encoding="utf-8")

        def finish(_: None) -> None:
            self.named.emit(path.stem)
            self._messages.say(f"Saved to {visible(path.name)}", kind="message-success")

        self._tasks.read(write, finish, self._fail_of(path), owner=self, quiet=True)

    def _fail(self, error: Exception) -> None:
        self._messages.say(sentence(error), kind=DANGER)

    def _fail_of(self, path: Path) -> Callable[[Exception], None]:
        def failed(error: Exception) -> None:
            reason = error.strerror if isinstance(error, OSError) else sentence(error)
            self._messages.say(f"{visible(path.name)}: {reason}", kind=DANGER)

        return failed
