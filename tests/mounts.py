"""File systems of their own for tests: small ones that get full, and read-only views of a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(*arguments: str) -> Iterator[Path]:
    """A new folder on which `mount` was called with the arguments; skips where that is not allowed."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a file system takes root on Linux")
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(["mount", *arguments, folder], capture_output=True, text=True, check=False)
        if result.returncode:
            pytest.skip(f"a file system cannot be mounted here: {result.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def small_disk(kilobytes: int) -> Iterator[Path]:
    with mounted("-t", "tmpfs", "-o", f"size={kilobytes}k", "none") as folder:
        yield folder


@contextmanager
def seen_read_only(folder: Path) -> Iterator[Path]:
    """The same folder at another place, where nothing can be written."""
    with mounted("--bind", str(folder)) as place:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], check=True)
        yield place


@contextmanager
def filled(disk: Path, leave: int = 0) -> Iterator[None]:
    """Nothing but `leave` bytes are free on the disk during the block."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            block = bytes(4096)
            try:
                while True:
                    file.write(block)
            except OSError:
                file.truncate(max(0, file.tell() - leave))
        yield
    finally:
        ballast.unlink(missing_ok=True)
