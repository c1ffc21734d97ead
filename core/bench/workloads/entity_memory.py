"""Entities with small and large payloads in memory: the memory table of ParqueDB's page."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

PAYLOADS = {"100": "100 B", "1k": "1 KB", "10k": "10 KB"}
"""Bytes of text in each entity: as an operation's name ends, and as it is shown."""

BYTES = {"100": 100, "1k": 1_000, "10k": 10_000}

_MEMORY = "What it adds to the process at its peak is its memory; what is loaded once is loaded before."


def _of_payload(end: str) -> tuple[Operation, Operation]:
    shown = PAYLOADS[end]
    return (
        Operation(
            f"result_{end}",
            f"Result, {shown}",
            f"finds half of {{rows}} with {shown} each",
            f"The rows whose group is 1, half of all, from an open table. {_MEMORY}",
            holds=True,
        ),
        Operation(
            f"hold_{end}",
            f"All held, {shown}",
            f"takes all of {{rows}} with {shown} each into memory",
            f"Every row, in the form that the system answers in. {_MEMORY}",
            holds=True,
        ),
    )


_OPERATIONS = tuple(operation for end in PAYLOADS for operation in _of_payload(end))

ENTITY_MEMORY = Workload(
    id="entity-memory",
    title="Memory of entities",
    about="Entities with 100 B, 1 KB and 10 KB of text: half of them found, all of them held. Peak memory is"
    " what each operation adds to the process, not what the process has.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(1_000, 10_000),
    default_repeats=3,
    opens_inside=False,
    family="entity-memory",
    published_rows=(1_000, 10_000),
)
