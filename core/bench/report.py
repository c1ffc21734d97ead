"""A race as text: one table per operation, a column per system, each against the first."""

from __future__ import annotations

from collections.abc import Sequence

from core.bench.backends import entry_named
from core.bench.ratios import Ratio, competitors, ratios, shown_seconds
from core.bench.results import STATISTICS, Record, Summary, summaries
from core.bench.workloads import Operation, workload_named


def text_report(records: Sequence[Record], statistic: str = "median") -> str:
    """All records are of one workload; empty text for none."""
    if not records:
        return ""
    table = _Table(records, statistic)
    operations = workload_named(records[0].workload).operations
    measured = {record.operation for record in records}
    return "\n\n".join(table.of(operation) for operation in operations if operation.id in measured)


class _Table:
    def __init__(self, records: Sequence[Record], statistic: str) -> None:
        self.statistic = statistic
        self.names = competitors(records)
        self.sizes = sorted({record.rows for record in records})
        self.points = summaries(records)
        self.ratios = {(r.operation.id, r.rival, r.rows): r for r in ratios(records, statistic)}

    def of(self, operation: Operation) -> str:
        header = ["rows", *(entry_named(name).title for name in self.names)]
        body = [self._line(operation, rows) for rows in self.sizes]
        return f"{operation.title} ({self.statistic})\n" + _aligned([header, *body])

    def _line(self, operation: Operation, rows: int) -> list[str]:
        return [f"{rows:,}", *(self._cell(operation, name, rows) for name in self.names)]

    def _cell(self, operation: Operation, name: str, rows: int) -> str:
        summary = self.points.get((operation.id, name, rows))
        if summary is None:
            return "–"
        ratio = self.ratios.get((operation.id, entry_named(name).title, rows))
        return _with_spread(summary, self.statistic) + (f"  {_against(ratio)}" if ratio else "")


def _with_spread(summary: Summary, statistic: str) -> str:
    shown = shown_seconds(STATISTICS[statistic](summary))
    return f"{shown} ± {shown_seconds(summary.deviation)}" if len(summary.samples) > 1 else shown


def _against(ratio: Ratio) -> str:
    """How this system did against the subject: the factor is the subject's advantage."""
    return f"[{ratio.subject} {ratio.verdict}]"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  " + "   ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
