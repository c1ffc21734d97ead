"""The steps of the workloads on tables of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lamella.core.bench.engine import place
from lamella.core.bench.engine.measure import ENOUGH_SECONDS, Cycle, Sample, measure, measure_each
from lamella.core.bench.systems.base import Rows, TableSystem
from lamella.core.bench.workloads.model import Pick, Values
from lamella.core.bench.workloads.table_rows import Numbers, blocks, checksum, pick_rows, python_rows, rows_at
from lamella.core.bench.workloads.tables import (
    CELL_PICK,
    DELETE_PICK,
    GET_PICK,
    SCATTERED_DELETES,
    SCATTERED_UPDATES,
    SOME_PICK,
    UPDATE_PICK,
)


class TableCycle(Cycle[TableSystem]):
    steps: ClassVar[tuple[str, ...]] = (
        *("create", "fill", "refill", "index", "read", "query", "find", "find_indexed", "get"),
        *("update", "update_by_row_id", "update_some", "update_some_by_row_id", "update_one", "update_cell"),
        *("delete_one", "scatter_updates", "read_updated", "scatter_deletes", "read_deleted", "vacuum"),
    )

    def step(self, name: str) -> Iterator[Sample]:
        asks = name.partition("_")[0]
        if asks in ("read", "query", "find"):
            yield from self._twice(name, getattr(self.system, asks))
        else:
            yield from super().step(name)

    # ------------------------------------------------------------------- making

    def create(self) -> Iterator[Sample]:
        rows = python_rows(self.workload, self.rows)
        prepared, preparation = measure(lambda: self.system.prepare(rows))
        cost = self._changing(lambda: self.system.create(prepared))
        self._owe(("create", cost), ("create_with_preparation", preparation + cost))
        yield from ()

    def fill(self) -> Iterator[Sample]:
        rows = blocks(self.workload, self.size)
        cost = self._changing(lambda: self.system.fill(rows))
        self._owe(("fill", cost))
        yield from self.settle()

    def refill(self) -> Iterator[Sample]:
        """Fill a new table with the original rows."""
        place.remove_folder(self.system.folder)
        self._changing(lambda: self.system.fill(blocks(self.workload, self.size)))
        yield from ()

    def index(self) -> Iterator[Sample]:
        self.system.open(writing=True)
        column = self.workload.key or self.workload.data_columns[0]
        seconds, cost = measure(lambda: self.system.index(column))
        self.system.close()
        if seconds:
            self._owe(("index", cost))
        yield from ()

    def vacuum(self) -> Iterator[Sample]:
        yield from self.settle()
        self.system.open(writing=True)
        worked, cost = measure(self.system.vacuum)
        self.system.close()
        if worked:
            self._owe(("vacuum", cost))

    # ------------------------------------------------------------------ reading

    def get(self) -> Iterator[Sample]:
        numbers = pick_rows(GET_PICK, self.workload, self.rows)
        ids = self._row_ids(numbers)
        self.system.open(writing=False)
        works = [partial(self.system.get, row_id) for row_id in ids]
        answers, cost = measure_each(works, float("inf"))
        again, cost_again = measure_each(works, float("inf"))
        first, second = self._digest_of_rows(answers), self._digest_of_rows(again)
        self.system.close()
        size = self.system.disk_bytes()
        yield Sample("get", cost, size, first)
        yield Sample("get_again", cost_again, size, second, again=True)

    # ----------------------------------------------------------------- changing

    def update(self) -> Iterator[Sample]:
        yield from self.settle()
        self._update_by_key("update", python_rows(self.workload, self.rows, version=1))

    def update_some(self) -> Iterator[Sample]:
        yield from self.settle()
        self._update_by_key("update_some", self._picked_rows(SOME_PICK, version=1))

    def update_by_row_id(self) -> Iterator[Sample]:
        yield from self.settle()
        rows = python_rows(self.workload, self.rows, version=2)
        self._update_by_row_id("update_by_row_id", np.arange(self.rows), rows)

    def update_some_by_row_id(self) -> Iterator[Sample]:
        yield from self.settle()
        rows = self._picked_rows(SOME_PICK, version=2)
        self._update_by_row_id("update_some_by_row_id", pick_rows(SOME_PICK, self.workload, self.rows), rows)

    def update_one(self) -> Iterator[Sample]:
        yield from self._change_one_by_one(
            "update_one", UPDATE_PICK, self._picked_rows(UPDATE_PICK, version=1)
        )

    def update_cell(self) -> Iterator[Sample]:
        rows = [{"col1": row["col1"]} for row in self._picked_rows(CELL_PICK, version=2)]
        yield from self._change_one_by_one("update_cell", CELL_PICK, rows)

    def delete_one(self) -> Iterator[Sample]:
        yield from self.settle()
        ids = self._row_ids(pick_rows(DELETE_PICK, self.workload, self.rows))
        self.system.open(writing=True)
        works = [partial(self.system.delete, [row_id]) for row_id in ids]
        results, cost = measure_each(works, ENOUGH_SECONDS)
        if ids[len(results) :]:
            self.system.delete(ids[len(results) :])
        self.system.close()
        self._owe(("delete_one", cost))

    def scatter_updates(self) -> Iterator[Sample]:
        numbers = pick_rows(SCATTERED_UPDATES, self.workload, self.rows)
        rows = self._picked_rows(SCATTERED_UPDATES, version=1)
        self._update_by_row_id("scatter_updates", numbers, rows)
        yield from ()

    def scatter_deletes(self) -> Iterator[Sample]:
        ids = self._row_ids(pick_rows(SCATTERED_DELETES, self.workload, self.rows))
        self._changing(lambda: self.system.delete(ids))
        yield from ()

    # -------------------------------------------------------------------- parts

    @property
    def size(self) -> int:
        return self.workload.size(self.rows)

    def _twice(self, name: str, ask: Callable[[], Any]) -> Iterator[Sample]:
        """Ask a database that was just opened and, if the workload has that operation, once more."""
        answer, cost = self._measure_opening(ask, writing=False)
        digest = self._digest(name, answer)
        del answer
        again = f"{name}_again"
        seconds = measure(ask) if self.workload.has(again) else None
        digest_again = self._digest(name, seconds[0]) if seconds else ""
        self.system.close()
        size = self.system.disk_bytes()
        yield Sample(name, cost, size, digest)
        if seconds:
            yield Sample(again, seconds[1], size, digest_again, again=True)
        if name == "read":
            yield from self._checked_samples(digest)

    def _update_by_key(self, name: str, rows: Rows) -> None:
        prepared, preparation = measure(lambda: self.system.prepare_update(rows))
        cost = self._changing(lambda: self.system.update(prepared))
        self._owe((name, cost), (f"{name}_with_preparation", preparation + cost))

    def _update_by_row_id(self, name: str, numbers: Numbers, rows: Rows) -> None:
        prepared = self.system.prepare_update_by_row_id(self._row_ids(numbers), self._without_key(rows))
        cost = self._changing(lambda: self.system.update_by_row_id(prepared))
        self._owe((name, cost))

    def _change_one_by_one(self, name: str, pick: Pick, rows: Rows) -> Iterator[Sample]:
        """Change each row in a separate commit, as many as there is time for, and the rest at once."""
        yield from self.settle()
        ids = self._row_ids(pick_rows(pick, self.workload, self.rows))
        prepare, update = self.system.prepare_update_by_row_id, self.system.update_by_row_id
        works = [partial(update, prepare([row_id], [row])) for row_id, row in zip(ids, rows, strict=True)]
        self.system.open(writing=True)
        results, cost = measure_each(works, ENOUGH_SECONDS)
        if rows[len(results) :]:
            update(prepare(ids[len(results) :], rows[len(results) :]))
        self.system.close()
        self._owe((name, cost))

    def _picked_rows(self, pick: Pick, version: int) -> Rows:
        numbers = pick_rows(pick, self.workload, self.rows)
        return rows_at(self.workload, self.size, version, numbers)

    def _without_key(self, rows: Rows) -> Rows:
        key = self.workload.key
        return [{name: value for name, value in row.items() if name != key} for row in rows] if key else rows

    def _row_ids(self, numbers: Numbers) -> list[int]:
        self.system.open(writing=False)
        ids = list(self.system.row_ids(numbers))
        self.system.close()
        return ids

    # ----------------------------------------------------------------- checking

    def _digest(self, operation: str, answer: Any) -> str:
        names = self.workload.operation(operation).answer.columns or self.workload.checked_columns
        return self._answer_checksum(self.system.blocks(answer, names), names)

    def _digest_of_rows(self, answers: list[Any]) -> str:
        rows = [self.system.as_row(answer) for answer in answers]
        names = self.workload.checked_columns
        return self._answer_checksum([[np.array([row[name] for row in rows]) for name in names]], names)

    def _database_digest(self) -> str:
        names = self.workload.checked_columns
        return self._answer_checksum(self.system.contents(names), names)

    def _answer_checksum(self, answer: Iterable[Sequence[Values]], names: Sequence[str]) -> str:
        """Return the checksum of an answer, whose numbers may have another type if they are equal."""
        kinds = [self.workload.dtype_of(name) for name in names]
        return checksum([_cast(*each) for each in zip(columns, kinds, strict=True)] for columns in answer)


def _cast(values: Values, kind: np.dtype[Any]) -> Values:
    if values.dtype == kind:
        return values
    cast = values.astype(kind)
    return cast if np.array_equal(cast, values) else values
