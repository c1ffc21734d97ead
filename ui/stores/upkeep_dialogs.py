"""Dialogs for the maintenance of a store: compact, vacuum, expire versions, verify, copy the readable rows of
damaged tables. Each first says what it will do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QListWidget, QPushButton, QWidget

from lamella.core.errors import Cancelled, LamellaError, visible
from lamella.core.jobs import Job, Part, Progress
from lamella.core.phrases import quantity, size_text
from lamella.core.store.importing import copy_readable_rows
from lamella.core.store.maintenance import Compaction, CompactionPlan
from lamella.core.store.retention import ExpireReport, VacuumPlan, VacuumReport
from lamella.core.store.salvage import Salvage
from lamella.core.store.sizes import plan_text
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.store.verify import Report
from lamella.ui import theme
from lamella.ui.stores.store_dialogs import StoreDialog
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import NumberBox

THEN_VACUUM = "Vacuum afterwards, which frees the space"
VACUUM_SHARE = 20
"""A vacuum after a compaction counts as one of so many parts of it in the progress."""
MOST_PLANS = 8
LIST_HEIGHT = 240
"""The most height of a list of problems, in pixels at the default text size."""


@dataclass(frozen=True)
class Upkeep:
    """The result of a dialog."""

    compactions: tuple[Compaction, ...] = ()
    expiry: ExpireReport | None = None
    vacuum: VacuumReport | None = None
    is_vacuum_stopped: bool = False

    def with_vacuum(self, store: Store, job: Job) -> Upkeep:
        """Vacuum the store afterwards. Stopping that does not take back what was done before."""
        try:
            return replace(self, vacuum=store.maintenance.vacuum(job))
        except Cancelled:
            return replace(self, is_vacuum_stopped=True)

    @property
    def vacuum_text(self) -> str:
        """What the vacuum has freed; empty if there was none."""
        if self.is_vacuum_stopped:
            return "The vacuum was stopped; another one frees the rest."
        return "" if self.vacuum is None else _freed_text(self.vacuum)


class CompactDialog(StoreDialog):
    """Compacts all tables of a store, or one."""

    stopped_text = "Stopped; tables that are already done stay compacted."

    def __init__(self, store: Store, table: str, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(f"Compact {table or store.name}", "Compact", tasks, parent)
        self._store, self._table = store, table
        self._plans: list[CompactionPlan] = []
        self.vacuum = QCheckBox(THEN_VACUUM, checked=True)
        self.form.addRow(self.vacuum)
        self.accept_button.setEnabled(False)
        self.say("Looking at the files…")
        tasks.read(self._plan, self._show, self._fail, owner=self, quiet=True)

    def _plan(self, job: Job) -> list[CompactionPlan]:
        names = [self._table] if self._table else self._store.tables
        plans = []
        for name in names:
            job.check()
            try:
                plans.append(self._store[name].maintenance.compaction_plan())
            except LamellaError:
                if self._table:
                    raise
        return plans

    def _show(self, plans: list[CompactionPlan]) -> None:
        self._plans = [plan for plan in plans if plan.is_needed]
        if not self._plans:
            self.vacuum.hide()
            self.offer_nothing("Nothing to do: there are few files, and no pending changes.")
            return
        rewritten = [plan for plan in self._plans if plan.files]
        lines = [f"• {plan_text(plan)}" for plan in rewritten[:MOST_PLANS]]
        if len(rewritten) > MOST_PLANS:
            lines.append(f"• and {len(rewritten) - MOST_PLANS:,} more tables")
        pending = [plan.table for plan in self._plans if not plan.files]
        if pending:
            names = ", ".join(pending[:MOST_PLANS])
            more = f" and {len(pending) - MOST_PLANS:,} more" if len(pending) > MOST_PLANS else ""
            lines.append(f"• {names}{more}: rows and changes move from the catalog to a file")
        if len(rewritten) > 1:
            lines.append(f"Together: {_freed_later_text(rewritten)}")
        self.say("\n".join(["Small files are merged, and pending changes are written to files.", *lines]))
        count = len(self._plans)
        self.offer(f"Compact {quantity(count, 'table')}")

    def work(self) -> Callable[[Job], Upkeep]:
        store, plans, vacuum = self._store, self._plans, self.vacuum.isChecked()

        def run(job: Job) -> Upkeep:
            compactions, num_bytes = [], 0
            sizes = [max(1, plan.bytes) for plan in plans]
            of_vacuum = sum(sizes) // VACUUM_SHARE if vacuum else 0
            whole = sum(sizes) + of_vacuum
            for number, (plan, size) in enumerate(zip(plans, sizes, strict=True), 1):
                text = f"{visible(plan.table)}: {number:,} of {quantity(len(plans), 'table')}"
                part = Part(job, num_bytes, size, whole, text)
                part.report(0)
                compactions.append(store[plan.table].maintenance.compact(job=part))
                num_bytes += size
            result = Upkeep(tuple(compactions))
            last = Part(job, num_bytes, of_vacuum, whole, "Removing the former files")
            return result.with_vacuum(store, last) if vacuum else result

        return run

    def outcome_of(self, result: Upkeep) -> str:
        # those of files first: the others are many small ones
        compactions = sorted(result.compactions, key=lambda compaction: not compaction.files_before)
        lines = [f"• {compaction}" for compaction in compactions[:MOST_PLANS]]
        if len(compactions) > MOST_PLANS:
            lines.append(f"• and {quantity(len(compactions) - MOST_PLANS, 'more table')}")
        return "\n".join(filter(None, [*lines, result.vacuum_text]))


def _freed_later_text(plans: Sequence[CompactionPlan]) -> str:
    freed = sum(plan.freed for plan in plans)
    remainder = sum(plan.bytes for plan in plans) - freed
    stays = f", {size_text(remainder)} stay until earlier versions expire" if remainder else ""
    return f"vacuum frees {size_text(freed)}{stays}"


class VacuumDialog(StoreDialog):
    """Removes files that no version uses."""

    stopped_text = "Stopped; files that are already removed stay removed."

    def __init__(self, store: Store, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(f"Vacuum {store.name}", "Vacuum", tasks, parent)
        self._store = store
        self._plan()

    def _plan(self) -> None:
        store = self._store
        self.accept_button.setEnabled(False)
        self.say("Looking for files that no version uses…")
        self._tasks.read(
            lambda job: store.maintenance.vacuum_plan(), self._show, self._fail, owner=self, quiet=True
        )

    def _handle_stop(self) -> None:
        super()._handle_stop()
        self._plan()  # less is left than it says

    def _show(self, plan: VacuumPlan) -> None:
        size = plan.bytes + plan.catalog_bytes
        waits = (
            f" {size_text(plan.waiting)} more cannot be removed while they are being read."
            if plan.waiting
            else ""
        )
        if not size:
            self.offer_nothing(
                "There is nothing to remove. Earlier versions keep their files until they expire."
                + (waits and f"{waits} Close the tabs that show earlier rows.")
            )
            return
        files = f"{quantity(plan.files, 'file')} that no version uses"
        catalog = f", and {size_text(plan.catalog_bytes)} of the catalog" if plan.catalog_bytes else ""
        self.say(f"Removes {files}{catalog}: {size_text(size)}. No row and no version changes.{waits}")
        self.offer(f"Free {size_text(size)}")

    def work(self) -> Callable[[Job], Upkeep]:
        return lambda job: Upkeep(vacuum=self._store.maintenance.vacuum(job))

    def outcome_of(self, result: Upkeep) -> str:
        return result.vacuum_text


def _freed_text(report: VacuumReport) -> str:
    size = size_text(report.bytes + report.catalog_bytes)
    waiting = sum(file.bytes for file in report.waiting)
    later = f" {size_text(waiting)} could not be removed, because they are being read." if waiting else ""
    freed = f"Freed {size}." if report.bytes + report.catalog_bytes else "There was nothing to free."
    return freed + later


class ExpireDialog(StoreDialog):
    """Drops old versions of a table; this cannot be undone."""

    def __init__(
        self, store: Store, table: str, versions: int, tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(f"Expire versions of {table}", "Expire", tasks, parent)
        self._store, self._table = store, table
        self._handle: Handle | None = None
        self._planned_versions = 0
        """The number for which the plan is shown or computed: Enter in the field repeats its signal."""
        self.keep = NumberBox(minimum=1, maximum=max(1, versions), value=max(1, min(10, versions - 1)))
        self.keep.setAccessibleName("Versions that stay")
        self.vacuum = QCheckBox(THEN_VACUUM, checked=True)
        self.form.addRow("Newest versions to keep", self.keep)
        self.form.addRow(self.vacuum)
        self.keep.valueChanged.connect(self._plan)
        self.keep.setFocus()
        self.keep.selectAll()
        self._plan()

    def _plan(self) -> None:
        keep, store, table = self.keep.value(), self._store, self._table
        if keep == self._planned_versions:
            return
        self._planned_versions = keep
        if self._handle is not None:
            self._handle.cancel()
        self.accept_button.setEnabled(False)
        self._handle = self._tasks.read(
            lambda job: store[table].maintenance.expire(keep_versions=keep, dry_run=True),
            self._show,
            self._fail,
            owner=self,
            quiet=True,
        )

    def _show(self, plan: ExpireReport) -> None:
        count = len(plan.expired)
        if not count:
            kept_versions = quantity(self._planned_versions, "version")
            self.say(
                f"No version expires: there are no more than {kept_versions}, not counting those with names."
            )
            self.accept_button.setText("Expire")
            return
        older = quantity(len(plan.named), "older version")
        stays = "stays because it has a name" if len(plan.named) == 1 else "stay because they have names"
        stays_text = f" {older} {stays}." if plan.named else ""
        versions = quantity(count, "version")
        files = f"Removes {versions}" + (f" and {size_text(plan.bytes)} of files" if plan.bytes else "")
        self.say(
            f"{files}.{stays_text} This cannot be undone. Changes before version {plan.oldest:,} can no"
            " longer be undone either. The current rows do not change."
        )
        self.offer(f"Expire {versions}")

    def work(self) -> Callable[[Job], Upkeep]:
        store, name, keep, vacuum = self._store, self._table, self.keep.value(), self.vacuum.isChecked()

        def run(job: Job) -> Upkeep:
            result = Upkeep(expiry=store[name].maintenance.expire(keep_versions=keep, job=job))
            return result.with_vacuum(store, job) if vacuum else result

        return run

    def outcome_of(self, result: Upkeep) -> str:
        assert result.expiry is not None
        text = f"Expired versions: {len(result.expiry.expired):,}."
        return " ".join(filter(None, [text, result.vacuum_text]))


class VerifyDialog(StoreDialog):
    """Reads everything, and shows what is damaged and what can be done about it."""

    vacuum_requested = Signal()
    restore_requested = Signal()
    salvage_requested = Signal(object)
    stopped_text = "Stopped; the store was not verified completely."

    def __init__(self, store: Store, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(f"Verify {store.name}", "Verify", tasks, parent)
        self._store = store
        self.quick = QCheckBox("Quick: sizes and footers of the files, no checksums")
        self.problems = QListWidget(accessibleName="Problems", wordWrap=True)
        self.problems.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # lines wrap
        self.problems.hide()
        self.form.addRow(self.quick)
        self.form.addRow(self.problems)
        self.say("Compares every file of every version with its checksum. Nothing is changed.")

    def start(self) -> None:
        """Start at once: it changes nothing, so it need not wait for other changes."""
        self.reason.say("")
        self._run(self._tasks.read, self.work(), self._finish, self.windowTitle())

    def work(self) -> Callable[[Job], Report]:
        quick = self.quick.isChecked()
        return lambda job: self._store.maintenance.verify(quick, job)

    def outcome_of(self, result: Report) -> str:
        self._list(result)
        looked = (
            f"{quantity(result.tables, 'table')}, {quantity(result.files, 'file')}, {size_text(result.bytes)}"
        )
        how = "with checksums" if result.checksums else "without checksums"
        if not result.problems:
            return " ".join([f"All is well: {looked} {how}.", *result.not_checked])
        advice = []
        if result.damage:
            remedy = "restore a backup, and copy the rows from it"
            if self._may_salvage(result):
                remedy += ". Without one, copy the rows that can still be read into a new table"
            advice.append(f"Damaged files cannot be repaired: {remedy}.")
        if result.strays:
            advice.append("Vacuum removes files that belong to no table.")
        if result.foreign:
            advice.append("Remove files yourself that do not belong to the store.")
        if result.indexes:
            advice.append("Damaged indexes are rebuilt when they are next used.")
        return f"{quantity(len(result.problems), 'problem')} in {looked} {how}. {' '.join(advice)}"

    def _fit(self) -> None:
        super()._fit()
        last = self.problems.item(self.problems.count() - 1)
        if last is not None:
            self.form.activate()  # lines wrap at the width of the list
            around = self.problems.height() - self.problems.viewport().height()
            bottom = self.problems.visualItemRect(last).bottom() + self.problems.verticalScrollBar().value()
            self.problems.setFixedHeight(min(bottom + 1 + around, theme.current().px(LIST_HEIGHT)))
            super()._fit()

    def _list(self, report: Report) -> None:
        self.problems.clear()
        self.problems.addItems([visible(problem) for problem in report.problems])
        self.problems.setVisible(bool(report.problems))
        offers = (
            (bool(report.strays), "Vacuum…", self.vacuum_requested),
            (self._may_salvage(report), "Copy readable rows…", self.salvage_requested),
            (bool(report.damage), "Restore a backup…", self.restore_requested),
        )
        for is_needed, text, request in offers:
            if is_needed:
                carried = (report.damaged_tables,) if request is self.salvage_requested else ()
                button = QPushButton(text)
                button.clicked.connect(self.accept)
                button.clicked.connect(partial(request.emit, *carried))
                self.other_buttons.addWidget(button)

    def _may_salvage(self, report: Report) -> bool:
        return bool(report.damaged_tables) and not self._store.read_only

    def _lock(self, locked: bool) -> None:
        super()._lock(locked)
        self.problems.setEnabled(True)


class SalvageDialog(StoreDialog):
    """Copies the rows of damaged tables that can still be read into new tables."""

    def __init__(
        self, store: Store, tables: Sequence[str], tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(f"Copy readable rows of {store.name}", "Copy", tasks, parent)
        self._store = store
        self._salvages: list[Salvage] = []
        self.accept_button.setEnabled(False)
        self.say("Looking for rows that can still be read…")
        self._reading = tasks.read(
            lambda job: store.maintenance.find_salvage(tables, job),
            self._show,
            self._fail,
            on_progress=self._show_reading,
            owner=self,
            text=self.windowTitle(),
        )
        self._reading.progress_widget = self

    def done(self, result: int) -> None:
        self._reading.cancel()
        super().done(result)

    def _show_reading(self, progress: Progress) -> None:
        self.status.setText(progress.text)

    def _show(self, salvages: list[Salvage]) -> None:
        self.status.clear()
        self._salvages = [each for each in salvages if each.is_partial]
        lines = [f"• {each}" for each in salvages[:MOST_PLANS]]
        if len(salvages) > MOST_PLANS:
            lines.append(f"• and {len(salvages) - MOST_PLANS:,} more tables")
        if not self._salvages:
            self.offer_nothing("\n".join(["There are no rows to copy.", *lines]))
            return
        into = "a new table" if len(self._salvages) == 1 else "new tables, one for each"
        about = f"The rows that can be read are copied into {into}. Nothing else changes."
        self.say("\n".join([about, *lines]))
        self.offer(f"Copy {quantity(sum(each.readable for each in self._salvages), 'row')}")

    def work(self) -> Callable[[Job], list[tuple[Table, int]]]:
        def run(job: Job) -> list[tuple[Table, int]]:
            tables = copy_readable_rows(self._store, self._salvages, job)
            return [(table, table.num_rows) for table in tables]

        return run

    def outcome_of(self, result: list[tuple[Table, int]]) -> str:
        copies = [f"{quantity(rows, 'row')} into '{table.name}'" for table, rows in result]
        return f"Copied {', '.join(copies)}. Undo takes the copy back."
