"""Dragging out of the window: the selected rows as a CSV file, or a file that is open in place."""

from __future__ import annotations

import atexit
import itertools
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QMetaType, QMimeData, QObject, Qt, QUrl
from PySide6.QtGui import QDrag
from PySide6.QtWidgets import QWidget

from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.ui.grid.model import Rows
from lamella.ui.grid.selection import CellRange
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.copy_formats import BY_ID, Cells
from lamella.ui.window.copying import ASK_ABOVE, Part, cell_pages
from lamella.ui.window.failures import temporary_file_problem
from lamella.ui.window.line_actions import LineActions
from lamella.ui.window.loader import Tab

MOST_CELLS = 1_000_000
"""The most cells that can be dragged; larger selections are exported, with progress."""
WAIT_SECONDS, WAIT_STEP = 10, 0.02
DRAG_CONTENT = "what is dragged"
URLS, TEXT = "text/uri-list", "text/plain"
IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
LONGEST_NAME = 80


class DraggedCells(QMimeData):
    """The cells as a file, and as text if they are few. Writing starts off the GUI thread when the drag
    begins; the drop waits until it is done."""

    def __init__(self, rows: Rows, parts: Sequence[Part], tab: Tab, owner: QObject) -> None:
        """Raises OSError where the file cannot be created."""
        super().__init__()
        count, name = sum(block.num_rows for block, _ in parts), Path(tab.name).stem or tab.name
        self.path = new_path(f"{name} {quantity(count, 'row')}.csv")
        self._has_text = sum(block.num_rows * len(names) for block, names in parts) <= ASK_ABOVE
        self._text, self._is_written = "", threading.Event()

        def write(job: Job) -> None:
            try:
                self.path.write_text(_table_text(rows, parts, "csv", name, job) + "\n", "utf-8", newline="")
                if self._has_text:
                    self._text = _table_text(rows, parts, "tsv_names", name, job)
            except OSError as error:
                raise temporary_file_problem(DRAG_CONTENT, error) from error
            finally:
                self._is_written.set()

        self.handle = tab.tasks.read(
            write, None, tab.failures.show, owner=owner, text="Writing the dragged rows"
        )

    def formats(self) -> list[str]:
        return [URLS, TEXT] if self._has_text else [URLS]

    def hasFormat(self, mimetype: str) -> bool:
        return mimetype.partition(";")[0] in self.formats()

    def retrieveData(self, mimetype: str, preferredType: QMetaType | QMetaType.Type) -> Any:
        kind = mimetype.partition(";")[0]
        if kind not in self.formats() or not self._wait():
            return None
        if kind == TEXT:
            return self._text
        return [QUrl.fromLocalFile(str(self.path))] if self.path.exists() else None

    def drop(self) -> None:
        """Discard the file, because nothing took the drop."""
        self.handle.cancel()
        shutil.rmtree(self.path.parent, ignore_errors=True)

    def _wait(self) -> bool:
        """Wait until the file is written; False if writing was stopped."""
        until = time.monotonic() + WAIT_SECONDS
        while not self._is_written.wait(WAIT_STEP):
            if self.handle.over or self.handle.job.cancelled or time.monotonic() > until:
                return False
        return True


def _table_text(rows: Rows, parts: Sequence[Part], format_id: str, name: str, job: Job) -> str:
    """All parts as the text of one table; they have the same columns. Blocks."""
    names = parts[0][1]
    pages = itertools.chain.from_iterable(cell_pages(rows, block, names, job) for block, _ in parts)
    schema = rows.page(parts[0][0].top, 0, names).schema
    return "\n".join(BY_ID[format_id].write(Cells(name, schema, pages)))


class DragTab(Tab, Protocol):
    line_actions: LineActions


class DragSource(QObject):
    """Drags the selected cells of one tab out of the window."""

    def __init__(self, tab: DragTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        tab.grid.drag_requested.connect(self.drag)

    def drag(self) -> None:
        tab, rows, cells = self._tab, self._tab.rows, self._tab.grid.selection.num_cells
        if rows is None or not cells:
            return
        if cells > MOST_CELLS:
            text = f"{cells:,} cells are too many to drag: drag at most {MOST_CELLS:,}, or export them"
            tab.messages.say(text, ("Export…", tab.line_actions.ask_export))
            return
        grid = tab.grid
        on_screen = grid.names_in(CellRange(0, 0, 0, grid.grid_model.columnCount() - 1))
        parts = one_table([(block, grid.names_in(block)) for block in grid.selection.blocks], on_screen)
        try:
            data = DraggedCells(rows, parts, tab, self)
        except OSError as error:
            tab.failures.show(temporary_file_problem(DRAG_CONTENT, error))
            return
        if run_drag(tab.grid, data) is Qt.DropAction.IgnoreAction:
            data.drop()


def one_table(parts: Sequence[Part], order: Sequence[str]) -> list[Part]:
    """Each row of the parts once, with the columns of all parts, in the given order."""
    dragged_names = {name for _, names in parts for name in names}
    names = [name for name in order if name in dragged_names]
    merged: list[CellRange] = []
    for block, _ in sorted(parts, key=lambda part: part[0].top):
        last = merged[-1] if merged else None
        if last is not None and block.top <= last.bottom + 1:
            merged[-1] = CellRange(last.top, 0, max(last.bottom, block.bottom), 0)
        else:
            merged.append(CellRange(block.top, 0, block.bottom, 0))
    return [(block, names) for block in merged]


def file_data(paths: Sequence[Path]) -> QMimeData:
    """Files as file managers take them, and their paths as text."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    data.setText("\n".join(map(str, paths)))
    return data


def run_drag(source: QWidget, data: QMimeData) -> Qt.DropAction:
    """Run the drag until the mouse button is released. Files are copied, never moved."""
    drag = QDrag(source)
    drag.setMimeData(data)
    return drag.exec(Qt.DropAction.CopyAction)


class DragFolder:
    """The folder of this process's dragged files, which the target may still read long after the drop."""

    path: Path | None = None


def new_path(name: str) -> Path:
    """A path in a folder of its own, so that the name never has to change."""
    if DragFolder.path is None:
        DragFolder.path = Path(tempfile.mkdtemp(prefix="lamella-drag-"))
        atexit.register(remove_dragged_files)
    folder = tempfile.mkdtemp(dir=DragFolder.path)
    return Path(folder) / IN_FILE_NAMES.sub("_", name)[-LONGEST_NAME:]


def remove_dragged_files() -> None:
    """Remove the dragged files at the end of the program."""
    if DragFolder.path is not None:
        shutil.rmtree(DragFolder.path, ignore_errors=True)
        DragFolder.path = None
