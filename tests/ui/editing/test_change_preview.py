"""The first rows of a change before and after, shown before it is made."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtWidgets import QLabel

from lamella.core.store.effects import Preview
from lamella.ui.editing.change_preview import PreviewTable
from lamella.ui.widgets.controls import EmptyNote


def test_the_preview_says_what_it_is_for_and_what_its_numbers_are(qtbot):
    table = PreviewTable()
    qtbot.addWidget(table)
    table.show()
    (note,) = table.findChildren(EmptyNote)
    (corner,) = (label for label in table.findChildren(QLabel) if label.text() == "_id")
    assert note.isVisible() and not corner.isVisible()
    ids, before, after = (
        pa.table({"_id": [7]}),
        pa.table({"carrier": ["AA"]}),
        pa.table({"carrier": ["UA"]}),
    )
    table.show_preview(Preview(ids, before, after, ("",), ("",)))
    assert not note.isVisible() and corner.isVisible()
    assert table.verticalHeaderItem(0).text() == "7"
