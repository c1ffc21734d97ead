"""The dialog that asks what to compare a tab's rows with, and how rows are matched and cells compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.formats import usual_suffixes
from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.query.comparison import suggest_key
from lamella.core.query.comparison.columns import pair_columns
from lamella.core.query.source import Source, whole_snapshot
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.file_dialog import ask_file
from lamella.ui.dialogs.work_dialog import fit_into_window
from lamella.ui.steps.editors import OtherSource
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm, Reason
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.popover import CheckDelegate

OpenSide = Callable[[Job], Source]
A_FILE = "A file…"
SIZE = QSize(520, 560)
MOST_COLUMNS = 2_000


@dataclass(frozen=True)
class Choices:
    """How to compare two sides. `key` is None for the suggested columns, empty for the order of rows."""

    key: tuple[str, ...] | None = None
    tolerance: float = 0.0
    ignore_case: bool = False
    ignore_space: bool = False


@dataclass(frozen=True)
class OtherSide:
    """A dataset to compare with: `open` returns it, on a worker."""

    title: str
    open: OpenSide = field(compare=False)


@dataclass(frozen=True)
class KeyColumns:
    """The columns that both sides have, and those that identify rows."""

    common: tuple[str, ...]
    suggested_columns: tuple[str, ...]


def find_keys(before: Source, after: Source, job: Job) -> KeyColumns:
    """Find the common columns and a suggested key. Blocks. Raises `BadData` if no column is common."""
    sides = whole_snapshot(before, job), whole_snapshot(after, job)
    common = tuple(pair.name for pair in pair_columns(*sides) if pair.is_common)
    suggested = suggest_key(*sides, job)
    return KeyColumns(tuple(dict.fromkeys((*suggested, *common))), suggested)


class CompareDialog(QDialog):
    """`compare_requested` carries an `OtherSide` and `Choices`."""

    compare_requested = Signal(object, object)

    def __init__(
        self,
        name: str,
        before: Source,
        sides: Sequence[OtherSide],
        tasks: Tasks,
        choices: Choices | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._before, self._sides, self._tasks = before, list(sides), tasks
        self._choices = choices or Choices()
        self._handle: Handle | None = None
        self._key_columns: KeyColumns | None = None
        self._refusal = ""
        self.folder: Path | None = None
        """Where a file is looked for first."""
        self.setWindowTitle("Compare")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLabel(f"Compare {visible(name)} with")
        self.other_box = QComboBox(accessibleName="Table or file to compare with", placeholderText="Choose…")
        self.by_key = QRadioButton("Columns that identify rows")
        self.by_order = QRadioButton("Their order: the first row with the first, and so on")
        self.by_order.setToolTip("After a row that only one side has, all following rows differ")
        self.search = QLineEdit(placeholderText="Find a column", accessibleName="Find a column")
        self.key = QListWidget(accessibleName="Columns that identify rows")
        self.key.setItemDelegate(CheckDelegate(self.key))
        self.hint = QLabel(wordWrap=True)
        self.tolerance = QLineEdit(placeholderText="0", accessibleName="Numbers may differ by")
        self.ignore_case = QCheckBox("Ignore upper and lower case")
        self.ignore_space = QCheckBox("Ignore white space")
        self.reason = Reason()
        self.cancel_button, self.compare_button = QPushButton("Cancel"), QPushButton("Compare")
        self._lay_out()
        self._connect()
        self._fill()

    @property
    def other_side(self) -> OtherSide | None:
        place = self.other_box.currentIndex()
        return self._sides[place] if 0 <= place < len(self._sides) else None

    @property
    def chosen_key(self) -> tuple[str, ...]:
        """The chosen columns in the order of the list."""
        items = (self.key.item(row) for row in range(self.key.count()))
        return tuple(item.data(Qt.ItemDataRole.UserRole) for item in items
                     if item.checkState() is Qt.CheckState.Checked)  # fmt: skip

    @property
    def is_settled(self) -> bool:
        return self._handle is None

    def choose(self, title: str) -> None:
        """Choose the other side by its title."""
        self.other_box.setCurrentIndex(self.other_box.findText(visible(title)))

    def add_file(self, path: Path) -> None:
        """Compare with a file, whether it is open or not."""
        from lamella.core.datasets import open_dataset

        self._sides.append(OtherSide(path.name, lambda job: open_dataset(path, job=job)))
        self.other_box.insertItem(self.other_box.count() - 1, visible(path.name))
        self.other_box.setCurrentIndex(len(self._sides) - 1)

    # ------------------------------------------------------------------- columns

    def _fill(self) -> None:
        self.other_box.addItems([visible(side.title) for side in self._sides])
        self.other_box.addItem(A_FILE)
        choices = self._choices
        self.by_order.setChecked(choices.key == ())
        self.by_key.setChecked(choices.key != ())
        self.tolerance.setText(f"{choices.tolerance:g}" if choices.tolerance else "")
        self.ignore_case.setChecked(choices.ignore_case)
        self.ignore_space.setChecked(choices.ignore_space)
        self.other_box.setCurrentIndex(0 if len(self._sides) == 1 else -1)
        self._take_other()

    def _take_other(self) -> None:
        self.key.clear()
        self._key_columns, self._refusal = None, ""
        side, before = self.other_side, self._before
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if side is None:
            self.hint.setText("Choose a table or a file to compare with.")
            self._follow()
            return
        self.hint.setText("Looking for columns that identify rows…")
        self._handle = self._tasks.read(
            lambda job: find_keys(before, side.open(job), job),
            self._take_keys, self._refuse, owner=self, quiet=True, text="Looking for keys",
        )  # fmt: skip
        self._follow()

    def _take_keys(self, keys: KeyColumns) -> None:
        self._handle, self._key_columns = None, keys
        key = keys.suggested_columns if self._choices.key is None else self._choices.key
        for name in keys.common[:MOST_COLUMNS]:
            item = QListWidgetItem(visible(name))
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if name in key else Qt.CheckState.Unchecked)
            self.key.addItem(item)
        if not keys.suggested_columns and self._choices.key is None:
            self.by_order.setChecked(True)
        suggested = ", ".join(map(visible, keys.suggested_columns))
        self.hint.setText(
            f"{suggested} {'identify' if len(keys.suggested_columns) > 1 else 'identifies'} the rows of both"
            if suggested
            else "No columns identify the rows of both sides: choose some, or compare by order"
        )
        self._follow()

    def _refuse(self, error: Exception) -> None:
        self._handle = None
        self.hint.clear()
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
        self._refusal = message(error) if isinstance(error, LamellaError) else str(error)
        self._follow()

    def _show_matches(self, text: str) -> None:
        words = text.strip().casefold()
        for row in range(self.key.count()):
            item = self.key.item(row)
            item.setHidden(words not in item.text().casefold())

    def _follow(self) -> None:
        """Enable what the current choices allow."""
        by_key = self.by_key.isChecked()
        for widget in (self.key, self.search):
            widget.setEnabled(by_key)
        problem = self._problem(by_key)
        self.reason.say(problem)
        waiting = self._handle is not None or self._key_columns is None
        self.compare_button.setEnabled(not problem and not waiting)

    def _problem(self, by_key: bool) -> str:
        if self._tolerance is None:
            return "The tolerance must be a number of at least 0"
        if self.other_side is None or self._key_columns is None:
            return self._refusal
        return "Choose at least one column, or compare by order" if by_key and not self.chosen_key else ""

    @property
    def _tolerance(self) -> float | None:
        text = self.tolerance.text().strip().replace(",", ".") or "0"
        try:
            value = float(text)
        except ValueError:
            return None
        return value if 0 <= value < float("inf") else None

    def _ask_file(self, place: int) -> None:
        if self.other_box.itemText(place) != A_FILE:
            return
        kinds = f"Data files ({' '.join(f'*.{suffix}' for suffix in usual_suffixes())});;All files (*)"
        ask_file(self, "Compare with a file", self.add_file, self.folder, kinds)

    def _compare(self) -> None:
        side, tolerance = self.other_side, self._tolerance
        if side is None or tolerance is None:
            return
        key = () if self.by_order.isChecked() else self.chosen_key
        choices = Choices(key, tolerance, self.ignore_case.isChecked(), self.ignore_space.isChecked())
        self.compare_requested.emit(side, choices)
        self.accept()

    # ------------------------------------------------------------------- set-up

    def _lay_out(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.hint, "caption")
        theme.variant(self.compare_button, "primary")
        self.compare_button.setDefault(True)
        group = QButtonGroup(self)
        group.addButton(self.by_key)
        group.addButton(self.by_order)
        rows = QLabel("Match rows by")
        cells = QLabel("Cells are equal if")
        for heading in (rows, cells):
            theme.variant(heading, "heading")
        add_clear_button(self.search)
        form = FieldForm(horizontalSpacing=theme.L, verticalSpacing=theme.S)
        form.addRow("Numbers differ by at most", self.tolerance)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.compare_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.S)
        widget: QWidget
        for widget in (self.title, self.other_box, rows, self.by_key, self.search):
            layout.addWidget(widget)
        layout.addWidget(self.key, 1)
        for widget in (self.hint, self.by_order, cells):
            layout.addWidget(widget)
        layout.addLayout(form)
        for widget in (self.ignore_case, self.ignore_space, self.reason):
            layout.addWidget(widget)
        layout.addLayout(buttons)
        fit_into_window(self, QSize(SIZE.width(), theme.current().px(SIZE.height())))

    def _connect(self) -> None:
        self.other_box.currentIndexChanged.connect(self._take_other)
        self.other_box.activated.connect(self._ask_file)
        self.search.textChanged.connect(self._show_matches)
        self.key.itemChanged.connect(self._follow)
        self.by_key.toggled.connect(self._follow)
        self.tolerance.textChanged.connect(self._follow)
        self.cancel_button.clicked.connect(self.reject)
        self.compare_button.clicked.connect(self._compare)


def sides_of(sources: Mapping[str, OtherSource]) -> list[OtherSide]:
    """The datasets that can be joined, which can also be compared."""
    return [OtherSide(title, source.open) for title, source in sources.items()]
