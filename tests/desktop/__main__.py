"""Runs the tests of this folder on a window system of their own: Xvfb, with a window manager. Where these are
missing it says so, and is over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAMS = {"Xvfb": "xvfb", "openbox": "openbox", "xdotool": "xdotool"}
"""What is needed, and the Debian package that brings it."""


def main(words: Sequence[str]) -> int:
    """`words` are passed on to pytest. Its exit code; 0 where nothing could be run."""
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if missing:
        print(f"Skipped: {', '.join(missing)} not found. apt-get install {' '.join(missing)}")
        return 0
    reading, writing = os.pipe()
    screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"]
    with subprocess.Popen(screen, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        try:
            with os.fdopen(reading) as numbers:
                os.environ["DISPLAY"] = f":{int(numbers.readline())}"
            os.environ["QT_QPA_PLATFORM"] = "xcb"
            with subprocess.Popen(["openbox"], stderr=subprocess.DEVNULL) as manager:
                try:
                    return int(pytest.main(["-n0", "-q", str(Path(__file__).parent), *words]))
                finally:
                    manager.terminate()
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
