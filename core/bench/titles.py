"""What workloads and operations are called, also those that only an older or a newer version knows."""

from __future__ import annotations

from lamella.core.bench.workloads import UnknownWorkload, Workload, workload_named


def workload_title(name: str) -> str:
    known = _known(name)
    return known.title if known else name


def workload_about(name: str) -> str:
    known = _known(name)
    return known.about if known else ""


def operation_title(workload: str, operation: str, call: str = "") -> str:
    """`call` is "first" or "again" where a question's calls are told apart."""
    known = _known(workload)
    title = known.operation(operation).title if known and known.has(operation) else operation
    return f"{title}, {call}" if call else title


def _known(name: str) -> Workload | None:
    try:
        return workload_named(name)
    except UnknownWorkload:
        return None
