"""Statistics over records as they come: a point is reckoned anew only where something came since."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lamella.core.bench.calls import AGAIN, FIRST
from lamella.core.bench.results import COLD, WARM, Point, Record, Summary, summaries

Asked = tuple[Point, str, str | None]
"""A point, a numeric field of a record, and which samples."""

SAMPLES: dict[str | None, Callable[[Record], bool]] = {
    None: lambda record: True,
    COLD: lambda record: record.temperature == COLD,
    WARM: lambda record: record.temperature == WARM,
    FIRST: lambda record: not record.latencies,
    AGAIN: lambda record: bool(record.latencies),
}
"""All of them; the first of its kind in its process, or of a question since its database was opened, and the
later ones; of a question alone the first call, and the later calls: of what is done once, like filling it,
these are all of them."""


class Tally:
    """Holds the records of one workload. A redraw asks again and again, and most points stay as they were."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._of_points: dict[Point, list[Record]] = {}
        self._calls: dict[str, set[bool]] = {}
        self._known: dict[Asked, tuple[int, Summary | None]] = {}
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        self._of_points.setdefault((record.operation, record.backend, record.rows), []).append(record)
        self._calls.setdefault(record.operation, set()).add(bool(record.latencies))

    @property
    def rows(self) -> list[int]:
        """The sizes, ascending."""
        return sorted({rows for _, _, rows in self._of_points})

    @property
    def operations(self) -> set[str]:
        return {operation for operation, _, _ in self._of_points}

    def summaries(
        self, quantity: str = "seconds", samples: str | None = None, operation: str | None = None
    ) -> dict[Point, Summary]:
        """As `results.summaries`: of one operation when it is given, `samples` being a key of SAMPLES."""
        wanted = (point for point in self._of_points if operation in (None, point[0]))
        found = ((point, self.summary(point, quantity, samples)) for point in wanted)
        return {point: summary for point, summary in found if summary is not None}

    def summary(self, point: Point, quantity: str = "seconds", samples: str | None = None) -> Summary | None:
        """None where nothing of the kind was measured."""
        records = self._of_points.get(point, [])
        if samples in (FIRST, AGAIN) and not self._asked_again(point[0]):
            samples = None
        asked = (point, quantity, samples)
        known = self._known.get(asked)
        if known is None or known[0] != len(records):
            chosen = [record for record in records if SAMPLES[samples](record)]
            known = self._known[asked] = (len(records), summaries(chosen, quantity=quantity).get(point))
        return known[1]

    def _asked_again(self, operation: str) -> bool:
        """Whether its first call and the later ones are told apart."""
        return len(self._calls.get(operation, ())) > 1
