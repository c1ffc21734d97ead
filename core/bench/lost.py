"""What has no figure, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lamella.core.bench.backends import entry_named
from lamella.core.bench.protocol import Failure, Unsupported

Reason = tuple[str, str]
"""A system, and what it cannot do or what went wrong."""


def lost_lines(lost: Sequence[Failure | Unsupported]) -> list[str]:
    """A paragraph of a page, or none: every reason once, with all that it stands for."""
    places: dict[Reason, list[str]] = {}
    for one in lost:
        places.setdefault(_reason(one), []).append(_place(one))
    lines = [f"- {_named(backend, where)}: {why}" for (backend, why), where in places.items()]
    return ["Not measured:\n\n" + "\n".join(lines)] if lines else []


def _reason(one: Failure | Unsupported) -> Reason:
    if isinstance(one, Unsupported):
        return one.backend, _sentence(one.reason)
    return one.backend, f"**{one.kind}**. {one.message}"


def _place(one: Failure | Unsupported) -> str:
    if isinstance(one, Unsupported):
        return one.step.replace("_", " ")
    return f"{one.operation.replace('_', ' ')}, {one.rows:,} rows"


def _named(backend: str, places: Sequence[str]) -> str:
    """What happened in several repeats is counted."""
    counted = Counter(places).items()
    told = [f"{place} ({times} times)" if times > 1 else place for place, times in counted]
    return f"{entry_named(backend).title}, {'; '.join(told)}"


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."
