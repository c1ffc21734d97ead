"""The form of a relation: which columns point at which columns of another table, checked while you fill it
in."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QStringListModel, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError, instead_of, visible
from lamella.core.relations.checking import RelationCheck
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.relations.schema import StoreShape, TableShape, column_names, likely_target, mismatch
from lamella.ui.steps.join_editor import PairRow
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm, FieldRows, IconButton, Reason

TRY_AFTER_MS = 250
WIDTH = 520


class RelationForm(QDialog):
    """`declare_requested` has the columns of both sides, in the form that `declare` takes, and the name,
    which can be empty."""

    declare_requested = Signal(list, list, str)

    def __init__(
        self,
        store: Store,
        shape: StoreShape,
        tasks: Tasks,
        parent: QWidget | None = None,
        *,
        pair: tuple[str, str, str, str] = ("", "", "", ""),
    ) -> None:
        """`pair` is the initial content: a table and its column, the other table and its column."""
        super().__init__(parent)
        self._store, self._shape, self._tasks = store, shape, tasks
        self._handle: Handle | None = None
        self._names, self._other_names = QStringListModel(), QStringListModel()
        """Models without a parent: fields that outlive the form still access them."""
        self._wait = QTimer(self, singleShot=True, interval=TRY_AFTER_MS)
        self._wait.timeout.connect(self._try_out)
        self.setWindowTitle("New relation")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make()
        self._lay_out()
        table, column, target, other_column = pair
        names = [shape_table.name for shape_table in shape.tables]
        self.table.setCurrentIndex(names.index(table) if table in names else 0)
        fallback = 1 if len(names) > 1 and not table else 0
        self.other_box.setCurrentIndex(names.index(target) if target in names else fallback)
        self._take_tables()
        if column and target in names and not other_column:
            source_shape, two = shape.table(table), shape.table(target)
            other_column = (
                likely_target(source_shape, column, two)
                if source_shape is not None and two is not None
                else ""
            )
        self.pairs.append(PairRow(self._names, self._other_names, column, other_column))
        self._follow()

    # -------------------------------------------------------------------- set-up

    def _make(self) -> None:
        names = [visible(table.name) for table in self._shape.tables]
        self.table = QComboBox(accessibleName="Table that points")
        self.other_box = QComboBox(accessibleName="Table that is pointed at")
        for box in (self.table, self.other_box):
            box.addItems(names)
            box.setSizePolicy(box.sizePolicy().Policy.Expanding, box.sizePolicy().verticalPolicy())
            box.setMinimumContentsLength(10)
            box.activated.connect(self._change_table)
        self.swap = IconButton("swap", "Swap the two tables")
        self.swap.clicked.connect(self._turn)
        self.add = QPushButton("+ Another pair of columns")
        theme.variant(self.add, "link")
        self.add.setToolTip("For a key of several columns")
        self.pairs = FieldRows(
            self.add, lambda: PairRow(self._names, self._other_names), never_empty=True
        )  # fmt: skip
        self.pairs.changed.connect(self._follow)
        self.name = QLineEdit(accessibleName="Name of the relation")
        self.name.setPlaceholderText("table_column")
        self.reason = Reason()
        self.outcome = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.outcome.setMinimumWidth(1)
        self.outcome.setAccessibleName("Result of the check")
        theme.variant(self.outcome, "muted")
        self.declare = QPushButton("Declare the relation")
        theme.variant(self.declare, "primary")
        self.declare.setDefault(True)
        self.declare.clicked.connect(self._accept)

    def _lay_out(self) -> None:
        title = QLabel("New relation")
        theme.variant(title, "title")
        tables = QHBoxLayout(spacing=theme.S)
        tables.addWidget(self.table, 1)
        arrow = QLabel("points at")
        theme.variant(arrow, "muted")
        tables.addWidget(arrow)
        tables.addWidget(self.other_box, 1)
        tables.addWidget(self.swap)
        form = FieldForm(horizontalSpacing=theme.L, verticalSpacing=theme.S)
        form.addRow("Tables", tables)
        columns = QVBoxLayout(spacing=theme.XS)
        columns.addWidget(self.pairs)
        columns.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        form.addRow("Columns", columns)
        form.addRow("Name", self.name)
        cancel = QPushButton("Cancel")
        cancel.clicked.connect(self.reject)
        buttons = QHBoxLayout(spacing=theme.S)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self.declare)
        layout = QVBoxLayout(self)
        margin = theme.L + theme.XS
        layout.setContentsMargins(margin, margin, margin, margin)
        layout.setSpacing(theme.M)
        layout.addWidget(title)
        layout.addLayout(form)
        layout.addWidget(self.reason)
        layout.addWidget(self.outcome)
        layout.addStretch(1)
        layout.addLayout(buttons)
        self.resize(theme.current().px(WIDTH), self.sizeHint().height())

    # ------------------------------------------------------------------- content

    @property
    def _tables(self) -> tuple[TableShape, TableShape]:
        tables = self._shape.tables
        return tables[self.table.currentIndex()], tables[self.other_box.currentIndex()]

    @property
    def columns(self) -> tuple[list[str], list[str]]:
        source, target = self._tables
        columns = list(zip(*self._filled_pairs, strict=True)) or [(), ()]
        return column_names(source.name, columns[0], target.name, columns[1])

    @property
    def _filled_pairs(self) -> list[tuple[str, str]]:
        return [row.texts for row in self.pairs.rows if any(row.texts)]

    def _take_tables(self) -> None:
        source, target = self._tables
        for model, table in ((self._names, source), (self._other_names, target)):
            model.setStringList([column.name for column in table.columns])

    def _change_table(self) -> None:
        """Propose the columns of the new tables, and check the input."""
        self._take_tables()
        self._follow()

    def _turn(self) -> None:
        source_place, target_place = self.table.currentIndex(), self.other_box.currentIndex()
        self.table.setCurrentIndex(target_place)
        self.other_box.setCurrentIndex(source_place)
        pairs = self._filled_pairs
        self._take_tables()
        self.pairs.clear()
        for source_name, target_name in pairs or [("", "")]:
            self.pairs.append(PairRow(self._names, self._other_names, target_name, source_name))
        self._follow()

    def problem(self) -> str:
        """What is wrong with the input; empty if nothing is, or if something is still missing."""
        source, target = self._tables
        for name, other_name in self._filled_pairs:
            for table, column in ((source, name), (target, other_name)):
                if column and table.column(column) is None:
                    names = [each.name for each in table.columns]
                    return f"{table.name} has no column '{column}'. {instead_of(column, names)}"
            if name and other_name and (why := mismatch(source, name, target, other_name)):
                better = likely_target(source, name, target)
                return f"{why}." + (f" Did you mean {target.name}.{better}?" if better else "")
        return ""

    def _follow(self) -> None:
        problem, filled = self.problem(), self._filled_pairs
        whole = bool(filled) and all(source_name and target_name for source_name, target_name in filled)
        self.reason.say(problem)
        self.declare.setEnabled(whole and not problem)
        self.outcome.clear()
        source, _ = self._tables
        self.name.setPlaceholderText("_".join([source.name, *(name for name, _ in filled if name)]))
        self._stop()
        if whole and not problem:
            self._wait.start()

    def _stop(self) -> None:
        self._wait.stop()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _try_out(self) -> None:
        """Check the relation before it is declared, off the GUI thread."""
        columns, store = self.columns, self._store
        self.outcome.setText("Checking…")
        self._handle = self._tasks.read(
            lambda job: store.relations.try_out(*columns, job=job), self._tell, self._refuse,
            owner=self, quiet=True,
        )  # fmt: skip

    def _tell(self, check: RelationCheck) -> None:
        source, target = self._tables
        pointing = check.rows - check.unset - check.dangling
        parts = [f"{pointing:,} of {check.rows:,} rows point at a row of {target.name}"]
        if check.dangling:
            parts.append(f"{check.dangling:,} point at nothing")
        if check.unset:
            parts.append(f"{check.unset:,} have no key (NULL)")
        text = ", ".join(parts) + "."
        if check.repeated and not check.shared and source is not target:
            text += (
                f" The keys of {target.name} occur more than once, but those of {source.name} do not."
                " Did you mean the opposite direction?"
            )
        elif check.repeated:
            text += f" {check.repeated:,} keys of {target.name} occur more than once."
        self.outcome.setText(visible(text))

    def _refuse(self, error: Exception) -> None:
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
            return
        self.outcome.clear()
        self.reason.say(message(error))
        self.declare.setEnabled(False)

    def _accept(self) -> None:
        source, target = self.columns
        self.declare_requested.emit(source, target, self.name.text().strip())

    def say(self, error: Exception) -> None:
        """Say why the relation was not declared; the form stays open."""
        self.reason.say(message(error))

    def event(self, event: QEvent) -> bool:
        """Grow for another pair of columns and for messages of several lines, which would cut off fields."""
        handled = super().event(event)
        if event.type() is QEvent.Type.LayoutRequest and (layout := self.layout()) is not None:
            needs = layout.totalHeightForWidth(self.width())
            if needs > self.height():
                self.resize(self.width(), needs)
        return handled

    def done(self, result: int) -> None:
        self._stop()
        super().done(result)
