"""Describes the machine and the versions of a measurement, and prepares the memory for it."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

LIBRARIES = ("pyarrow", "duckdb", "numpy", "sqlglot")


def environment(folder: Path) -> dict[str, Any]:
    """The machine and versions as plain data for a JSON file; `folder` holds the databases."""
    clock = time.get_clock_info("perf_counter")
    return {
        "processor": processor(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "logical_processors": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "disk": _disk(folder),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": {"sqlite": sqlite3.sqlite_version} | dict(_versions(LIBRARIES)),
        "clock_resolution_seconds": clock.resolution,
        "cpu_clock_resolution_seconds": time.get_clock_info("process_time").resolution,
    }


def sentence(values: dict[str, Any]) -> str:
    """The known facts in one line, such as "AMD …, 2 cores, 24 GB, ext4, Linux …, CPython 3.11.2"."""
    writers: dict[str, Callable[[Any], str]] = {
        "processor": str,
        "cores": lambda cores: f"{cores} core{'s' if cores != 1 else ''}",
        "memory_bytes": lambda size: f"{size / 1e9:.0f} GB",
        "disk": lambda disk: str(disk.get("type", "unknown")),
        "system": str,
        "python": str,
    }
    return ", ".join(show(values[name]) for name, show in writers.items() if name in values)


def machine_of(environment: Mapping[str, Any]) -> str:
    """The facts that identify a machine while its disks and versions change: "AMD …, 2 cores, 24 GB"."""
    return sentence(
        {name: environment[name] for name in ("processor", "cores", "memory_bytes") if name in environment}
    )


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # only Linux has the file
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _disk(folder: Path) -> dict[str, Any]:
    usage = psutil.disk_usage(str(folder))
    return {"folder": str(folder), "free_bytes": usage.free, **_file_system(folder.resolve())}


def _file_system(folder: Path) -> dict[str, str]:
    """The file system of the innermost mount that contains the folder."""
    mounts = [m for m in psutil.disk_partitions(all=True) if folder.is_relative_to(m.mountpoint)]
    if not mounts:
        return {"type": "unknown", "device": "unknown"}
    inner = max(mounts, key=lambda mount: len(mount.mountpoint.rstrip(os.sep)))
    return {"type": inner.fstype, "device": inner.device}


def _versions(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "unknown"


BYTES_A_ROW = 5_000
"""About the memory of a hundred numbers as Python objects."""

MOST_BYTES = 5 << 29
PIECE_BYTES = 64 << 20
PAGE_BYTES = 4096


def fetch(rows: int) -> int:
    """Allocate as much memory as `rows` rows may need, and free it. Return the number of bytes."""
    size = min(rows * BYTES_A_ROW, MOST_BYTES, psutil.virtual_memory().available // 2)
    pieces = [np.empty(PIECE_BYTES, np.uint8) for _ in range(size // PIECE_BYTES)]
    for piece in pieces:
        piece[::PAGE_BYTES] = 0
    return len(pieces) * PIECE_BYTES
