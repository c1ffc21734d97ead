"""The form that chooses the format of a column, with a preview of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.filters.kinds import Kind, kind_of
from lamella.ui import theme
from lamella.ui.formats.formats import (
    BY_ID,
    CHOICES,
    LONGEST_AFFIX,
    MOST_DIGITS,
    Format,
    FormattedTexts,
    can_be_shaded,
    format_texts,
    is_zone,
    kinds_for,
)
from lamella.ui.formats.shading import COLORS, MOST_RULES, RULES, SHADINGS, Rule, Shading
from lamella.ui.grid.columns import has_sign
from lamella.ui.grid.texts import with_minus
from lamella.ui.widgets.controls import CONTROL_HEIGHT, FieldRow, FieldRows

WORDS = {
    "kind": "Show as",
    "separators": "Separators",
    "rounding": "Digits",
    "prefix": "Before",
    "suffix": "After",
    "sizes": "Units",
    "date": "Day",
    "time": "Time",
    "zone": "Zone",
    "unit": "The number is",
    "span": "As",
    "align": "Align",
    "shading": "Colour",
    "low": "From",
    "high": "To",
    "center": "Around",
}
LONGEST_PREVIEW = 28
MOST_PREVIEWS = 4
NEW_RULE = Rule("<", 0.0)
ZONES = ("", "UTC", "Europe/London", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Asia/Tokyo")


def choice(name: str, values: dict[str, str]) -> QComboBox:
    box = QComboBox(accessibleName=WORDS.get(name, name))
    for value, label in values.items():
        box.addItem(label, value)
    return box


def row_label(name: str) -> QLabel:
    """A label as wide as the widest, so that fields in several layouts are aligned."""
    label = QLabel(WORDS[name])
    label.setMinimumWidth(max(map(label.fontMetrics().horizontalAdvance, WORDS.values())))
    label.setMinimumHeight(max(CONTROL_HEIGHT, theme.current().line_height() + theme.M))
    return label


class DigitsField(QWidget):
    """Chooses all digits, a number of decimal places, or a number of significant digits."""

    changed = Signal()

    def __init__(self, with_significant: bool) -> None:
        super().__init__()
        self.how = choice("rounding", {"": "All", "digits": "Decimal places"})
        if with_significant:
            self.how.addItem("Significant", "significant")
        self.count = QLineEdit("2", accessibleName="How many digits")
        self.count.setFixedWidth(theme.current().px(48))
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.XS)
        line.addWidget(self.how, 1)
        line.addWidget(self.count)
        self.how.currentIndexChanged.connect(self._follow)
        self.count.textEdited.connect(lambda _: self.changed.emit())
        self._follow()

    def show_digits(self, digits: int | None, significant: int | None) -> None:
        how = "digits" if digits is not None else "significant" if significant is not None else ""
        self.how.setCurrentIndex(max(0, self.how.findData(how)))
        if how:
            self.count.setText(str(digits if digits is not None else significant))

    def take(self, form: Format) -> Format:
        text, how = self.count.text().strip(), self.how.currentData()
        if not how or not text.isdecimal():
            return replace(form, digits=None, significant=None)
        count = min(int(text), MOST_DIGITS)
        if how == "digits":
            return replace(form, digits=count, significant=None)
        return replace(form, digits=None, significant=max(1, count))

    def _follow(self) -> None:
        self.count.setVisible(bool(self.how.currentData()))
        self.changed.emit()


class RuleRow(FieldRow):
    def __init__(self, rule: Rule, parent: QWidget | None = None) -> None:
        super().__init__("Remove the rule", parent)
        self.operator = choice("Rule", {operator: operator for operator in RULES})
        self.value = QLineEdit(accessibleName="Value of the rule", placeholderText="value")
        self.color = choice("Colour of the rule", {color: color.capitalize() for color in COLORS})
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.XS)
        for widget, stretch in ((self.operator, 0), (self.value, 1), (self.color, 0), (self.remove, 0)):
            line.addWidget(widget, stretch)
        self.operator.setCurrentText(rule.operator)
        self.color.setCurrentIndex(self.color.findData(rule.color))
        self.value.setText(number_word(rule.value))
        self.setFocusProxy(self.value)
        for signal in (
            self.operator.currentIndexChanged,
            self.color.currentIndexChanged,
            self.value.textEdited,
        ):
            signal.connect(lambda *_: self.changed.emit())

    @property
    def rule(self) -> Rule | None:
        """The rule; None while the value is not a number."""
        value = number_typed(self.value.text())
        return None if value is None else Rule(self.operator.currentText(), value, self.color.currentData())


def number_word(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


def number_typed(text: str) -> float | None:
    """The typed number; None if it is not a finite number."""
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


class ShadingFields(QWidget):
    """The fields for the colours of a column of numbers."""

    changed = Signal()

    def __init__(self, shading: Shading | None, extent: tuple[float, float] | None) -> None:
        super().__init__()
        self._extent = extent
        self.kind = choice("shading", SHADINGS)
        self.ends = {name: QLineEdit(accessibleName=WORDS[name]) for name in ("low", "high", "center")}
        for name, end in zip(("low", "high"), extent or (), strict=False):
            self.ends[name].setPlaceholderText(number_word(end))
        self.add = QPushButton("+ Rule")
        self._rules = FieldRows(self.add, lambda: RuleRow(NEW_RULE))
        self._layout = QFormLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(theme.S)
        self._layout.addRow(row_label("shading"), self.kind)
        for name, field in self.ends.items():
            self._layout.addRow(row_label(name), field)
            field.textEdited.connect(lambda _: self.changed.emit())
        self._layout.addRow(self._rules)
        self._layout.addRow(self.add)
        if shading is not None:
            self.kind.setCurrentIndex(self.kind.findData(shading.kind))
            self.ends["low"].setText(number_word(shading.low))
            self.ends["high"].setText(number_word(shading.high))
            for rule in shading.rules:
                self._rules.append(RuleRow(rule))
        self.ends["center"].setText(number_word(shading.center if shading is not None else 0.0))
        self.kind.currentIndexChanged.connect(self._follow)
        self._rules.changed.connect(self._limit)
        self._follow()
        self._limit()

    @property
    def rules(self) -> list[RuleRow]:
        return self._rules.rows

    @property
    def shading(self) -> Shading | None:
        kind = self.kind.currentData()
        if not kind:
            return None
        if kind == "rules":
            rules = [row.rule for row in self.rules]
            return Shading(kind, rules=tuple(rule for rule in rules if rule is not None))
        low, high, center = (number_typed(self.ends[name].text()) for name in ("low", "high", "center"))
        if self._extent is not None:
            low, high = self._extent[0] if low is None else low, self._extent[1] if high is None else high
        return Shading(kind, low, high, (center or 0.0) if kind == "center" else 0.0)

    def _limit(self) -> None:
        self.add.setEnabled(len(self.rules) < MOST_RULES)
        self.changed.emit()

    def _follow(self) -> None:
        kind = self.kind.currentData()
        for name, field in self.ends.items():
            has_end = kind == "center" if name == "center" else kind in ("scale", "center", "bars")
            self._layout.setRowVisible(field, has_end)
        self._layout.setRowVisible(self._rules, kind == "rules")
        self._layout.setRowVisible(self.add, kind == "rules")
        if kind == "rules" and not self.rules:
            self._rules.append(RuleRow(NEW_RULE))
        self.changed.emit()


class FormatForm(QWidget):
    """`changed` carries each new format; `done` asks to close the form."""

    changed = Signal(object)
    done = Signal()

    def __init__(
        self,
        name: str,
        type_: pa.DataType,
        form: Format | None,
        extent: tuple[float, float] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.type = type_
        self._before = self._form = form or Format()
        self._values: pa.Array | None = None
        self.kind = choice("kind", {kind.id: kind.label for kind in kinds_for(type_)})
        self.fields: dict[str, QWidget] = {}
        self.align = choice("align", CHOICES["align"])
        self.shading = ShadingFields(self._form.shading, extent) if can_be_shaded(type_) else None
        self.preview = Preview(kind_of(type_) is Kind.TEXT, with_minus if has_sign(type_) else str)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._take)
        self._lay_out(name)
        self.kind.setCurrentIndex(max(0, self.kind.findData(self._form.kind)))
        self.align.setCurrentIndex(self.align.findData(self._form.align))
        self.kind.currentIndexChanged.connect(self._show_options)
        self.align.currentIndexChanged.connect(self._soon.start)
        if self.shading is not None:
            self.shading.changed.connect(self._soon.start)
        self._show_options()

    @property
    def form(self) -> Format:
        """The format that the fields describe."""
        kind = self.kind.currentData()
        form = Format(kind, align=self.align.currentData())
        texts: dict[str, Any] = {}
        for option, field in self.fields.items():
            if isinstance(field, DigitsField):
                form = field.take(form)
            elif isinstance(field, QComboBox):
                texts[option] = _chosen_value(field, option)
            elif isinstance(field, QLineEdit):
                texts[option] = field.text()
        form = replace(form, **texts)
        return form if self.shading is None else replace(form, shading=self.shading.shading)

    def show_values(self, values: pa.Array) -> None:
        """Set the values on screen, some of which are previewed in the format."""
        self._values = values
        self.preview.show_texts(format_texts(values, self._form))

    def reset(self) -> None:
        """Restore the column's previous format."""
        self._soon.stop()
        if self._form != self._before:
            self._form = self._before
            self.changed.emit(self._before)

    def _lay_out(self, name: str) -> None:
        title = QLabel(visible(name)[:LONGEST_PREVIEW])
        theme.variant(title, "title")
        self.options = QFormLayout()
        self.options.setContentsMargins(0, 0, 0, 0)
        self.options.setHorizontalSpacing(theme.S)
        self.plain, self.close_button = QPushButton("As it is"), QPushButton("Done")
        self.plain.setToolTip("Remove the format")
        theme.variant(self.close_button, "primary")
        buttons = QHBoxLayout()
        buttons.addWidget(self.plain)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.S)
        layout.addWidget(title)
        layout.addLayout(self.options)
        self.options.addRow(row_label("kind"), self.kind)
        if self.shading is not None:
            layout.addWidget(self.shading)
        layout.addWidget(self.preview)
        layout.addLayout(buttons)
        self.plain.clicked.connect(self._take_away)
        self.close_button.clicked.connect(self._finish)

    def _show_options(self) -> None:
        """Show the options of the chosen kind."""
        align_label = self.options.labelForField(self.align)
        if align_label is not None:
            self.options.takeRow(self.align)
            align_label.deleteLater()
        while self.options.rowCount() > 1:
            self.options.removeRow(1)
        self.fields = {}
        options = BY_ID[self.kind.currentData()].options
        for option in options:
            if option == "digits":
                field: QWidget = DigitsField("significant" in options)
                assert isinstance(field, DigitsField)
                field.show_digits(self._form.digits, self._form.significant)
                field.changed.connect(self._soon.start)
                self._add("rounding", option, field)
            elif option != "significant":
                self._add(option, option, self._field(option))
        self.options.addRow(row_label("align"), self.align)
        self._soon.start()

    def _field(self, option: str) -> QWidget:
        value = getattr(self._form, option)
        if option == "zone":
            zones = QComboBox(accessibleName=WORDS["zone"])
            zones.setLineEdit(QLineEdit(placeholderText="As it is"))
            zones.addItems(ZONES)
            zones.setCurrentText(value)
            zones.currentTextChanged.connect(lambda _: self._soon.start())
            return zones
        if option in CHOICES:
            box = choice(option, CHOICES[option])
            box.setCurrentIndex(box.findData(value))
            box.currentIndexChanged.connect(self._soon.start)
            return box
        field = QLineEdit(value, accessibleName=WORDS[option])
        field.setMaxLength(LONGEST_AFFIX)
        field.setPlaceholderText({"prefix": "€", "suffix": " km"}.get(option, ""))
        field.textEdited.connect(lambda _: self._soon.start())
        return field

    def _add(self, words: str, option: str, field: QWidget) -> None:
        self.fields[option] = field
        self.options.addRow(row_label(words), field)

    def _take(self) -> None:
        form = self.form
        if form == self._form:
            return
        self._form = form
        if self._values is not None:
            self.preview.show_texts(format_texts(self._values, form))
        self.changed.emit(form)

    def _finish(self) -> None:
        self._soon.stop()
        self._take()
        self.done.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Enter in a field accept the choice."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(self.focusWidget(), QLineEdit):
            self._finish()
        else:
            super().keyPressEvent(event)

    def _take_away(self) -> None:
        self._soon.stop()
        self._form = Format()
        self.changed.emit(self._form)
        self.done.emit()


def _chosen_value(box: QComboBox, option: str) -> str:
    if option != "zone":
        return str(box.currentData())
    typed = box.currentText().strip()
    return typed if is_zone(typed) else ""


class Preview(QWidget):
    """Values without and with the format, side by side."""

    def __init__(self, is_text: bool, write: Callable[[str], str] = str) -> None:
        """`write` changes a text as the grid does before it draws it."""
        super().__init__()
        self._write = write
        self.rows: list[tuple[QLabel, QLabel]] = []
        side = Qt.AlignmentFlag.AlignLeft if is_text else Qt.AlignmentFlag.AlignRight
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(theme.L)
        layout.setVerticalSpacing(2)
        for row in range(MOST_PREVIEWS):
            before, after = QLabel(), QLabel()
            theme.variant(before, "caption")
            for column, label in enumerate((before, after)):
                label.setTextFormat(Qt.TextFormat.PlainText)
                label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
                layout.addWidget(label, row, column)
            self.rows.append((before, after))
        self.setAccessibleName("Preview")

    def show_texts(self, texts: FormattedTexts) -> None:
        """Show texts of different values, as far as there are any."""
        pairs = dict(zip(texts.values, texts, strict=True))
        pairs.pop(None, None)
        previews: Sequence[tuple[str | None, str | None]] = list(pairs.items())[:MOST_PREVIEWS]
        for place, (before, after) in enumerate(self.rows):
            plain, text = previews[place] if place < len(previews) else ("", "")
            before.setText(self._write(plain or "")[:LONGEST_PREVIEW])
            after.setText(self._write(text or "")[: 2 * LONGEST_PREVIEW])
            before.setVisible(place < len(previews))
            after.setVisible(place < len(previews))
