"""What is read back is what was written."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.bench.entities.data import SCHEMA, entities
from lamella.core.bench.entities.fingerprint import fingerprint
from lamella.core.bench.questions.answers import digest
from lamella.core.bench.workloads import Operation, Workload


def expected(_workload: Workload, _operation: Operation, rows: int) -> str:
    return digest(fingerprint(pa.Table.from_pylist(entities(0, rows), SCHEMA)))
