"""The viewer of the help: how pages fit into it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QImage

from lamella.ui.help.viewer import PICTURE_WIDTH, PageView


def test_a_picture_is_no_wider_than_the_page(qtbot, tmp_path: Path) -> None:
    image = QImage(1280, 400, QImage.Format.Format_RGB32)
    image.fill(0)
    image.save(str(tmp_path / "wide.png"))
    view = PageView(tmp_path)
    qtbot.addWidget(view)
    view.resize(1000, 500)
    view.show()
    view.setMarkdown("![A picture](wide.png)")
    assert PICTURE_WIDTH < view.document().idealWidth() < 800
    view.resize(500, 500)
    assert view.horizontalScrollBar().maximum() == 0
    view.resize(1000, 500)
    assert view.document().idealWidth() > PICTURE_WIDTH
