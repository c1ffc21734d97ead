"""The viewer of the help: how pages fit into it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSizeF, Qt
from PySide6.QtGui import QImage, QTextTable
from PySide6.QtWidgets import QApplication, QSplitter

from lamella.ui import theme
from lamella.ui.help.pages import SHORTCUTS, Page
from lamella.ui.help.viewer import PICTURE_WIDTH, HelpViewer, PageView, joined_options


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


def test_a_page_that_just_fits_is_laid_out_no_more_often_than_others(qtbot, tmp_path: Path) -> None:
    """A scroll bar that comes and goes does not scale the pictures, whose height decides whether it is
    needed."""
    QImage(1200, 800, QImage.Format.Format_RGB32).save(str(tmp_path / "picture.png"))
    view = PageView(tmp_path)
    qtbot.addWidget(view)
    view.show()
    sizes: list[QSizeF] = []
    view.document().documentLayout().documentSizeChanged.connect(sizes.append)
    counts = []
    for height in range(360, 440, 2):
        sizes.clear()
        view.resize(500, height)
        view.show_page(Page("page.md", "# Title\n\n![A picture](picture.png)\n\nText\n"))
        QApplication.processEvents()
        counts.append(len(sizes))
    assert max(counts) < 10, counts


def test_a_page_opens_at_its_heading_before_and_after_it_is_shown(qtbot, tmp_path: Path) -> None:
    paragraphs = "\n\n".join("some words " * 40 for _ in range(30))
    pages = {"page.md": Page("page.md", f"# Title\n\n{paragraphs}\n\n## Settings\n\n{paragraphs}")}
    viewer = HelpViewer(pages, tmp_path)
    qtbot.addWidget(viewer)

    def top() -> int:
        view, block = viewer.view, viewer.view.document().begin()
        while block.text() != "Settings":
            block = block.next()
        place = view.document().documentLayout().blockBoundingRect(block).top()
        return round(place) - view.verticalScrollBar().value()

    viewer.show_page("page.md#settings")
    viewer.show()
    qtbot.waitExposed(viewer)
    qtbot.waitUntil(lambda: top() == theme.M)
    viewer.resize(viewer.width() - 150, viewer.height())
    qtbot.waitUntil(lambda: top() == theme.M)
    viewer.view.verticalScrollBar().setValue(7)
    viewer.resize(viewer.width() + 150, viewer.height())
    QApplication.processEvents()
    assert viewer.view.verticalScrollBar().value() == 7
    viewer.show_page("page.md#settings")
    qtbot.waitUntil(lambda: top() == theme.M)


def test_titles_of_pages_are_whole_however_narrow_the_list_is(qtbot, tmp_path: Path) -> None:
    title = "Command line and settings"
    pages = {f"page{n}.md": Page(f"page{n}.md", f"# {title}") for n in range(60)}
    viewer = HelpViewer(pages, tmp_path)
    qtbot.addWidget(viewer)
    viewer.show_page("page0.md")
    viewer.show()
    (splitter,) = viewer.findChildren(QSplitter)
    metrics = viewer.list.fontMetrics()
    one_line = metrics.horizontalAdvance(title)
    for width in range(one_line, one_line + 60, 4):
        splitter.setSizes([width, 700])
        QApplication.processEvents()
        room = viewer.list.visualItemRect(viewer.list.item(0))
        needs = metrics.boundingRect(0, 0, room.width() - 18, 999, Qt.TextFlag.TextWordWrap, title)
        assert room.width() <= viewer.list.viewport().width()
        assert room.height() >= needs.height() + theme.S


def test_the_shown_page_is_in_sight_in_the_list_of_pages(qtbot, tmp_path: Path) -> None:
    pages = {f"page{n}.md": Page(f"page{n}.md", f"# Page {n}") for n in range(60)}
    viewer = HelpViewer(pages, tmp_path)
    qtbot.addWidget(viewer)
    viewer.show_page("page59.md")
    viewer.resize(900, 600)
    viewer.show()
    look = theme.current()
    mode = look.mode

    def is_in_sight() -> bool:
        return viewer.list.viewport().rect().contains(viewer.list.visualItemRect(viewer.list.currentItem()))

    assert viewer.list.currentItem().text() == "Page 59" and is_in_sight()
    viewer.resize(900, 300)
    QApplication.processEvents()
    assert is_in_sight()
    try:
        for other in (theme.Mode.DARK, theme.Mode.LIGHT):
            look.set_mode(other)
            QApplication.processEvents()
            assert is_in_sight()
    finally:
        look.set_mode(mode)


def test_keys_of_all_menus_take_the_same_width(qtbot, tmp_path: Path) -> None:
    tables = (
        f"| Key | What it does |\n|---|---|\n| Ctrl+O | {text} |" for text in ("Open", "Open a folder…")
    )
    viewer = HelpViewer({SHORTCUTS: Page(SHORTCUTS, "\n\n".join(["# Keys", *tables]))}, tmp_path)
    qtbot.addWidget(viewer)
    viewer.resize(1000, 500)
    viewer.show_page(SHORTCUTS)
    viewer.show()
    frames = viewer.view.document().rootFrame().childFrames()
    second = [frame.cellAt(0, 1).firstCursorPosition() for frame in frames if isinstance(frame, QTextTable)]
    assert len(second) == 2
    assert len({viewer.view.cursorRect(cursor).left() for cursor in second}) == 1


def test_the_list_of_pages_grows_with_the_text(qtbot, tmp_path: Path) -> None:
    viewer = HelpViewer({"page.md": Page("page.md", "# Title")}, tmp_path)
    qtbot.addWidget(viewer)
    viewer.resize(1200, 500)
    viewer.show_page("page.md")
    viewer.show()
    (splitter,) = viewer.findChildren(QSplitter)
    before = splitter.sizes()[0]
    theme.current().set_text_scale(1.5)
    after = splitter.sizes()[0]
    theme.current().set_text_scale(1.0)
    assert after == round(1.5 * before) and splitter.sizes()[0] == before


def test_no_line_ends_within_the_dashes_of_an_option(qtbot, tmp_path: Path) -> None:
    view = PageView(tmp_path)
    qtbot.addWidget(view)
    view.show()
    view.show_page(Page("page.md", "Some words, then `--bad-lines` and `lamella import --dates`.\n"))
    ends = set()
    for width in range(120, 700, 4):
        view.resize(width, 300)
        block = view.document().begin()
        for number in range(block.layout().lineCount()):
            line = block.layout().lineAt(number)
            ends.add(block.text()[: line.textStart() + line.textLength()].rstrip()[-3:])
    assert len(ends) > 5 and not [end for end in ends if end.rstrip("\u2060").endswith("-") and "--" in end]
    view.selectAll()
    view.copy()
    text = QApplication.clipboard().text()
    assert text.rstrip() == "Some words, then --bad-lines and lamella import --dates."


def test_blocks_of_code_stay_as_they_are() -> None:
    text = "Use `--a`.\n\n```\nlamella `x` --a\n```\n\n--b and `c --d`\n"
    joined = "Use `--\u2060a`.\n\n```\nlamella `x` --a\n```\n\n--b and `c --\u2060d`\n"
    assert joined_options(text) == joined
