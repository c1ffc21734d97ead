"""A table from the contents of the clipboard: cells of a spreadsheet, CSV, JSON, a table of a web page."""

from __future__ import annotations

import tempfile

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QApplication, QLabel

from lamella.core.datasets.text.html_tables import table_text
from lamella.core.errors import BadData
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.dialogs.file_import import FileImportDialog

PAGE = """<html><style>td { color: red }</style><body><table><tr><td>small</td></tr></table>
<table><thead><tr><th>id<th>name</thead>
<tr><td>1</td><td>M&uuml;ller<br>
 &amp; S&ouml;hne</td></tr><tr><td colspan=2>2</td></tr><tr><td>3</table></body>"""


def mime(text: str = "", html: str = "") -> QMimeData:
    data = QMimeData()
    if text:
        data.setText(text)
    if html:
        data.setHtml(html)
    return data


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (lambda: mime("id\tname\n1\tA\n2\tB\n"), [{"id": 1, "name": "A"}, {"id": 2, "name": "B"}]),
        (lambda: mime("id;amount\n1;1.234,50\n"), [{"id": 1, "amount": 1234.5}]),
        (lambda: mime('[{"id": 1, "name": "A"}]'), [{"id": 1, "name": "A"}]),
        (lambda: mime('{"id": 1}\n{"id": 2}\n'), [{"id": 1}, {"id": 2}]),
        (
            lambda: mime("id name 1 Müller", PAGE),
            [{"id": 1, "name": "Müller & Söhne"}, {"id": 2, "name": None}, {"id": 3, "name": None}],
        ),
        (lambda: mime("id\tn\n1\t2\n", "<table><tr><td>formatted</table>"), [{"id": 1, "n": 2}]),
        (lambda: mime("id,n\n1,2\n", "<p>no table</p>"), [{"id": 1, "n": 2}]),
    ],
    ids=["cells", "csv", "json", "json lines", "page", "cells and page", "page without a table"],
)
def test_what_is_pasted_on_the_start_page_becomes_a_table(qtbot, window, store, data, rows) -> None:
    QApplication.clipboard().setMimeData(data())
    window.start.setFocus()
    qtbot.keyClick(window.start, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: len(window.findChildren(FileImportDialog)) == 1)
    (dialog,) = window.findChildren(FileImportDialog)
    qtbot.waitUntil(dialog.import_button.isEnabled)
    assert dialog.name_edit.text() == "pasted"
    with qtbot.waitSignal(dialog.finished):
        dialog.import_button.click()
    names = list(rows[0])
    assert store["pasted"].read(names).to_pylist() == rows


def test_a_clipboard_without_a_table_is_said(qtbot, window) -> None:
    QApplication.clipboard().clear()
    assert "holds no table" in said_of_paste(qtbot, window)


def test_a_clipboard_that_cannot_be_written_is_said(qtbot, window, tmp_path, monkeypatch) -> None:
    """The folder for temporary files is missing: there is a file in its place."""
    place = tmp_path / "no folder"
    place.write_bytes(b"")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    QApplication.clipboard().setText("id\tname\n1\tA\n")
    text = said_of_paste(qtbot, window)
    assert "no folder: the clipboard could not be written" in text
    assert not window.findChildren(FileImportDialog) and not window.library.stores[0].tables


def said_of_paste(qtbot, window) -> str:
    window.commands["paste_table"].trigger()
    qtbot.waitUntil(lambda: len(window.findChildren(ErrorDialog)) == 1)
    (said,) = window.findChildren(ErrorDialog)
    text = "\n".join(label.text() for label in said.findChildren(QLabel))
    said.close()
    return text


def test_a_page_without_a_table_has_none() -> None:
    with pytest.raises(BadData, match="no table"):
        table_text("<p>words</p>")


def test_tables_inside_of_others_count_for_themselves() -> None:
    inner = "<table><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert table_text(f"<table><tr><td>{inner}<td>x</table>") == "a\tb\nc\td\n"
