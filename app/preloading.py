"""Imports of code that the first paint does not need, made before it is first used: without them, opening the
first chart or console would block the window for up to 0.3 s.

Modules without Qt are imported on another thread, the others on the GUI thread, a few milliseconds at a time;
`lamella.ui.override_errors` says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from PySide6 import QtCore, QtGui, QtWidgets

from lamella.core.jobs import Job

QT_FREE_MODULES = (
    "lamella.core.datasets.sql_result",
    "lamella.core.query.charts",
    "lamella.core.query.sql.completion",
    "lamella.core.query.sql.plan_tree",
    "lamella.core.query.sql.changes",
    "lamella.core.query.sql.dialects",
    "lamella.core.query.storage",
    "lamella.core.store.acts",
    "lamella.core.transfer.exporting",
)
"""What `QT_MODULES` import of `lamella.core`."""

QT_MODULES = (
    "pyqtgraph",
    "lamella.ui.widgets.plotting",
    "lamella.ui.charts.axes",
    "lamella.ui.charts.marks",
    "lamella.ui.charts.canvas",
    "lamella.ui.charts.form",
    "lamella.ui.charts.view",
    "lamella.ui.sql.change_panel",
    "lamella.ui.sql.saved_list",
    "lamella.ui.sql.editor",
    "lamella.ui.sql.console_bar",
    "lamella.ui.sql.plan_view",
    "lamella.ui.sql.result_tab",
    "lamella.ui.sql.console",
    "lamella.ui.inspector.column_page",
    "lamella.ui.inspector.history_page",
    "lamella.ui.inspector.table_page",
    "lamella.ui.inspector.inspector",
    "lamella.ui.dialogs.export_options",
    "lamella.ui.dialogs.export_dialog",
    "lamella.ui.editing.assignment_line",
    "lamella.ui.editing.change_dialog",
    "lamella.ui.comparison.view",
    "lamella.ui.profiles.view",
)
"""In an order in which each imports few others."""


def load_qt_free_modules(job: Job) -> None:
    """Import `QT_FREE_MODULES`, and compile `QT_MODULES` without running them. Blocks; any thread."""
    for name in QT_FREE_MODULES:
        job.check()
        import_module(name)
    for name in QT_MODULES:
        job.check()
        _compile(name)


def load_qt_modules() -> Iterator[None]:
    """Import `QT_MODULES` in steps. GUI thread."""
    for qt_module in (QtCore, QtGui, QtWidgets):
        yield from _create_classes(qt_module)
    for name in QT_MODULES:
        import_module(name)
        yield


def _create_classes(qt_module: ModuleType) -> Iterator[None]:
    """Create the classes of a module of PySide one by one. PySide creates each at its first use, and
    pyqtgraph, when it is imported, uses all of them."""
    for name in dir(qt_module):
        getattr(qt_module, name)
        yield


def _compile(name: str) -> None:
    """Leave the code of a module in the cache of compiled files."""
    spec = find_spec(name)
    loader = spec.loader if spec else None
    if loader is not None and hasattr(loader, "get_code"):
        loader.get_code(name)
