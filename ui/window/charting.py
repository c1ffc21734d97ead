"""The chart of a tab: shown in place of its grid, following its steps, saved with its views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import BadQuery, LamellaError, visible
from lamella.core.filters.expr import Filter, columns_read
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.phrases import duration_text, quantity
from lamella.core.query.source import ComputedSource
from lamella.ui.dialogs.file_dialog import ask_new_file
from lamella.ui.grid.pane import GridPane
from lamella.ui.steps.step_line import StepLine
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.file_watch import folder_of, source_files
from lamella.ui.window.loader import Tab, TabContent

if TYPE_CHECKING:
    import pyarrow as pa
    from PySide6.QtGui import QImage

    from lamella.core.query.charts import ChartSpec
    from lamella.core.transfer.exporting import Export
    from lamella.ui.charts.view import ChartView

CHART, SPEC, DISPLAY = "chart", "spec", "display"
MOST_COLUMNS = 20
"""More columns than this are a selection of whole rows, not columns chosen by hand."""
MOST_CHARTED_COLUMNS = 3
"""An answer with at most this many columns is charted as a whole."""


class ChartedTab(Tab, Protocol):
    pane: GridPane
    steps: StepLine
    changed: Any

    def filter_by_card(self, condition: Filter, instead: Sequence[Filter]) -> None: ...

    def window(self) -> QWidget: ...


class Charting(QObject):
    """Shows the chart of a tab. No chart code is loaded before the first chart is shown. `x_chosen` has the
    column that was chosen for the horizontal axis."""

    x_chosen = Signal(str)

    def __init__(self, tab: ChartedTab, place: QHBoxLayout, choices: Path) -> None:
        """`place` is the layout that holds the grid; `choices` is the file that remembers export options."""
        super().__init__(widget_of(tab))
        self._tab, self._place, self._choices = tab, place, choices
        self.view: ChartView | None = None
        self._conditions: dict[frozenset[str], Filter] = {}
        self._whole: list[str] = []
        self._x = ""
        tab.loader.loaded.connect(self._follow)
        tab.steps.bar.chart.clicked.connect(self.hide)

    @property
    def is_shown(self) -> bool:
        return self.view is not None and not self.view.isHidden()

    @property
    def status(self) -> str:
        """A text for the status bar, such as `53 figures of 326,304 rows · 18 ms`."""
        data = None if self.view is None else self.view.data
        if data is None:
            return "drawing…" if self.view is not None and self.view.running else ""
        count = data.table.num_rows
        figures = quantity(count, "figure")
        text = f"{figures} of {quantity(data.used, 'row')} · {duration_text(data.seconds)}"
        fetched = None if self._tab.content is None else self._tab.content.lines.fetched_rows
        return text if fetched is None or fetched.is_whole else f"{text} · {fetched.engine}"

    def is_drawn(self, spec: ChartSpec) -> bool:
        """Whether this chart is drawn and shown."""
        view = self.view
        return view is not None and not view.running and view.data is not None and view.data.spec == spec

    def toggle(self) -> None:
        if self.is_shown:
            self.hide()
        else:
            self.show()

    def draw(self, names: Sequence[str]) -> None:
        """Show a new chart of these columns."""
        self._ensure_view().draw_next(names)
        self.show()

    def show(self) -> None:
        """Show the chart in place of the grid; the first time, it draws the selected columns. Later, it is
        the earlier chart unless other whole columns are selected."""
        view, whole = self._ensure_view(), self._whole_columns()
        if not self.is_shown and whole and whole != self._whole:
            view.draw_next(whole)
        self._whole = whole
        self._tab.pane.hide()
        view.show()
        self._tab.messages.float_over(view)
        if self._tab.content is not None:
            self._follow(self._tab.content)
        view.setFocus()
        self._update_chip()

    def hide(self) -> None:
        if self.view is None:
            return
        self.view.stop()
        self.view.hide()
        self._tab.pane.show()
        self._tab.messages.float_over(self._tab.pane, self._tab.grid.horizontalScrollBar())
        self._tab.grid.setFocus()
        self._update_chip()

    def stop(self) -> None:
        if self.view is not None:
            self.view.stop()

    # ------------------------------------------------------------------- following

    def _follow(self, content: TabContent) -> None:
        if self.view is not None and self.is_shown:
            schema = _without_ids(content.view.schema)
            self.view.show_rows(content.lines.rows, schema, content.total_rows, self._columns(schema))

    def _columns(self, schema: pa.Schema) -> list[str]:
        """The selected columns, or the current one. With the cursor still in the first column, all columns of
        a small answer, such as a group and its sum, or the first column with several, repeated values."""
        grid = self._tab.grid
        blocks = grid.selection.blocks
        names = [name for block in blocks for name in grid.names_in(block) if name in schema.names]
        if 1 < len(set(names)) <= MOST_COLUMNS:
            return list(dict.fromkeys(names))
        current = grid.current_name if grid.selection.current is not None else None
        if current is not None and current in schema.names[1:]:
            return [current]
        if self._is_answer and len(schema.names) <= MOST_CHARTED_COLUMNS:
            return list(schema.names)
        grouping = (name for name in schema.names if not self._is_flat(schema.field(name)))
        return [next(grouping, schema.names[0])] if schema.names else []

    def _whole_columns(self) -> list[str]:
        """The columns that are selected as a whole, if they are not all and nothing else is selected."""
        grid = self._tab.grid
        blocks, rows = grid.selection.blocks, grid.grid_model.num_rows
        names = list(dict.fromkeys(name for block in blocks for name in grid.names_in(block)))
        are_whole = rows > 1 and all(block.num_rows == rows for block in blocks)
        return names if are_whole and len(names) < len(grid.grid_model.names) else []

    def _is_flat(self, field: pa.Field) -> bool:
        """Whether all rows have the same value in a column, or nearly each row its own text, as far as its
        card is known."""
        grid = self._tab.grid
        names = grid.grid_model.names
        card = grid.cards.card_of(names.index(field.name)) if field.name in names else None
        if card is None:
            return False
        figures = card.shown_figures
        is_text = kind_of(field.type) is Kind.TEXT
        return figures.has_one_value or (is_text and figures.is_nearly_unique)

    @property
    def _is_answer(self) -> bool:
        """Whether the rows are groups, or the result of an SQL statement."""
        return self._tab.line.grouping is not None or isinstance(self._tab.dataset, ComputedSource)

    def _filter(self, condition: Filter) -> None:
        """Filter by a condition; it replaces the chart's earlier filter on the same columns."""
        key = frozenset(columns_read(condition))
        before = [self._conditions[key]] if key in self._conditions else []
        self._conditions[key] = condition
        self._tab.filter_by_card(condition, before)

    def _note_x(self) -> None:
        if self.view is not None and self.is_shown and self.view.spec.x != self._x:
            self._x = self.view.spec.x
            self.x_chosen.emit(self._x)

    def _update_chip(self) -> None:
        chip = self._tab.steps.bar.chart
        chip.setVisible(self.is_shown)
        if self.view is not None:
            from lamella.core.query.charts.spec import TITLES
            from lamella.ui.charts.form import ICONS

            kind = self.view.spec.kind
            self._tab.steps.bar.show_chart(TITLES[kind], ICONS[kind])
        self._tab.changed.emit()

    # ------------------------------------------------------------------- saved views

    @property
    def layout(self) -> dict[str, Any]:
        """The chart as JSON for a saved view; empty while the table is shown."""
        if self.view is None or not self.is_shown:
            return {}
        display = vars(self.view.form.display)
        return {CHART: {SPEC: self.view.spec.to_json(), DISPLAY: dict(display)}}

    def show_layout(self, layout: Mapping[str, Any]) -> None:
        """Show the chart of a saved view, or the table. Parts that cannot be read are skipped with a
        message."""
        saved = layout.get(CHART)
        if not isinstance(saved, Mapping):
            self.hide()
            return
        from lamella.core.query.charts import ChartSpec
        from lamella.ui.charts.marks import Display

        try:
            spec = ChartSpec.from_json(saved.get(SPEC))
        except BadQuery as error:
            self._tab.messages.say(f"The chart of this view cannot be drawn: {error}", kind="message-danger")
            return
        chart_layout = saved.get(DISPLAY)
        saved_layout = chart_layout if isinstance(chart_layout, Mapping) else {}
        plain = vars(Display())
        display = Display(
            **{name: saved_layout[name] for name in plain if isinstance(saved_layout.get(name), bool)}
        )
        self._ensure_view().form.spec = spec
        self.show()
        self._ensure_view().show_spec(spec, display)

    # ------------------------------------------------------------------- export

    def export(self, kind: str) -> None:
        """Export the picture as "png" or "svg", or the figures."""
        view = self.view
        if view is None or view.data is None:
            return
        if kind == "figures":
            self._export_figures()
            return
        from lamella.ui.charts.figures import PICTURES

        suffix = f".{kind}"
        name = folder_of(self._tab.key) / f"{Path(self._tab.name).stem} chart{suffix}"
        ask_new_file(
            self._tab.window(),
            "Export the chart",
            lambda path: self.write_picture(path.with_suffix(suffix)),
            name,
            PICTURES[suffix],
        )

    def write_picture(self, path: Path) -> None:
        """Write the picture in the format of the suffix, off the GUI thread."""
        from lamella.ui.charts.figures import write_picture

        view, tab = self.view, self._tab
        assert view is not None
        picture: str | QImage = view.svg() if path.suffix == ".svg" else view.pixels()

        def fail(error: Exception) -> None:
            if isinstance(error, LamellaError):
                tab.messages.say(str(error), kind="message-danger")
            else:
                tab.tasks.failed.emit(error)

        tab.tasks.read(
            lambda job: write_picture(path, picture),
            lambda _: tab.messages.say(f"Written: {visible(path.name)}", kind="message-success"),
            fail,
            owner=self,
            text=f"Writing {path.name}",
        )

    def _export_figures(self) -> None:
        from lamella.ui.charts.figures import export_rows
        from lamella.ui.dialogs.export_dialog import ExportDialog
        from lamella.ui.dialogs.export_options import ExportChoices

        view, tab = self.view, self._tab
        assert view is not None and view.data is not None
        rows = [export_rows(view.data)]
        choices = ExportChoices(self._choices)
        name = f"{Path(tab.name).stem} chart"
        sources = source_files(tab)
        dialog = ExportDialog(name, rows, folder_of(tab.key), choices, tab.tasks, tab.window(), sources)
        dialog.exported.connect(self._report_export)
        dialog.show()

    def _report_export(self, export: Export) -> None:
        self._tab.messages.say(
            f"Exported {quantity(export.rows, 'figure')} to {visible(export.path.name)}",
            kind="message-success",
        )

    # ------------------------------------------------------------------- set-up

    def _ensure_view(self) -> ChartView:
        if self.view is None:
            from lamella.ui.charts.view import ChartView

            self.view = ChartView(self._tab.tasks)
            self.view.hide()
            self._place.insertWidget(1, self.view, 1)
            self.view.filter_requested.connect(self._filter)
            self.view.refused.connect(self._tab.messages.say)
            self.view.export_requested.connect(self.export)
            self.view.closed.connect(self.hide)
            self.view.changed.connect(self._update_chip)
            self.view.changed.connect(self._note_x)
        return self.view


def _without_ids(schema: pa.Schema) -> pa.Schema:
    place = schema.get_field_index(ID)
    return schema if place < 0 else schema.remove(place)
