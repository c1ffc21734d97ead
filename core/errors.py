"""Errors that people can act on, told apart from bugs.

Everything a user can cause derives from `LamellaError` and says what happened, why, and what to do.
Any other exception that leaves `core` is a bug.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from pathlib import Path

TYPE_CHECKING = False  # `typing` takes a fifth of the time of `lamella --version`
if TYPE_CHECKING:
    from typing import Literal

    Place = Literal["python", "window", "command"]
else:
    Place = str
"""Where an error is read: in a Python program, in the window, or on the command line."""


class Advice(str):
    """What to do, where that differs: the text is for Python, and others are for the window and the command
    line."""

    def __new__(cls, python: str, window: str = "", command: str = "") -> Advice:
        advice = super().__new__(cls, python)
        advice._texts = {"python": python, "window": window or python, "command": command or python}
        return advice

    def text(self, place: Place) -> str:
        return self._texts[place]

    _texts: dict[Place, str]


class LamellaError(Exception):
    """What happened, why, and what to do, each a sentence without its full stop.

    `span` is the position of the error in a typed text, if it is about one.
    """

    span: tuple[int, int] | None = None

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        self.what, self.why, self.fix = what, why, fix
        super().__init__(_join_sentences(what, why, fix))

    def fix_in(self, place: Place) -> str:
        """What to do, in the words of the place where the error is read."""
        return self.fix.text(place) if isinstance(self.fix, Advice) else self.fix

    def text_in(self, place: Place) -> str:
        """The whole message, in the words of the place where it is read."""
        return (
            _join_sentences(self.what, self.why, self.fix_in(place))
            if isinstance(self.fix, Advice)
            else str(self)
        )

    @property
    def headline(self) -> str:
        """What happened, as a title."""
        return self.what


class Cancelled(Exception):
    """Raised inside a job that was cancelled; it leaves nothing unfinished behind."""


PREDICATES = {
    "can't", "cannot", "changed", "could", "does", "has", "holds", "is", "leads", "matches", "may", "names",
    "opens",
}  # fmt: skip
"""First words of problems whose subject is the file, so that its name goes before them."""


class FileProblem(LamellaError):
    """A file or folder that cannot be read or written as asked."""

    def __init__(self, path: Path | str, what: str, why: str = "", fix: str = "") -> None:
        self.path, self.problem = path if isinstance(path, Path) else Path(path), what
        super().__init__(f"{path}: {what}", why, fix)

    @property
    def headline(self) -> str:
        """`Budget.xlsx is an Excel workbook`: the name without its folders, which are in `path`."""
        name = self.path.name or str(self.path)
        says_of_file = self.problem.partition(" ")[0] in PREDICATES
        return f"{name}{' ' if says_of_file else ': '}{self.problem}"


CHANGED_ON_DISK = "changed on disk since it was opened"
"""The problem of a file that has changed since: it can be reloaded."""


class DamagedFile(FileProblem):
    """A file whose bytes do not match its checksums. `readable_anyway`: the user may choose to read it
    without checking them (`open_dataset(path, checksums="ignore")`)."""

    def __init__(
        self, path: Path | str, what: str, why: str, fix: str, readable_anyway: bool = False
    ) -> None:
        self.readable_anyway = readable_anyway
        super().__init__(path, what, why, fix)


class MissingLibrary(LamellaError):
    """An optional package that is not installed; `package` is its name for pip."""

    def __init__(self, package: str, why: str) -> None:
        from lamella.core.libraries import install_command

        self.package = package
        super().__init__(f"the package {package} is not installed", why, install_command([package]))


class UnknownName(LamellaError):
    """A column, table or other name that does not exist, with the nearest one that does."""

    kind = "name"

    def __init__(self, name: str, place: str, known_names: Iterable[str]) -> None:
        self.name, self.place, self.known_names = name, place, list(known_names)
        self.suggestions = nearest(name, self.known_names)
        called = name if isinstance(name, str) else short_text(name)
        super().__init__(f"{place} has no {self.kind} '{called}'", fix=self._way_out())

    def _way_out(self) -> str:
        return instead_of(self.name, self.known_names) or f"It has no {self.kind}s yet"


class UnknownColumn(UnknownName):
    kind = "column"


class UnknownTable(UnknownName):
    kind = "table"


class UnknownRelation(UnknownName):
    kind = "relation"


class UnknownView(UnknownName):
    kind = "view"


class UnknownVersion(UnknownName):
    kind = "version named"

    def _way_out(self) -> str:
        return super()._way_out() if self.known_names else "No version of it has a name"


class BadFilter(LamellaError):
    """A condition that does not fit its column: wrong operator, wrong value, bad pattern."""


class NoTruthValue(BadFilter, TypeError):
    """A condition or a computed value used as a Python truth value, which it has only for a row."""


class BadQuery(LamellaError):
    """A step of a query, or a value it computes, that does not fit its input columns."""


class BadSearch(LamellaError):
    """A search text that cannot be parsed, or that needs something its index does not have."""


class BadData(LamellaError):
    """Data that cannot become rows of a table."""


class BrokenCheck(BadData):
    """A value that violates a check of its column, in the row `row_id` or in a new row."""

    def __init__(
        self, what: str, why: str = "", fix: str = "", *, column: str, row_id: int | None = None
    ) -> None:
        self.column, self.row_id = column, row_id
        super().__init__(what, why, fix)


class TypeConflict(BadData):
    """A value or column whose type does not fit what the table already holds."""


class NoRoom(LamellaError):
    """A query needs more memory, and then more temporary disk space, than there is."""


class BadSql(LamellaError):
    """A statement that cannot be parsed, uses a name that does not exist, or does something forbidden."""


class TookTooLong(LamellaError):
    """A query exceeded its time limit."""


class UnknownRow(LamellaError):
    """An `_id` that the table does not hold."""


class StoreProblem(LamellaError):
    """The store itself cannot do what was asked."""


class StoreTooNew(StoreProblem):
    """The store was written by a later version of the program."""


class DamagedStore(StoreProblem):
    """The catalog contains something invalid: a file outside the store, or a value of another type."""


class ReadOnlyStore(StoreProblem):
    """An attempt to change a store that was opened read-only."""


class StoreBusy(StoreProblem):
    """Another process held the write lock for longer than the writer could wait."""


class VersionConflict(StoreProblem):
    """The table changed between the version a writer started from and its commit."""


CARET = "^"
"""Points from its own line at a position in the line above."""


def _join_sentences(what: str, *parts: str) -> str:
    text = with_full_stop(what)
    for part in filter(None, parts):
        text += ("\n" if text.endswith(CARET) else " ") + with_full_stop(_capitalise(part))
    return text


def with_full_stop(text: str) -> str:
    return text if text.endswith((".", "?", "!", "…", ";", CARET)) else text + "."


def _capitalise(text: str) -> str:
    """Capitalise a sentence after a full stop, unless it begins with code or a name, such as `n (int64)`."""
    first, *tail = text.split(maxsplit=1) or [""]
    is_named = bool(tail) and tail[0].startswith("(")
    return text[0].upper() + text[1:] if first.rstrip(",;").isalpha() and not is_named else text


def instead_of(name: str, choices: Sequence[str]) -> str:
    """Return advice about an unknown name: the names it may be a misspelling of, or else those that exist."""
    guesses = nearest(name, choices)
    if guesses:
        return "Did you mean " + " or ".join(f"'{guess}'" for guess in guesses) + "?"
    names = ", ".join(choices[:12]) + (", …" if len(choices) > 12 else "")
    return f"There are: {names}" if names else ""


def nearest(name: str, choices: Sequence[str], least: float = 0.6) -> list[str]:
    """Return at most two of `choices` that `name` may be a misspelling of, best first; none if it is not
    text. A `least` of 1 requires the same letters."""
    if not isinstance(name, str):
        return []
    import difflib  # takes 2 ms, which most starts can save

    folded = {k.casefold(): k for k in reversed(choices)}
    matches = difflib.get_close_matches(name.casefold(), folded, n=2, cutoff=least)
    return [folded[m] for m in matches]


def short_text(value: object) -> str:
    """Return a value for a message: shortened if it is long, or nested so deeply that `repr` fails."""
    return _SHORT.repr(value)


def visible(text: str) -> str:
    """Return text for people to read, in which characters that control a terminal or the direction of writing
    are shown, not obeyed: ESC as ␛, U+009B as \\x9b, U+202E as \\u202e. Line feed and tab stay."""
    return _CONTROLS.sub(_sign, text)


def visible_name(name: str) -> str:
    """Return a name for people to read on one line: `visible`, with ↵ for line feeds and ⇥ for tabs."""
    return visible(name.replace("\r\n", "\n")).replace("\n", "↵").replace("\t", "⇥")


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Terminals take U+009B for ESC and a bracket; U+2028 and U+2029 break lines, and the higher ones control the
direction of writing."""


def _sign(control: re.Match[str]) -> str:
    code = ord(control[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 6
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxarray = 12
