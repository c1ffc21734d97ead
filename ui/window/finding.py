"""Finding in a tab: searches all rows that it shows for what is typed in the find bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from PySide6.QtCore import QObject, QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import FileProblem, LamellaError, visible
from lamella.core.filters.expr import Filter
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Progress
from lamella.core.query.cell_search import CellSearch, Hits, TextConversion, TextPattern
from lamella.core.query.cell_search.conditions import condition_of_hits
from lamella.core.query.cell_search.hits import Cell
from lamella.ui.filters.word_index import FULLTEXT
from lamella.ui.find.bar import FindBar
from lamella.ui.formats.formats import Format, format_texts
from lamella.ui.grid.hits import HitMarks, HitPainter
from lamella.ui.grid.pane import GridPane
from lamella.ui.grid.texts import ROUNDED_DIGITS, ROUNDED_MARK, screen_texts
from lamella.ui.steps.step_line import StepLine
from lamella.ui.tasks import Handle
from lamella.ui.widgets.controls import breakable
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.block_editing import BlockEditing
from lamella.ui.window.charting import Charting
from lamella.ui.window.loader import Tab
from lamella.ui.window.long_text_hits import LongTextHits

if TYPE_CHECKING:
    from lamella.ui.editing.replace_dialog import ReplaceDialog
    from lamella.ui.find.word_search import WordSearchPanel
    from lamella.ui.indexes.manager import IndexesDialog

PAUSE_MS = 150
LONGEST_SHOWN = 40
OPEN = "open"
NO_HIT_TEXT = "Not found"
WRAP_NOTES = {1: "from the top again", -1: "from the end again"}


class SearchedTab(Tab, Protocol):
    pane: GridPane
    blocks: BlockEditing
    charting: Charting

    steps: StepLine

    @property
    def where(self) -> Filter | None: ...

    def add_filter(self, condition: Filter) -> None: ...

    def insert_bar(self, bar: QWidget) -> None: ...

    def window(self) -> QWidget: ...


class Finding(QObject):
    """The search of one tab; nothing is created before the first search. When the rows change they are
    searched again, and the cursor stays where it is. `state_changed` is emitted when `state` has changed."""

    state_changed = Signal()

    def __init__(self, tab: SearchedTab, place: QHBoxLayout) -> None:
        """`place` is the layout that holds the grid."""
        super().__init__(widget_of(tab))
        self._tab, self._place = tab, place
        self._bar: FindBar | None = None
        self._words: WordSearchPanel | None = None
        self.marks: HitMarks | None = None
        self._search: CellSearch | None = None
        self._handle: Handle | None = None
        self._pattern = TextPattern("")
        self._origin: tuple[int, int] | None = None
        """The cursor's cell when typing began: each further letter searches from there again."""
        self._goes = False
        """Whether the cursor goes to the first hit once it is known."""
        self._hit: Cell | None = None
        self._wrap_direction = 0
        self._long_texts: LongTextHits | None = None
        self._saved_matches: dict[Cell, bool] = {}
        """Cells with unsaved edits, and whether their saved values match."""
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(partial(self._begin, go=True))
        tab.review.changed.connect(self._match_staged_edits)

    # ------------------------------------------------------------ opening and closing

    @property
    def is_open(self) -> bool:
        return self._bar is not None and not self._bar.isHidden()

    @property
    def bar(self) -> FindBar:
        """The find bar, made on first use."""
        if self._bar is None:
            self._bar = self._build_bar()
        return self._bar

    @property
    def hits(self) -> Hits | None:
        """The hits found so far; None while nothing is searched for."""
        return None if self._search is None else self._search.hits

    @property
    def running(self) -> bool:
        words = self._words is not None and self._words.running
        return words or self._pause.isActive() or self._handle is not None

    def open(self) -> None:
        """Show the bar with the keyboard in it."""
        if self._tab.charting.is_shown:
            self._tab.charting.hide()
        if not self.is_open:
            self._show_bar()
        self._origin = None
        self.bar.begin()

    def _show_bar(self) -> None:
        self.bar.show()
        self._show_columns()
        if self.bar.finds_words:
            self.words.show()
            self.words.search()
        else:
            self._begin(go=False)
        self.state_changed.emit()

    def look_for(self, pattern: TextPattern) -> None:
        """Show the bar with a pattern that was typed elsewhere. The cursor stays where it is."""
        bar = self.bar
        with QSignalBlocker(bar):
            bar.text_mode.setChecked(True)
            bar.field.setText(pattern.text)
            bar.columns.choose(None)
            for option, on in (
                (bar.case, pattern.case),
                (bar.whole, pattern.whole),
                (bar.regex, pattern.regex),
            ):
                option.setChecked(on)
        if self._words is not None:
            self._words.stop()
            self._words.hide()
        bar.show()
        self._show_columns()
        self._origin = None
        self._begin(go=False)
        self.state_changed.emit()

    def state(self) -> dict[str, Any]:
        """The search, as JSON; empty if there was none."""
        if self._bar is None:
            return {}
        return self._bar.state() | ({OPEN: True} if self.is_open else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the search. The cursor and the keyboard stay where they are."""
        with QSignalBlocker(self.bar):
            self._show_columns()
            self.bar.restore(state)
        if state.get(OPEN) is True and not self._tab.charting.is_shown:
            self._show_bar()

    def close(self) -> None:
        """Close the bar and remove all marks. The bar keeps its text."""
        self.stop()
        self._search = self._hit = None
        self._show_hits()
        if self._words is not None:
            self._words.stop()
            self._words.hide()
        if self._bar is not None:
            self._bar.hide()
        self._tab.grid.setFocus()
        self.state_changed.emit()

    def stop(self) -> None:
        """Stop searching and keep the hits found so far."""
        self._pause.stop()
        if self._words is not None:
            self._words.stop()
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()
            self._say()

    def step(self, direction: int) -> None:
        """Go to the next hit (1) or the previous one (-1). Opens the bar first if it is closed."""
        if self._tab.charting.is_shown:
            self._tab.charting.hide()
        if not self.is_open:
            self.open()
            if not self.bar.field.text():
                return
            self._tab.grid.setFocus()
        if self.bar.finds_words:
            self.words.step(direction)
        elif self._pause.isActive() or self.hits is None or (self.hits.count == 0 and self.running):
            self._goes = True  # as soon as there is a hit
        else:
            self._go(direction)

    def keep_hits(self) -> None:
        """Filter the rows by the pattern."""
        rows, hits, pattern, tab = self._tab.rows, self.hits, self._pattern, self._tab
        if rows is None or hits is None or not hits.count:
            return

        def add(condition: Filter) -> None:
            tab.add_filter(condition)
            tab.grid.setFocus()

        tab.tasks.read(
            lambda job: condition_of_hits(rows, hits, pattern, job), add, self._refuse, owner=self,
            text="Making a filter from the matches",
        )  # fmt: skip

    def replace(self) -> ReplaceDialog | None:
        """Open the Replace dialog with the pattern of the bar."""
        dialog = self._tab.blocks.replace()
        if dialog is not None and self.is_open and not self.bar.finds_words and self.bar.field.text():
            pattern = self.bar.pattern
            dialog.begin(
                pattern.text, pattern.case, pattern.whole, pattern.regex, self.bar.columns.chosen_columns
            )
        return dialog

    # ---------------------------------------------------------------- searching

    def _search_soon(self) -> None:
        if self.bar.finds_words:
            self.words.search_soon()
            return
        if self._origin is None:
            self._origin = self._cursor()
        self._stop_looking()
        if self._show_problem():
            return
        self._say("Looking…")
        self._pause.start()

    def _show_problem(self) -> bool:
        """Show why nothing can be searched for; True if the pattern is empty or invalid."""
        pattern = self.bar.pattern
        problem = pattern.problem if pattern.text else ""
        if pattern.text and not problem:
            return False
        self._search = self._hit = None
        self._show_hits()
        self._say(breakable(problem), "danger" if problem else "muted")
        return True

    def _begin(self, go: bool) -> None:
        """Search the rows that are shown now."""
        self._stop_looking()
        rows = self._tab.rows
        if self._show_problem() or rows is None:
            return
        self._pattern, self._goes, self._wrap_direction, self._hit = self.bar.pattern, go, 0, None
        self._saved_matches = {}
        names = self._searched_names(rows.schema)
        start = (self._origin or self._cursor())[0]
        displayed = self._text_conversions(rows.schema, names)
        if self._long_texts is not None:
            self._long_texts.stop()
        self._long_texts = LongTextHits(self._tab, rows, self._pattern)
        self._search = search = CellSearch(rows, self._pattern, names, displayed, start)
        pattern_text = visible(self._pattern.text[:LONGEST_SHOWN])
        self._handle = self._tab.tasks.read(
            search.run,
            lambda _: self._finish(search),
            lambda error: self._fail(search, error),
            on_progress=lambda progress: self._show_progress(search, progress),
            on_cancel=lambda: self._end_search(search),
            owner=self,
            text=f"Finding '{pattern_text}' in {self._tab.name}",
        )
        self._handle.progress_widget = self.bar
        self._show_hits()
        self._say()

    def _stop_looking(self) -> None:
        self._pause.stop()
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()

    def _searched_names(self, schema: pa.Schema) -> list[str]:
        """The columns to search: those chosen, or all except hidden ids."""
        names = self.bar.columns.chosen_columns
        return [name for name in self._names() if name in schema.names and (names is None or name in names)]

    def _names(self) -> list[str]:
        """All columns from left to right, hidden ones included, except hidden ids."""
        grid = self._tab.grid
        header, names = grid.horizontalHeader(), grid.grid_model.names
        columns = (header.logicalIndex(place) for place in range(header.count()))
        return [names[c] for c in columns if names[c] != ID or not grid.isColumnHidden(c)]

    def _text_conversions(self, schema: pa.Schema, names: Sequence[str]) -> Mapping[str, TextConversion]:
        """Columns whose cells show text other than their plain values."""
        pages, grid_names = self._tab.grid.grid_model.pages, self._tab.grid.grid_model.names
        text = self._pattern.text
        has_digits = sum(map(str.isdigit, text)) >= ROUNDED_DIGITS - 1 or ROUNDED_MARK in text
        displayed: dict[str, TextConversion] = {}
        for name in names:
            form = pages.form(grid_names.index(name))
            if form is not None and form.kind != "plain":
                displayed[name] = partial(_in_format, form)
            elif kind_of(schema.field(name).type) is Kind.FLOAT and has_digits:
                displayed[name] = screen_texts
        return displayed

    # --------------------------------------------------------------------------- hits

    def _show_progress(self, search: CellSearch, progress: Progress) -> None:
        if search is self._search:
            self._go_to_first()
            self._show_hits()
            self._say()

    def _finish(self, search: CellSearch) -> None:
        if search is self._search:
            self._handle = None
            self._match_staged_edits()
            self._go_to_first()
            self._goes = False
            self._show_hits()
            self._say()

    def _end_search(self, search: CellSearch) -> None:
        if search is self._search:
            self._handle = None
            self._show_hits()
            self._say()

    def _fail(self, search: CellSearch, error: Exception) -> None:
        """Show the error, for example that the file no longer exists."""
        if search is self._search:
            self._handle = None
            self._show_hits()
            if isinstance(error, LamellaError):
                self.bar.say(error.headline if isinstance(error, FileProblem) else str(error), "danger")
                self.bar.set_counting(False)
            if isinstance(error, FileProblem) or not isinstance(error, LamellaError):
                self._tab.failures.show(error)

    def _refuse(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self._tab.messages.say(str(error))
        else:
            self._tab.failures.show(error)

    def _go_to_first(self) -> None:
        """Go to the first hit after the cursor's origin, once it is known which one that is."""
        hits = self.hits
        if not self._goes or hits is None or not hits.count:
            return
        row, place = self._origin or self._cursor()
        step = hits.after((row, place - 1), self._names())
        if step is None:
            return
        (found_row, _), wrapped = step
        if hits.complete or (found_row - row) % hits.num_rows < hits.sure_rows:
            self._goes = False
            self._show_hit(step[0], 1 if wrapped else 0)

    def _go(self, direction: int) -> None:
        hits = self.hits
        if hits is None:
            return
        names, at = self._names(), self._cursor()
        if self._hit is not None and self._hit[0] == at[0] and self._is_hidden(self._hit[1]):
            at = self._hit[0], names.index(self._hit[1])  # the cursor cannot be in a hidden column
        step = hits.after(at, names) if direction > 0 else hits.before(at, names)
        if step is not None:
            self._origin = None
            self._show_hit(step[0], direction if step[1] else 0)

    def _show_hit(self, cell: Cell, wrapped: int) -> None:
        row, name = cell
        grid = self._tab.grid
        self._hit, self._wrap_direction = cell, wrapped
        place = None if self._is_hidden(name) else grid.place(grid.grid_model.names.index(name))
        grid.go_to(row, place)
        self._say()

    def _show_column(self) -> None:
        """Show the hidden column of the current hit."""
        if self._hit is not None:
            grid, (row, name) = self._tab.grid, self._hit
            grid.hide_columns({name: False})
            grid.go_to(row, grid.place(grid.grid_model.names.index(name)))
            self._say()

    def _is_hidden(self, name: str) -> bool:
        grid = self._tab.grid
        names = grid.grid_model.names
        return name not in names or grid.isColumnHidden(names.index(name))

    def _cursor(self) -> tuple[int, int]:
        """The cursor's row, and its column's index in `_names()`."""
        grid = self._tab.grid
        current = grid.selection.current
        if current is None:
            return grid.top_row(), 0
        names, name = self._names(), grid.current_name
        return current[0], names.index(name) if name in names else 0

    def _match_staged_edits(self) -> None:
        """Match cells with unsaved edits by their new text. Until the search is complete, they match by their
        saved values."""
        hits = self.hits
        if hits is None or not hits.complete:
            return
        for cell, matches in self._saved_matches.items():
            hits.put(cell, matches)
        looked_through = set(self._searched_names(self._tab.grid.grid_model.schema))
        marks = {
            cell: mark for cell, mark in self._tab.review.marks.items() if cell[1] in looked_through
        }  # fmt: skip
        self._saved_matches = {cell: cell in hits for cell in marks}
        matching = self._pattern.text_matches([mark.text for mark in marks.values()])
        for cell, matches in zip(marks, matching.tolist(), strict=True):
            hits.put(cell, matches)
        self._show_hits()
        self._say()

    # ------------------------------------------------------------------------ status

    def _painter(self, hits: Hits) -> HitPainter:
        long_texts = self._long_texts
        return HitPainter(hits, self._pattern, None if long_texts is None else long_texts.parts)

    def _show_hits(self) -> None:
        """Show the hits in the cells and at the scroll bar."""
        tab, hits = self._tab, self.hits
        tab.grid.hits = None if hits is None else self._painter(hits)
        if self.marks is None and hits is not None:
            self.marks = HitMarks(tab.pane, tab.pane.scroll_bar, tab.grid.verticalScrollBar())
        if self.marks is not None:
            self.marks.show_hits(hits)
        tab.grid.viewport().update()

    def _say(self, text: str = "", look: str = "muted") -> None:
        """Say how many hits there are and which one is current, or `text`."""
        bar, hits = self.bar, self.hits
        counting = self._handle is not None
        bar.set_counting(counting)
        bar.set_found(hits is not None and hits.count > 0)
        hidden = self._hit[1] if self._hit is not None and self._is_hidden(self._hit[1]) else ""
        bar.show_hidden(hidden)
        if text or hits is None:
            bar.say(text, look)
            return
        parts = [self._count_text(hits, counting)]
        if hidden:
            parts.append(f"in the hidden column '{visible(hidden)}'")
        if self._wrap_direction:
            parts.append(WRAP_NOTES[self._wrap_direction])
        bar.say(" · ".join(parts), "muted" if hits.count or counting else "danger")

    def _count_text(self, hits: Hits, counting: bool) -> str:
        if counting:
            return f"{hits.count:,} so far…" if hits.count else "Looking…"
        if not hits.complete:
            return f"Stopped: {hits.count:,} found so far"
        if not hits.count:
            return NO_HIT_TEXT
        place = hits.place(self._current_hit(hits) or (-1, ""), self._names())
        return f"{hits.count:,} found" if place is None else f"{place + 1:,} of {hits.count:,}"

    def _current_hit(self, hits: Hits) -> Cell | None:
        """The hit at the cursor, or the current one in a hidden column of the same row."""
        row, place = self._cursor()
        names = self._names()
        hit = self._hit
        if hit is not None and hit[0] == row and self._is_hidden(hit[1]):
            return hit
        return (row, names[place]) if names and (row, names[place]) in hits else None

    # ------------------------------------------------------------------ following

    def follow(self) -> None:
        """Update the search after the rows or their values have changed."""
        if not self.is_open:
            return
        self._show_columns()
        if self.bar.finds_words:
            self.words.search()
        elif self.bar.field.text():
            self._origin = None
            self._begin(go=self._goes)

    def _show_columns(self) -> None:
        grid = self._tab.grid
        current = grid.current_name if grid.selection.current is not None else None
        self.bar.columns.show_names(self._names(), current)

    def _choose_current(self) -> None:
        name = self._tab.grid.current_name
        if name is not None and name in self._names():
            self.bar.columns.choose([name])

    def _follow_cursor(self) -> None:
        if self.is_open and not self.bar.finds_words and self.hits is not None and self._handle is None:
            self._wrap_direction = 0 if self._current_hit(self.hits) != self._hit else self._wrap_direction
            self._say()

    def _change_mode(self) -> None:
        """Switch between searching for a text and searching for words."""
        self._stop_looking()
        self._search = self._hit = None
        self._show_hits()
        if self.bar.finds_words:
            self.words.show()
            self.words.search()
        else:
            self.words.stop()
            self.words.hide()
            self._begin(go=False)
        self.bar.begin()

    @property
    def words(self) -> WordSearchPanel:
        """The panel of rows that contain the words."""
        if self._words is None:
            from lamella.ui.find.word_search import WordSearchPanel

            self._words = WordSearchPanel(self._tab, self.bar)
            self._words.index_requested.connect(self._ask_index)
            self._words.import_requested.connect(self._tab.steps.import_requested)
            self._place.addWidget(self._words)
        return self._words

    def show_indexes(self) -> IndexesDialog | None:
        """Open the indexes of the table; None for files, which have none."""
        from lamella.ui.indexes.manager import show_indexes

        return show_indexes(self._tab, self._tab.grid.current_name or "")

    def _ask_index(self) -> None:
        dialog = self.show_indexes()
        if dialog is not None:
            dialog.begin_new(FULLTEXT)
            dialog.changed.connect(self.words.search)

    def _build_bar(self) -> FindBar:
        bar = FindBar()
        bar.hide()
        self._tab.insert_bar(bar)
        bar.changed.connect(self._search_soon)
        bar.mode_changed.connect(self._change_mode)
        for signal in (bar.changed, bar.mode_changed):
            signal.connect(self.state_changed)
        bar.next_requested.connect(partial(self.step, 1))
        bar.previous_requested.connect(partial(self.step, -1))
        bar.stop_requested.connect(self.stop)
        bar.keep_requested.connect(self.keep_hits)
        bar.replace_requested.connect(self.replace)
        bar.show_requested.connect(self._show_column)
        bar.columns.clicked.connect(self._show_columns)
        bar.columns.current.clicked.connect(self._choose_current)
        bar.closed.connect(self.close)
        self._tab.grid.selection.changed.connect(self._follow_cursor)
        return bar


def _in_format(form: Format, values: pa.Array) -> Sequence[str | None]:
    return format_texts(values, form)
