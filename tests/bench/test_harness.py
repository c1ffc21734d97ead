"""The system that does nothing gives right answers, so that its times are valid."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lamella.core.bench.engine.child import own_environment
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.table_cycle import TableCycle
from lamella.core.bench.workloads.table_rows import right_answer
from lamella.core.bench.workloads.tables import NEEDLE, PARTIAL, SCATTERED_CHANGES, SINGLE, SMALL, UPDATE_ALL
from tests.bench import harness_bench
from tests.bench.harness_bench import Added
from tests.bench.idle_systems import Busy, NoOp


@pytest.mark.parametrize(
    "workload",
    [SMALL, UPDATE_ALL, SINGLE, NEEDLE, SCATTERED_CHANGES, replace(PARTIAL, table_rows=30)],
    ids=lambda workload: workload.id,
)
@pytest.mark.parametrize("kind", [NoOp, Busy])
def test_doing_nothing_gives_the_right_answers(workload: Workload, kind: type[NoOp], tmp_path: Path) -> None:
    cycle = TableCycle(kind(tmp_path, workload), workload, 30)
    samples = [sample for step in workload.steps for sample in cycle.step(step)]
    samples += cycle.settle()
    assert {sample.operation for sample in samples} >= {
        operation.id for operation in workload.operations if operation.id not in ("index", "vacuum")
    }
    for sample in samples:
        operation = workload.operation(sample.operation)
        assert sample.checksum == right_answer(workload, operation, 30), sample.operation


def test_what_the_harness_adds_is_told_for_each_operation(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(harness_bench, "MEASURED", [NEEDLE])
    harness_bench.main(["--repeats", "1", "--folder", str(tmp_path)])
    output = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert output[2:] == [
        ["find", "noop"],
        ["find_indexed", "noop"],
        ["read", "busy"],
        ["read_again", "busy"],
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("measured", "bare", "little"),
    [(60e-6, 20e-6, True), (80e-6, 20e-6, False), (1.015, 1.0, True), (1.03, 1.0, False)],
)
def test_little_is_under_fifty_microseconds_or_two_percent(
    measured: float, bare: float, little: bool
) -> None:
    assert Added("get", "noop", measured, bare).is_little is little


BLOCK_BYTES = 100_000_000
TICK_SECONDS = 0.01
"""The unit in which Linux counts the processor time of other processes."""

WITH_A_POOL = f"""
import time
from multiprocessing import get_context
from lamella.core.bench.engine.measure import measure

def hold():
    return len(b"x" * {BLOCK_BYTES})

def compute():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        sum(range(1_000))

if __name__ == "__main__":
    with get_context("spawn").Pool(1) as pool:
        pool.apply(hold)
        _, idle = measure(lambda: None)
        _, held = measure(lambda: pool.apply(hold))
        _, busy = measure(lambda: pool.apply(compute))
        pool.close()
        pool.join()
    print(held.peak_rss_bytes - idle.peak_rss_bytes, busy.cpu_seconds)
"""


@pytest.mark.slow
def test_memory_and_processor_time_of_worker_processes_count(tmp_path: Path) -> None:
    script = tmp_path / "with_a_pool.py"
    script.write_text(WITH_A_POOL, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script)], env=own_environment(), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    held_bytes, cpu_seconds = map(float, result.stdout.split())
    assert held_bytes > 0.9 * BLOCK_BYTES
    assert cpu_seconds >= 0.2 - 2 * TICK_SECONDS
