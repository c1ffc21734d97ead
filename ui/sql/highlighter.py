"""Syntax highlighting of SQL: keywords, texts, numbers, quoted names, parameters and comments, line by
line."""

from __future__ import annotations

from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from lamella.core.query.sql.script import Lexeme, lexemes
from lamella.ui import theme

LONGEST_TEXT = 200_000
"""The maximum number of characters of a text that is highlighted."""
LONGEST_LINE = 5_000
_UNRESERVED_WORDS = frozenset(
    [
        "by", "over", "partition", "insert", "update", "delete", "set", "values", "rows", "range", "between",
        "is", "exists", "join", "left", "right", "inner", "full", "cross", "natural", "asof", "semi", "anti",
        "explain", "analyze", "with", "recursive", "if", "nulls", "preceding", "following", "current",
        "unbounded", "filter", "like", "ilike", "similar", "escape", "exclude", "replace", "summarize",
        "over", "interval", "begin", "commit", "within", "materialized",
    ]
)  # fmt: skip
"""Words that can be names, but rarely are."""


class SqlHighlighter(QSyntaxHighlighter):
    """Highlights SQL. The state of a line is what is still open at its end: nothing, a text, a quoted name, a
    comment with its nesting depth, or a dollar-quoted text with its tag."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._keywords = _UNRESERVED_WORDS
        self._openings = ["", "'", '"']
        self._colors: dict[str, QTextCharFormat] = {}
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def use(self, reserved: frozenset[str]) -> None:
        """Use these words as keywords: they cannot be names."""
        self._keywords = reserved | _UNRESERVED_WORDS
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        if self.document().characterCount() > LONGEST_TEXT or len(text) > LONGEST_LINE:
            self.setCurrentBlockState(0)
            return
        before = self._openings[max(0, self.previousBlockState())]
        last: Lexeme | None = None
        for lexeme in lexemes(before + text):
            look = self._look(lexeme)
            start = max(0, lexeme.start - len(before))
            if look is not None:
                self.setFormat(start, lexeme.stop - len(before) - start, look)
            last = lexeme
        self.setCurrentBlockState(self._state(last))

    def _look(self, lexeme: Lexeme) -> QTextCharFormat | None:
        if lexeme.kind == "word":
            return self._colors["keyword"] if lexeme.text.casefold() in self._keywords else None
        if lexeme.kind == "sign":
            return self._colors["parameter"] if lexeme.text in "$?" else None
        return self._colors.get(lexeme.kind)

    def _state(self, last: Lexeme | None) -> int:
        if last is None or last.is_closed:
            return 0
        if last.kind == "comment":
            opening = "/*" * max(1, last.text.count("/*") - last.text.count("*/"))
        elif last.text.startswith("$"):
            opening = last.text[: last.text.index("$", 1) + 1]
        else:
            opening = '"' if last.kind == "name" else "'"
        if opening not in self._openings:
            self._openings.append(opening)
        return self._openings.index(opening)

    def _restyle(self) -> None:
        colors = theme.current()
        for kind, name in (
            ("keyword", "accent"), ("text", "success"), ("number", "warning"), ("comment", "faint"),
            ("parameter", "warning"),
        ):  # fmt: skip
            look = QTextCharFormat()
            look.setForeground(QColor(colors.color(name)))
            look.setFontItalic(kind == "comment")
            if kind == "keyword":
                look.setFontWeight(QFont.Weight.Medium)
            self._colors[kind] = look
        self.rehighlight()
