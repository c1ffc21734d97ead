"""Two checkouts of Lamella side by side: `python -m tests.bench.versions_bench BEFORE [--rounds 5]`.

BEFORE is a checkout of an earlier commit; "after" is the one with this file. This Python and its libraries
run both in turn, so that other load affects both. Each figure is the median of all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = {
    "small": 100_000, "update": 10_000, "single": 10_000, "partial": 1_000, "needle": 100_000,
    "entity-changes": 10_000, "entity-queries": 100_000, "entity-indexes": 10_000, "entity-relations": 10_000,
    "entity-text": 10_000,
}  # fmt: skip
"""The workloads, with their numbers of rows."""
WITHIN = 1.05

WINDOW = """
import os, sys, time
os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, {root!r})
began = time.perf_counter()
from {package}app.program import Program
try:
    from {package}app.bootstrap import application
except ImportError:  # an earlier commit
    from {package}app.program import application
app = application()
program = Program()
program.open([], with_sample=False)
program.window.show()
app.processEvents()
print(time.perf_counter() - began, flush=True)
os._exit(0)
"""


class Checkout:
    """A checkout. `package` is the prefix of its modules, which is empty for versions before `lamella`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = "lamella." if (root / "packaging" / "lamella").is_dir() else ""
        self.path = root / "packaging" if self.package else root

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as home:
            where = os.environ | {"PYTHONPATH": str(self.path), "LAMELLA_HOME": home}
            result = subprocess.run(
                [sys.executable, *words],
                cwd=self.root,
                env=where,
                capture_output=True,
                text=True,
                check=False,
            )
        if result.returncode:
            raise SystemExit(f"{self.root}: {' '.join(words[:4])} failed: {result.stderr[-2000:]}")
        return result

    def samples(self, workloads: dict[str, int], folder: Path) -> Iterator[tuple[str, float]]:
        """Yield pairs of an operation and its seconds."""
        began = time.perf_counter()
        self.run("-m", f"{self.package}app", "--version")
        yield "lamella --version", time.perf_counter() - began
        program = WINDOW.format(root=str(self.path), package=self.package)
        yield "window up", float(self.run("-c", program).stdout)
        for name, rows in workloads.items():
            out = folder / "samples.json"
            words = f"--workload {name} --rows {rows} --systems lamella --repeats 1 --seed 1 --quiet".split()
            self.run("-m", f"{self.package}app", "bench", *words, "--json", str(out), "--folder", str(folder))
            for record in json.loads(out.read_text(encoding="utf8")):
                calls = record.get("latencies") or [record["seconds"]]
                yield f"{name}, {rows:,} rows: {record['operation']}", median(calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="workloads, separated by commas")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(WORKLOADS)
    both = (Checkout(arguments.before.resolve()), Checkout(ROOT))
    seconds: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(arguments.rounds):
            order = (0, 1) if round_ % 2 == 0 else (1, 0)
            for which in order:
                for operation, took in both[which].samples({n: WORKLOADS[n] for n in names}, Path(folder)):
                    seconds[operation][which].append(took)
    ratios = []
    print(f"{'ms':<64} {'before':>10} {'after':>10} {'ratio':>6}")
    for operation, (before, after) in seconds.items():
        if before and after:
            ratio = median(after) / median(before)
            ratios.append(ratio)
            mark = " slower" if ratio > WITHIN else ""
            print(
                f"{operation:<64} {median(before) * 1e3:10.3f} {median(after) * 1e3:10.3f} {ratio:6.2f}{mark}"
            )
    print(f"{len(ratios)} operations, ratio {median(ratios):.3f} at the median")


if __name__ == "__main__":
    main()
