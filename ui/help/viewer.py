"""The window that shows the help offline: a list of pages, a search, and working links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMimeData, QPoint, QRect, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QDesktopServices,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPalette,
    QResizeEvent,
    QShortcut,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextBrowser,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from lamella.ui import theme
from lamella.ui.help.pages import FIRST, SHORTCUTS, Page, anchor_of, search
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.sidebar import SidebarSplitter

SIZE, LIST_WIDTH = (1000, 720), 284
PADDING = 6
"""The style sheet's padding at the left and right of the titles."""
PICTURE_WIDTH, LEAST_PICTURE_WIDTH = 640, 240
ADDRESS = Qt.ItemDataRole.UserRole
CELL_PADDING = 6
KEY_SHARES = (35, 65)
"""The widths of keys and of what they do, alike in the tables of all menus."""
MOST_MARKS = 500
JOINER = "\u2060"
_FENCED, _INLINE_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL), re.compile("`[^`]+`")
_OPTION = re.compile(r"(?<![\w-])--(?=\w)")


def joined_options(text: str) -> str:
    """Markdown in which no line ends behind the `--` of an option in inline code; Qt breaks lines at any
    hyphen."""
    parts = _FENCED.split(text)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            parts[place] = _INLINE_CODE.sub(lambda code: _OPTION.sub(f"--{JOINER}", code[0]), part)
    return "".join(parts)


class PageView(QTextBrowser):
    """A page of Markdown in the window's colours and fonts. `followed` carries the target of a link."""

    followed = Signal(str)

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._pictures, self._picture_width = set[QUrl](), PICTURE_WIDTH
        self._anchor, self._anchor_top = "", 0
        """The heading that was gone to, and the value of the scroll bar then."""
        self.setOpenLinks(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Help page")
        self.setUndoRedoEnabled(False)
        self.document().setDocumentMargin(theme.XL)
        self.anchorClicked.connect(lambda url: self.followed.emit(url.toString()))

    def loadResource(self, kind: int, url: QUrl | str) -> object:
        """Load a picture of the folder, scaled down to the width of a page if necessary."""
        url = QUrl(url)
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, url)
        self._pictures.add(url)
        return self._picture(url)

    def resizeEvent(self, event: QResizeEvent) -> None:
        # as if there always was a scroll bar: it comes and goes with the height of the pictures
        bar = self.verticalScrollBar().sizeHint().width()
        room = self.width() - bar - 2 * round(self.document().documentMargin())
        width = max(LEAST_PICTURE_WIDTH, min(PICTURE_WIDTH, room))
        if width != self._picture_width:
            self._picture_width = width
            for url in self._pictures:
                kind = QTextDocument.ResourceType.ImageResource.value
                self.document().addResource(kind, url, self._picture(url))
            self.document().markContentsDirty(0, self.document().characterCount())
        stays = self._anchor and self.verticalScrollBar().value() == self._anchor_top
        super().resizeEvent(event)
        if stays:
            self.go_to(self._anchor)

    def _picture(self, url: QUrl) -> QImage:
        image = QImage(str(self._folder / url.toString()))
        wide = round(self._picture_width * self.devicePixelRatioF())
        if image.width() > wide:
            image = image.scaledToWidth(wide, Qt.TransformationMode.SmoothTransformation)
        image.setDevicePixelRatio(self.devicePixelRatioF())
        return image

    def show_page(self, page: Page) -> None:
        look = theme.current()
        self.document().setDefaultFont(look.font("body"))
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Link, look.color("accent"))
        palette.setColor(QPalette.ColorRole.Base, look.color("surface"))
        self.setPalette(palette)
        self.document().setMarkdown(
            joined_options(page.text), QTextDocument.MarkdownFeature.MarkdownDialectGitHub
        )
        together = QTextCursor(self.document())
        together.beginEditBlock()  # otherwise the page is laid out after each of these
        for frame in self.document().rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                _style_table(frame, KEY_SHARES if page.name == SHORTCUTS else ())
        block = self.document().begin()
        while block.isValid():
            _style_block(block)
            block = block.next()
        together.endEditBlock()
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self._anchor = ""

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is copied, as it is written on the page."""
        selected, copied = super().createMimeDataFromSelection(), QMimeData()
        copied.setText(selected.text().replace(JOINER, ""))
        copied.setHtml(selected.html().replace(JOINER, ""))
        return copied

    def go_to(self, anchor: str) -> bool:
        """Scroll to a heading; False if it does not exist. It stays at the top when the size changes, until
        the page is scrolled."""
        block = self.document().begin()
        while block.isValid():
            if block.blockFormat().headingLevel() and anchor_of(block.text().replace(JOINER, "")) == anchor:
                self.setTextCursor(
                    QTextCursor(block)
                )  # Qt scrolls to the cursor when it first shows the view
                top = self.document().documentLayout().blockBoundingRect(block).top()
                self.verticalScrollBar().setValue(round(top) - theme.M)
                self._anchor, self._anchor_top = anchor, self.verticalScrollBar().value()
                return True
            block = block.next()
        return False

    def mark(self, words: Sequence[str], scrolls: bool = True) -> None:
        """Mark these words, and scroll to the first mark below the top if it is out of sight."""
        color, marks = theme.current().color("warning_soft"), list[QTextEdit.ExtraSelection]()
        for word in words:
            place = self.document().find(word)
            while not place.isNull() and len(marks) < MOST_MARKS:
                mark = QTextEdit.ExtraSelection()
                mark.cursor = place
                mark.format.setBackground(color)
                marks.append(mark)
                place = self.document().find(word, place)
        self.setExtraSelections(marks)
        tops = sorted(self.cursorRect(mark.cursor).top() for mark in marks)
        first = next((top for top in tops if top >= 0), None)
        if scrolls and first is not None and first > self.viewport().height() - theme.XL:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + first - self.viewport().height() // 3)


def _style_table(table: QTextTable, shares: Sequence[int]) -> None:
    """Style a table; `shares` are the widths of its columns, in percent."""
    look, form = theme.current(), table.format()
    form.setBorder(1)
    form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    form.setBorderBrush(look.color("border"))
    form.setBorderCollapse(True)
    form.setCellPadding(CELL_PADDING)
    form.setCellSpacing(0)
    form.setTopMargin(theme.S)
    form.setBottomMargin(theme.M)
    form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    form.setColumnWidthConstraints(
        [QTextLength(QTextLength.Type.PercentageLength, share) for share in shares]
    )
    table.setFormat(form)
    for column in range(table.columns()):
        cell = table.cellAt(0, column)
        head = cell.format().toTableCellFormat()
        head.setBackground(look.color("sunken"))
        cell.setFormat(head)


def _style_block(block: QTextBlock) -> None:
    look, cursor, form = theme.current(), QTextCursor(block), QTextBlockFormat()
    level = block.blockFormat().headingLevel()
    is_code = block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeLanguage) or (
        block.blockFormat().nonBreakableLines()
    )
    if level:
        form.setTopMargin(theme.XL if level > 1 else 0)
        form.setBottomMargin(theme.S)
    elif is_code:
        form.setBackground(look.color("sunken"))
        form.setNonBreakableLines(False)
    cursor.mergeBlockFormat(form)
    fragments = []
    piece = block.begin()
    while not piece.atEnd():
        fragments.append(piece.fragment())
        piece += 1
    for fragment in fragments:
        form_of_text = fragment.charFormat()
        text_format = QTextCharFormat()
        if form_of_text.isAnchor():
            text_format.setForeground(look.color("accent"))
        if form_of_text.fontFixedPitch():
            text_format.setFont(look.mono_font("body"))
            if not is_code:
                text_format.setBackground(look.color("sunken"))
        if text_format.propertyCount():
            cursor.setPosition(fragment.position())
            cursor.setPosition(fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(text_format)


class TitlePainter(QStyledItemDelegate):
    """Wraps titles within the padding of the style sheet, which Qt disregards when it measures them."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Any) -> QSize:
        option.rect.setWidth(option.rect.width() - 2 * PADDING)
        return super().sizeHint(option, index)


class PageList(QListWidget):
    """Keeps the current page in sight when it gets another size."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        place, before = self.visualRect(self.currentIndex()), QRect(QPoint(), event.oldSize())
        super().resizeEvent(event)
        if not before.isValid() or before.intersects(place):
            self.scrollTo(self.currentIndex())


class HelpViewer(QWidget):
    """Shows pages by name; `shown` carries `name` or `name#anchor`."""

    def __init__(self, pages: Mapping[str, Page], folder: Path) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self.pages = pages
        self.setWindowTitle("Help · Lamella")
        size = QSize(*map(theme.current().px, SIZE))
        self.resize(size.boundedTo(self.screen().availableSize()))
        self.search = QLineEdit(placeholderText="Search the help")
        add_clear_button(self.search)
        self.search.setAccessibleName("Search the help")
        self.list, self.view = PageList(), PageView(folder)
        self.list.setAccessibleName("Pages")
        self.list.setWordWrap(True)
        self.list.setResizeMode(QListView.ResizeMode.Adjust)  # a scroll bar leaves titles less room
        self.list.setItemDelegate(TitlePainter(self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.title = QLabel()
        theme.variant(self.title, "heading")
        self.back = IconButton("arrow-left", "Back (Alt+Left)")
        self.forward = IconButton("arrow-right", "Forward (Alt+Right)")
        self._visits, self._place = list[str](), -1
        self._lay_out()
        self._connect()
        self._list_pages()

    @property
    def address(self) -> str:
        return self._visits[self._place] if self._visits else ""

    def show_page(self, address: str) -> None:
        """Show a page and drop the pages ahead in the history. An unknown address shows the first page."""
        if address.partition("#")[0] not in self.pages:
            address = FIRST if FIRST in self.pages else next(iter(self.pages))
        if address != self.address:
            self._visits[self._place + 1 :] = [address]
            self._place = len(self._visits) - 1
        self._draw()

    def follow(self, target: str) -> None:
        """Follow a link: within the page, to another page, or to the web, which the browser opens."""
        if target.startswith(("http://", "https://")):
            QDesktopServices.openUrl(QUrl(target))
        elif target.startswith("#"):
            self.show_page(self.address.partition("#")[0] + target)
        else:
            self.show_page(target)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
        elif event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        if 0 <= self._place + by < len(self._visits):
            self._place += by
            self._draw()

    def _draw(self) -> None:
        name, _, anchor = self.address.partition("#")
        page = self.pages[name]
        self.view.show_page(page)
        self.title.setText(page.title)
        self.back.setEnabled(self._place > 0)
        self.forward.setEnabled(self._place + 1 < len(self._visits))
        if anchor:
            self.view.document().adjustSize()
            self.view.document().setTextWidth(self.view.viewport().width())
            self.view.go_to(anchor)
        self.view.mark(self.search.text().split())
        self._mark_shown()

    def _mark_shown(self) -> None:
        """Select the shown page in the list of pages; a search has another list."""
        rows = [] if self.search.text() else range(self.list.count())
        self.list.blockSignals(True)
        for row in rows:
            if self.list.item(row).data(ADDRESS) == self.address.partition("#")[0]:
                self.list.setCurrentRow(row)
                self.list.scrollToItem(self.list.item(row))
        self.list.blockSignals(False)

    def _list_pages(self) -> None:
        text = self.search.text()
        self.list.blockSignals(True)
        self.list.clear()
        if not text.strip():
            for name, page in self.pages.items():
                self._add(page.title, name)
        else:
            for hit in search(self.pages, text):
                where = [hit.page.title] if hit.section.title != hit.page.title else []
                self._add(
                    "\n".join([" › ".join([*where, hit.section.title]), hit.snippet]),
                    f"{hit.page.name}#{hit.section.anchor}",
                )
            if not self.list.count():
                item = QListWidgetItem("No page matches all these words.")
                item.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(item)
        self.list.blockSignals(False)
        self.view.mark(text.split(), scrolls=False)
        self._mark_shown()

    def _add(self, text: str, address: str) -> None:
        item = QListWidgetItem(text)
        item.setData(ADDRESS, address)
        self.list.addItem(item)

    def _open(self, item: QListWidgetItem | None) -> None:
        address = None if item is None else item.data(ADDRESS)
        if address:
            self.show_page(address)

    def _open_first(self) -> None:
        if self.list.count():
            self.list.setCurrentRow(0)

    def _lay_out(self) -> None:
        left, right = QWidget(), QWidget()
        inside = QVBoxLayout(left)
        inside.setContentsMargins(theme.S, theme.S, 0, theme.S)
        inside.addWidget(self.search)
        inside.addWidget(self.list, 1)
        bar = QHBoxLayout()
        bar.setContentsMargins(theme.S, theme.S, theme.S, 0)
        for widget in (self.back, self.forward, self.title):
            bar.addWidget(widget)
        bar.addStretch(1)
        beside = QVBoxLayout(right)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.addLayout(bar)
        beside.addWidget(self.view, 1)
        splitter = SidebarSplitter(self)
        splitter.addWidget(left)
        splitter.addWidget(right)
        splitter.setStretchFactor(1, 1)
        list_width = theme.current().px(LIST_WIDTH)
        splitter.setSizes([list_width, self.width() - list_width])
        splitter.setHandleWidth(1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._list_pages)
        self.search.returnPressed.connect(self._open_first)
        self.list.currentItemChanged.connect(lambda item, _: self._open(item))
        self.list.itemClicked.connect(self._open)
        self.view.followed.connect(self.follow)
        self.back.clicked.connect(lambda: self._step(-1))
        self.forward.clicked.connect(lambda: self._step(1))
        for keys, act in (
            (QKeySequence.StandardKey.Back, lambda: self._step(-1)),
            (QKeySequence.StandardKey.Forward, lambda: self._step(1)),
            (QKeySequence.StandardKey.Find, self.search.setFocus),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(act)
        theme.current().changed.connect(self._redraw)

    def _redraw(self) -> None:
        if self._visits:
            place = self.view.verticalScrollBar().value()
            self._draw()
            self.view.verticalScrollBar().setValue(place)
