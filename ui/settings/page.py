"""The settings by group, with a search: each has an editor for its type, the source of its value, and a way
back to its default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError
from lamella.core.settings import SETTINGS, Origin, Setting, Settings, Value
from lamella.core.store.paths import is_store
from lamella.core.validation import in_home
from lamella.ui import theme
from lamella.ui.dialogs.file_dialog import ask_folder
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import DecimalBox, IconButton, NumberBox, Reason
from lamella.ui.widgets.field_buttons import add_clear_button

WIDTH, EDITOR_WIDTH = 720, 260
STEP = 0.1
Change = Callable[[str, Value], object]


def store_problem(text: str) -> str:
    """Why imports cannot go to this folder; empty if they can. Blocks."""
    folder, fix = Path(text), "Choose the folder of a store, or make one with New store… in the menu File"
    if not folder.is_absolute():
        return f"{text} is not the whole path of a folder. {fix}"
    if is_store(folder):
        return ""
    what = "There is no store in the folder" if folder.is_dir() else "There is no folder"
    return f"{what} {text}. {fix}"


class SettingsPage(QWidget):
    """`change` saves and applies a setting. An invalid value is explained beside its editor, and nothing is
    changed."""

    state_changed = Signal()
    workspace_kind = "settings"

    def __init__(
        self, settings: Settings, change: Change, tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.search = QLineEdit(placeholderText="Search settings")
        add_clear_button(self.search)
        self.search.setAccessibleName("Search settings")
        self.nothing = QLabel("No setting matches.")
        theme.variant(self.nothing, "muted")
        self.nothing.hide()
        self.rows = {setting.name: SettingRow(setting, settings, change, tasks) for setting in SETTINGS}
        self._headings: dict[str, QLabel] = {}
        self._build()
        self.search.textChanged.connect(self._filter)
        self.search.textChanged.connect(self.state_changed)
        self.setFocusProxy(self.search)
        theme.current().changed.connect(self._restyle)

    def state(self) -> dict[str, str]:
        return {"search": self.search.text()}

    def refresh(self) -> None:
        """Show the current values: a setting may have been changed elsewhere."""
        for row in self.rows.values():
            row.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        names = {name for name, row in self.rows.items() if all(word in row.words for word in words)}
        for name, row in self.rows.items():
            row.setVisible(name in names)
        for group, heading in self._headings.items():
            heading.setVisible(any(row.setting.group == group for n, row in self.rows.items() if n in names))
        self.nothing.setVisible(not names)

    def _build(self) -> None:
        self._column = column = QWidget()
        inside = QVBoxLayout(column)
        inside.setContentsMargins(0, 0, 0, theme.XL)
        inside.setSpacing(0)
        for group in dict.fromkeys(setting.group for setting in SETTINGS):
            heading = QLabel(group)
            theme.variant(heading, "heading")
            heading.setContentsMargins(0, theme.L, 0, theme.XS)
            self._headings[group] = heading
            inside.addWidget(heading)
            for row in self.rows.values():
                if row.setting.group == group:
                    inside.addWidget(row)
        inside.addWidget(self.nothing)
        inside.addStretch(1)
        scroll = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(_centre(column))
        bar = scroll.verticalScrollBar()
        theme.variant(bar, "steady")
        bar.setEnabled(False)
        bar.rangeChanged.connect(lambda _, most: bar.setEnabled(most > 0))
        head = _centre(self.search, theme.L + bar.sizeHint().width())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.L, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(head)
        layout.addWidget(scroll, 1)
        self._restyle()

    def _restyle(self) -> None:
        """Resize to the width that text of this size needs, within the window."""
        for widget in (self._column, self.search):
            widget.setMaximumWidth(theme.current().px(WIDTH))
        self.refresh()


def _centre(widget: QWidget, right: int = theme.L) -> QWidget:
    """Centre a widget in a wide window; in a narrow one it shrinks. `right` is the margin on its right."""
    body = QWidget()
    layout = QHBoxLayout(body)
    layout.setContentsMargins(theme.L, 0, right, 0)
    layout.addStretch(1)
    layout.addWidget(widget, WIDTH)
    layout.addStretch(1)
    return body


class SettingRow(QWidget):
    """A setting: its name, its purpose, the source of its value, its editor, and a reset button."""

    def __init__(self, setting: Setting, settings: Settings, change: Change, tasks: Tasks) -> None:
        super().__init__()
        self.setting = setting
        self._settings, self._change = settings, change
        self.title = QLabel(setting.title or setting.name.replace("_", " ").capitalize())
        self.about, self.origin, self.reason = QLabel(f"{setting.help}."), QLabel(), Reason()
        self.reset = IconButton("undo", f"Back to the default of {self.title.text()}")
        self.reset.clicked.connect(lambda: self._take(setting.default))
        self.editor = editor_of(setting, self._take, self._say, tasks)
        self.editor.setAccessibleName(self.title.text())
        self.editor.setAccessibleDescription(self.about.text())
        self.title.setBuddy(self.editor)
        self._build()
        self.refresh()

    @property
    def words(self) -> str:
        """The text that the search looks in."""
        return f"{self.title.text()} {self.setting.name} {self.about.text()} {self.setting.group}".casefold()

    def refresh(self) -> None:
        """Show the current value, in the current text size."""
        name, setting = self.setting.name, self.setting
        self._right.setFixedWidth(theme.current().px(EDITOR_WIDTH))
        self.title.setFont(theme.current().font("body", bold=True))
        origin, value = self._settings.origin(name), self._settings[name]
        self.editor.show_value(value)
        self._say("")
        free = origin in (Origin.DEFAULT, Origin.FILE)
        self.editor.setEnabled(free)
        self.reset.setVisible(origin is Origin.FILE)
        source = {
            Origin.DEFAULT: "Default",
            Origin.FILE: "From the settings file",
            Origin.ENVIRONMENT: f"From the environment: {setting.variable}. It cannot be changed in this run",
            Origin.COMMAND_LINE: "From the command line. It cannot be changed in this run",
        }[origin]
        restart = " · takes effect at the next start" if setting.restart and free else ""
        self.origin.setText(f"{source}{restart} · {name}")

    def _take(self, value: Value) -> None:
        if value != self._settings[self.setting.name]:
            try:
                self._change(self.setting.name, value)
            except LamellaError as error:
                self._say(error.fix or str(error))
                return
        self.refresh()

    def _say(self, reason: str) -> None:
        self.reason.say(f"{reason}." if reason else "")

    def _build(self) -> None:
        theme.variant(self.origin, "caption")
        theme.variant(self.about, "muted")
        for label in (self.about, self.origin):
            label.setWordWrap(True)
            label.setMinimumWidth(1)
        self.origin.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        words = QVBoxLayout()
        words.setSpacing(theme.XS // 2)
        for widget in (self.title, self.about, self.origin, self.reason):
            words.addWidget(widget)
        editing = QHBoxLayout()
        editing.setSpacing(theme.XS)
        editing.addWidget(self.editor, 1)
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        editing.addWidget(self.reset)
        self._right = right = QWidget()
        right.setLayout(editing)
        editing.setContentsMargins(0, 0, 0, 0)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, theme.S, 0, theme.S)
        row.setSpacing(theme.L)
        row.addLayout(words, 1)
        row.addWidget(right, alignment=Qt.AlignmentFlag.AlignTop)


Take = Callable[[Value], object]
Say = Callable[[str], object]


class Editor(QWidget):
    """Shows a value; subclasses edit it."""

    def show_value(self, value: Value) -> None:
        raise NotImplementedError


def editor_of(setting: Setting, take: Take, say: Say, tasks: Tasks) -> Editor:
    """The editor for the type of a setting."""
    if setting.choices:
        return ChoiceEditor(setting, take)
    if isinstance(setting.default, bool):
        return SwitchEditor(take)
    if isinstance(setting.default, int | float):
        return NumberEditor(setting, take)
    if setting.is_folder:
        return StoreEditor(setting, take, say, tasks)
    return TextEditor(setting, take, say)


class ChoiceEditor(Editor):
    def __init__(self, setting: Setting, take: Take) -> None:
        super().__init__()
        self.box = QComboBox()
        for choice in setting.choices:
            self.box.addItem(str(choice).capitalize(), choice)
        self.box.activated.connect(lambda place: take(self.box.itemData(place)))
        _fill(self, self.box)

    def show_value(self, value: Value) -> None:
        self.box.setCurrentIndex(self.box.findData(value))


class SwitchEditor(Editor):
    def __init__(self, take: Take) -> None:
        super().__init__()
        self.box = QCheckBox("On")
        self.box.clicked.connect(take)
        _fill(self, self.box)

    def show_value(self, value: Value) -> None:
        self.box.setChecked(bool(value))
        self.box.setText("On" if value else "Off")


class NumberEditor(Editor):
    """Edits a number, which is taken once it is typed or stepped to."""

    def __init__(self, setting: Setting, take: Take) -> None:
        super().__init__()
        self.box: NumberBox | DecimalBox
        if isinstance(setting.default, int):
            self.box = NumberBox()
            self.box.setRange(int(setting.low or 0), int(setting.high or 0))
            self.box.setGroupSeparatorShown(True)
        else:
            self.box = DecimalBox(decimals=2, singleStep=STEP)
            self.box.setRange(setting.low or 0.0, setting.high or 0.0)
        if setting.unit:
            self.box.setSuffix(f" {setting.unit}")
        self.box.setSpecialValueText(setting.unset)
        self.box.setKeyboardTracking(False)
        self.box.valueChanged.connect(take)
        _fill(self, self.box)

    def show_value(self, value: Value) -> None:
        if self.box.value() == value:
            return
        self.box.blockSignals(True)
        if isinstance(self.box, NumberBox):
            self.box.setValue(int(value))
        else:
            self.box.setValue(float(value))
        self.box.blockSignals(False)


class TextEditor(Editor):
    """Edits a text. Problems are shown at every key; the text is taken once it is finished."""

    def __init__(self, setting: Setting, take: Take, say: Say) -> None:
        super().__init__()
        self._setting, self._take, self._say = setting, take, say
        self._shown_text = ""
        self.box = QLineEdit(placeholderText=setting.unset)
        self.box.textEdited.connect(self._check)
        self.box.editingFinished.connect(self._finish)
        self._line = _fill(self, self.box)

    def show_value(self, value: Value) -> None:
        self._shown_text = str(value)
        theme.variant(self.box, "")
        if self.box.text() != self._shown_text:
            self.box.setText(self._shown_text)
            self.box.setCursorPosition(0)

    def _check(self, text: str) -> bool:
        try:
            self._setting.convert(text)
        except LamellaError as error:
            self._refuse(error.fix)
            return False
        self._say("")
        theme.variant(self.box, "")
        return True

    def _refuse(self, reason: str) -> None:
        self._say(reason)
        theme.variant(self.box, "invalid")

    def _finish(self) -> None:
        """Take the text. An invalid text stays visible, and the value does not change."""
        text = self.box.text()
        if text != self._shown_text and self._check(text):
            self._take(text)


class StoreEditor(TextEditor):
    """Edits the folder of a store, which is taken once it was looked at off the GUI thread."""

    def __init__(self, setting: Setting, take: Take, say: Say, tasks: Tasks) -> None:
        super().__init__(setting, take, say)
        self._tasks = tasks
        self.browse = QPushButton("Browse…")
        self.browse.clicked.connect(self._browse)
        self._line.addWidget(self.browse)

    def _finish(self) -> None:
        text = self.box.text()
        if text == self._shown_text or not text:
            super()._finish()
            return

        def finish(problem: str) -> None:
            if self.box.text() == text:  # it may have been edited meanwhile
                self._refuse(problem) if problem else super(StoreEditor, self)._finish()

        self._tasks.read(lambda job: store_problem(text), finish, owner=self, quiet=True)

    def _browse(self) -> None:
        def take(folder: Path) -> None:
            self.box.setText(str(folder))
            self._finish()

        text = self.box.text().strip()
        ask_folder(self, "Choose a folder", take, in_home(text) if text else None)


def _fill(editor: Editor, *widgets: QWidget) -> QHBoxLayout:
    layout = QHBoxLayout(editor)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.XS)
    for widget in widgets:
        layout.addWidget(widget)
    editor.setFocusProxy(widgets[0])
    return layout
