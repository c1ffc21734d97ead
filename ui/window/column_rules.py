"""Setting the default and the checks of a column in a form under its header."""

from __future__ import annotations

from PySide6.QtCore import QObject

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.column_rules import Rules, RulesForm, read_rules
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.popover import Popover
from lamella.ui.window.column_formats import open_beside_column
from lamella.ui.window.loader import Tab


class ColumnRulesForms(QObject):
    """Opens the form for a column of the tab's table."""

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.form: RulesForm | None = None

    def ask(self, name: str | None) -> None:
        """Open the form at once, and fill it in when the current rules have been read."""
        table, view, grid = self._tab.table, self._tab.view, self._tab.grid
        if table is None or name is None or name == ID:
            self._tab.messages.say("Columns of a table can have a default and checks: import the file first")
            return
        if view is None or name not in grid.grid_model.names:
            return
        form = self.form = RulesForm(name, view.schema.field(name).type)
        popover, column = Popover(form, grid), grid.grid_model.names.index(name)
        form.done.connect(popover.close)
        form.applied.connect(lambda rules: self._commit(table, name, rules, form, popover))
        popover.destroyed.connect(lambda: self._forget(form))
        open_beside_column(grid, column, popover)
        self._tab.tasks.read(
            lambda job: read_rules(table, name),
            lambda rules: form.show_rules(rules) if form is self.form else None,
            lambda error: self._fail(form, error),
            owner=self,
            quiet=True,
        )

    def _commit(self, table: Table, name: str, rules: Rules, form: RulesForm, popover: Popover) -> None:
        """Commit the rules. The form stays open if the rows violate a check, and names the check."""

        def change(table: Table, job: Job) -> Commit:
            return rules.commit(table, name, job) or Commit(table.name, table.version)

        self._tab.commits.run(
            table,
            change,
            f"Checking {visible(name)}",
            lambda commit: popover.close() if form is self.form else None,
            lambda error: self._fail(form, error),
            lambda: form.refuse("Stopped") if form is self.form else None,
            asker=self,
        )

    def _fail(self, form: RulesForm, error: Exception) -> None:
        if form is self.form:
            form.refuse(message(error))
        else:
            self._tab.failures.show(error)

    def _forget(self, form: RulesForm) -> None:
        if form is self.form:
            self.form = None
