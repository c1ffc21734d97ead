"""The profile of all columns of a tab, shown in place of its grid and following its steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, SignalInstance
from PySide6.QtWidgets import QHBoxLayout, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import shown_rows
from lamella.ui.grid.pane import GridPane
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.charting import Charting
from lamella.ui.window.comparing import Comparing
from lamella.ui.window.file_watch import source_files
from lamella.ui.window.loader import Tab, TabContent

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export
    from lamella.ui.dialogs.export_dialog import ExportRows
    from lamella.ui.profiles.view import ProfilesView


class ProfiledTab(Tab, Protocol):
    pane: GridPane
    charting: Charting
    comparing: Comparing
    changed: SignalInstance

    def window(self) -> QWidget: ...


class Profiling(QObject):
    """Shows the profile of a tab. Nothing is loaded before it is first shown."""

    def __init__(self, tab: ProfiledTab, place: QHBoxLayout, choices: Path) -> None:
        """`place` is the layout that holds the grid; `choices` is the file that remembers export options."""
        super().__init__(widget_of(tab))
        self._tab, self._place, self._choices = tab, place, choices
        self.view: ProfilesView | None = None
        tab.loader.loaded.connect(self._follow)
        tab.changed.connect(self._give_way)

    @property
    def is_shown(self) -> bool:
        return self.view is not None and not self.view.isHidden()

    def toggle(self) -> None:
        if self.is_shown:
            self.hide()
        else:
            self.show()

    def show(self) -> None:
        """Show the profile in place of the grid or the chart."""
        self._tab.comparing.hide()
        self._tab.charting.hide()
        view = self._ensure_view()
        self._tab.pane.hide()
        view.show()
        self._tab.messages.float_over(view)
        if self._tab.content is not None:
            self._follow(self._tab.content)
        view.setFocus()
        self._tab.changed.emit()

    def hide(self) -> None:
        if self.view is None or not self.is_shown:
            return
        self.view.loader.stop()
        self.view.hide()
        self._tab.pane.show()
        self._tab.messages.float_over(self._tab.pane, self._tab.grid.horizontalScrollBar())
        self._tab.grid.setFocus()
        self._tab.changed.emit()

    def stop(self) -> None:
        if self.view is not None:
            self.view.loader.stop()

    def _follow(self, content: TabContent) -> None:
        if self.view is not None and self.is_shown:
            schema, place = content.view.schema, content.view.schema.get_field_index(ID)
            columns = schema if place < 0 else schema.remove(place)
            computed = content.view if isinstance(content.view, ComputedView) else None
            self.view.show_rows(*shown_rows(content.view), computed, columns)

    def _give_way(self) -> None:
        """Hide for a chart or a comparison."""
        if (
            self.view is not None
            and self.is_shown
            and (self._tab.charting.is_shown or self._tab.comparing.is_shown)
        ):
            self.view.loader.stop()
            self.view.hide()

    def _go_to(self, name: str) -> None:
        self.hide()
        names = self._tab.grid.grid_model.names
        if name in names:
            self._tab.grid.go_to_column(names.index(name))

    def _export(self) -> None:
        """Export the figures that have been read, as a table."""
        from lamella.ui.dialogs.export_dialog import ExportDialog
        from lamella.ui.dialogs.export_options import ExportChoices

        tab = self._tab
        folder = Path(tab.key[0]).parent if len(tab.key) == 1 else Path.home()
        name = f"{Path(tab.name).stem} columns"
        choices = ExportChoices(self._choices)
        rows, sources = [self._export_rows()], source_files(tab)
        dialog = ExportDialog(name, rows, folder, choices, tab.tasks, tab.window(), sources)
        dialog.exported.connect(
            lambda export: tab.messages.say(
                f"Exported the figures of {quantity(export.rows, 'column')} to {visible(export.path.name)}",
                kind="message-success",
            )
        )
        dialog.show()

    def _export_rows(self) -> ExportRows:
        from lamella.core.query.builder import query_of
        from lamella.core.query.source import SnapshotSource
        from lamella.core.scan.snapshot import snapshot_of_rows
        from lamella.ui.dialogs.export_dialog import ExportRows
        from lamella.ui.profiles.figures import export_table

        assert self.view is not None
        table, count = export_table(self.view.rows), len(self.view.rows)

        def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
            from lamella.core.transfer.exporting import export_query

            query = query_of(SnapshotSource(snapshot_of_rows(table, "columns")))
            return export_query(query, path, format, job, overwrite=overwrite, total=table.num_rows, **values)

        so_far = "" if table.num_rows == count else f", of {count:,}: the others have not been read yet"
        label = f"The figures of {quantity(table.num_rows, 'column')}{so_far}"
        return ExportRows(label, table.num_rows, lambda count, _job: table.slice(0, count), write)

    def _ensure_view(self) -> ProfilesView:
        if self.view is None:
            from lamella.ui.profiles.view import ProfilesView

            self.view = ProfilesView(self._tab.tasks)
            self.view.hide()
            self._place.insertWidget(1, self.view, 1)
            self.view.column_chosen.connect(self._go_to)
            self.view.export_requested.connect(self._export)
            self.view.closed.connect(self.hide)
        return self.view
