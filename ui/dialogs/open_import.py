"""Importing files into a store: the target, the tables' names, a look at their columns, and progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, RaggedRows, problems_of
from lamella.core.datasets.tables import SeveralTables
from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import DamagedFile, FileProblem, LamellaError
from lamella.core.jobs import Job
from lamella.core.store.importing import BAD_LINES, import_datasets
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.import_sources import ImportSources
from lamella.ui.dialogs.work_dialog import WorkDialog
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm
from lamella.ui.widgets.message_bar import DANGER, MessageBar

MINIMUM_WIDTH = 560
MOST_LISTED_FILES = 10

OpenResult = tuple[str, Dataset | FileProblem]
"""The origin of a dataset, as text, and the dataset or why it cannot be opened."""


class ImportDialog(WorkDialog):
    """`imported` carries the new tables, each complete; `failed` carries errors that the dialog cannot
    resolve.

    Not modal: the window stays usable during an import. Closing the dialog stops the import.
    """

    imported = Signal(list)
    failed = Signal(Exception)

    def __init__(
        self,
        paths: Sequence[Path],
        stores: Sequence[Store],
        tasks: Tasks,
        parent: QWidget | None = None,
        table: str | None = None,
    ) -> None:
        """`table` is one of a file that holds several; by default, all of them are imported."""
        super().__init__(tasks, parent)
        self._table = table
        self._paths, self._stores = list(paths), list(stores)
        self._looking: Handle | None = None
        self._padded_paths: set[Path] = set()
        self._is_one = False
        self._unverified_paths: set[Path] = set()
        self.setWindowTitle("Import")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._build()
        self._look()

    # ------------------------------------------------------------------ looks

    def _build(self) -> None:
        self.title = QLabel(f"Import {_thing_word([path.name for path in self._paths])}")
        theme.variant(self.title, "title")
        self.store_box = QComboBox(accessibleName="Store")
        self.store_box.addItems([store.name for store in self._stores])
        self.store_box.currentIndexChanged.connect(self._suggest_names)
        self.waiting = QLabel("Reading the files…")
        theme.variant(self.waiting, "muted")
        self.one_table_box = QCheckBox(
            "As one table: the rows of the files one after the other, with columns matched by name"
        )
        self.one_table_box.setVisible(False)
        self.one_table_box.toggled.connect(lambda _: self._look())
        self.differences = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        theme.variant(self.differences, "caption")
        self.differences.hide()
        self.sources = ImportSources()
        self.sources.hide()
        self._keep_room(True)
        self.sources.names_changed.connect(self._update)
        self.message = MessageBar(self)
        form = FieldForm(horizontalSpacing=theme.L)
        form.addRow("Into store", self.store_box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addLayout(form)
        layout.addWidget(self.waiting)
        layout.addWidget(self.one_table_box)
        layout.addWidget(self.sources, 1)
        layout.addWidget(self.differences)
        layout.addWidget(self.message)
        layout.addWidget(self.progress)
        layout.addLayout(self._buttons())
        self.one_table_box.ensurePolished()
        self.waiting.setMinimumHeight(self.one_table_box.sizeHint().height())  # it makes way for the box
        self.setMinimumWidth(MINIMUM_WIDTH)

    def _keep_room(self, keeps: bool) -> None:
        """Whether there is room for the files before they are shown, so that the dialog does not grow."""
        policy = self.sources.sizePolicy()
        policy.setRetainSizeWhenHidden(keeps)
        self.sources.setSizePolicy(policy)

    def _buttons(self) -> QHBoxLayout:
        self.import_button = QPushButton("Import")
        theme.variant(self.import_button, "primary")
        self.import_button.setDefault(True)
        self.import_button.clicked.connect(self._import)
        row = QHBoxLayout()
        row.setSpacing(theme.S)
        row.addWidget(self.status, 1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.import_button)
        return row

    def _update(self) -> None:
        busy = self.is_working or self._looking is not None
        for part in (self.store_box, self.sources):
            part.setEnabled(not busy)
        self.import_button.setEnabled(not busy and bool(self._stores) and self.sources.ready)

    # ------------------------------------------------------ opening the files

    def _look(self) -> None:
        """Open the files, which reads only their first rows."""
        self.message.clear()
        self.waiting.show()
        self._is_one = self.one_table_box.isChecked()
        self._looking = self._tasks.read(
            self._open_all, self._show_datasets, self._report_failure, owner=self, text="Reading the files"
        )
        self._update()

    def _open_all(self, job: Job) -> list[OpenResult]:
        """Each path with its dataset, or the problem with it: one bad file does not stop the others."""
        if self._is_one:
            return [self._open_as_dataset(job)]
        results: list[OpenResult] = []
        for path in self._paths:
            job.check()
            try:
                results.append((path.name, self._open(path, self._table)))
            except SeveralTables as several:
                results += self._tables(path, several, job)
            except FileProblem as problem:
                results.append((path.name, problem))
        return results

    def _open_as_dataset(self, job: Job) -> OpenResult:
        """All files as one dataset, or the reason why that is not possible."""
        label = f"{len(self._paths):,} files"
        try:
            return label, open_dataset(self._paths, bad_lines="set-aside", job=job)
        except FileProblem as problem:
            return label, problem

    def _tables(self, path: Path, several: SeveralTables, job: Job) -> list[OpenResult]:
        """Each table of a file, labelled by the file and the table."""
        results: list[OpenResult] = []
        for table in several.tables:
            job.check()
            if table.is_offered:
                label = f"{path.name} · {table.name}"
                try:
                    results.append((label, self._open(path, table.name)))
                except FileProblem as problem:
                    results.append((label, problem))
        return results

    def _open(self, path: Path, table: str | None) -> Dataset:
        ragged: RaggedRows = "pad" if path in self._padded_paths else "refuse"
        checksums: Checksums = "ignore" if path in self._unverified_paths else "verify"
        return open_dataset(path, ragged=ragged, checksums=checksums, table=table, bad_lines="set-aside")

    def _show_datasets(self, results: list[OpenResult]) -> None:
        self._looking = None
        self.waiting.hide()
        good = [(label, dataset) for label, dataset in results if isinstance(dataset, Dataset)]
        problems = [problem for _, problem in results if isinstance(problem, FileProblem)]
        self._keep_room(bool(good))
        self.sources.setVisible(bool(good))
        self.sources.show_datasets([label for label, _ in good], [dataset for _, dataset in good])
        alike = len({frozenset(dataset.schema.names) for _, dataset in good}) < len(good)
        self.one_table_box.setVisible(self._is_one or (len(self._paths) > 1 and alike and not problems))
        remarks = [remark for _, dataset in good for remark in dataset.remarks] if self._is_one else []
        self.differences.setText(". ".join(remarks) + "." if remarks else "")
        self.differences.setVisible(bool(remarks))
        self._suggest_names()
        self._update()
        self.import_button.setFocus()
        self.title.setText(
            f"Import {_thing_word([label for label, _ in good] or [path.name for path in self._paths])}"
        )
        if len(problems) == 1:
            self._offer(problems[0], left_out=bool(good))
        elif problems:
            self._offer_all(problems, left_out=bool(good))

    def _report_failure(self, error: Exception) -> None:
        self._looking = None
        self.failed.emit(error)
        self.reject()

    def _suggest_names(self) -> None:
        store = self._store()
        if store is not None:
            self._tasks.read(lambda job: store.tables, self.sources.suggest_names, owner=self, quiet=True)

    # -------------------------------------------------------------- importing

    def _import(self) -> None:
        store, sources = self._store(), self.sources.selection()
        if store is None:
            return
        self.message.clear()
        self._run(
            self._tasks.write,
            lambda job: import_datasets([(source.dataset, source.table) for source in sources], store, job),
            self._finish,
            self.title.text(),
        )

    def _lock(self, locked: bool) -> None:
        self._update()

    def _finish(self, outcome: tuple[list[Table], list[str]]) -> None:
        tables, refusals = outcome
        self.imported.emit(tables)
        self._report_omissions()
        if refusals:
            number = "a foreign key" if len(refusals) == 1 else f"{len(refusals):,} foreign keys"
            fix = "Give their columns the same type, and add the relation"
            self.failed.emit(
                LamellaError(f"The tables are imported without {number}", "; ".join(refusals), fix)
            )
        self.accept()

    def _report_omissions(self) -> None:
        """Say which lines of text files could not be read; they are in tables beside the others."""
        counts = [
            (source.dataset.name, len(problems_of(source.dataset))) for source in self.sources.selection()
        ]
        short = [f"{name}: {count:,}" for name, count in counts if count]
        if short:
            total = sum(count for _, count in counts)
            what = "1 line is left out" if total == 1 else f"{total:,} lines are left out"
            more = (
                [f"and {len(short) - MOST_LISTED_FILES:,} more files"]
                if len(short) > MOST_LISTED_FILES
                else []
            )
            why = f"They cannot be read ({'; '.join(short[:MOST_LISTED_FILES] + more)})"
            fix = f"Look at them in the tables named …{BAD_LINES}"
            self.failed.emit(LamellaError(what, why, fix))

    def _handle_stop(self) -> None:
        self.reject()

    def _fail(self, error: Exception) -> None:
        self._offer(error)
        self._suggest_names()
        self._update()

    def _offer(self, error: Exception, left_out: bool = False) -> None:
        """Offer what can be fixed here; leave other errors to the window."""
        if isinstance(error, RaggedRow) and error.paddable:
            path = error.path
            self.message.say(error.headline, ("Fill up short rows", lambda: self._pad(path)), kind=DANGER)
        elif isinstance(error, DamagedFile) and error.readable_anyway:
            path = error.path
            self.message.say(error.headline, ("Import anyway", lambda: self._ignore(path)), kind=DANGER)
        elif isinstance(error, FileProblem) and left_out:
            self.message.say(f"{error.headline}, so it is not imported", kind=DANGER)
        else:
            self.failed.emit(error)
            if not self.sources.ready:
                self.reject()

    def _offer_all(self, problems: Sequence[FileProblem], left_out: bool) -> None:
        short = [problem.path for problem in problems if isinstance(problem, RaggedRow) and problem.paddable]
        listed = [problem.headline for problem in problems[:MOST_LISTED_FILES]]
        more = (
            [f"and {len(problems) - MOST_LISTED_FILES:,} more"] if len(problems) > MOST_LISTED_FILES else []
        )
        if short or left_out:
            text = "\n".join([f"{len(problems):,} files are not imported:", *listed, *more])
            fill_up = [("Fill up short rows", lambda: self._pad(*short))] if short else []
            self.message.say(text, *fill_up, kind=DANGER)
        else:
            what = f"None of the {len(problems):,} files can be imported"
            why = "each was refused: " + "; ".join(listed + more)  # a sentence that begins with no name
            self._offer(LamellaError(what, why, "Choose other files"))

    def _ignore(self, path: Path) -> None:
        """Import a file although its checksums differ; a file inside a folder is named by the folder."""
        self._unverified_paths |= {p for p in self._paths if path.absolute().is_relative_to(p.absolute())}
        self._look()

    def _pad(self, *paths: Path) -> None:
        self._padded_paths |= {p for p in self._paths if p in paths or p.absolute() in paths}
        self._look()

    def done(self, result: int) -> None:
        if self._looking is not None:
            self._looking.cancel()
        super().done(result)

    def _store(self) -> Store | None:
        place = self.store_box.currentIndex()
        return self._stores[place] if 0 <= place < len(self._stores) else None


def _thing_word(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return f"{len(labels):,} {'tables' if all(' · ' in label for label in labels) else 'files'}"
