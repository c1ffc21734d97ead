"""The find bar: what it shows in little room."""

from __future__ import annotations

import pytest

from lamella.ui import theme
from lamella.ui.find.bar import FindBar


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_its_field_keeps_room_for_a_few_words(qtbot, scale: float) -> None:
    bar = FindBar()
    qtbot.addWidget(bar)
    bar.show()
    theme.current().set_text_scale(scale)
    widths = []
    for width in (760, 900, 1050, 1400):
        bar.resize(round(width * scale), bar.sizeHint().height())
        bar.layout().activate()
        widths.append(bar.field.width() / scale)
    theme.current().set_text_scale(1.0)
    assert min(widths) >= 160
