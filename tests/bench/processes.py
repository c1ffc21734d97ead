"""The child processes of benchmarks that run in this process."""

from __future__ import annotations

import psutil


def workers() -> list[psutil.Process]:
    """All children but the database server that tests share."""
    return [child for child in psutil.Process().children() if child.name() != "java"]
