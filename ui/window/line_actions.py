"""Actions on the steps of a tab: copying as text, pasting, saving as a view, exporting."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, LamellaError, UnknownTable, visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.builder import Query
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.line import Line, query_of_line
from lamella.core.query.source import Fillable, Source
from lamella.core.query.steps import Select
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.store.store import Store
from lamella.ui.steps.step_line import StepLine
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.message_bar import Choice
from lamella.ui.widgets.name_form import NameForm
from lamella.ui.widgets.popover import Popover
from lamella.ui.window.charting import Charting
from lamella.ui.window.column_layout import layout_of, show_layout
from lamella.ui.window.file_watch import folder_of, is_file, source_files, table_of_file, version_of
from lamella.ui.window.loader import Tab

if TYPE_CHECKING:
    from lamella.core.store.table import Table
    from lamella.core.store.views import StoreViews
    from lamella.core.transfer.exporting import Export
    from lamella.ui.dialogs.export_dialog import ExportRows

COPY_NAMES = {"sql": "SQL", "python": "Python", "command": "a command", "json": "JSON"}
OTHER_WAYS = {"sql": ("python", "json"), "command": ("python", "json")}
"""Formats that can express more; SQL, for example, has no two names that differ in case alone."""


OF_DATASETS = ("python", "command")
"""Formats that name a file or a table, so they cannot express steps on the result of a statement."""


class LineTab(Tab, Protocol):
    steps: StepLine
    statement: str
    charting: Charting

    def apply(self, line: Line) -> None: ...

    def when_shown(self, then: Callable[[], object]) -> None: ...

    def window(self) -> QWidget: ...


class LineActions(QObject):
    """The actions of one tab. `views_changed` is emitted after a view was saved."""

    views_changed = Signal()

    def __init__(self, tab: LineTab, saved_views: Path) -> None:
        super().__init__(widget_of(tab))
        self._tab, self._saved_views, self._problem = tab, saved_views, ""
        bar = tab.steps.bar
        bar.copy_requested.connect(self.copy)
        bar.paste_requested.connect(self.paste)
        bar.save_requested.connect(self.ask_name)

    @cached_property
    def form(self) -> NameForm:
        """The form for the name of a view, made when it is first opened: few tabs need it."""
        form = NameForm(
            "view", "Saves the steps, the layout of the columns and the chart; rows are read again each time."
        )
        form.named.connect(self.save)
        return form

    @cached_property
    def _popover(self) -> Popover:
        return Popover(self.form, self._tab.steps.bar.save)

    # ------------------------------------------------------------------- text

    def copy(self, kind: str) -> None:
        """Put the steps on the clipboard as "sql", "python", "command" or "json"."""
        tab, line = self._tab, self._tab.line
        if tab.statement and kind in OF_DATASETS:
            tab.messages.say("Steps on a result can only be copied as SQL or JSON")
            return
        write = {"sql": _sql, "python": _python, "command": _command, "json": _json}[kind]

        def report_success(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            message = f"Copied as {COPY_NAMES[kind]}"
            if kind == "sql" and is_file(tab.key):
                message += f". In it, {visible(tab.dataset.name)} stands for {visible(tab.key[0])}"
            tab.messages.say(message, kind="message-success")

        def fail(error: Exception) -> None:
            ways = [
                (f"Copy as {COPY_NAMES[way]}", partial(self.copy, way)) for way in OTHER_WAYS.get(kind, ())
            ]
            self._say(f"The steps cannot be copied as {COPY_NAMES[kind]}", error, *ways)

        def work(job: Job) -> str:
            text = write(query_of_line(line, tab.dataset, line.active), tab.key, job)
            return _over(tab.statement, kind, text)

        tab.tasks.read(work, report_success, fail, owner=self, quiet=True)

    def paste(self) -> None:
        """Run the query on the clipboard, if it is one of this dataset."""
        tab, text, sources = (
            self._tab,
            QGuiApplication.clipboard().text(),
            dict(self._tab.steps.other_sources()),
        )

        def read(job: Job) -> Query:
            from lamella.core.query.sql_reader import from_text

            def find(name: str) -> Source:
                if name == tab.dataset.name:
                    return tab.dataset
                if name not in sources:
                    raise UnknownTable(name, "what is open", [tab.dataset.name, *sources])
                return sources[name].open(job)

            return from_text(text, find)

        def show(query: Query) -> None:
            if query.sources[query.name] is not tab.dataset:
                tab.messages.say(
                    f"The pasted steps are for '{visible(query.name)}', but this tab shows "
                    f"'{visible(tab.name)}'"
                )
                return
            joined = {name: source for name, source in query.sources.items() if name != query.name}
            self._clear_problem()
            tab.steps.close_editor()
            tab.apply(Line.of(query.pipeline.steps, joined))

        tab.tasks.read(
            read, show, lambda error: self._say("The clipboard holds no query", error), owner=self, quiet=True
        )

    # ------------------------------------------------------------------- views

    def ask_name(self) -> None:
        if version_of(self._tab.key) is not None:
            self._tab.messages.say("A view always reads the newest version: save it in that tab")
            return
        if not self._tab.line.active and not self._layout():
            self._tab.messages.say(
                "There is nothing to save yet: filter, group or sort, format a column or draw a chart"
            )
            return
        self._popover.open_below(self._tab.steps.bar.save)
        self.form.begin()

    def save(self, name: str, replace: bool = False) -> None:
        """Save the view under a name: in the table's store or, for files, in the user's folder."""
        tab, line, layout = self._tab, self._tab.line, self._layout()
        self._popover.close()

        def write(job: Job) -> None:
            query = query_of_line(line, tab.dataset, line.active)
            if tab.table is not None:
                _views_of(tab.table).save(name, query, replace, layout)
            else:
                from lamella.core.store.views import FileViews

                FileViews(self._saved_views).save(name, query, [path_or_address(tab.key[0])], replace, layout)

        def report_success(_: None) -> None:
            tab.messages.say(f"Saved as '{visible(name)}'. It is listed under {visible(tab.name)}.",
                             kind="message-success")  # fmt: skip
            self.views_changed.emit()

        def report_failure(error: Exception) -> None:
            is_taken = isinstance(error, LamellaError) and "already" in str(error) and not replace
            choices = [("Replace it", lambda: self.save(name, replace=True))] if is_taken else []
            tab.messages.say(str(error), *choices, kind="message-danger")

        tab.tasks.read(write, report_success, report_failure, owner=self, quiet=True)

    def _layout(self) -> dict[str, Any]:
        """The layout of the columns, and the chart if one is shown."""
        return layout_of(self._tab.grid) | self._tab.charting.layout

    def show_view(self, name: str) -> None:
        """Apply the saved view of this name."""
        tab = self._tab

        def read(job: Job) -> tuple[Query, dict[str, Any]]:
            if tab.table is not None:
                return _views_of(tab.table)[name], _views_of(tab.table).layout(name)
            from lamella.core.store.views import FileViews

            views, files = FileViews(self._saved_views), [path_or_address(tab.key[0])]
            return views.query(name, files, lambda _: tab.dataset), views.layout(name, files)

        def lay_out(layout: dict[str, Any]) -> None:
            show_layout(tab.grid, layout)
            tab.charting.show_layout(layout)

        def show(query_and_layout: tuple[Query, dict[str, Any]]) -> None:
            query, layout = query_and_layout
            joined = {
                source_name: source
                for source_name, source in query.sources.items()
                if source_name != query.name
            }
            self._clear_problem()
            tab.steps.close_editor()
            tab.apply(Line.of(query.pipeline.steps, joined))
            tab.when_shown(partial(lay_out, layout))

        tab.tasks.read(read, show, lambda error: self._say(f"'{visible(name)}' cannot be shown", error),
                       owner=self, quiet=True)  # fmt: skip

    # ------------------------------------------------------------------- export

    def ask_export(self) -> None:
        """Open the export dialog: format, options, file, and a preview of the first lines."""
        from lamella.ui.dialogs.export_dialog import ExportDialog
        from lamella.ui.dialogs.export_options import ExportChoices

        tab = self._tab
        if tab.view is None:
            return
        choices = ExportChoices(self._saved_views.with_name("exports.json"))
        rows = [*self._arriving_rows(), self.shown_rows(), *self._all_rows(), *self._history()]
        sources = source_files(tab)
        dialog = ExportDialog(tab.name, rows, folder_of(tab.key), choices, tab.tasks, tab.window(), sources)
        dialog.exported.connect(self._report_export)
        dialog.show()

    def shown_rows(self) -> ExportRows:
        """The rows and columns that are shown, in their order."""
        from lamella.ui.dialogs.export_dialog import ExportRows

        tab, view = self._tab, self._tab.view
        assert view is not None
        columns = self.shown_columns()
        line, dataset = tab.line, tab.dataset

        def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
            from lamella.core.transfer.exporting import export_query, export_view

            if isinstance(view, ComputedView):
                query = query_of_line(line, dataset, (*line.active, Select(tuple(columns))))
                total = view.num_rows
                return export_query(query, path, format, job, overwrite=overwrite, total=total, **values)
            return export_view(view, path, columns, format, job, overwrite=overwrite, **values)

        subject = "What is shown" if view.snapshot.complete else "What has arrived so far"
        return ExportRows(
            f"{subject}: {quantity(view.num_rows, 'row')} × {quantity(len(columns), 'column')}",
            view.num_rows,
            lambda count, job: view.page(0, count, columns),
            write,
        )

    def _arriving_rows(self) -> list[ExportRows]:
        """The rows that will be shown when all have arrived, if some have not; writing waits for them."""
        from lamella.ui.dialogs.export_dialog import ExportRows

        tab, view, columns = self._tab, self._tab.view, self.shown_columns()
        assert view is not None
        line, dataset = tab.line, tab.dataset
        if view.snapshot.complete or not isinstance(dataset, Fillable):
            return []

        def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
            from lamella.core.datasets.sql_result import SqlResult
            from lamella.core.transfer.exporting import export_query

            dataset.fill(job)
            if isinstance(dataset, SqlResult) and dataset.is_cut:
                raise BadData(
                    f"{dataset.name} ended before all rows had arrived",
                    fix="Run the statement again, or choose what has arrived so far",
                )
            query = query_of_line(line, dataset, (*line.active, Select(tuple(columns))))
            total = None if line.active else dataset.num_rows
            return export_query(query, path, format, job, overwrite=overwrite, total=total, **values)

        return [
            ExportRows(
                f"All rows, once they have arrived × {quantity(len(columns), 'column')}",
                None,
                lambda count, job: view.page(0, count, columns),
                write,
            )
        ]

    def _all_rows(self) -> list[ExportRows]:
        """All rows and columns, if they are more than what is shown."""
        from lamella.ui.dialogs.export_dialog import ExportRows

        tab, columns = self._tab, self.shown_columns()
        assert tab.content is not None
        dataset, snapshot = tab.dataset, tab.content.lines.source
        names = [name for name in snapshot.schema.names if name != ID]
        if not tab.line.active and columns == names:
            return []
        total = snapshot.num_rows if snapshot.complete else None
        rows = "all rows" if total is None else quantity(total, "row")

        def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
            from lamella.core.transfer.exporting import ExportOptions, export

            return export(
                dataset, path, ExportOptions(format, names, overwrite=overwrite, values=values), job
            )

        return [
            ExportRows(
                f"Everything: {rows} × {quantity(len(names), 'column')}",
                total,
                lambda count, job: dataset.read(names, limit=count, job=job),
                write,
            )
        ]

    def _history(self) -> list[ExportRows]:
        """Every version of a store's table."""
        from lamella.ui.dialogs.export_dialog import ExportRows

        table, content = self._tab.table, self._tab.content
        if table is None or content is None:
            return []
        names = [name for name in content.lines.source.schema.names if name != ID]

        def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
            from lamella.core.transfer.exporting import ExportOptions, export

            return export(table, path, ExportOptions(format, overwrite=overwrite, values=values), job)

        return [
            ExportRows(
                "The history: each version as a version of a Delta table",
                content.lines.source.num_rows,
                lambda count, job: table.read(names, limit=count, job=job),
                write,
                "delta",
                {"history": True, "mode": "new"},
            )
        ]

    def shown_columns(self) -> list[str]:
        """The shown columns in their order."""
        tab = self._tab
        header, names = tab.grid.horizontalHeader(), tab.grid.grid_model.names
        places = sorted(range(len(names)), key=header.visualIndex)
        return [names[place] for place in places if not header.isSectionHidden(place)]

    def export(self, path: Path, overwrite: bool = False) -> None:
        """Write what is shown to a new file, in the format of the name's suffix."""
        tab = self._tab
        if tab.view is None:
            return
        rows = self.shown_rows()

        def write(job: Job) -> Export:
            from lamella.core.transfer.exporting import format_for

            return rows.write(path, format_for(path).id, {}, overwrite, job)

        tab.tasks.read(
            write, self._report_export, lambda error: self._say("Nothing was exported", error),
            on_cancel=lambda: tab.messages.say("Stopped; nothing was exported."),
            owner=self, text=f"Exporting to {path.name}",
        )  # fmt: skip

    def _report_export(self, export: Export) -> None:
        folder = QUrl.fromLocalFile(str(export.path.parent))
        show = ("Show in folder", lambda: QDesktopServices.openUrl(folder))
        text = f"Exported {quantity(export.rows, 'row')} to {visible(export.path.name)}"
        ways = () if isinstance(export.path, RemotePath) else (show,)
        self._tab.messages.say(text, *ways, kind="message-success")

    def _say(self, what: str, error: Exception, *ways: Choice) -> None:
        reason = str(error) if isinstance(error, LamellaError) else f"{type(error).__name__}: {error}"
        self._tab.messages.say(f"{what}: {reason}", *ways, kind="message-danger")
        self._problem = self._tab.messages.label.text()

    def _clear_problem(self) -> None:
        """Clear messages about earlier failures."""
        if self._problem and self._tab.messages.label.text() == self._problem:
            self._tab.messages.clear()
        self._problem = ""


def _over(statement: str, kind: str, text: str) -> str:
    """Steps on the result of a statement, as one statement."""
    if not statement or kind != "sql":
        return text
    return f"WITH result AS (\n{statement.strip().rstrip(';')}\n)\n{text}"


def _sql(query: Query, key: tuple[str, ...], job: Job) -> str:
    from lamella.core.query.pipeline_sql import to_sql

    return to_sql(query.pipeline, query.sources, job)


def _python(query: Query, key: tuple[str, ...], job: Job) -> str:
    """A complete program."""
    from lamella.core.query.pipeline_python import to_python

    is_of_file, table = is_file(key), table_of_file(key)
    option = "" if table is None else f", table={table!r}"
    opened = (lambda name: f"open_dataset({key[0]!r}{option})") if is_of_file else None
    text = to_python(query.pipeline, query.sources, opened)
    lines = text.split("\n")
    imports = [line for line in lines if line.startswith("from ")]
    body = "\n".join(line for line in lines if not line.startswith("from ")).strip()
    imports.append(f"from lamella import {'open_dataset' if is_of_file else 'Store'}")
    begin = "" if is_of_file else f"store = Store.open({key[0]!r})\n"
    return "\n".join([*sorted(imports), "", f"{begin}rows = {body}"])


def _command(query: Query, key: tuple[str, ...], job: Job) -> str:
    from lamella.core.query.pipeline_python import to_command

    if not query.pipeline.steps:
        return shlex.join(["lamella", "query", key[0], *(["--table", key[-1]] if len(key) > 1 else [])])
    return to_command(query.pipeline, key[0], query.sources, len(key) > 1)


def _json(query: Query, key: tuple[str, ...], job: Job) -> str:
    return json.dumps(query.to_json(), indent=1, ensure_ascii=False)


def _views_of(table: Table) -> StoreViews:
    assert isinstance(table.store, Store)
    return table.store.views
