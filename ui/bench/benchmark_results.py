"""The results of one benchmark of a workload so far, and the lines and bars made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from lamella.core.bench.engine.judge import point_of
from lamella.core.bench.engine.protocol import (
    WRONG,
    Failure,
    Measurement,
    Message,
    Surroundings,
    UnsupportedStep,
)
from lamella.core.bench.registry import WORKLOADS, entry_named, workload_named
from lamella.core.bench.results.compare import Multiple, Ratio, multiples, ratios_between, reference_of
from lamella.core.bench.results.figures import in_order, shown_rows
from lamella.core.bench.results.matrix import Matrices, asks_questions
from lamella.core.bench.results.published_results import published_lines
from lamella.core.bench.results.records import (
    AGAIN,
    COLD,
    FIRST,
    WARM,
    Point,
    Sample,
    Summary,
    Tally,
    by_workload,
)
from lamella.core.bench.results.run import SavedRun
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.errors import LamellaError
from lamella.ui.bench.bar_chart import Bar, BarGroup, Bars, rank
from lamella.ui.bench.quantities import DISK, NORMALISED, TIME, Quantity, short_rows
from lamella.ui.bench.series import (
    Frames,
    LiveLines,
    Panel,
    Series,
    SeriesPoint,
    failed_point,
    live_series,
    point_text,
    published_series,
)

SAMPLES: dict[str | None, str] = {None: "All samples", COLD: "First in its process", WARM: "Later ones"}
CALLS: dict[str | None, str] = {AGAIN: "Later calls", FIRST: "First call"}
"""The first call of a question and the later ones are never shown as one."""


@dataclass(frozen=True)
class Display:
    """Which samples are shown, and how. `rows` is the size for bars; 0 for the largest."""

    operation: str
    quantity: Quantity = TIME
    statistic: str = "mean"
    samples: str | None = None
    rows: int = 0


@dataclass
class BenchmarkResults:
    """The results of a workload. `records` are as measured, or in the batches of a saved run."""

    workload: Workload
    records: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unsupported_steps: list[UnsupportedStep] = field(default_factory=list)
    surroundings: dict[str, Surroundings] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    planned_sizes: tuple[int, ...] = ()
    """The sizes being measured, including those still to come."""
    rows_under_way: int = 0
    """The size that is being measured; 0 if none is."""

    def __post_init__(self) -> None:
        self.lines, self.matrices = LiveLines(self.tally), Matrices(self.workload, self.tally)
        self._failures: dict[str, dict[str, dict[int, Failure]]] = {}

    @classmethod
    def of(
        cls, workload: Workload, samples: Iterable[Sample], messages: Iterable[Message]
    ) -> BenchmarkResults:
        """The results of a workload in a saved run."""
        records = list(samples)
        results = cls(workload, records, tally=Tally(records))
        for message in messages:
            results.take(message)
        return results

    def take(self, message: Message) -> None:
        match message:
            case Measurement(record):
                self.records.append(record)
                self.tally.take(record)
            case Failure():
                self.failures.append(message)
                by_system = self._failures.setdefault(message.operation, {})
                by_system.setdefault(message.system, {})[message.rows] = message
                if message.kind == WRONG:
                    self.tally.withdraw(point_of(message))
            case UnsupportedStep():
                if message not in self.unsupported_steps:
                    self.unsupported_steps.append(message)
            case Surroundings():
                self.surroundings[message.system] = message

    @property
    def empty(self) -> bool:
        return not (self.records or self.failures or self.unsupported_steps)

    @property
    def rows(self) -> list[int]:
        """Every size with a result, ascending."""
        return sorted({*self.tally.rows, *(failure.rows for failure in self.failures)})

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that the rows axis spans: planned and measured ones, or the workload's own before
        that."""
        return tuple(sorted({*self.planned_sizes, *self.rows})) or self.workload.default_rows

    @property
    def operations(self) -> list[Operation]:
        """The workload's operations that were measured; all of them before that."""
        operations = self.workload.operations
        return [operation_ for operation_ in operations if operation_.id in self.tally.operations] or list(
            operations
        )

    def failures_of(self, operation: str) -> Mapping[str, Mapping[int, Failure]]:
        """Failures by system and size; of several at one size, the last one."""
        return self._failures.get(operation, {})

    @property
    def wrong(self) -> list[Failure]:
        return [failure for failure in self.failures if failure.kind == WRONG]

    def ratios(self, display: Display, of_all: bool = False) -> list[Ratio]:
        """The ratios of one operation at all sizes, or of all operations at one size."""
        if not of_all:
            points = self.tally.summaries("seconds", display.samples, display.operation)
            return ratios_between(self.workload, points, display.statistic)
        rows = display.rows or max(self.tally.rows, default=0)
        points = self.tally.summaries("seconds", display.samples)
        at_size = {point: summary for point, summary in points.items() if point[2] == rows}
        return ratios_between(self.workload, at_size, display.statistic)


def samples_of(workload: Workload) -> dict[str | None, str]:
    """The kinds of samples that a workload distinguishes, the default first."""
    return CALLS if asks_questions(workload) else SAMPLES


def lost_words(message: Failure | UnsupportedStep) -> str:
    """The text in place of a missing value."""
    if isinstance(message, UnsupportedStep):
        return f"not supported: {message.reason}"
    return f"{message.kind}: {message.message}"


def title_of(system: str) -> str:
    return entry_named(system).title


def lines(results: BenchmarkResults, display: Display, even: bool = False) -> list[Series]:
    """The measured lines, then the published ones, which are times only. On `even` axes the published lines
    end where the measured ones do, which would otherwise lie flat along the bottom."""
    live = results.lines.lines(display.operation, display.quantity.field, display.samples, display.statistic)
    last = max((line.extent.last for line in live if line.extent), default=0) if even else 0
    dashed = _published_series(results.workload.id, display.operation, display.quantity, last)
    operation = results.workload.operation(display.operation)
    if display.quantity is DISK and not operation.resizes:
        return [*live, *dashed]
    return [*_with_failures(live, results.failures_of(operation.id)), *dashed]


def _with_failures(live: Sequence[Series], failures: Mapping[str, Mapping[int, Failure]]) -> list[Series]:
    """Add failures to the lines; a system that never answered has crosses and no line."""
    lines = {line.system: line for line in live}
    for system in failures.keys() - lines.keys():
        lines[system] = live_series(system, {}, "mean")
    crosses = {name: tuple(map(failed_point, by_rows.values())) for name, by_rows in failures.items()}
    return [
        replace(lines[name], failures=crosses[name]) if name in crosses else lines[name]
        for name in in_order(lines)
    ]


def panels(results: BenchmarkResults, display: Display, even: bool = False) -> list[Panel]:
    """A plot for each operation, and one for sizes on disk after the first operation that changes them. A
    saved run shows only what was measured or published."""
    operations = results.workload.operations
    result = [
        Panel(
            operation_.id,
            operation_.title,
            operation_.about,
            TIME,
            tuple(lines(results, replace(display, operation=operation_.id), even)),
        )
        for operation_ in operations
    ]
    resizing = next((operation_ for operation_ in operations if operation_.resizes), None)
    if resizing is not None:
        of_disk = replace(display, operation=resizing.id, quantity=DISK, samples=None)
        series = tuple(lines(results, of_disk, even))
        result.append(Panel(DISK.field, DISK.title, f"After: {resizing.title}", DISK, series))
    return result if results.planned_sizes else [panel for panel in result if panel.series] or result


def prepare(results: BenchmarkResults, display: Display) -> None:
    """Compute the lines and cells of the overview, which the results cache; with very many samples, do this
    off the GUI thread. If the display's samples do not exist for this workload, its default ones are used."""
    offered = samples_of(results.workload)
    samples = display.samples if display.samples in offered else next(iter(offered))
    for panel in panels(results, replace(display, samples=samples)):
        Frames().fit([panel], log=True)
    if results.tally.rows:
        results.matrices.matrix(max(results.tally.rows), display.statistic, samples)


def bars(results: BenchmarkResults, display: Display, log: bool) -> Bars:
    """A group for each operation, at one size; for sizes on disk, only for operations that change them."""
    rows = display.rows or max(results.rows or results.workload.default_rows)
    operations = results.operations
    if display.quantity is DISK:
        operations = [operation for operation in operations if operation.resizes] or operations[:1]
    groups = [_group(results, operation, rows, display) for operation in operations]
    return Bars(tuple(group for group in groups if group.bars), log)


def normalise(results: BenchmarkResults, display: Display, log: bool) -> Bars:
    """A group for each operation and one for sizes on disk, as multiples of the reference's values."""
    times = results.tally.summaries("seconds", display.samples)
    disk = results.tally.summaries("disk_bytes")
    reference = reference_of(times)
    resizing = next((operation_ for operation_ in results.operations if operation_.resizes), None)
    groups = []
    for operation in results.operations:
        multiples = _multiples(times, operation, reference, display.statistic)
        bar_systems = {bar.series.system for bar in multiples}
        lost = (
            bar
            for bar in _missing_bars(results, operation.id)
            if bar.is_failure and bar.series.system not in bar_systems
        )
        groups.append(rank(operation.title, [*multiples, *lost], NORMALISED, factors=False))
    if resizing is not None:
        multiples = _multiples(disk, resizing, reference, "median")
        groups.append(rank(f"Size on disk after: {resizing.title}", multiples, NORMALISED, factors=False))
    return Bars(tuple(group for group in groups if group.bars), log, 1.0)


def _live(points: Mapping[Point, Summary], statistic: str) -> list[Series]:
    by_system: dict[str, dict[int, Summary]] = {}
    for (_, system, rows), summary in points.items():
        by_system.setdefault(system, {})[rows] = summary
    return [live_series(name, by_system[name], statistic) for name in in_order(by_system)]


@cache
def _published_series(workload: str, operation: str, quantity: Quantity, last: int = 0) -> tuple[Series, ...]:
    """The published lines, up to `last` rows if given. Several figures of one system are told apart by the
    names that their source gives them."""
    published = published_lines(workload, operation, quantity.field) if workload in WORKLOADS else []
    lines = [line for line in published if line.points]
    titles = [line.title for line in lines]
    dashed = []
    for place, line in enumerate(lines):
        title = line.title
        if titles.count(title) > 1:
            title = f"{title} ({line.published_name or place + 1})"
        before = [earlier.system for earlier in lines[:place]]
        series = published_series(line)
        points = tuple(point for point in series.points if not last or point.rows <= last)
        dashed.append(replace(series, title=title, variant=before.count(line.system), points=points))
    return tuple(dashed)


# ------------------------------------------------------------------------------ bars


def _group(results: BenchmarkResults, operation: Operation, rows: int, display: Display) -> BarGroup:
    summaries = results.tally.summaries(display.quantity.field, display.samples, operation.id)
    at_size = {point: summary for point, summary in summaries.items() if point[2] == rows}
    bars = [_bar(line, line.points[0], display.quantity) for line in _live(at_size, display.statistic)]
    bar_systems = {bar.series.system for bar in bars}
    bars += [
        bar for bar in _missing_bars(results, operation.id, rows) if bar.series.system not in bar_systems
    ]
    bars += [_published_bar(line, rows, display.quantity) for line in
             _published_series(results.workload.id, operation.id, display.quantity)]  # fmt: skip
    return rank(f"{operation.title}, {shown_rows(rows)}", bars, display.quantity)


def _bar(series: Series, point: SeriesPoint, quantity: Quantity) -> Bar:
    lines = [
        f"{series.label}, {shown_rows(point.rows)}",
        point_text(point, quantity),
        point.remark,
        series.note,
    ]
    lines.append(f"Source: {series.source}")
    return Bar(series, point, "", "\n".join(filter(None, lines)))


def _missing_bars(results: BenchmarkResults, operation: str, rows: int | None = None) -> list[Bar]:
    """What replaces a missing bar: a failure, at one size or any, or the reason why nothing was measured."""
    failures: dict[str, Failure | UnsupportedStep] = {
        gap.system: gap for gap in results.unsupported_steps if gap.step == operation
    }
    failures |= {
        failure.system: failure
        for failure in results.failures
        if failure.operation == operation and rows in (None, failure.rows)
    }
    return [
        Bar(Series(name, title_of(name), False, "", "", ()), None, lost_words(failure), lost_words(failure),
            is_failure=isinstance(failure, Failure))
        for name, failure in failures.items()
    ]  # fmt: skip


def _published_bar(series: Series, rows: int, quantity: Quantity) -> Bar:
    """A published figure. At another size it is given in words, because a bar would be compared with the
    others."""
    point = min(series.points, key=lambda point: abs(point.rows - rows))
    bar = _bar(series, point, quantity)
    if point.rows == rows or point.value is None:
        return bar
    where = series.note if point.rows == 1 and series.note else f"at {short_rows(point.rows)}"
    return replace(bar, point=None, words=f"{quantity.exact(point.value)}, {where}")


def _multiples(
    points: Mapping[Point, Summary], operation: Operation, reference: str, statistic: str
) -> list[Bar]:
    return [
        _multiple_bar(multiple, reference)
        for multiple in multiples(points, operation.id, reference, statistic)
    ]


def _multiple_bar(multiple: Multiple, reference: str) -> Bar:
    sizes = ", ".join(f"{rows:,}" for rows in multiple.sizes)
    series = Series(multiple.system, title_of(multiple.system), False, "measured here", "", ())
    words = [
        f"{series.label}: {NORMALISED.exact(multiple.mean)} of {title_of(reference)}",
        f"Mean over {len(multiple.sizes)} sizes ({sizes} rows), "
        f"from {NORMALISED.exact(multiple.low)} to {NORMALISED.exact(multiple.high)}",
    ]
    return Bar(
        series,
        SeriesPoint(0, multiple.mean, multiple.low, multiple.high, len(multiple.sizes)),
        "",
        "\n".join(words),
    )


def _workloads_of(run: SavedRun) -> list[Workload]:
    """The workloads of a run in the order of measurement, without those that are unknown here."""
    if run.choice is not None:
        return [part.workload for part in run.choice.parts]
    workloads = []
    for name in dict.fromkeys(sample.workload for sample in run.samples):
        try:
            workloads.append(workload_named(name))
        except LamellaError:  # from another version, or from a file that no longer exists
            continue
    return workloads


def results_of(run: SavedRun) -> dict[str, BenchmarkResults]:
    """The results of a saved run, by workload."""
    samples = by_workload(run.samples)
    messages: dict[str, list[Message]] = {}
    everything: Sequence[Failure | UnsupportedStep | Surroundings]
    everything = (*run.failures, *run.unsupported_steps, *run.surroundings)
    for message in everything:
        messages.setdefault(message.workload, []).append(message)
    return {
        workload.id: BenchmarkResults.of(
            workload, samples.get(workload.id, ()), messages.get(workload.id, ())
        )
        for workload in _workloads_of(run)
    }
