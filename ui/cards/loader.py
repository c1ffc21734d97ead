"""Computes the cards of the columns on screen, two at a time, and drops those scrolled out of view."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from lamella.core.errors import LamellaError
from lamella.core.filters import Filter
from lamella.core.jobs import Job
from lamella.core.query.cards import LARGE_ROWS, ColumnCard, cached_card, card, saved_card
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import EngineRows, card_of
from lamella.core.query.steps import Compute
from lamella.core.scan.snapshot import Snapshot
from lamella.ui.cards.words import CardTexts, texts_of
from lamella.ui.tasks import Handle, Tasks

log = logging.getLogger(__name__)
AT_ONCE = 2
MOST_CARDS = 400


@dataclass(frozen=True, eq=False)
class Face:
    """A card with its texts, or the reason why there is none."""

    card: ColumnCard | None
    texts: CardTexts | None
    error: str = ""


def _steps_of(computed: ComputedView | None) -> tuple[Compute, ...]:
    return () if computed is None else computed.steps


@dataclass(frozen=True)
class _Request:
    name: str
    sampled: bool


class CardLoader(QObject):
    """Loads cards. `arrived` carries the name of a column whose card is new or has changed."""

    arrived = Signal(str)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._rows: Snapshot | EngineRows | None = None
        self._computed_view: ComputedView | None = None
        self.where: Filter | None = None
        self._generation = 0
        self._faces: OrderedDict[str, Face] = OrderedDict()
        self._final: set[str] = set()
        self._sampled_names: set[str] = set()
        self._names_looked_up: set[str] = set()
        self._requested_columns: list[str] = []
        self._running: dict[_Request, Handle] = {}

    @property
    def running(self) -> bool:
        return bool(self._running)

    @property
    def num_exact(self) -> int:
        """The number of requested cards that are exact by now."""
        return sum(name in self._final for name in self._requested_columns)

    @property
    def is_settled(self) -> bool:
        """Whether all requested cards are exact by now."""
        return not self._running and all(name in self._final for name in self._requested_columns)

    def set_rows(
        self, rows: Snapshot | EngineRows | None, where: Filter | None, computed: ComputedView | None = None
    ) -> None:
        """Set the rows. If the columns are the same, the old cards stay until new ones arrive; exact ones
        stay until new exact ones arrive, if there are as many rows as before. `computed` has the columns that
        the rows lack."""
        before, self._rows = self._rows, rows
        steps, self._computed_view = _steps_of(self._computed_view), computed
        same = before is not None and rows is not None and before.token == rows.token
        same = same and steps == _steps_of(computed)
        if same and where == self.where:  # only the order differs
            return
        self.stop()
        alike = before is not None and rows is not None and before.schema.equals(rows.schema)
        alike = alike and steps == _steps_of(computed)
        if not alike:
            self._faces.clear()
        exact = set[str]()
        if alike and where == self.where and isinstance(before, Snapshot) and isinstance(rows, Snapshot):
            exact = set(self._final) if before.num_rows == rows.num_rows else exact
        self.where = where
        self._final.clear()
        self._sampled_names = exact  # a sample says less than the exact card from before an edit
        self._names_looked_up.clear()
        self._requested_columns = []

    def stop(self) -> None:
        """Cancel everything."""
        self._generation += 1
        for handle in self._running.values():
            handle.cancel()
        self._running.clear()

    def face(self, name: str) -> Face | None:
        return self._faces.get(name)

    def hold(self, names: Collection[str]) -> None:
        """Continue only these columns, and start no others until the next `want`."""
        self._requested_columns = []
        for request in [waiting for waiting in self._running if waiting.name not in names]:
            self._running.pop(request).cancel()

    def want(self, names: Sequence[str]) -> None:
        """Request the cards of the columns on screen, the most important first."""
        self.hold(names)
        self._requested_columns = [name for name in names if self._is_countable(name)]
        for name in self._requested_columns:
            self._take_cached_card(name)
        self._begin()

    def _take_cached_card(self, name: str) -> None:
        if not isinstance(self._rows, Snapshot) or name in self._names_looked_up:
            return
        self._names_looked_up.add(name)
        if self._computed_view is not None and name in self._computed_view.computed_names:
            return
        column_card = cached_card(self._rows, name, self.where)
        if column_card is not None:
            self._keep(name, Face(column_card, texts_of(column_card)), final=True)

    def _begin(self) -> None:
        while len(self._running) < AT_ONCE:
            request = self._next()
            if request is None:
                return
            self._ask(request)

    def _is_countable(self, name: str) -> bool:
        return self._computed_view is None or self._computed_view.can_profile(name)

    def _next(self) -> _Request | None:
        """The next request: with very many rows, a sample of every column first, and beside them one exact
        card."""
        rows = self._rows
        if rows is None:
            return None
        busy = {request.name for request in self._running}
        open_ = [name for name in self._requested_columns if name not in self._final and name not in busy]
        if isinstance(rows, Snapshot) and rows.num_rows > LARGE_ROWS:
            none_exact = not self.num_exact and all(request.sampled for request in self._running)
            if none_exact:
                first = next((name for name in open_ if name in self._sampled_names), None)
                if first is not None:
                    return _Request(first, False)
            for name in open_:
                if name not in self._sampled_names:
                    return _Request(name, True)
        return _Request(open_[0], False) if open_ else None

    def _ask(self, request: _Request) -> None:
        rows, where, generation = self._rows, self.where, self._generation
        computed, name = self._computed_view, request.name
        assert rows is not None

        def work(job: Job) -> Face:
            if computed is not None and name in computed.computed_names:
                card_rows, condition = computed.rows_of(name, job)
                fresh = card(card_rows, name, condition, job, request.sampled)
            else:
                saved = saved_card(rows, name) if where is None and isinstance(rows, Snapshot) else None
                fresh = saved or card_of(rows, name, where, job, request.sampled)
            return Face(fresh, texts_of(fresh))

        def take(face: Face) -> None:
            if generation == self._generation:
                self._take(request, face)

        def fail(error: Exception) -> None:
            if generation == self._generation:
                if not isinstance(error, LamellaError):
                    log.error("No card of %r", request.name, exc_info=error)
                self._take(request, Face(None, None, str(error)))

        handle = self._tasks.read(work, take, fail, owner=self, quiet=True, text="Column cards")
        self._running[request] = handle

    def _take(self, request: _Request, face: Face) -> None:
        if self._running.pop(request, None) is not None:
            if request.sampled:
                self._sampled_names.add(request.name)
            is_sample = request.sampled if face.card is None else face.card.is_sample
            self._keep(request.name, face, final=not is_sample)
            self._begin()

    def _keep(self, name: str, face: Face, final: bool) -> None:
        self._faces[name] = face
        self._faces.move_to_end(name)
        if final:
            self._final.add(name)
        while len(self._faces) > MOST_CARDS:
            dropped, _face = self._faces.popitem(last=False)
            self._final.discard(dropped)
            self._sampled_names.discard(dropped)
            self._names_looked_up.discard(dropped)
        self.arrived.emit(name)
