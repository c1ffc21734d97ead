"""Writes tables for documents: Markdown, and HTML to paste."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from lamella.core.jobs import Job
from lamella.core.transfer.text_columns import naming_column, texts_of
from lamella.core.transfer.writer import Output, Rows, Values, kind_of, made_in_order, pieces

NUMBERS = frozenset(("integer", "int64", "uint64", "float", "decimal"))
_IN_MARKDOWN = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "\\`*_[]|~$"},
        "<": "&lt;",
        ">": "&gt;",
        "&": "&amp;",
        "\r": "",
        "\n": "<br>",
        "\t": " ",
    }
)
"""Characters that would be markup, including HTML, which Markdown passes through."""
_IN_HTML = str.maketrans(
    {
        **{chr(code): "\ufffd" for code in range(0x20) if chr(code) not in "\t\n"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "'": "&#x27;",
        "\n": "<br>",
    }
)
"""Characters that would be markup, and control characters, which HTML does not allow."""
PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
table {{ border-collapse: collapse; font-family: sans-serif; }}
th, td {{ border: 1px solid #999; padding: 2px 6px; text-align: left; }}
td.number {{ text-align: right; }}
</style>
</head>
<body>
"""


def write_markdown(path: Path, rows: Rows, values: Values, job: Job) -> None:
    null = values["null"].translate(_IN_MARKDOWN)
    lines = ["---:" if kind_of(field.type) in NUMBERS else "---" for field in rows.schema]
    names = [name.translate(_IN_MARKDOWN) for name in rows.schema.names]

    def make(batch: pa.RecordBatch) -> bytes:
        columns = [
            [null if text is None else text.translate(_IN_MARKDOWN) for text in texts]
            for texts in _texts(batch)
        ]
        return "".join(map(_markdown_line, zip(*columns, strict=True))).encode()

    with Output(path) as output:
        output.write((_markdown_line(names) + _markdown_line(lines)).encode())
        for text in made_in_order(pieces(rows.tables), make):
            output.write(text)


def _texts(batch: pa.RecordBatch) -> Iterator[list[str | None]]:
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        with naming_column(name):
            texts = texts_of(values).to_pylist()
        yield texts


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def write_html(path: Path, rows: Rows, values: Values, job: Job) -> None:
    null = _html_text(values["null"])
    begins = ['<td class="number">' if kind_of(field.type) in NUMBERS else "<td>" for field in rows.schema]

    def make(batch: pa.RecordBatch) -> bytes:
        columns = [
            [begin + (null if text is None else _html_text(text)) + "</td>" for text in texts]
            for begin, texts in zip(begins, _texts(batch), strict=True)
        ]
        return "".join(f"<tr>{''.join(row)}</tr>\n" for row in zip(*columns, strict=True)).encode()

    head = "".join(f"<th>{_html_text(name)}</th>" for name in rows.schema.names)
    begin = PAGE.format(title=_html_text(rows.name)) if values["page"] else ""
    with Output(path) as output:
        output.write(f"{begin}<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n".encode())
        for text in made_in_order(pieces(rows.tables), make):
            output.write(text)
        output.write(b"</tbody>\n</table>\n" + (b"</body>\n</html>\n" if values["page"] else b""))


def _html_text(text: str) -> str:
    return text.replace("\r\n", "\n").translate(_IN_HTML)
