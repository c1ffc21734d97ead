"""Peak memory of importing and compacting a large table: `python -m tests.bench.memory_bench --gigabytes 10`.

Each step runs in a separate process, whose peak of resident memory counts, including mapped files. A gigabyte
is 10^9 bytes of the data in memory: 1,250,000 rows of 100 integers.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from lamella import Store
from lamella.core.bench.engine.machine import environment, sentence
from lamella.core.bench.engine.measure import measure
from lamella.core.bench.results.figures import ReportTable, shown_bytes, shown_seconds
from lamella.core.bench.results.records import write_text
from lamella.core.bench.systems.rows import to_batches
from lamella.core.bench.workloads.table_rows import blocks
from lamella.core.bench.workloads.tables import SMALL
from lamella.core.store.importing import import_file
from lamella.core.transfer.generate import GROUP_ROWS, MIXED_SCHEMA, group_of
from tests.bench.page import put_into

LIMIT_BYTES = 10**9
ROOT = Path(__file__).resolve().parents[2]
DISK_PER_BYTE = 2.5
"""The disk space per byte of data: for the text file, the table, and the table again while it is
compacted."""

TABLE = "large"
BYTES_PER_ROW = {"wide": 800, "mixed": 170}
CHANGED_ROWS, INSERTS, INSERT_ROWS = 100_000, 30, 20_000


@dataclass(frozen=True)
class Measurement:
    step: str
    rows: int
    seconds: float
    peak_rss_bytes: int
    disk_bytes: int

    @property
    def met(self) -> bool:
        return self.peak_rss_bytes < LIMIT_BYTES


# ------------------------------------------------------------------- the data


def reader(kind: str, rows: int) -> pa.RecordBatchReader:
    if kind == "wide":
        return to_batches(blocks(SMALL, rows))
    return pa.RecordBatchReader.from_batches(MIXED_SCHEMA, _mixed(rows))


def _mixed(rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, GROUP_ROWS):
        yield from group_of(start, min(GROUP_ROWS, rows - start)).to_batches()


# ------------------------------------------------------------------ the steps


def import_batches(folder: Path, kind: str, rows: int) -> None:
    """Create a table from a stream of record batches."""
    with Store.open(folder / "batches") as store:
        store.create_table(TABLE, reader(kind, rows))


def write_text_file(folder: Path, kind: str, rows: int) -> None:
    """Write the same rows as CSV; this step has no limit."""
    source = reader(kind, rows)
    with csv.CSVWriter(folder / "large.csv", source.schema) as writer:
        for batch in source:
            writer.write_batch(batch)


def import_csv(folder: Path, kind: str, rows: int) -> None:
    """Import the text file."""
    with Store.open(folder / "text") as store:
        assert import_file(folder / "large.csv", store, TABLE).num_rows == rows
    shutil.rmtree(folder / "text")
    (folder / "large.csv").unlink()


def change(folder: Path, kind: str, rows: int) -> None:
    """Make scattered updates and deletes, and many small inserts, so that there is much to compact."""
    with Store.open(folder / "batches") as store:
        table = store[TABLE]
        step = max(1, rows // CHANGED_ROWS)
        column = next(name for name, type_ in _types(table) if pa.types.is_integer(type_))
        table.update([{"_id": number, column: 7} for number in range(0, rows, step)])
        table.delete(ids=range(step // 2, rows, 2 * step))
        for _ in range(INSERTS):
            table.insert(reader(kind, min(rows, INSERT_ROWS)))


def compact(folder: Path, kind: str, rows: int) -> None:
    """Compact the table to few files."""
    with Store.open(folder / "batches") as store:
        before = store[TABLE].num_rows
        store[TABLE].maintenance.compact()
        assert store[TABLE].num_rows == before


def _types(table: object) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in table.schema if field.name != "_id"]  # type: ignore[attr-defined]


STEPS: dict[str, Callable[[Path, str, int], None]] = {
    "import batches": import_batches,
    "write csv": write_text_file,
    "import csv": import_csv,
    "change": change,
    "compact": compact,
}


# ---------------------------------------------------------------- the command


def in_a_process(step: str, folder: Path, kind: str, rows: int) -> Measurement:
    words = [sys.executable, "-m", "tests.bench.memory_bench", "--step", step, "--kind", kind]
    words += ["--rows", str(rows), "--folder", str(folder)]
    result = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Measurement(**json.loads(result.stdout.splitlines()[-1]))


def child(step: str, folder: Path, kind: str, rows: int) -> None:
    """Run one step in this process; the measurement is the last line that it prints."""
    _, cost = measure(lambda: STEPS[step](folder, kind, rows))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(json.dumps(asdict(Measurement(step, rows, cost.seconds, cost.peak_rss_bytes, size))))


def run(kind: str, rows: int, parent: Path | None) -> Iterator[Measurement]:
    folder = Path(tempfile.mkdtemp(prefix="lamella-memory-", dir=parent))
    try:
        refuse_full_disk(folder, rows * BYTES_PER_ROW[kind])
        for step in STEPS:
            print(f"{step} …", flush=True)
            measurement = in_a_process(step, folder, kind, rows)
            print(
                f"  {shown_seconds(measurement.seconds)}, peak {shown_bytes(measurement.peak_rss_bytes)}",
                flush=True,
            )
            yield measurement
    finally:
        shutil.rmtree(folder)


def refuse_full_disk(folder: Path, data_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < DISK_PER_BYTE * data_bytes:
        needed = shown_bytes(DISK_PER_BYTE * data_bytes)
        raise SystemExit(
            f"{folder}: {needed} are needed and {shown_bytes(free)} are free; choose another --folder"
        )


def table_of(measurements: Sequence[Measurement]) -> ReportTable:
    header = (
        "step",
        "rows",
        "time",
        "on disk afterwards",
        "peak memory",
        f"under {shown_bytes(LIMIT_BYTES)}",
    )
    lines = tuple(
        (
            measurement.step,
            f"{measurement.rows:,}",
            shown_seconds(measurement.seconds),
            shown_bytes(measurement.disk_bytes),
            shown_bytes(measurement.peak_rss_bytes),
            "–" if measurement.step == "write csv" else "yes" if measurement.met else "NO",
        )
        for measurement in measurements
    )
    return ReportTable("Peak memory", header, lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Return exit status 1 if a step took more memory than allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument(
        "--kind", choices=BYTES_PER_ROW, default="wide", help="100 integers, or 20 mixed columns"
    )
    parser.add_argument("--folder", type=Path, help="the folder, and so the disk, for the tables")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument(
        "--report", type=Path, metavar="PAGE.md", help="replace the part about memory of this page"
    )
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(words)
    if arguments.step:
        child(arguments.step, arguments.folder, arguments.kind, arguments.rows)
        return 0
    rows = int(arguments.gigabytes * 1e9 / BYTES_PER_ROW[arguments.kind])
    machine = sentence(environment(arguments.folder or Path(tempfile.gettempdir())))
    measurements = list(run(arguments.kind, rows, arguments.folder))
    print("\n" + table_of(measurements).as_text())
    if arguments.json:
        write_text(
            arguments.json, json.dumps([asdict(measurement) for measurement in measurements], indent=1) + "\n"
        )
    if arguments.report:
        command = shlex.join(["python", "-m", "tests.bench.memory_bench", *words])
        text = f"Measured by `{command}`. Machine: {machine}.\n\n{table_of(measurements).as_markdown()}"
        put_into(arguments.report, "memory", text)
    return 0 if all(measurement.met for measurement in measurements if measurement.step != "write csv") else 1


if __name__ == "__main__":
    sys.exit(main())
