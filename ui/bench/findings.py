"""A benchmark in sentences: what went wrong, who was faster, and what could not be asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamella.core.bench.engine.protocol import CRASHED, LIMIT, TOO_LARGE, WRONG, Failure, Unsupported
from lamella.core.bench.results.compare import Ratio
from lamella.core.bench.results.figures import shown_rows
from lamella.ui.bench.benchmark_results import title_of

VERDICTS = {WRONG: "✕ Wrong answer", CRASHED: "✕ Crashed", LIMIT: "■ Limit", TOO_LARGE: "✕ Too large"}
FAILED, CANNOT = "✕ Failed", "– Cannot"


@dataclass(frozen=True)
class Finding:
    """`color` is a name of the palette; the verdict's sign says the same."""

    verdict: str
    sentence: str
    color: str
    details: str = ""


def findings(
    failures: Sequence[Failure], ratios: Sequence[Ratio], unsupported: Sequence[Unsupported]
) -> list[Finding]:
    """Failures stand first: whoever reads the ratios should know who is missing."""
    told = [of_failure(failure) for failure in failures] + [of_ratio(ratio) for ratio in ratios]
    return told + of_unsupported(unsupported)


def of_failure(failure: Failure) -> Finding:
    doing = f", {failure.operation.replace('_', ' ')}" if failure.operation else ""
    sentence = f"{title_of(failure.backend)}, {shown_rows(failure.rows)}{doing}: {failure.message}"
    if failure.kind == WRONG:
        sentence += ". Its time does not count."
    color = "warning" if failure.kind in (LIMIT, TOO_LARGE) else "danger"
    return Finding(VERDICTS.get(failure.kind, FAILED), sentence, color, failure.details)


def of_ratio(ratio: Ratio) -> Finding:
    if ratio.verdict == "as fast":
        return Finding(f"≈ {ratio.verdict}", ratio.sentence, "muted")
    sign, color = ("▲", "success") if ratio.factor > 1 else ("▼", "warning")
    return Finding(f"{sign} {ratio.verdict}", ratio.sentence, color)


def of_unsupported(unsupported: Iterable[Unsupported]) -> list[Finding]:
    """One sentence for all steps that a system has the same reason for."""
    steps: dict[tuple[str, str], list[str]] = {}
    for one in unsupported:
        steps.setdefault((one.backend, one.reason), []).append(one.step.replace("_", " "))
    return [
        Finding(CANNOT, f"{title_of(backend)}, {', '.join(names)}: {reason}", "muted")
        for (backend, reason), names in steps.items()
    ]
