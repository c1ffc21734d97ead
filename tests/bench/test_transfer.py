"""The workload of imports and exports: every system imports and exports the rows unchanged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lamella.core.bench import registry
from lamella.core.bench.registry import ENTRIES, FAMILIES
from lamella.core.bench.workloads import transfer
from lamella.core.bench.workloads.transfer import TRANSFER, TransferCycle, fingerprint, records, right_answer

ROWS = 1_200


@pytest.fixture(scope="module")
def benchmark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("benchmark")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", FAMILIES["transfer"].places)
def test_every_system_transfers_every_row(
    name: str, benchmark_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ENTRIES[name].missing:
        pytest.skip(ENTRIES[name].missing)
    monkeypatch.setattr(transfer, "EXCEL_ROWS", 1_000)
    for module in ("lamella", "pandas", "polars_entities"):
        monkeypatch.setattr(f"lamella.core.bench.systems.{module}.EXCEL_ROWS", 1_000)
    system = registry.load(name, "transfer")(benchmark_folder / name / "0", TRANSFER)
    cycle = TransferCycle(system, TRANSFER, ROWS)
    steps = [step for step in TRANSFER.steps if step not in system.cannot]
    samples = [sample for step in steps for sample in cycle.step(step)]
    assert "import_csv" in steps and "export_csv" in steps and [s.operation for s in samples] == steps
    right = {step: right_answer(TRANSFER, TRANSFER.operation(step), ROWS) for step in steps}
    assert {sample.operation: sample.checksum for sample in samples} == right
    assert all(sample.disk_bytes > 1_000 for sample in samples)


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("name", transfer.SCHEMA.names)
def test_a_column_that_is_changed_has_another_fingerprint(name: str) -> None:
    data = records(300)
    place, values = data.schema.get_field_index(name), data[name]
    moved = pa.chunked_array([pc.take(values, pa.array([*range(1, 300), 0]))])
    assert fingerprint(data.set_column(place, data.schema.field(name), moved)) != fingerprint(data)
    assert fingerprint(data.slice(0, 299)) != fingerprint(data)
