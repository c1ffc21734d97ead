"""The tab with the relations diagram of a store, where relations are created, checked, renamed and
removed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QImage, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QInputDialog,
    QLabel,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError, UnknownName, visible
from lamella.core.phrases import quantity, sentence_case
from lamella.core.query.line import Line
from lamella.core.relations import Relation
from lamella.core.store.relations import StoreRelations
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.dialogs.file_dialog import ask_new_file
from lamella.ui.relations.acts import Act, ActStack, declare, move, remove, rename
from lamella.ui.relations.bar import DiagramBar
from lamella.ui.relations.canvas import ZOOM_STEP, Canvas
from lamella.ui.relations.checks import RelationChecks, dangling_text
from lamella.ui.relations.form import RelationForm
from lamella.ui.relations.layout import Point
from lamella.ui.relations.panel import ACTS, ConnectionPanel
from lamella.ui.relations.schema import (
    Connection,
    StoreShape,
    dangling_rows,
    joined_rows,
    read_shape,
    read_stamp,
)
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.widgets.name_form import ask_name
from lamella.ui.widgets.plotting import pixels_of, svg_of
from lamella.ui.window.memory import Memory

LOOK_EVERY_MS = 3_000
PANEL_WIDTH = 300
FILTERS = {"svg": "SVG drawing (*.svg)", "png": "PNG picture (*.png)"}


class RelationsTab(QWidget):
    """`table_requested` has the name of a table to open, `rows_requested` a table with steps on it. `changed`
    is emitted when the relations of the store have changed, `status_changed` when the status line has."""

    table_requested = Signal(str)
    rows_requested = Signal(str, Line)
    changed, status_changed, state_changed = Signal(), Signal(), Signal()
    workspace_kind = "relations"

    def __init__(self, store: Store, tasks: Tasks, memory: Memory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.tasks, self._memory = tasks, memory
        self.shape = StoreShape((), ())
        self.acts = ActStack.of(memory.histories, self._key)
        self.checks = RelationChecks(store, tasks, self)
        self._before_move: dict[str, Point] = {}
        self._reading: Handle | None = None
        self._looking: Handle | None = None
        self._look_timer = QTimer(self, interval=LOOK_EVERY_MS)
        self._look_timer.timeout.connect(self.look)
        self.bar, self.canvas, self.panel = DiagramBar(self), Canvas(self), ConnectionPanel(self)
        self._matches: list[str] = []
        self._match = -1
        self.messages = MessageBar(self)
        self._lay_out()
        self._connect()
        self.reload()

    # -------------------------------------------------------------------- content

    def connection(self, name: str) -> Connection | None:
        return next((connection for connection in self.checks.connections if connection.name == name), None)

    @property
    def status(self) -> str:
        tables, relations = len(self.shape.tables), len(self.shape.relations)
        parts = [quantity(tables, "table"), quantity(relations, "relation")]
        if self.checks.dangling:
            parts.append(dangling_text(self.checks.dangling))
        return " · ".join(parts)

    @property
    def is_busy(self) -> bool:
        reading = self._reading is not None and self._reading.running
        return reading or self.checks.running or self.canvas.is_building

    def reload(self) -> None:
        """Read tables and relations again."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self.tasks.read(
            partial(read_shape, self.store), self._show, self._fail, owner=self, quiet=True,
            text=f"Reading the tables of {self.store.name}",
        )  # fmt: skip

    def note_change(self, table: str) -> None:
        """Forget the check results of a table, whose rows or columns have changed."""
        self.checks.forget(table)
        self.reload()

    def use_store(self, store: Store) -> None:
        """Use the same store, which has been opened again or moved."""
        histories = self._memory.histories
        histories.pop(self._key, None)
        self.store = self.checks.store = store
        histories[self._key] = self.acts
        self._save_places()
        self.reload()

    def _show(self, shape: StoreShape) -> None:
        is_first = not self.shape.tables
        self.shape = shape
        self.checks.take(shape)
        self.empty.setVisible(not shape.tables)
        self.canvas.show_shape(shape, self._saved_places() if is_first else {}, self.checks.connections)
        if is_first:
            self.checks.suggest_first()
        self.checks.check_small()

    def _show_diagram(self) -> None:
        """Show the finished diagram."""
        self._before_move = self.canvas.places
        self._list()
        self.canvas.choose(self.panel.connection_name)

    def _show_suggestions(self) -> None:
        self.canvas.show_connections(self.checks.connections)

    def _list(self) -> None:
        """Show what is known in the list and at the lines."""
        connections = self.checks.connections
        self.panel.show_connections(connections)
        for connection in connections:
            self.canvas.show_connection(connection)
        self.status_changed.emit()

    def state(self) -> dict[str, str]:
        return {"store": str(self.store.path)}

    def look(self) -> None:
        """Check whether others have created, dropped or related tables, while the diagram is visible."""
        if self.is_busy or (self._looking is not None and self._looking.running):
            return

        def compare(stamp: object) -> None:
            if stamp != self.shape.stamp:
                self.reload()

        self._looking = self.tasks.read(
            lambda job: read_stamp(self.store), compare, lambda error: None, owner=self, quiet=True
        )

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.look()
        self._look_timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._look_timer.stop()

    # --------------------------------------------------------------------- places

    @property
    def _key(self) -> tuple[str, ...]:
        return "relations", str(self.store.path)

    def _saved_places(self) -> dict[str, Point]:
        saved = self._memory.layout(self._key).get("places")
        if not isinstance(saved, dict):
            return {}
        return {
            name: (float(place[0]), float(place[1]))
            for name, place in saved.items()
            if isinstance(place, list) and len(place) == 2 and all(isinstance(n, int | float) for n in place)
        }

    def _save_places(self) -> None:
        places = {name: [round(x), round(y)] for name, (x, y) in self.canvas.places.items()}
        self._memory.save_layout(self._key, {"places": places})

    def _note_move(self) -> None:
        before, after = self._before_move, self.canvas.places
        moved = [name for name in after if before.get(name) != after[name]]
        if moved:
            what = f"move {moved[0]}" if len(moved) == 1 else "arrange the tables"
            self.acts.push(move(before, after, what))
            self._before_move = after
            self._save_places()
            self.status_changed.emit()

    # ---------------------------------------------------------------------- acts

    @property
    def undo_text(self) -> str:
        return self.acts.undo_text

    @property
    def redo_text(self) -> str:
        return self.acts.redo_text

    def undo(self) -> None:
        if self.acts.past:
            act = self.acts.past[-1]
            self._perform(
                act, act.undo, 0, self.acts.step_back, f"Undone: {act.text}", partial(self._fail_again, act)
            )

    def redo(self) -> None:
        if self.acts.undone:
            act = self.acts.undone[-1]
            self._perform(
                act, act.do, 1, self.acts.step_forward, f"Redone: {act.text}", partial(self._fail_again, act)
            )

    def _do(
        self,
        act: Act,
        says: str,
        on_result: Callable[[], object] = lambda: None,
        on_error: Callable[[Exception], object] | None = None,
    ) -> None:
        def then() -> None:
            self.acts.push(act)
            on_result()

        self._perform(act, act.do, 1, then, says, on_error)

    def _perform(
        self,
        act: Act,
        work: Callable[[StoreRelations], object],
        side: int,
        then: Callable[[], object],
        says: str,
        on_error: Callable[[Exception], object] | None = None,
    ) -> None:
        """Undo (`side` 0) or redo (`side` 1) an action."""
        if act.places is not None:
            then()
            self.canvas.restore_places(act.places[side])
            self._before_move = self.canvas.places
            self._save_places()
            self.status_changed.emit()
            return

        def finish(_: object) -> None:
            then()
            back = [("Undo", self.undo)] if side else []
            self.messages.say(says, *back, kind="message-success")
            self.changed.emit()
            self.reload()

        self.tasks.write(
            lambda job: work(self.store.relations), finish, on_error or self._fail, owner=self,
            text=sentence_case(act.text),
        )  # fmt: skip

    def _fail_again(self, act: Act, error: Exception) -> None:
        """Drop an action whose subject is gone, so that it does not block the actions before it."""
        if isinstance(error, UnknownName):
            self.acts.drop(act)
            self.status_changed.emit()
        self._fail(error)

    def ask_new(self, table: str = "", column: str = "", target: str = "", other_column: str = "") -> None:
        """Open the form of a new relation with this initial content."""
        if not self.shape.tables:
            return
        pair = (table, column, target, other_column)
        form = RelationForm(self.store, self.shape, self.tasks, self, pair=pair)

        def take(source: list[str], two: list[str], name: str) -> None:
            says = f"Declared: {', '.join(source)} → {', '.join(two)}"
            self._do(declare(source, two, name or None), says, form.accept, form.say)

        form.declare_requested.connect(take)
        form.open()

    def act(self, act: str, name: str) -> None:
        """Do one of `panel.ACTS` on the connection of this name."""
        connection = self.connection(name)
        if connection is None:
            return
        if act == "accept" and connection.suggestion is not None:
            self._do(declare(*connection.suggestion.endpoints, None), f"Declared: {connection.text}")
        elif act == "dismiss":
            self.checks.dismiss(name)
            self._show_suggestions()
        elif act == "check":
            self.checks.check([name])
        elif act == "rename":
            self.ask_name(name)
        elif act == "remove":
            self._do(remove(self._relation(name)), f"Removed {name}; no row was changed")
        elif act in ("dangling", "joined"):
            make = dangling_rows if act == "dangling" else joined_rows
            self.tasks.read(
                partial(make, connection, self.store),
                lambda line: self.rows_requested.emit(connection.from_table, line),
                self._fail,
                owner=self,
                text=f"Opening {connection.from_table}",
            )

    def _relation(self, name: str) -> Relation:
        return next(relation for relation in self.shape.relations if relation.name == name)

    def ask_name(self, name: str) -> QInputDialog:
        return ask_name(
            self, "Rename the relation", "Name of the relation", name, partial(self._rename, name)
        )

    def _rename(self, old: str, new: str) -> None:
        new = new.strip()
        if new and new != old:
            self.panel.show_connection("")
            self._do(rename(old, new), f"Renamed {old} to {new}")

    def _fail(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self.messages.say(str(error), ("Try again", self.reload), kind="message-danger")
        else:
            self.tasks.failed.emit(error)

    # -------------------------------------------------------------------- finding

    def show_matches(self, text: str) -> None:
        """Highlight tables and columns whose names contain a text, and show the first one."""
        words = text.strip().casefold()
        if not words:
            self.canvas.mark(None)
            return
        matches: dict[str, list[str]] = {}
        for table in self.shape.tables:
            columns = [column.name for column in table.columns if words in column.name.casefold()]
            if columns or words in table.name.casefold():
                matches[table.name] = columns
        self.canvas.mark(matches)
        self._matches, self._match = list(matches), -1

    def find_next(self) -> None:
        matches = [name for name in self._matches if name in self.canvas.boxes]
        if self.bar.field.text().strip() and matches:
            self._match = (self._match + 1) % len(matches)
            self.canvas.show_box(matches[self._match])

    # --------------------------------------------------------------------- export

    def ask_export(self, kind: str) -> None:
        """Ask for the file of the picture. `kind` is "svg" or "png"."""
        name = Path.home() / f"{self.store.name} relations.{kind}"
        ask_new_file(
            self.window(),
            "Export the diagram",
            lambda path: self.write_picture(path.with_suffix(f".{kind}")),
            name,
            FILTERS[kind],
        )

    def write_picture(self, path: Path) -> None:
        """Write the picture in the format of the suffix, off the GUI thread."""
        from lamella.ui.charts.figures import write_picture

        size, paint = self.canvas.picture_size, self.canvas.paint_picture
        picture: str | QImage = (
            svg_of(f"Relations of {self.store.name}", size, paint)
            if path.suffix == ".svg"
            else pixels_of(size, paint)
        )
        self.tasks.read(
            lambda job: write_picture(path, picture),
            lambda _: self.messages.say(f"Saved to {visible(path.name)}", kind="message-success"),
            self._fail,
            owner=self,
            text=f"Writing {path.name}",
        )

    # ----------------------------------------------------------------------- menus

    def _open_menu(self, kind: str, name: str, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        connection = self.connection(name) if kind == "connection" else None
        if kind == "table":
            menu.addAction("Open", partial(self.table_requested.emit, name))
            menu.addAction("New relation from here…", partial(self.ask_new, name))
        elif connection is not None:
            acts = (
                ["accept", "dismiss"] if connection.is_suggested else ["joined", "check", "rename", "remove"]
            )
            if connection.problem:
                acts = ["rename", "remove"]
            for act in acts:
                menu.addAction(ACTS[act], partial(self.act, act, name))
            if connection.dangling:
                text = f"Show the {connection.dangling:,} rows that point at nothing"
                menu.addAction(text, partial(self.act, "dangling", name))
            menu.addSeparator()
            for table in dict.fromkeys((connection.from_table, connection.to_table)):
                text = f"Open {without_mnemonic(visible(table))}"
                menu.addAction(text, partial(self.table_requested.emit, table))
        else:
            menu.addAction("New relation…", self.ask_new)
            menu.addAction("Suggest relations", self.checks.suggest)
            menu.addAction("Arrange", self.canvas.arrange)
            menu.addAction("Fit", self.canvas.fit)
        menu.popup(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = self.panel.connection_name
        if event.key() == Qt.Key.Key_F5:
            self.reload()
        elif event.matches(QKeySequence.StandardKey.Find):
            self.bar.field.setFocus()
        elif event.key() == Qt.Key.Key_Delete and name:
            connection = self.connection(name)
            self.act("dismiss" if connection is not None and connection.is_suggested else "remove", name)
        elif event.key() == Qt.Key.Key_F2 and name:
            self.act("rename", name)
        else:
            super().keyPressEvent(event)

    # --------------------------------------------------------------------- set-up

    def _lay_out(self) -> None:
        self.empty = QLabel("No tables yet. Import a file, and its table is drawn here.")
        theme.variant(self.empty, "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMargin(theme.XL)
        drawing = QVBoxLayout()
        drawing.addWidget(self.empty)
        drawing.addWidget(self.canvas, 1)
        drawing.setContentsMargins(0, 0, 0, 0)
        left = QWidget()
        left.setLayout(drawing)
        beside = QSplitter(Qt.Orientation.Horizontal, handleWidth=1, childrenCollapsible=False)
        beside.addWidget(left)
        beside.addWidget(self.panel)
        beside.setStretchFactor(0, 1)
        beside.setSizes([PANEL_WIDTH * 2, PANEL_WIDTH])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(beside, 1)
        self.messages.float_over(self.canvas)
        self.setFocusProxy(self.canvas)

    def _connect(self) -> None:
        bar, canvas = self.bar, self.canvas
        bar.new.clicked.connect(lambda: self.ask_new(canvas.current.table.name if canvas.current else ""))
        bar.suggest.clicked.connect(lambda _: self.checks.suggest())
        bar.check.clicked.connect(self.checks.check_all)
        bar.field.textChanged.connect(self.show_matches)
        bar.field.returnPressed.connect(self.find_next)
        bar.minus.clicked.connect(lambda: canvas.zoom_by(1 / ZOOM_STEP))
        bar.plus.clicked.connect(lambda: canvas.zoom_by(ZOOM_STEP))
        bar.scale.clicked.connect(lambda: canvas.zoom_to(1.0))
        bar.fit_all.clicked.connect(canvas.fit)
        bar.arrange.clicked.connect(canvas.arrange)
        bar.export_requested.connect(self.ask_export)
        canvas.zoomed.connect(bar.show_scale)
        canvas.built.connect(self._show_diagram)
        self.checks.counted.connect(self._list)
        self.checks.suggested.connect(self._show_suggestions)
        self.checks.done.connect(lambda text, kind: self.messages.say(text, kind=kind))
        self.checks.failed.connect(self._fail)
        self.canvas.chosen.connect(self._choose)
        self.canvas.table_chosen.connect(lambda name: self.panel.show_connection("") if name else None)
        self.canvas.table_opened.connect(self.table_requested)
        self.canvas.pair_drawn.connect(self.ask_new)
        self.canvas.places_changed.connect(self._note_move)
        self.canvas.menu_requested.connect(self._open_menu)
        self.panel.chosen.connect(self._choose)
        self.panel.act_requested.connect(self.act)
        self.panel.menu_requested.connect(partial(self._open_menu, "connection"))

    def _choose(self, name: str) -> None:
        self.panel.show_connection(name)
        self.canvas.choose(name)
