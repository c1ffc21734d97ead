"""The line of chips that shows the steps from the dataset to the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QDrag,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QEnterEvent,
    QFocusEvent,
    QFontMetrics,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible_name
from lamella.core.query.steps import Step
from lamella.ui import theme
from lamella.ui.steps.kinds import KINDS
from lamella.ui.widgets.controls import ICON_GAP, ElidedLabel, IconButton
from lamella.ui.widgets.popover import Popover

ICON = 14
LEAST_WIDTH = 96
"""The width of a chip if there is no room. The longest ones shrink first, and then the line scrolls."""
SOURCE_WIDTH = 360
"""The most width of the name of the dataset, in pixels at the default text size."""

ARROW = 16
"""The width of an arrow between two chips."""

WORDS_BESIDE_BUTTONS = 60
"""The width of a short text that stays visible beside the eye and the cross."""

TIGHT = "QToolButton#inside-chip { padding: 3px; border: none; }"
NARROW = 900
"""The width, in pixels at the usual text size, below which the buttons of the line show icons instead of
names."""

STEP_MIME = "application/x-lamella-step"
COPIES = {"sql": "SQL", "python": "Python", "command": "Command line", "json": "JSON"}


@dataclass(frozen=True)
class ChipState:
    """What a chip shows. `problem` says why its step cannot run."""

    kind: type[Step]
    text: str
    on: bool = True
    problem: str = ""
    current: bool = False


class StepChip(QAbstractButton):
    """A step. A click or Enter edits it. Space or the eye switches it on or off, Delete or the cross removes
    it, Ctrl+Left, Ctrl+Right or dragging moves it. Eye and cross appear at its end, and shorten the text,
    while it is hovered or focused."""

    switch_requested = Signal()
    remove_requested = Signal()
    step_requested = Signal(int)
    move_requested = Signal(int)
    menu_requested = Signal(QPoint)

    def __init__(self, state: ChipState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self._press_place: QPoint | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        verb = "off" if state.on else "on"
        self.setStyleSheet(TIGHT)
        self._eye = IconButton("eye" if state.on else "eye-off", f"Switch {verb}: {state.text}", self)
        self._cross = IconButton("close", f"Remove: {state.text}", self)
        for button, signal in ((self._eye, self.switch_requested), (self._cross, self.remove_requested)):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setObjectName("inside-chip")
            button.clicked.connect(signal)
            button.hide()
        title = KINDS[state.kind].title if state.kind in KINDS else state.kind.__name__
        ends = " (off)" if not state.on else f" ({state.problem})" if state.problem else ""
        self.setText(f"{title}: {state.text}{ends}")
        self.setAccessibleName(self.text())
        self.setToolTip(state.problem or f"{title}: {state.text}")
        theme.current().changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        look = theme.current()
        metrics = QFontMetrics(look.font())
        words, height = metrics.horizontalAdvance(self.state.text), metrics.height() + 12
        beside = min(words, look.px(WORDS_BESIDE_BUTTONS)) + theme.XS + 2 * height  # both buttons are square
        width = theme.S + look.px(ICON) + theme.S + max(words + theme.M, beside)
        return QSize(width, height)

    def paintEvent(self, event: QPaintEvent) -> None:
        look, state = theme.current(), self.state
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = (
            "danger" if state.problem else "accent" if state.current or self.hasFocus() else "border_strong"
        )
        painter.setPen(QPen(look.color(edge), 1.2 if edge != "border_strong" else 1))
        painter.setBrush(look.color("accent_soft" if state.current else "surface"))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), theme.RADIUS, theme.RADIUS)
        inner = self.rect().adjusted(theme.S, 0, -theme.S, 0)
        icon = "warning" if state.problem else KINDS[state.kind].icon if state.kind in KINDS else "sql"
        tint = "danger" if state.problem else "accent" if state.on else "faint"
        side = look.px(ICON)
        middle = (self.height() - side) // 2
        look.icon(icon, tint).paint(painter, QRect(inner.left(), middle, side, side))
        words = inner.adjusted(side + theme.S - 2, 0, 0, 0)
        if self._eye.isVisible():
            words.setRight(self._eye.x() - theme.XS)
        font = look.font()
        font.setStrikeOut(not state.on)
        painter.setFont(font)
        painter.setPen(look.color("text" if state.on else "muted"))
        text = QFontMetrics(font).elidedText(state.text, Qt.TextElideMode.ElideRight, words.width())
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text)
        painter.end()

    # --------------------------------------------------------------- pointer and keys

    def enterEvent(self, event: QEnterEvent) -> None:
        self._show_buttons(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._show_buttons(self.hasFocus())
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._show_buttons(event.reason() is not Qt.FocusReason.MouseFocusReason or self.underMouse())
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._show_buttons(self.underMouse())
        super().focusOutEvent(event)

    def _show_buttons(self, is_visible: bool) -> None:
        self._place_buttons()
        for button in (self._eye, self._cross):
            button.setVisible(is_visible)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons()

    def _place_buttons(self) -> None:
        side = self.height() - 6
        for number, button in enumerate((self._cross, self._eye)):
            button.setGeometry(self.width() - 4 - (number + 1) * side, 3, side, side)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._press_place = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        started = self._press_place
        if started is not None and event.buttons() & Qt.MouseButton.LeftButton:
            moved = (event.position().toPoint() - started).manhattanLength()
            if moved >= QApplication.startDragDistance():
                self._press_place = None
                self.setDown(False)
                self._drag(started)
                return
        super().mouseMoveEvent(event)

    def _drag(self, started: QPoint) -> None:
        drag, data = QDrag(self), QMimeData()
        data.setData(STEP_MIME, b"")
        drag.setMimeData(data)
        drag.setPixmap(self.grab())
        drag.setHotSpot(started)
        drag.exec(Qt.DropAction.MoveAction)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, control = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_requested.emit()
        elif key == Qt.Key.Key_Space:
            self.switch_requested.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.clicked.emit()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            by = 1 if key == Qt.Key.Key_Right else -1
            (self.step_requested if control else self.move_requested).emit(by)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event.globalPos())


class StepMenu(QWidget):
    """The kinds of steps that can be added, with a search by part of their name."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = QLineEdit(placeholderText="Find a step", accessibleName="Find a step")
        self.list = QListWidget(accessibleName="Steps that can be added")
        for kind in KINDS.values():
            item = QListWidgetItem(kind.title, self.list)
            item.setData(Qt.ItemDataRole.UserRole, kind.step)
            item.setToolTip(kind.about)
        self.about = QLabel()
        theme.variant(self.about, "caption")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        for widget in (self.search, self.list, self.about):
            layout.addWidget(widget)
        self.search.textChanged.connect(self._show_matches)
        self.search.returnPressed.connect(lambda: self._choose(self.list.currentItem()))
        self.list.itemActivated.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        self.list.currentItemChanged.connect(lambda item, _: self._say(item))
        self.list.setCurrentRow(0)
        theme.current().changed.connect(self._draw_icons)
        self._draw_icons()

    def _draw_icons(self) -> None:
        self.list.setIconSize(theme.current().icon_size(ICON))
        for place, kind in enumerate(KINDS.values()):
            self.list.item(place).setIcon(theme.current().icon(kind.icon, "accent"))

    def fit(self) -> None:
        """Resize to the height of its rows in the current theme."""
        self.list.ensurePolished()
        self.list.setFixedHeight(len(KINDS) * max(1, self.list.sizeHintForRow(0)) + theme.XS)

    def begin(self) -> None:
        self.search.clear()
        self.list.setCurrentRow(0)
        self.search.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up) and self.search.hasFocus():
            self._step(1 if event.key() == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        """Go to the next or previous match."""
        items = [item for place in range(self.list.count()) if not (item := self.list.item(place)).isHidden()]
        now = self.list.currentItem()
        if now in items:
            self.list.setCurrentItem(items[(items.index(now) + by) % len(items)])

    def _say(self, item: QListWidgetItem | None) -> None:
        self.about.setText(item.toolTip() if item else "")

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None and not item.isHidden():
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))

    def _show_matches(self) -> None:
        """Show the matches: matches in names come before matches in descriptions."""
        words = self.search.text().strip().casefold()
        items = [self.list.item(place) for place in range(self.list.count())]
        for item in items:
            item.setHidden(words not in f"{item.text()} {item.toolTip()}".casefold())
        visible_items = [item for item in items if not item.isHidden()]
        visible_items.sort(key=lambda item: not item.text().casefold().startswith(words))
        self.list.setCurrentRow(self.list.row(visible_items[0]) if visible_items else -1)


class ChipStrip(QWidget):
    """Lays the chips out in a row, with arrows between them; if there is no room, the longest are cut."""

    drop_requested = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chips: list[StepChip] = []
        self.add = IconButton("plus", "Add a step (Ctrl+Shift+A)", self)
        self.setAcceptDrops(True)

    def show_chips(self, chips: Sequence[StepChip]) -> None:
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self.chips = list(chips)
        for chip in self.chips:
            chip.setParent(self)
            chip.show()
        before: QWidget | None = None
        for widget in (*self.chips, self.add):
            if before is not None:
                QWidget.setTabOrder(before, widget)
            before = widget
        self.arrange(self.width())

    def arrange(self, room: int) -> None:
        """Arrange the chips within `room` pixels, or in as few more as necessary."""
        height = max([chip.sizeHint().height() for chip in self.chips] + [self.add.sizeHint().height()])
        full_widths = [chip.sizeHint().width() for chip in self.chips]
        around = len(self.chips) * ARROW + self.add.sizeHint().width() + theme.XS
        widths = [min(width, cap) for cap in [_cap(full_widths, room - around)] for width in full_widths]
        left = 0
        for chip, width in zip(self.chips, widths, strict=True):
            left += ARROW
            chip.setGeometry(left, (self.height() - height) // 2, width, height)
            left += width
        self.add.resize(self.add.sizeHint())
        self.add.move(left + theme.XS, (self.height() - self.add.height()) // 2)
        self.setMinimumWidth(left + theme.XS + self.add.width())
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().height() != event.oldSize().height():
            self.arrange(event.size().width())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.current().color("faint"), 1.3))
        for chip in self.chips:
            tip = QPointF(chip.x() - ARROW / 2 + 2, self.height() / 2)
            painter.drawPolyline([tip + QPointF(-3, -4), tip, tip + QPointF(-3, 4)])
        painter.end()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(STEP_MIME) and event.source() in self.chips:
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if event.source() in self.chips:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        chip = event.source()
        if not isinstance(chip, StepChip) or chip not in self.chips:
            return
        x = event.position().x()
        before = sum(earlier.geometry().center().x() < x for earlier in self.chips)
        event.acceptProposedAction()
        self.drop_requested.emit(self.chips.index(chip), before)


def _cap(widths: Sequence[int], room: int) -> int:
    """The maximum width with which all fit, but at least `LEAST_WIDTH`."""
    by_width = sorted(widths)
    for place, width in enumerate(by_width):
        share = (room - sum(by_width[:place])) // (len(by_width) - place)
        if width > share:
            return max(LEAST_WIDTH, share)
    return max(widths, default=0)


class StepsBar(QFrame):
    """The bar of steps. Signals have the position of a step. `add_requested` has a kind and a position, or
    None for the usual one."""

    edit_requested = Signal(int)
    switch_requested = Signal(int)
    remove_requested = Signal(int)
    move_requested = Signal(int, int)
    add_requested = Signal(object, object)
    up_to_requested = Signal(int)
    copy_requested = Signal(str)
    paste_requested = Signal()
    save_requested = Signal()

    def __init__(self, name: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "bar")
        self.source = ElidedLabel(visible_name(name), Qt.TextElideMode.ElideMiddle, SOURCE_WIDTH)
        self.source.setAccessibleName(f"Steps over {visible_name(name)}")
        self.source.setFont(theme.current().font(bold=True))
        self._icon_name, self._icon = icon, QLabel()
        self.strip, self._scroll = ChipStrip(), QScrollArea()
        self.copy, self.save = QToolButton(text="Copy as ▾"), QToolButton(text="Save…")
        self.chart, self._chart_icon = QToolButton(visible=False), "chart-line"
        self.save_look = ("Save…", "bookmark")
        """The name of the button, and the icon that replaces it if there is no room."""
        self._place: int | None = None
        self._build()

    def show_chart(self, title: str, icon: str) -> None:
        """Show the kind of chart that is drawn from the steps."""
        self.chart.setText(ICON_GAP + title)
        self._chart_icon = icon
        self.chart.setIcon(theme.current().icon(icon))

    def show_icon(self, name: str) -> None:
        """Show the icon of the dataset that the steps begin with."""
        self._icon_name = name
        self._restyle()

    def show_steps(self, states: Sequence[ChipState]) -> None:
        """Show the steps. Chips that do not change keep the focus."""
        chips = self.strip.chips
        if [chip.state for chip in chips] == list(states):
            return
        focused = next((n for n, chip in enumerate(chips) if chip.hasFocus()), None)
        self.strip.show_chips([self._chip(place, state) for place, state in enumerate(states)])
        self.strip.arrange(self._scroll.viewport().width())
        if focused is not None:
            self.focus_chip(focused)
        for chip in self.strip.chips:
            if chip.state.current:
                self._scroll.ensureWidgetVisible(chip)

    @property
    def chips(self) -> list[StepChip]:
        return self.strip.chips

    def focus_chip(self, place: int) -> None:
        chips = self.strip.chips
        widget: QWidget = chips[min(place, len(chips) - 1)] if chips else self.strip.add
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        self._scroll.ensureWidgetVisible(widget)

    @cached_property
    def menu(self) -> StepMenu:
        """The menu, created when it is first opened."""
        menu = StepMenu()
        menu.chosen.connect(self._take_kind)
        return menu

    @cached_property
    def popover(self) -> Popover:
        return Popover(self.menu, self)

    def insert_chip(self, chip: QWidget) -> None:
        """Insert a chip before the chart's."""
        self._line.insertWidget(self._line.indexOf(self.chart), chip)

    def open_menu(self, place: int | None = None) -> None:
        """Choose a step to add, at the usual position or before a step."""
        self._place = place
        popover = self.popover  # a widget with a parent has its style
        self.menu.fit()
        popover.open_below(self.strip.add)
        self.menu.begin()

    def wheelEvent(self, event: QWheelEvent) -> None:
        bar = self._scroll.horizontalScrollBar()
        bar.setValue(bar.value() - (event.angleDelta().x() or event.angleDelta().y()) // 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._name_buttons()
        self.strip.arrange(self._scroll.viewport().width())

    def _name_buttons(self) -> None:
        """Show names on the buttons, or icons if the chips need the room."""
        narrow = self.width() < NARROW * theme.current().text_scale
        for button, name, icon in ((self.copy, "Copy as ▾", "copy"), (self.save, *self.save_look)):
            button.setText("" if narrow else name)
            button.setAccessibleName(name.rstrip(" ▾…"))
            button.setIcon(theme.current().icon(icon) if narrow else QIcon())
            button.setIconSize(theme.current().icon_size())

    def _chip(self, place: int, state: ChipState) -> StepChip:
        chip = StepChip(state)
        chip.clicked.connect(lambda: self.edit_requested.emit(place))
        chip.switch_requested.connect(lambda: self.switch_requested.emit(place))
        chip.remove_requested.connect(lambda: self.remove_requested.emit(place))
        chip.step_requested.connect(lambda by: self._step(place, by))
        chip.move_requested.connect(lambda by: self.focus_chip(max(0, place + by)))
        chip.menu_requested.connect(lambda point: self._open_context(place, point))
        return chip

    def _step(self, place: int, by: int) -> None:
        to = place + by
        if 0 <= to < len(self.strip.chips):
            self.move_requested.emit(place, to + (by > 0))
            self.focus_chip(to)

    def _open_context(self, place: int, point: QPoint) -> None:
        state, menu = self.strip.chips[place].state, QMenu(self)
        menu.addAction("Edit", lambda: self.edit_requested.emit(place))
        menu.addAction("Switch off" if state.on else "Switch on", lambda: self.switch_requested.emit(place))
        menu.addAction("Insert a step before…", lambda: self.open_menu(place))
        menu.addAction("Show the data up to here", lambda: self.up_to_requested.emit(place))
        menu.addSeparator()
        menu.addAction("Remove", lambda: self.remove_requested.emit(place))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(point)

    def _take_kind(self, kind: type[Step]) -> None:
        self.popover.close()
        self.add_requested.emit(kind, self._place)

    def _build(self) -> None:
        self._scroll.setWidget(self.strip)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.strip.setAutoFillBackground(False)
        menu = QMenu(self.copy)
        for kind, title in COPIES.items():
            menu.addAction(title, partial(self.copy_requested.emit, kind))
        menu.addSeparator()
        menu.addAction("Paste SQL or JSON as steps", self.paste_requested.emit)
        theme.variant(self.chart, "chip")
        self.chart.setAccessibleName("Show the table instead of the chart")
        self.chart.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.chart.setToolTip("The steps are drawn as a chart. Click to show the table")
        self.copy.setMenu(menu)
        self.copy.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.copy.setToolTip("Copy the steps as text")
        self.save.setToolTip("Save the steps under a name")
        self.save.clicked.connect(self.save_requested)
        self._line = QHBoxLayout(self)
        self._line.setContentsMargins(theme.M, 0, theme.S, 0)
        self._line.setSpacing(theme.XS)
        self._line.addWidget(self._icon)
        self._line.addWidget(self.source)
        self._line.addWidget(self._scroll, 1)
        for widget in (self.chart, self.copy, self.save):
            self._line.addWidget(widget)
        self.strip.add.clicked.connect(lambda _=False: self.open_menu())
        self.strip.drop_requested.connect(self.move_requested)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def _restyle(self) -> None:
        look = theme.current()
        self._icon.setPixmap(look.icon(self._icon_name).pixmap(look.px(ICON + 2), look.px(ICON + 2)))
        self.source.setFont(look.font(bold=True))
        self.chart.setIcon(look.icon(self._chart_icon))
        self.chart.setIconSize(look.icon_size())
        self.setFixedHeight(look.line_height() + 24)
        self._name_buttons()
        self.strip.arrange(self._scroll.viewport().width())
