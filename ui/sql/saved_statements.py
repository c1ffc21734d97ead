"""The user's history of statements and snippets, in a JSON file."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from lamella.core.errors import BadData, FileProblem, UnknownName
from lamella.core.processes import FileLock

MOST_ENTRIES = 500
MOST_SNIPPETS = 1_000
LOCK_SECONDS = 5.0
LONGEST = 64 << 10
"""The maximum number of characters of a statement that is saved whole; longer ones are cut."""
CUT = "\n-- … cut: only the beginning of a long text is saved"


@dataclass(frozen=True)
class Entry:
    """A statement that was run, or a draft that was not. `seconds` is None if it failed or was stopped;
    `rows` counts the rows that it returned or changed."""

    text: str
    time: str = ""
    store: str = ""
    seconds: float | None = None
    rows: int | None = None
    outcome: str = ""
    """Empty for a success; otherwise "failed", "stopped" or "draft"."""


@dataclass(frozen=True)
class Snippet:
    name: str
    text: str


def now() -> str:
    return dt.datetime.now().astimezone().isoformat(timespec="seconds")


class UnknownSnippet(UnknownName):
    kind = "snippet"


class SavedStatements:
    """Reads and writes the file, on any thread, also while other programs do. The values of parameters are
    never written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def history(self) -> list[Entry]:
        """The statements, newest first."""
        return [_entry(entry) for entry in self._read_file()[0]]

    def snippets(self) -> list[Snippet]:
        """The snippets, ordered by name."""
        return sorted(
            (Snippet(*entry) for entry in self._read_file()[1].items()),
            key=lambda entry: entry.name.casefold(),
        )

    def remember(self, entries: Sequence[Entry]) -> None:
        """Add statements at the beginning; one that was run before moves there. Beyond `MOST_ENTRIES`, the
        oldest are dropped."""
        if not entries:
            return
        with self._lock():
            history, snippets = self._read_file()
            new = [
                replace(entry, text=_cut(entry.text.strip()))
                for entry in reversed(entries)
                if entry.text.strip()
            ]
            texts = {entry.text for entry in new}
            older = [entry for entry in map(_entry, history) if entry.text not in texts]
            self._write([asdict(entry) for entry in [*new, *older][:MOST_ENTRIES]], snippets)

    def clear_history(self) -> None:
        with self._lock():
            self._write([], self._read_file()[1])

    def save(self, name: str, text: str, replace: bool = False) -> None:
        """Save a snippet. Raises `BadData` if the name exists, unless `replace` is set."""
        name = name.strip()
        if not name or not text.strip():
            raise BadData("A snippet needs a name and a text")
        with self._lock():
            history, snippets = self._read_file()
            if name in snippets and not replace:
                raise BadData(f"There is already a snippet '{name}'", fix="Choose another name")
            if len(snippets) >= MOST_SNIPPETS and name not in snippets:
                raise BadData(f"There are already {MOST_SNIPPETS:,} snippets", fix="Delete one first")
            self._write(history, {**snippets, name: text})

    def rename(self, name: str, new: str) -> None:
        """Rename a snippet. Raises `BadData` if the new name is empty or taken."""
        new = new.strip()
        with self._lock():
            history, snippets = self._read_file()
            if name not in snippets:
                raise UnknownSnippet(name, "the list", sorted(snippets))
            if not new:
                raise BadData("A snippet needs a name")
            if new in snippets and new != name:
                raise BadData(f"There is already a snippet '{new}'", fix="Choose another name")
            self._write(history, {new if one == name else one: text for one, text in snippets.items()})

    def delete(self, name: str) -> None:
        with self._lock():
            history, snippets = self._read_file()
            if name not in snippets:
                raise UnknownSnippet(name, "the list", sorted(snippets))
            self._write(
                history,
                {snippet_name: text for snippet_name, text in snippets.items() if snippet_name != name},
            )

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock the file against other programs that write at the same time."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._path.with_name(f"{self._path.name}.lock"))
            if not lock.wait(False, LOCK_SECONDS):
                raise FileProblem(self._path, "is being written by another program", fix="Try again")
        except OSError as error:
            raise FileProblem(self._path, "could not be written", error.strerror or str(error)) from error
        try:
            yield
        finally:
            lock.release()

    def _read_file(self) -> tuple[list[dict[str, Any]], dict[str, str]]:
        try:
            saved = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return [], {}
        except (OSError, ValueError, RecursionError) as error:
            raise self._unreadable(str(error)) from error
        history = saved.get("history") if isinstance(saved, dict) else None
        snippets = saved.get("snippets") if isinstance(saved, dict) else None
        if not isinstance(history, list) or not isinstance(snippets, dict):
            raise self._unreadable("It has other contents")
        entries = [
            entry for entry in history if isinstance(entry, dict) and isinstance(entry.get("text"), str)
        ]
        return entries, {name: text for name, text in snippets.items() if isinstance(text, str)}

    def _unreadable(self, why: str) -> FileProblem:
        return FileProblem(
            self._path, "the history of statements cannot be read", why, "Fix the file, or remove it"
        )

    def _write(self, history: Sequence[Mapping[str, Any]], snippets: Mapping[str, str]) -> None:
        from lamella.core.transfer.exporting import draft_of

        with draft_of(self._path) as draft:
            text = json.dumps(
                {"history": list(history), "snippets": dict(snippets)}, ensure_ascii=False, indent=1
            )
            draft.write_text(text, encoding="utf-8")


_FIELDS = {field.name for field in fields(Entry)}


def _entry(saved: Mapping[str, Any]) -> Entry:
    return Entry(**{name: value for name, value in saved.items() if name in _FIELDS})


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + CUT
