"""Common actions in the real window: the time until the rows are shown, and how long the window's thread is
blocked meanwhile. The driver needs Qt, which `core` does not import, so it registers with
`registry.add_class`."""

from __future__ import annotations

import random
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.engine.measure import Cost, Cycle, Sample, measure
from lamella.core.bench.systems.base import System
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import digest
from lamella.core.jobs import Job
from lamella.core.transfer.generate import MIXED_SCHEMA, make

FAMILY = "window"
HOLD, FIRST_CARD, CARDS = "_hold", "_first_card", "_cards"
LEAST_TOTAL = 1_000.0
"""The filter is that `total` is more than this."""

VISIBLE = ("order_id", "customer_id", "city")
"""The columns whose values in the grid are checked."""

SORTED_BY, GROUPED_BY, SUMMED = "customer_id", "city", "total"
COMPARED_ROWS, JUMPS = 16, 30
NUMBER_OF_ROW = 1
"""The first `order_id`, which increases by one per row."""


def _act(name: str, title: str, sentence: str, about: str, cards: bool = False) -> tuple[Operation, ...]:
    """Return the operations of one act: the times until the rows and the cards, and the longest hold."""
    rows = Operation(name, title, f"{sentence} {{rows}}", about, holds=True)
    hold = Operation(
        name + HOLD,
        f"{title}: longest hold",
        f"responds while it {sentence} {{rows}}",
        "The longest task on the window's thread, in processor time.",
    )
    if not cards:
        return rows, hold
    first = Operation(
        name + FIRST_CARD,
        f"{title}: first card",
        f"{sentence} and has a column card of {{rows}}",
        "From when the rows are shown until the first exact column card is shown.",
    )
    all_ = Operation(
        name + CARDS,
        f"{title}: cards",
        f"{sentence} and has all column cards of {{rows}}",
        "From when the rows are shown until every column card on screen is exact.",
    )
    return rows, first, all_, hold


_OPERATIONS = (
    *_act("open", "Open", "opens", "A Parquet file of 20 columns, until its first rows are painted.", True),
    *_act("scroll", "Scroll", "scrolls through", "Each turn of the wheel, until the rows are painted."),
    *_act("jump", "Jump", "jumps in", "To rows all over the table, until they are painted."),
    *_act("filter", "Filter", "filters", "total > 1000, until the rows are painted.", True),
    *_act("jump_filtered", "Jump, filtered", "jumps in the matches of", "To rows that meet the filter."),
    *_act("sort_filtered", "Sort, filtered", "sorts the matches of", "By customer, ascending."),
    *_act("sort", "Sort", "sorts", "All rows by customer, ascending, until the first are painted."),
    *_act("jump_sorted", "Jump, sorted", "jumps in the sorted", "To rows all over the sorted table."),
    *_act("compute", "Compute", "computes a column of", "total * 2, until the rows are painted."),
    *_act("group", "Group", "groups", "By city, of which there are 500: rows and sums of the totals."),
    *_act(
        "brush", "Brush a card", "brushes a histogram of", "A third of the bars, until the rows are painted."
    ),
    *_act("theme", "Change the theme", "changes its theme over", "Light to dark, until it is painted."),
    *_act("reopen", "Open again", "opens once more", "The same file in a new window.", True),
)

WINDOW = Workload(
    id=FAMILY,
    title="Window",
    about="Common actions in the window, on a generated Parquet file of 20 columns: the real window at"
    " 1280 × 800, offscreen. Row counts after a filter, and the values in the grid after each jump and sort,"
    " are compared with the file.",
    steps=tuple(operation.id for operation in _OPERATIONS if operation.holds),
    operations=_OPERATIONS,
    default_rows=(100_000, 1_000_000),
    default_repeats=3,
    family=FAMILY,
    asks_only=True,
    small_rows=(1_000,),
    options={"costs": {"lamella": (150e-9, 80, 60)}},
)


# ------------------------------------------------------------------- data and answers


def prepare(workload: Workload, rows: Iterable[int], folder: Path, job: Job) -> Workload:
    """Return the workload with a file of each size, and the values that the window should show."""
    files = {str(count): str(_file(folder, count, job)) for count in sorted(set(rows))}
    answers = {count: answers_of(Path(file)) for count, file in files.items()}
    return replace(workload, options={**workload.options, "files": files, "answers": answers})


def _file(folder: Path, rows: int, job: Job) -> Path:
    return make("mixed", rows, folder / f"orders-{rows}.parquet", job)


def right_answer(workload: Workload, operation: Operation, rows: int) -> str:
    """Return the digest of an act's right answer. It also counts for the act's cards and hold."""
    answers: Mapping[str, str] = workload.options.get("answers", {}).get(str(rows)) or _answers_at(rows)
    return answers[act_of(operation.id)]


def act_of(operation: str) -> str:
    for ending in (HOLD, FIRST_CARD, CARDS):
        operation = operation.removesuffix(ending)
    return operation


@cache
def _answers_at(rows: int) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        return answers_of(_file(Path(folder), rows, Job()))


def answers_of(file: Path) -> dict[str, str]:
    """Return the right answers by act, computed without DuckDB and without any code of the window."""
    table = pq.read_table(file, columns=[*VISIBLE, SUMMED])
    customers = np.asarray(table[SORTED_BY])
    matches = np.flatnonzero(np.asarray(table[SUMMED]) > LEAST_TOTAL)
    numbers = np.arange(table.num_rows)
    order = np.argsort(customers, kind="stable")
    groups = table.group_by(GROUPED_BY).aggregate([([], "count_all"), (SUMMED, "sum")])
    first = _first_rows(table, numbers)
    return {
        "open": first,
        "scroll": digest(True),
        "jump": _rows_at(table, numbers),
        "filter": _first_rows(table, matches),
        "jump_filtered": _rows_at(table, matches),
        "sort_filtered": _first_rows(table, matches[np.argsort(customers[matches], kind="stable")]),
        "sort": _first_rows(table, order),
        "jump_sorted": _rows_at(table, order),
        "compute": first,
        "group": digest_of_groups(
            zip(*(groups[name].to_pylist() for name in (GROUPED_BY, "count_all", "total_sum")), strict=True)
        ),
        "brush": digest(0),
        "theme": digest("dark"),
        "reopen": first,
    }


def jumps(rows: int) -> list[int]:
    """Return row numbers to jump to; always the same for the same number of rows."""
    return [random.Random(rows + number).randrange(rows) for number in range(JUMPS)] if rows else []


def digest_of_rows(rows: int, cells: Sequence[Sequence[Any]]) -> str:
    """Return the digest of the number of rows, and of some rows in order."""
    return digest([[-1, rows], *([place, *values] for place, values in enumerate(cells))])


def digest_of_groups(groups: Iterable[Sequence[Any]]) -> str:
    """Return the digest of groups. The sums are rounded to hundredths, so that the order of summation does
    not matter."""
    return digest([[key, count, round(total, 2)] for key, count, total in groups])


def _first_rows(table: pa.Table, places: npt.NDArray[np.int64]) -> str:
    return digest_of_rows(len(places), _cells(table, places[:COMPARED_ROWS]))


def _rows_at(table: pa.Table, places: npt.NDArray[np.int64]) -> str:
    selection = places[np.array(jumps(len(places)), np.int64)]
    return digest_of_rows(len(places), _cells(table, selection))


def _cells(table: pa.Table, places: npt.NDArray[np.int64]) -> list[list[Any]]:
    columns = [table[name].take(pa.array(places)).to_pylist() for name in VISIBLE]
    return [list(row) for row in zip(*columns, strict=True)]


# --------------------------------------------------------------------------- the acts


@dataclass(frozen=True)
class Act:
    """The result of an act. `seconds` is the time until the rows were painted, and `latencies` are the times
    of repeated actions. The times of cards are from when the rows were painted. `hold_seconds` is the
    longest task on the window's thread."""

    answer: str
    seconds: float
    hold_seconds: float
    latencies: tuple[float, ...] = ()
    first_card_seconds: float | None = None
    cards_seconds: float | None = None


class WindowSystem(System):
    """Opens `file` in a window at the first act, unless the act itself opens it."""

    columns = len(MIXED_SCHEMA)
    file: Path

    @abstractmethod
    def acts(self) -> Mapping[str, Callable[[], Act]]:
        """Return the acts by step. Each brings the window into the state that it needs, then measures."""

    @abstractmethod
    def begin(self, act: str) -> None:
        """Prepare for the act; this is not measured."""


class WindowCycle(Cycle[WindowSystem]):
    steps: ClassVar[tuple[str, ...]] = WINDOW.steps

    def step(self, name: str) -> Iterator[Sample]:
        self.system.file = Path(self.workload.options["files"][str(self.rows)])
        self.system.begin(name)
        act, cost = measure(self.system.acts()[name])
        yield self._sample(name, act, cost, act.seconds, act.latencies)
        for ending, seconds in (
            (FIRST_CARD, act.first_card_seconds),
            (CARDS, act.cards_seconds),
            (HOLD, act.hold_seconds),
        ):
            if seconds is not None and self.workload.has(name + ending):
                yield self._sample(name + ending, act, cost, seconds)

    def _sample(
        self, operation: str, act: Act, cost: Cost, seconds: float, latencies: tuple[float, ...] = ()
    ) -> Sample:
        cpu = act.hold_seconds if operation.endswith(HOLD) else cost.cpu_seconds
        size = self.system.file.stat().st_size
        return Sample(operation, Cost(seconds, cpu, cost.peak_rss_bytes, latencies), size, act.answer)

    def settle(self) -> Iterator[Sample]:
        self.system.close()
        yield from ()

    def _database_digest(self) -> str:
        raise AssertionError("No act changes anything, so there is nothing to read back")
