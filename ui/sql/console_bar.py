"""The bar above a console: run and stop, the store, history, plan, formatting, and saved texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.ui import theme
from lamella.ui.sql.saved_list import SavedList, SavedText, of_history, of_snippets
from lamella.ui.sql.saved_statements import SavedStatements
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import ICON_GAP, without_mnemonic
from lamella.ui.widgets.name_form import NameForm
from lamella.ui.widgets.popover import Popover

NARROW = 720
"""The width in pixels below which the shortcuts beside the button are hidden."""

RUNS = (
    ("Run the statement or the selection", "Ctrl+Enter", False),
    ("Run all statements", "Ctrl+Shift+Enter", True),
)
"""The entries of the menu beside the button, with their keys, and whether they run all statements."""


class ConsoleBar(QFrame):
    """`run_requested` says whether to run all statements, `explain_requested` whether to measure times, and
    `insert_requested` has a text from the history or a snippet."""

    run_requested = Signal(bool)
    stop_requested = Signal()
    explain_requested = Signal(bool)
    format_requested = Signal()
    store_chosen = Signal(str)
    insert_requested = Signal(str)
    snippet_named = Signal(str)
    open_file_requested = Signal()
    save_file_requested = Signal()
    steps_requested = Signal()
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, saved: SavedStatements, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._saved_statements = tasks, saved
        theme.variant(self, "bar")
        self.run, self.keys = QPushButton(f"{ICON_GAP}Run", self), QLabel("Ctrl+Enter", self)
        self.run_menu = QToolButton(self, text="▾")
        self.stop, self.elapsed_label = QPushButton(f"{ICON_GAP}Stop", self), QLabel(self)
        self.store, self.history = QToolButton(self), QToolButton(self, text=f"{ICON_GAP}History")
        self.explain, self.as_steps, self.format, self.save = (
            QToolButton(self, text="Explain ▾"),
            QToolButton(self, text="As steps"),
            QToolButton(self, text="Format"),
            QToolButton(self, text="Save ▾"),
        )
        self._shows_snippets = False
        self._build()

    @cached_property
    def list(self) -> SavedList:
        """The list of earlier statements or snippets, made on first use."""
        saved_list, saved = SavedList(), self._saved_statements
        saved_list.chosen.connect(self.insert_requested)
        saved_list.deleted.connect(lambda name: self._change_list(partial(saved.delete, name)))
        saved_list.renamed.connect(lambda name, new: self._change_list(partial(saved.rename, name, new)))
        saved_list.cleared.connect(lambda: self._change_list(saved.clear_history))
        return saved_list

    @cached_property
    def popover(self) -> Popover:
        return Popover(self.list, self.history)

    @cached_property
    def form(self) -> NameForm:
        """The form that names a snippet, made on first use."""
        form = NameForm("snippet", "Saves the selection, or all of the text, under a name.")
        form.named.connect(lambda _: self._form_popover.close())
        form.named.connect(self.snippet_named)
        return form

    @cached_property
    def _form_popover(self) -> Popover:
        return Popover(self.form, self.save)

    def show_running(self, text: str) -> None:
        """Show the time of the running statement; empty if nothing runs."""
        running = bool(text)
        if running != self.stop.isVisibleTo(self):
            had_focus = self.run.hasFocus() or self.run_menu.hasFocus() or self.stop.hasFocus()
            self.stop.setVisible(running)
            self.run.setVisible(not running)
            self.run_menu.setVisible(not running)
            self.elapsed_label.setVisible(running)
            if had_focus:
                (self.stop if running else self.run).setFocus()
            self._fit()
        self.elapsed_label.setText(text)

    def show_stores(self, stores: Sequence[tuple[str, str]], current: str) -> None:
        """Show the stores, given by key and name."""
        name = next((name for key, name in stores if key == current), "")
        self.store.setText(f"on {visible(name)} ▾" if name else "no store")
        self.store.setEnabled(bool(stores))
        self.store.setAccessibleName(f"Store whose tables need no prefix: {visible(name)}")
        menu = QMenu(self.store)
        for key, each in stores:
            action = menu.addAction(without_mnemonic(visible(each)))
            action.setCheckable(True)
            action.setChecked(key == current)
            action.triggered.connect(lambda _=False, key=key: self.store_chosen.emit(key))
        before = self.store.menu()
        self.store.setMenu(menu)
        if before is not None:
            before.deleteLater()

    def show_history(self) -> None:
        self._shows_snippets = False
        self._read_list(self.history)

    def show_snippets(self) -> None:
        self._shows_snippets = True
        self._read_list(self.save)

    def ask_snippet(self) -> None:
        self._form_popover.open_below(self.save)
        self.form.begin()

    def _read_list(self, owner: QWidget) -> None:
        snippets = self._shows_snippets

        def read(job: Job) -> list[SavedText]:
            return (
                of_snippets(self._saved_statements.snippets())
                if snippets
                else of_history(self._saved_statements.history())
            )

        def show(rows: list[SavedText]) -> None:
            self.list.show_rows(rows, "snippets" if snippets else "history", snippets)
            if not self.popover.isVisible():
                self.popover.open_below(owner)
            self.list.field.setFocus(Qt.FocusReason.PopupFocusReason)

        self._tasks.read(read, show, self.failed.emit, owner=self, quiet=True)

    def _change_list(self, change: Callable[[], None]) -> None:
        """Change the snippets or the history, and show them as they are then."""
        owner = self.save if self._shows_snippets else self.history

        def failed(error: Exception) -> None:
            self.popover.close()
            self.failed.emit(error)

        self._tasks.read(
            lambda job: change(), lambda _: self._read_list(owner), failed, owner=self, quiet=True
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        wide = self.width() >= NARROW * theme.current().text_scale
        self.keys.setVisible(wide and not self.stop.isVisibleTo(self))

    def _build(self) -> None:
        theme.variant(self.run, "primary")
        theme.variant(self.stop, "danger")
        theme.variant(self.keys, "caption")
        theme.variant(self.elapsed_label, "muted")
        self.elapsed_label.setFont(theme.current().tabular_font())
        self.elapsed_label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.run.setToolTip("Run the statement at the cursor, or what is selected (Ctrl+Enter)")
        self.run_menu.setToolTip("Run one statement or all of them")
        self.run_menu.setAccessibleName("Ways to run")
        self.stop.setToolTip("Stop the statement; rows received so far stay (Ctrl+.)")
        self.stop.hide()
        self.elapsed_label.hide()
        self.store.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.store.setToolTip(
            "Tables of this store need no prefix; others are written store.table. Changes go here"
        )
        self.history.setToolTip("Earlier statements")
        self.format.setToolTip("Format the text: one clause per line, keywords in capitals (Alt+Shift+F)")
        self.explain.setToolTip("How the engine runs the statement")
        self.as_steps.setToolTip("Show the statement at the cursor as steps of its table")
        self.save.setToolTip("Snippets and files")
        for button in (self.run_menu, self.explain, self.save):
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        for button in (self.explain, self.save):
            button.setAccessibleName(button.text().rstrip(" ▾"))
        for sender in (self.run, self.run_menu, self.stop, self.format):
            sender.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keyboard in the text
        self._fill_menus()
        self.run.clicked.connect(lambda: self.run_requested.emit(False))
        self.stop.clicked.connect(self.stop_requested)
        self.history.clicked.connect(self.show_history)
        self.as_steps.clicked.connect(self.steps_requested)
        self.format.clicked.connect(self.format_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.M, 0, theme.S, 0)
        layout.setSpacing(theme.S)
        for widget in (self.run, self.run_menu, self.stop, self.keys, self.store, self.elapsed_label):
            layout.addWidget(widget)
        layout.addStretch(1)
        layout.setSpacing(theme.XS)
        for button in (self.history, self.explain, self.as_steps, self.format, self.save):
            layout.addWidget(button)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def _fill_menus(self) -> None:
        plans = QMenu(self.explain)
        plans.addAction("Plan without running", lambda: self.explain_requested.emit(False))
        plans.addAction("With times (runs the statement)", lambda: self.explain_requested.emit(True))
        self.explain.setMenu(plans)
        menu = QMenu(self.save)
        menu.addAction("Save as a snippet…", self.ask_snippet)
        menu.addAction("Snippets…", self.show_snippets)
        menu.addSeparator()
        menu.addAction("Open a file of SQL…", self.open_file_requested.emit)
        menu.addAction("Save to a file…", self.save_file_requested.emit)
        self.save.setMenu(menu)
        runs = QMenu(self.run_menu)
        for text, keys, run_all in RUNS:
            action = runs.addAction(text, partial(self.run_requested.emit, run_all))
            action.setShortcut(keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)  # the editor has the key itself
        self.run_menu.setMenu(runs)

    def _restyle(self) -> None:
        look = theme.current()
        self.run.setIcon(look.icon("play", "on_accent"))
        self.stop.setIcon(look.icon("stop", "danger"))
        self.history.setIcon(look.icon("clock"))
        self.history.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        for button in (self.run, self.stop, self.history):
            button.setIconSize(look.icon_size())
        self.setFixedHeight(look.line_height() + 24)
