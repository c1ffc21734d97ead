"""Writes the costs of benchmarks on this computer to the file that estimates start from.

    lamella bench --workload all --scale small --systems all
    python -m tests.bench.costs KEPT.sqlite

The last measurement of a workload, system and size counts; the file's other entries stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamella import resources
from lamella.core.bench.engine.costs import shipped_processes, to_json
from lamella.core.bench.results.records import write_text
from lamella.core.bench.results.store import SavedRuns


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "kept", type=Path, help="the file of saved runs: races.sqlite in the user's data folder"
    )
    parser.add_argument("--out", type=Path, default=resources.path("bench", "costs.json"))
    arguments = parser.parse_args(argv)
    ends = [end for end in SavedRuns(arguments.kept).processes() if not end.workload.startswith("mine:")]
    write_text(arguments.out, to_json([*shipped_processes(), *ends]))
    print(f"{len(ends):,} child processes read, {arguments.out} written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
