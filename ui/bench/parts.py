"""Why a system takes no part in what is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.bench.engine.interpreters import Interpreter, objection
from lamella.core.bench.registry import Entry, family_of
from lamella.core.bench.workloads.model import Workload


def no_part(entry: Entry, workloads: Sequence[Workload], other: Interpreter | None) -> str:
    """Empty when it takes part in one of the workloads at least, in this Python or in the `other`."""
    reasons = [reason_against(entry, workload, other) for workload in workloads]
    if not reasons or "" in reasons:
        return ""
    if len(reasons) > 1:
        return f"{entry.title} takes no part in any of these workloads"
    return reasons[0]


def reason_against(entry: Entry, workload: Workload, other: Interpreter | None) -> str:
    """Of one workload; empty when the system takes part."""
    if not entry.takes(workload.family):
        reason = family_of(workload).absent.get(entry.id, "")
        return f"{entry.title} takes no part in {workload.title}" + (f": {reason}" if reason else "")
    return objection(other, entry.id, workload) if other else ""
