"""The options of a format as fields, made from the table of formats, and the user's last choices."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLineEdit,
    QSizePolicy,
    QWidget,
)

from lamella.core.errors import BadData, FileProblem
from lamella.core.phrases import sentence_case
from lamella.core.transfer.exporting import draft_of
from lamella.core.transfer.formats import FORMATS, Format
from lamella.core.transfer.writer import Option
from lamella.ui import theme
from lamella.ui.widgets.controls import FieldForm, NumberBox
from lamella.ui.widgets.popover import ColumnsChoice

Field = QCheckBox | NumberBox | ColumnsChoice | QLineEdit | QComboBox
INVISIBLE_VALUE_LABELS = {"": "(nothing)", "\t": "tab"}
"""How invisible values are shown in a list of suggestions."""
CHOICE_WORDS = {
    "text": "Text", "needed": "Only where needed", "all": "All values",
    ".": "Point", ",": "Comma",
    "iso": "2024-12-31", "dd.mm.yyyy": "31.12.2024", "dd/mm/yyyy": "31/12/2024", "mm/dd/yyyy": "12/31/2024",
    "yyyymmdd": "20241231",
    "utf-8": "UTF-8", "utf-8-bom": "UTF-8 with a mark, for Excel", "utf-16": "UTF-16",
    "windows-1252": "Windows-1252", "latin-1": "Latin-1",
    "lf": "LF, as on Linux and macOS", "crlf": "CRLF, as on Windows",
    "zstd": "Zstandard", "snappy": "Snappy", "brotli": "Brotli", "lz4": "LZ4", "none": "None",
    "refuse": "Refuse", "split": "Several sheets", "cut": "Cut it",
    "new": "New table", "append": "Append rows", "replace": "Replace rows",
}  # fmt: skip
"""The labels of choices in a form; others are shown as they are."""
log = logging.getLogger(__name__)


class FormatOptions(QWidget):
    """A field for each option of one format, except `fixed_options`. `changed` is emitted after every
    edit."""

    changed = Signal()

    def __init__(
        self,
        format: Format,
        columns: Sequence[str],
        values: dict[str, Any],
        fixed_options: Collection[str] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.format = format
        self._options = [
            candidate
            for candidate in format.options
            if candidate.in_form and candidate.name not in fixed_options
        ]
        self.fields: dict[str, Field] = {}
        layout = FieldForm(self)
        layout.setContentsMargins(0, 0, theme.S, 0)
        layout.setHorizontalSpacing(theme.L)
        layout.setVerticalSpacing(theme.S)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        for option in self._options:
            field = self._field(option, columns, values.get(option.name, option.default))
            field.setToolTip(sentence_case(option.help))
            field.setAccessibleName(option.label)
            field.setAccessibleDescription(sentence_case(option.help))
            if not isinstance(field, ColumnsChoice):
                field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self.fields[option.name] = field
            if isinstance(field, QCheckBox):
                layout.addRow(field)
            else:
                layout.addRow(option.label, field)
                layout.labelForField(field).setToolTip(sentence_case(option.help))

    def values(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        values = {option.name: self._value(option) for option in self._options}
        defaults = {option.name: option.default for option in self._options}
        return {name: value for name, value in values.items() if value != defaults[name]}

    def lasting(self) -> dict[str, Any]:
        """The options to suggest the next time."""
        values = self.values()
        return {o.name: values[o.name] for o in self.format.options if o.lasting and o.name in values}

    def _field(self, option: Option, columns: Sequence[str], value: Any) -> Field:
        if option.kind == "switch":
            box = QCheckBox(option.label)
            box.setChecked(bool(value))
            box.toggled.connect(self.changed)
            return box
        if option.kind == "number":
            spin = NumberBox(minimum=option.least, maximum=option.most, groupSeparatorShown=True)
            spin.setValue(int(value))
            spin.valueChanged.connect(self.changed)
            return spin
        if option.kind == "columns":
            choice = ColumnsChoice(option.label, columns)
            choice.choose(value)
            choice.changed.connect(self.changed)
            return choice
        if option.kind == "text" and not option.choices:
            edit = QLineEdit(str(value))
            edit.textChanged.connect(self.changed)
            return edit
        return self._choice(option, str(value))

    def _choice(self, option: Option, value: str) -> QComboBox:
        is_text = option.kind == "text"
        words = INVISIBLE_VALUE_LABELS if is_text else CHOICE_WORDS
        box = QComboBox(editable=is_text)
        for choice in option.choices:
            box.addItem(words.get(choice, choice), choice)
        box.setCurrentText(words.get(value, value))
        box.currentTextChanged.connect(self.changed)
        return box

    def _value(self, option: Option) -> Any:
        field = self.fields[option.name]
        if isinstance(field, QCheckBox):
            return field.isChecked()
        if isinstance(field, NumberBox):
            return field.value()
        if isinstance(field, ColumnsChoice):
            return tuple(field.names)
        if isinstance(field, QComboBox) and not field.isEditable():
            return field.currentData()
        text = field.currentText() if isinstance(field, QComboBox) else field.text()
        return {label: value for value, label in INVISIBLE_VALUE_LABELS.items()}.get(text, text)


class ExportChoices:
    """The format, options and folder chosen last, in a file of the user's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.format, self.folder = "csv", ""
        self.options: dict[str, dict[str, Any]] = {}
        self._load()

    def _load(self) -> None:
        """Load the choices. Entries that are invalid, or of a later version, are ignored."""
        try:
            saved = json.loads(self._path.read_text("utf-8"))
            if not isinstance(saved, dict):
                raise ValueError("it holds no JSON object")
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s is not read, and the choices for exports in it are lost: %s", self._path, error)
            return
        ids = [format.id for format in FORMATS]
        self.format = saved["format"] if saved.get("format") in ids else self.format
        self.folder = saved["folder"] if isinstance(saved.get("folder"), str) else ""
        options = saved.get("options")
        for name, values in options.items() if isinstance(options, dict) else ():
            format = next((format for format in FORMATS if format.id == name), None)
            if format is not None and isinstance(values, dict):
                self.options[name] = _fitting(format, values)

    def save(self, format: Format, folder: Path, options: dict[str, Any]) -> None:
        """Save the choices. If the folder is not writable, only the suggestion is lost, not the export."""
        self.format, self.folder = format.id, str(folder)
        self.options[format.id] = options
        saved = {"format": self.format, "folder": self.folder, "options": self.options}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with draft_of(self._path) as draft:
                draft.write_text(json.dumps(saved, indent=1), "utf-8")
        except (OSError, FileProblem) as error:
            log.warning("The choices for exports could not be saved: %s", error)


def _fitting(format: Format, values: dict[str, Any]) -> dict[str, Any]:
    fitting = {}
    for option in format.options:
        if option.lasting and option.name in values:
            try:
                fitting[option.name] = option.read(values[option.name])
            except BadData as error:
                log.warning("The saved choices for exports of %s are ignored: %s", format.label, error)
    return fitting
