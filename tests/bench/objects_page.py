"""Writes docs/benchmarks-objects.md from its results file: the times of objects on a disk, on S3 and on HDFS.

python -m tests.bench.objects_page              # the page from docs/results/objects.results
python -m tests.bench.objects_page --measure    # measure first, on servers that it starts: 15 minutes
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from lamella.core.bench.results.figures import shown_seconds
from lamella.core.bench.results.results_file import read_results_file
from lamella.core.bench.results.run import SavedRun
from lamella.core.bench.systems.object_stores import HDFS_VARIABLE
from lamella.core.bench.workloads.catalog import CATALOG

ROOT = Path(__file__).resolve().parents[2]
PAGE, RESULTS = ROOT / "docs" / "benchmarks-objects.md", ROOT / "docs" / "results" / "objects.results"
SYSTEMS = {"folder": "folder of files", "s3": "S3, by moto", "hdfs": "HDFS, by MiniDFSCluster"}
COMMAND = "lamella bench --workload catalog --systems folder,s3,hdfs --rows 100 --repeats 3"


def page_text(run: SavedRun) -> str:
    """Return the page, with the median and the 99th percentile of all calls of an operation."""
    latencies: dict[tuple[str, str], list[float]] = {}
    for record in run.records:
        system = record.system.partition("@")[0]
        latencies.setdefault((record.operation, system), []).extend(record.latencies or (record.seconds,))
    lines = [
        f"| {operation.title} | "
        + " | ".join(_cell(latencies[operation.id, system_name]) for system_name in SYSTEMS)
        + " |"
        for operation in CATALOG.operations
        if all((operation.id, system_name) in latencies for system_name in SYSTEMS)
    ]
    head = [
        f"| median, 99 of 100 | {' | '.join(SYSTEMS.values())} |",
        "|:---|" + "---:|" * len(SYSTEMS),
    ]
    command, opened = f"`{COMMAND}`", "`lamella bench --show docs/results/objects.results`"
    return f"""# Benchmarks of objects

The time to put, get, head and list objects of 100 bytes to 10 MB: as files in a folder, each synced; on an S3
server through obstore; on HDFS through WebHDFS, where a put is one request to the namenode and one to a
datanode. All run on one machine, over loopback: the figures do not include a network, and production servers
differ. moto is a test server written in Python; MiniDFSCluster runs namenode and datanode in one process.

{chr(10).join([*head, *lines])}

Below 100 KB the size of an object hardly matters on a server: the request is what takes time. Getting a small
object from a server takes about 200 times (S3) or 500 times (HDFS) as long as from a disk. Lamella therefore
requests few large ranges rather than many small ones ([remote files](remote.md#what-is-read)).

On HDFS nearly all puts take 0.4 s: the datanode has not reported the block yet when the file is closed, so
Hadoop asks again after 0.4 s.

Measured on {run.started:%d %B %Y}, with nothing else running on the machine: {command}, with
LAMELLA_BENCH_HDFS as in [Benchmarks](benchmark.md).
All figures are in [objects.results](results/objects.results), which {opened} shows.
`python -m tests.bench.objects_page --measure` measures them again.
"""


def _cell(latencies: list[float]) -> str:
    ordered = sorted(latencies)
    last = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    return f"{shown_seconds(statistics.median(ordered))}, {shown_seconds(last)}"


def measure() -> int:
    from tests.hdfs_server import hdfs_server

    with hdfs_server() as namenode:
        address = f"webhdfs://ann@{namenode.web.removeprefix('http://')}/tmp"
        words = COMMAND.split()[1:]
        command = [sys.executable, "-m", "lamella.app", *words, "--no-save", "--export", str(RESULTS)]
        return subprocess.call(command, env=os.environ | {HDFS_VARIABLE: address})


if __name__ == "__main__":
    if "--measure" in sys.argv and (code := measure()):
        sys.exit(code)
    PAGE.write_text(page_text(read_results_file(RESULTS)), encoding="utf-8")
