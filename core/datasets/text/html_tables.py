"""The largest table of an HTML page as delimited text, as browsers put it on the clipboard."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

from lamella.core.errors import BadData

MOST_SPAN = 1_000
_BLANKS = re.compile(r"\s+")


class _Tables(HTMLParser):
    """Collects the tables of a page; nested ones are tables of their own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._open: list[list[list[str]]] = []
        self._cells: list[list[str] | None] = []
        self._spans: list[int] = []
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._open.append([])
            self._cells.append(None)
            self._spans.append(1)
        elif tag in ("script", "style"):
            self._hidden_depth += 1
        elif not self._open:
            return
        elif tag == "tr":
            self._end_cell()
            self._open[-1].append([])
        elif tag in ("td", "th"):
            self._end_cell()
            if not self._open[-1]:
                self._open[-1].append([])
            span = dict(attrs).get("colspan") or "1"
            self._spans[-1] = min(int(span), MOST_SPAN) if span.isdecimal() and int(span) else 1
            self._cells[-1] = []
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden_depth = max(0, self._hidden_depth - 1)
        elif self._open and tag in ("td", "th", "tr"):
            self._end_cell()
        elif self._open and tag == "table":
            self._end_table()

    def handle_data(self, data: str) -> None:
        if self._cells and not self._hidden_depth:
            cell = self._cells[-1]
            if cell is not None:
                cell.append(data)

    def close(self) -> None:
        super().close()
        while self._open:
            self._end_table()

    def _end_table(self) -> None:
        self._end_cell()
        self.tables.append([row for row in self._open.pop() if row])
        self._cells.pop()
        self._spans.pop()

    def _end_cell(self) -> None:
        cell = self._cells[-1]
        if cell is not None:
            text = _BLANKS.sub(" ", "".join(cell)).strip()
            self._open[-1][-1] += [text, *[""] * (self._spans[-1] - 1)]
            self._cells[-1] = None


def table_text(html: str) -> str:
    """Return the rows of the table with the most cells as tab-separated lines. Raises `BadData` if there is
    no table."""
    parser = _Tables()
    parser.feed(html)
    parser.close()
    tables = [table for table in parser.tables if table]
    if not tables:
        raise BadData("the clipboard's HTML holds no table", fix="Copy a table, or cells of a spreadsheet")
    largest = max(tables, key=lambda table: sum(map(len, table)))
    width = max(map(len, largest))
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerows([*row, *[""] * (width - len(row))] for row in largest)
    return out.getvalue()
