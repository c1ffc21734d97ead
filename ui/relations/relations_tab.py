"""The tab with the diagram of a store: its relations are seen, made, checked, renamed and removed here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QImage, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QInputDialog,
    QLabel,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError, visible
from lamella.core.query.line import Line
from lamella.core.relations import Relation
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.suggesting import Suggestion
from lamella.core.store.relations import StoreRelations
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.relations.acts import Act, ActStack, declare, move, remove, rename
from lamella.ui.relations.bar import DiagramBar
from lamella.ui.relations.canvas import ZOOM_STEP, Canvas
from lamella.ui.relations.form import RelationForm
from lamella.ui.relations.layout import Point
from lamella.ui.relations.panel import ACTS, ConnectionPanel
from lamella.ui.relations.schema import (
    Connection,
    StoreShape,
    connection_of,
    dangling_rows,
    joined_rows,
    read_shape,
    read_stamp,
    suggested,
)
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.widgets.plotting import pixels_of, svg_of
from lamella.ui.window.memory import Memory

LOOK_EVERY_MS, LIST_EVERY_MS, MS_A_RELATION = 3_000, 250, 8
PANEL_WIDTH = 300
CHECKED_UNASKED, SUGGESTED_UNASKED = 5_000_000, 1_000_000
"""Rows of two tables, and of a store, up to which they are looked at before anybody asks for it."""
FILTERS = {"svg": "SVG drawing (*.svg)", "png": "PNG picture (*.png)"}


class RelationsTab(QWidget):
    """`table_requested` has the name of a table to be opened, `rows_requested` one and the steps on it.
    `changed` when relations of the store are others, `status_changed` when the status line is."""

    table_requested = Signal(str)
    rows_requested = Signal(str, Line)
    changed, status_changed, state_changed = Signal(), Signal(), Signal()
    workspace_kind = "relations"

    def __init__(self, store: Store, tasks: Tasks, memory: Memory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.tasks, self._memory = tasks, memory
        self.shape = StoreShape((), ())
        self.acts = ActStack()
        self.checks: dict[str, RelationCheck] = {}
        self.suggestions: list[Suggestion] = []
        self._dismissed: set[str] = set()
        self._before_move: dict[str, Point] = {}
        self._reading: Handle | None = None
        self._looking: Handle | None = None
        self._checking: Handle | None = None
        self._suggesting: Handle | None = None
        self._list_timer = QTimer(self, singleShot=True)
        self._list_timer.timeout.connect(self._list)
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

    @property
    def connections(self) -> list[Connection]:
        """What is drawn: relations, and suggestions that were neither taken nor dismissed."""
        declared = [connection_of(r, self.checks.get(r.name)) for r in self.shape.relations]
        known = {(c.from_table, c.from_columns, c.to_table, c.to_columns) for c in declared}
        offered = [suggested(one) for one in self.suggestions]
        return declared + [
            one
            for one in offered
            if one.name not in self._dismissed
            and (one.from_table, one.from_columns, one.to_table, one.to_columns) not in known
        ]

    def connection(self, name: str) -> Connection | None:
        return next((one for one in self.connections if one.name == name), None)

    @property
    def status(self) -> str:
        tables, relations = len(self.shape.tables), len(self.shape.relations)
        parts = [_counted(tables, "table"), _counted(relations, "relation")]
        missing = sum(check.dangling for check in self.checks.values())
        if missing:
            parts.append(_missing_text(missing))
        return " · ".join(parts)

    @property
    def is_busy(self) -> bool:
        handles = (self._reading, self._checking, self._suggesting)
        return any(handle is not None and handle.running for handle in handles)

    def reload(self) -> None:
        """Read tables and relations again."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self.tasks.read(
            partial(read_shape, self.store), self._show, self._fail, owner=self, quiet=True,
            text=f"Reading the tables of {self.store.name}",
        )  # fmt: skip

    def note_change(self, table: str) -> None:
        """The rows or columns of a table were changed: what was counted of them holds no more."""
        self.checks = {
            r.name: self.checks[r.name]
            for r in self.shape.relations
            if r.name in self.checks and table not in (r.from_table, r.to_table)
        }
        self.reload()

    def use_store(self, store: Store) -> None:
        """The same store, opened again or in another place."""
        self.store = store
        self._save_places()
        self.reload()

    def _show(self, shape: StoreShape) -> None:
        first = not self.shape.tables
        before, self.shape = self.shape, shape
        known = {r.name: r for r in before.relations}
        self.checks = {
            r.name: self.checks[r.name]
            for r in shape.relations
            if r.name in self.checks and known.get(r.name) == r
        }
        self.canvas.show_shape(shape, self._saved_places() if first else {})
        self._before_move = self.canvas.places
        self._draw()
        if first:
            self.canvas.fit()
            if not shape.relations and len(shape.tables) > 1 and shape.rows <= SUGGESTED_UNASKED:
                self.suggest(quiet=True)
        self._check_unasked()

    def _draw(self) -> None:
        self.canvas.show_connections(self.connections)
        self._list()
        self.canvas.choose(self.panel.shown)
        self.empty.setVisible(not self.shape.tables)

    def _list(self) -> None:
        """What is known by now, in the list and at the lines."""
        self._list_timer.stop()
        connections = self.connections
        self.panel.show_connections(connections)
        for one in connections:
            self.canvas.show_connection(one)
        self.status_changed.emit()

    def state(self) -> dict[str, str]:
        return {"store": str(self.store.path)}

    def look(self) -> None:
        """Whether somebody else made, dropped or related tables, while the diagram is seen."""
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

    def _moved(self) -> None:
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
        if self.acts.done:
            act = self.acts.done[-1]
            self._perform(act, act.undo, 0, self.acts.step_back, f"Undone: {act.text}")

    def redo(self) -> None:
        if self.acts.undone:
            act = self.acts.undone[-1]
            self._perform(act, act.do, 1, self.acts.step_forward, f"Redone: {act.text}")

    def _do(
        self,
        act: Act,
        says: str,
        done: Callable[[], object] = lambda: None,
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        def then() -> None:
            self.acts.push(act)
            done()

        self._perform(act, act.do, 1, then, says, failed)

    def _perform(
        self,
        act: Act,
        work: Callable[[StoreRelations], object],
        side: int,
        then: Callable[[], object],
        says: str,
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """`side` is 0 for going back and 1 for doing it."""
        if act.places is not None:
            then()
            self.canvas.restore_places(act.places[side])
            self._before_move = self.canvas.places
            self._save_places()
            self.status_changed.emit()
            return

        def done(_: object) -> None:
            then()
            back = [("Undo", self.undo)] if side else []
            self.messages.say(says, *back, kind="message-success")
            self.changed.emit()
            self.reload()

        self.tasks.write(
            lambda job: work(self.store.relations), done, failed or self._fail, owner=self,
            text=act.text[:1].upper() + act.text[1:],
        )  # fmt: skip

    def ask_new(self, table: str = "", column: str = "", other: str = "", other_column: str = "") -> None:
        """The form of a relation, which begins with these."""
        if not self.shape.tables:
            return
        pair = (table, column, other, other_column)
        form = RelationForm(self.store, self.shape, self.tasks, self, pair=pair)

        def take(one: list[str], two: list[str], name: str) -> None:
            says = f"Declared: {', '.join(one)} → {', '.join(two)}"
            self._do(declare(one, two, name or None), says, form.accept, form.say)

        form.declare_requested.connect(take)
        form.open()

    def act(self, act: str, name: str) -> None:
        """One of `panel.ACTS`, on the connection of this name."""
        one = self.connection(name)
        if one is None:
            return
        if act == "accept" and one.suggestion is not None:
            self._do(declare(*one.suggestion.endpoints, None), f"Declared: {one.text}")
        elif act == "dismiss":
            self._dismissed.add(name)
            self._draw()
        elif act == "check":
            self.check([name])
        elif act == "rename":
            self.ask_name(name)
        elif act == "remove":
            self._do(remove(self._relation(name)), f"Removed {name}; no row was changed")
        elif act in ("dangling", "joined"):
            make = dangling_rows if act == "dangling" else joined_rows
            self.tasks.read(
                partial(make, one, self.store),
                lambda line: self.rows_requested.emit(one.from_table, line),
                self._fail,
                owner=self,
                text=f"Opening {one.from_table}",
            )

    def _relation(self, name: str) -> Relation:
        return next(relation for relation in self.shape.relations if relation.name == name)

    def ask_name(self, name: str) -> QInputDialog:
        dialog = QInputDialog(self)
        dialog.setWindowTitle("Rename the relation")
        dialog.setLabelText("Name of the relation")
        dialog.setTextValue(name)
        dialog.textValueSelected.connect(partial(self._rename, name))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def _rename(self, old: str, new: str) -> None:
        new = new.strip()
        if new and new != old:
            self.panel.show_connection("")
            self._do(rename(old, new), f"Renamed {old} to {new}")

    # ------------------------------------------------------------ what rows say

    def check(self, names: list[str]) -> None:
        """Whether rows are there that others point at, off the GUI thread, one relation after the other."""
        self._check(names, quiet=False)

    def check_all(self) -> None:
        self.check([relation.name for relation in self.shape.relations if not relation.problem])

    def _check_unasked(self) -> None:
        rows = {table.name: table.rows or 0 for table in self.shape.tables}
        small = [
            r.name
            for r in self.shape.relations
            if r.name not in self.checks
            and not r.problem
            and rows.get(r.from_table, 0) + rows.get(r.to_table, 0) <= CHECKED_UNASKED
        ]
        if small:
            self._check(small, quiet=True)

    def _check(self, names: list[str], quiet: bool) -> None:
        if not names:
            return
        if self._checking is not None:
            self._checking.cancel()
        name, rest = names[0], names[1:]

        def done(checks: tuple[RelationCheck, ...]) -> None:
            self._note_check(checks[0], last=not rest)
            if rest:
                self._check(rest, quiet)
            elif not quiet:
                self._say_checked()

        def failed(error: Exception) -> None:
            if not quiet or not isinstance(error, LamellaError):
                self._fail(error)
            if rest:
                self._check(rest, quiet)

        self._checking = self.tasks.read(
            lambda job: self.store.relations.check(name, job=job), done, failed, owner=self, quiet=quiet,
            text=f"Checking {name}",
        )  # fmt: skip

    def _note_check(self, check: RelationCheck, last: bool) -> None:
        """Shown with those that follow within a moment: the more there are, the longer that is."""
        self.checks[check.relation.name] = check
        if last:
            self._list()
        elif not self._list_timer.isActive():
            self._list_timer.start(max(LIST_EVERY_MS, MS_A_RELATION * len(self.shape.relations)))

    def _say_checked(self) -> None:
        missing = sum(check.dangling for check in self.checks.values())
        self.messages.say(
            _missing_text(missing) if missing else "All rows point at rows that are there",
            kind="message" if missing else "message-success",
        )

    def suggest(self, quiet: bool = False) -> None:
        """Look for relations that nobody declared."""
        if self._suggesting is not None and self._suggesting.running:
            return

        def done(suggestions: tuple[Suggestion, ...]) -> None:
            self.suggestions = list(suggestions)
            if not quiet:
                self._dismissed.clear()
                self.messages.say(
                    f"{_counted(len(suggestions), 'suggestion')}, drawn with dashes" if suggestions
                    else "Nothing to suggest: no other columns match by their values and names"
                )  # fmt: skip
            self._draw()

        self._suggesting = self.tasks.read(
            lambda job: self.store.relations.suggest(job=job), done,
            (lambda error: None) if quiet else self._fail,
            owner=self, quiet=quiet, text="Looking for relations",
        )  # fmt: skip

    def _fail(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self.messages.say(str(error), ("Try again", self.reload), kind="message-danger")
        else:
            self.tasks.failed.emit(error)

    # -------------------------------------------------------------------- finding

    def find(self, text: str) -> None:
        """Mark tables and columns whose names have a text in them; the first one is shown."""
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
        """Where the picture goes, as "svg" or "png"."""
        name = Path.home() / f"{self.store.name} relations.{kind}"
        chosen, _ = QFileDialog.getSaveFileName(self.window(), "Export the diagram", str(name), FILTERS[kind])
        if chosen:
            self.write_picture(Path(chosen).with_suffix(f".{kind}"))

    def write_picture(self, path: Path) -> None:
        """As the suffix says, off the GUI thread."""
        from lamella.ui.charts.figures import write_picture

        size, paint = self.canvas.picture_size, self.canvas.paint_picture
        drawn: str | QImage = (
            svg_of(f"Relations of {self.store.name}", size, paint)
            if path.suffix == ".svg"
            else pixels_of(size, paint)
        )
        self.tasks.read(
            lambda job: write_picture(path, drawn),
            lambda _: self.messages.say(f"Written: {visible(path.name)}", kind="message-success"),
            self._fail,
            owner=self,
            text=f"Writing {path.name}",
        )

    # ----------------------------------------------------------------------- menus

    def _open_menu(self, kind: str, name: str, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        one = self.connection(name) if kind == "connection" else None
        if kind == "table":
            menu.addAction("Open", partial(self.table_requested.emit, name))
            menu.addAction("New relation from here…", partial(self.ask_new, name))
        elif one is not None:
            acts = ["accept", "dismiss"] if one.is_suggested else ["joined", "check", "rename", "remove"]
            if one.problem:
                acts = ["rename", "remove"]
            for act in acts:
                menu.addAction(ACTS[act], partial(self.act, act, name))
            if one.dangling:
                text = f"Show the {one.dangling:,} rows that point at nothing"
                menu.addAction(text, partial(self.act, "dangling", name))
            menu.addSeparator()
            for table in dict.fromkeys((one.from_table, one.to_table)):
                text = f"Open {without_mnemonic(visible(table))}"
                menu.addAction(text, partial(self.table_requested.emit, table))
        else:
            menu.addAction("New relation…", self.ask_new)
            menu.addAction("Suggest relations", self.suggest)
            menu.addAction("Arrange", self.canvas.arrange)
            menu.addAction("Fit", self.canvas.fit)
        menu.popup(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = self.panel.shown
        if event.key() == Qt.Key.Key_F5:
            self.reload()
        elif event.matches(QKeySequence.StandardKey.Find):
            self.bar.field.setFocus()
        elif event.key() == Qt.Key.Key_Delete and name:
            one = self.connection(name)
            self.act("dismiss" if one is not None and one.is_suggested else "remove", name)
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
        bar.suggest.clicked.connect(lambda _: self.suggest())
        bar.check.clicked.connect(self.check_all)
        bar.field.textChanged.connect(self.find)
        bar.field.returnPressed.connect(self.find_next)
        bar.minus.clicked.connect(lambda: canvas.zoom_by(1 / ZOOM_STEP))
        bar.plus.clicked.connect(lambda: canvas.zoom_by(ZOOM_STEP))
        bar.scale.clicked.connect(lambda: canvas.zoom_to(1.0))
        bar.fit_all.clicked.connect(canvas.fit)
        bar.arrange.clicked.connect(canvas.arrange)
        bar.export_requested.connect(self.ask_export)
        canvas.zoomed.connect(bar.show_scale)
        self.canvas.chosen.connect(self._choose)
        self.canvas.table_chosen.connect(lambda name: self.panel.show_connection("") if name else None)
        self.canvas.table_opened.connect(self.table_requested)
        self.canvas.pair_drawn.connect(self.ask_new)
        self.canvas.places_changed.connect(self._moved)
        self.canvas.menu_requested.connect(self._open_menu)
        self.panel.chosen.connect(self._choose)
        self.panel.act_requested.connect(self.act)
        self.panel.menu_requested.connect(partial(self._open_menu, "connection"))

    def _choose(self, name: str) -> None:
        self.panel.show_connection(name)
        self.canvas.choose(name)


def _missing_text(rows: int) -> str:
    return "1 row points at nothing" if rows == 1 else f"{rows:,} rows point at nothing"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
