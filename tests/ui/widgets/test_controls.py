"""Widgets side by side, in further lines where there is no room, and rows that come and go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from lamella.ui import theme
from lamella.ui.widgets.controls import (
    DecimalBox,
    ElidedButton,
    ElidedLabel,
    FieldRow,
    FieldRows,
    FlowLayout,
    NumberBox,
    Reason,
)

GAP = 10


@pytest.fixture
def flow(qtbot) -> Iterator[FlowLayout]:
    """Three widgets of 100 × 20, the second one 40 high."""
    host = QWidget()
    qtbot.addWidget(host)
    layout = FlowLayout(GAP, host)
    for height in (20, 40, 20):
        widget = QWidget()
        widget.setFixedSize(100, height)
        layout.addWidget(widget)
        widget.show()
    yield layout


def places(layout: FlowLayout, width: int) -> list[tuple[int, int]]:
    layout.setGeometry(QRect(0, 0, width, 500))
    items = [layout.itemAt(place) for place in range(layout.count())]
    return [(item.geometry().x(), item.geometry().y()) for item in items if item]


def test_widgets_stand_in_one_line_where_there_is_room_each_in_its_middle(flow: FlowLayout) -> None:
    assert places(flow, 320) == [(0, 10), (110, 0), (220, 10)]
    assert flow.heightForWidth(320) == 40


def test_what_does_not_fit_goes_on_in_the_next_line(flow: FlowLayout) -> None:
    assert places(flow, 319) == [(0, 10), (110, 0), (0, 50)]
    assert flow.heightForWidth(319) == 40 + GAP + 20


def test_a_hidden_widget_takes_no_room(flow: FlowLayout) -> None:
    item = flow.itemAt(1)
    assert item is not None
    item.widget().hide()
    assert places(flow, 210)[2] == (110, 0)
    assert flow.heightForWidth(210) == 20


def test_a_layout_narrower_than_a_widget_has_one_in_each_line(flow: FlowLayout) -> None:
    assert [x for x, _ in places(flow, 50)] == [0, 0, 0]
    assert flow.minimumSize().width() == 100


class NameRow(FieldRow):
    def __init__(self) -> None:
        super().__init__("Remove this name")
        self.name = QLineEdit(self)
        self.setFocusProxy(self.name)
        self.name.textEdited.connect(self.changed)


@pytest.mark.parametrize("never_empty", [False, True])
def test_rows_of_fields_come_and_go(qtbot: QtBot, never_empty: bool) -> None:
    window, changes = QWidget(), []
    add = QPushButton("+ Name", window)
    names = FieldRows(add, NameRow, window, never_empty=never_empty)
    names.changed.connect(lambda: changes.append([row.name.text() for row in names.rows]))
    qtbot.addWidget(window)
    window.show()
    names.append(NameRow())
    assert changes == []
    qtbot.mouseClick(add, Qt.MouseButton.LeftButton)
    assert window.focusWidget() is names.rows[1].name
    qtbot.keyClicks(names.rows[1].name, "x")
    for row in list(names.rows):
        qtbot.mouseClick(row.remove, Qt.MouseButton.LeftButton)
    assert changes == [["", ""], ["", "x"], ["x"], [""] if never_empty else []]


def test_a_reason_is_plain_text_that_breaks_anywhere(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    reason = Reason(window)
    window.show()
    assert not reason.isVisible()
    reason.say(f"<b>{'x' * 100}</b> is not a column")
    assert reason.isVisible() and reason.textFormat() is Qt.TextFormat.PlainText
    assert "<b>" in reason.text() and max(map(len, reason.text().split("\u200b"))) <= 30
    reason.say("")
    assert not reason.isVisible()


@pytest.mark.parametrize("kind", [NumberBox, DecimalBox])
def test_a_number_stands_off_its_border_and_its_field_is_as_high_as_others(qtbot, kind) -> None:
    theme.current()
    host, box, field = QWidget(), kind(value=42), QLineEdit("42")
    qtbot.addWidget(host)
    for widget in (box, field):
        widget.setParent(host)
    host.show()
    assert box.lineEdit().textMargins().left() >= 6
    assert box.sizeHint().height() == field.sizeHint().height()


def test_a_label_is_cut_where_it_has_no_room_and_whole_again_where_it_has(qtbot) -> None:
    label = ElidedLabel("Mean of dep_delay by hour and carrier")
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    assert label.text().endswith("…") and label.toolTip() == label.accessibleName()
    label.resize(600, 20)
    assert label.text() == "Mean of dep_delay by hour and carrier" and not label.toolTip()


def test_texts_of_fields_below_each_other_begin_at_one_place(qtbot) -> None:
    def first_ink(field: QWidget) -> int:
        """The column of pixels in which the text begins."""
        qtbot.addWidget(field)
        field.resize(120, field.sizeHint().height())
        field.show()
        image, middle = field.grab().toImage(), range(8, field.height() - 8)
        background = image.pixelColor(5, field.height() // 2)
        return next(x for x in range(5, 60) if any(image.pixelColor(x, y) != background for y in middle))

    box, editable, number = QComboBox(), QComboBox(editable=True), NumberBox(value=1, prefix="H")
    for one in (box, editable):
        one.addItem("H1")
    assert len({first_ink(field) for field in (QLineEdit("H1", readOnly=False), box, editable, number)}) == 1


def test_a_button_with_room_shows_all_of_its_text(qtbot: QtBot) -> None:
    button = ElidedButton(40, 340)
    qtbot.addWidget(button)
    button.show()
    for count in range(1, 30):
        text = " against ".join(["ab.csv"[: 1 + count % 6], "n" * count])
        button.say(text)
        button.resize(button.sizeHint())
        assert button.text().strip() == text
    button.resize(button.minimumSizeHint())
    assert "…" in button.text()
