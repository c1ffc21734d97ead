"""The child processes of benchmarks that run in this process."""

from __future__ import annotations

import psutil


def workers() -> list[psutil.Process]:
    """Return all child processes other than the servers that tests share."""
    return [child for child in psutil.Process().children() if not _is_shared(child)]


def _is_shared(child: psutil.Process) -> bool:
    try:
        command = " ".join(child.cmdline())
    except psutil.Error:  # it has just ended
        return False
    return child.name() == "java" or "moto.server" in command or "pysail" in command
