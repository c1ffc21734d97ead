"""The line of steps of a tab, with the editor of one of them below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from lamella.core.query.line import Line, RunnableLine
from lamella.core.query.source import Source
from lamella.core.query.steps import Step, Where
from lamella.ui import theme
from lamella.ui.steps.chips import ChipState, StepsBar
from lamella.ui.steps.editors import OtherSource, StepContext, StepEditor
from lamella.ui.steps.kinds import KINDS, step_words
from lamella.ui.steps.where_editor import WhereEditor
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.popover import close_popups

DEBOUNCE_MS = 200
MOST_SHARE = 0.4
"""The maximum share of the tab's height for an editor, which scrolls if it needs more."""

Sources = Callable[[], Mapping[str, OtherSource]]


class StepLine(QWidget):
    """Shows and edits a line. `changed` has the new line, 200 ms after the last edit in a form, with a number
    greater than 0 that is the same for consecutive edits of one step. `editing` has the current editor, or
    None. `import_requested` is emitted to import the file into a table of a store."""

    changed = Signal(object, int)
    editing = Signal(object)
    import_requested = Signal()

    def __init__(
        self, name: str, icon: str, source: Source, tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.line, self.source = Line(), source
        self.runnable_line = RunnableLine((), (pa.schema([]),), {})
        self.other_sources: Sources = dict
        self.bar = StepsBar(name, icon)
        self.editor: StepEditor | None = None
        self.place: int | None = None
        self._unfinished_place: int | None = None
        self._tasks, self._session = tasks, 0
        self._wait = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._wait.timeout.connect(self._take)
        self._build()

    # ------------------------------------------------------------------- showing

    def show_line(self, line: Line, checked: RunnableLine | None = None) -> None:
        """Show a line; `checked` has the results of checking it. The editor stays open if the line still has
        the step that it made, or, if it has made none yet, the same other steps."""
        before, new = self.line, self._unfinished_place
        if new is not None and before.remove(new) == line:
            line = line.insert(new, before.steps[new].kind, None, before.steps[new].draft)
        else:
            self._unfinished_place = None
        self.line = line
        if checked is not None:
            self.runnable_line = checked
        if self.place is not None and not self._still_edits(before):
            self._drop_editor()
        self._show_chips()

    def _still_edits(self, before: Line) -> bool:
        assert self.place is not None
        steps = self.line.steps
        if self.place >= len(steps) or len(steps) != len(before.steps):
            return False
        return steps[self.place] == before.steps[self.place]

    def _show_chips(self) -> None:
        self.bar.show_steps([self._state(place) for place in range(len(self.line.steps))])

    def _state(self, place: int) -> ChipState:
        step, new = self.line.steps[place], self._unfinished_place
        num_before = place - (new is not None and new < place)
        words = step_words(step.kind, step.step, self._schema(num_before))
        problem = self.runnable_line.problems.get(num_before, "") if step.is_active else ""
        return ChipState(step.kind, words, step.on, problem, place == self.place)

    def _schema(self, place: int) -> pa.Schema:
        return self.runnable_line.schemas[min(place, len(self.runnable_line.schemas) - 1)]

    # ------------------------------------------------------------------- editing

    def add(self, kind: type[Step], place: int | None = None) -> None:
        """Begin a step of a kind. It becomes part of the line once its form makes a step."""
        gone = self.close_editor()
        if place is None:
            place = self.line.place_of_new(kind)
        elif gone is not None and gone < place:
            place -= 1
        self.line = self.line.insert(place, kind, None)
        self._open(place)
        self._unfinished_place = place
        self._show_chips()

    def edit(self, place: int) -> None:
        """Open the form of a step."""
        if place == self.place and self.editor is not None:
            self.editor.focus_first()
            return
        now = self._place_after_closing(place)
        if now is not None and self.line.steps[now].kind in KINDS:
            self._open(now)

    def _open(self, place: int) -> None:
        step = self.line.steps[place]
        context = StepContext(
            self._schema(place),
            self._tasks,
            self.source,
            self.other_sources,
            step.draft,
            self.line.sources,
            self.steps_before(place),
        )
        self._session += 1
        self.place, self.editor = place, KINDS[step.kind].editor(context, step.step)
        self.editor.changed.connect(self._wait.start)
        self.editor.done.connect(self.flush)
        self.editor.import_requested.connect(self.import_requested)
        self._scroll.setWidget(self.editor)
        self.editor.setAutoFillBackground(False)
        self.editor.installEventFilter(self)
        self._panel.show()
        self._fit()
        self._show_chips()
        self.editing.emit(self.editor)
        self.editor.focus_first()

    def steps_before(self, place: int) -> tuple[Step, ...]:
        """The steps that run before one."""
        steps = enumerate(self.line.steps[:place])
        can_run = [step for number, step in steps if step.on and number not in self.runnable_line.problems]
        return tuple(step.step for step in can_run if step.step is not None)

    def edit_filter(self) -> None:
        """Edit the last filter of the line, or a new one."""
        place = self.line.filter_place
        self.edit(place) if place is not None else self.add(Where)

    @property
    def filter_open(self) -> bool:
        return isinstance(self.editor, WhereEditor)

    def close_editor(self) -> int | None:
        """Close the form. A step that was begun but not made is removed. Return the position of the form."""
        if self.editor is not None:
            close_popups(self.editor)
        self.flush()
        place = self.place
        if place is None:
            return None
        is_new, step = self._unfinished_place == place, self.line.steps[place]
        self._drop_editor()
        is_gone = step.step is None and step.draft is None
        self._show(self.line.remove(place) if is_gone else self.line)
        if is_gone != is_new:
            self.changed.emit(self.line, self._session)
        return place if is_gone else None

    def _place_after_closing(self, place: int) -> int | None:
        """The position of a step once the form is closed; None if closing the form removes it."""
        gone = self.close_editor()
        if gone == place:
            return None
        place -= gone is not None and gone < place
        return place if place < len(self.line.steps) else None

    def flush(self) -> None:
        """Apply pending edits now instead of after the delay."""
        if self._wait.isActive():
            self._wait.stop()
            self._take()

    def _drop_editor(self) -> None:
        if self.editor is not None:
            close_popups(self.editor)
        self._wait.stop()
        if self.editor is not None:
            self.editor.removeEventFilter(self)
            self._scroll.takeWidget()
            self.editor.setParent(self)  # without a parent, Python owns it and may collect it on any thread
            self.editor.deleteLater()
        self.editor, self.place, self._unfinished_place = None, None, None
        self._panel.hide()
        self.editing.emit(None)

    def _take(self) -> None:
        editor, place = self.editor, self.place
        if editor is None or place is None:
            return
        step, draft, now = editor.step(), editor.draft(), self.line.steps[place]
        if step is None and not isinstance(editor, WhereEditor):
            return  # the last complete step stays
        line = self.line.edit(place, step, draft).with_sources(editor.sources())
        self._unfinished_place = self._unfinished_place if step is None else None
        changed = (now.step, repr(now.step)) != (step, repr(step))  # 1, 1.0 and True are equal in Python
        self.line = line
        self._show_chips()
        if changed:
            self.changed.emit(line, self._session)

    def _show(self, line: Line) -> None:
        """Show a line without emitting `changed`, because nothing that runs has changed."""
        self.line = line
        self._show_chips()

    # ------------------------------------------------------------------- the chips

    def _change(self, line: Line) -> None:
        if line != self.line:
            self.changed.emit(line, 0)

    def _switch(self, place: int) -> None:
        if (now := self._place_after_closing(place)) is not None:
            self._change(self.line.switch(now))

    def _remove(self, place: int) -> None:
        if (now := self._place_after_closing(place)) is not None:
            self._change(self.line.remove(now))
        self.bar.focus_chip(place)

    def _move(self, place: int, before: int) -> None:
        gone = self.close_editor()
        if gone == place:
            return
        if gone is not None:
            place, before = place - (gone < place), before - (gone < before)
        self._change(self.line.move(place, before))

    def _show_up_to(self, place: int) -> None:
        """Switch off all steps after a step."""
        now = self._place_after_closing(place)
        if now is None:
            return
        line = self.line
        for later in range(now + 1, len(line.steps)):
            line = line.switch(later) if line.steps[later].on else line
        self._change(line)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.place is not None:
            self._leave_editor()
        else:
            super().keyPressEvent(event)

    def _leave_editor(self) -> None:
        """Move the focus from the form to its chip."""
        place = self.place
        self.close_editor()
        if place is not None:
            self.bar.focus_chip(place)

    # ------------------------------------------------------------------- building

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """Resize to the height of the form, up to a share of the tab."""
        if self.editor is None:
            return
        parent = self.parentWidget()
        around = parent.height() if parent is not None else 600
        width = self._scroll.viewport().width()
        hint = self.editor.sizeHint().height()  # for wrapping layouts, that of a narrow form
        height = self.editor.heightForWidth(width) if self.editor.hasHeightForWidth() else hint
        most = round(MOST_SHARE * around)
        wide = self.editor.minimumSizeHint().width() > width
        bar = self._scroll.horizontalScrollBar().sizeHint().height() if wide else 0
        self._scroll.setFixedHeight(min(height + bar, max(most, 120)))

    def _build(self) -> None:
        self._panel, self._scroll = QFrame(), QScrollArea()
        theme.variant(self._panel, "bar")
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        close = IconButton("close", "Close the form (Esc)")
        close.clicked.connect(self._leave_editor)
        inside = QHBoxLayout(self._panel)
        inside.setContentsMargins(theme.M, theme.S, theme.S, theme.S)
        inside.addWidget(self._scroll, 1)
        inside.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self._panel.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self._panel)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.bar.edit_requested.connect(self._toggle)
        self.bar.switch_requested.connect(self._switch)
        self.bar.remove_requested.connect(self._remove)
        self.bar.move_requested.connect(self._move)
        self.bar.add_requested.connect(self.add)
        self.bar.up_to_requested.connect(self._show_up_to)

    def _toggle(self, place: int) -> None:
        """Open the form of a chip, or close it if it is open."""
        if place == self.place:
            self.close_editor()
        else:
            self.edit(place)
