"""The time that the program takes to start: `python -m tests.bench.start_bench --rounds 20`.

Each start is a separate process with a new home folder and without a screen. The program logs when its window
and its first rows are painted; the time is from the command to that line. The first round fills the disk
cache and is left out. Several `--program` are started in turn, so that other load affects all of them: each
is the folder of another checkout's package, or an executable such as the bundle's. With `--cold`, the files
of the program are not in memory when it starts, unless another process uses them; the libraries of the system
are.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median

import psutil

from lamella.app import program
from tests.conftest import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "packaging"
FILE = ROOT / "resources/sample/weather.parquet"
LOG_TIME = re.compile(r"^([\d-]+ [\d:]+,\d+) ")
FIGURES = ("window, ms", "first rows, ms", "memory, MB", "without files, MB", "modules")


def pattern(message: str) -> re.Pattern[str]:
    return re.compile(re.escape(message).replace("%d", r"(\d+)").replace("%s", ".*"))


WINDOW, ROWS, LOADED = map(
    pattern, (program.WINDOW_PAINTED, program.FIRST_ROWS_PAINTED, program.LIBRARIES_LOADED)
)


def command(place: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command of an executable, or of the package in a folder."""
    if place.is_dir():
        return [sys.executable, "-m", "lamella.app"], {"PYTHONPATH": str(place)}
    return [str(place)], {}


def forget(place: Path) -> None:
    """Drop the program's files from the system's cache: its own, Python's, and those of its libraries."""
    python = (Path(sys.prefix), Path(sysconfig.get_path("stdlib")))
    os.sync()  # only written pages can be dropped
    for root in (place / "lamella", *python) if place.is_dir() else (place.parent,):
        for folder, _, names in os.walk(root, followlinks=True):
            for name in names:
                with Path(folder, name).open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def start(place: Path, file: Path) -> tuple[float, ...]:
    """Measure the FIGURES of one start. Memory is that of the process once everything is loaded, and the part
    of it that is not backed by files."""
    words, variables = command(place)
    with tempfile.TemporaryDirectory() as home:
        variables |= {"LAMELLA_HOME": home, "QT_QPA_PLATFORM": "offscreen"}
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        began = time.time()
        with subprocess.Popen([*words, str(file)], env=environment | variables, cwd=home) as process:
            try:
                log = wait_for(process, Path(home) / "log" / "lamella.log")
                memory = psutil.Process(process.pid).memory_info()
            finally:
                process.kill()
    lines = log.splitlines()
    window, rows = (next(line for line in lines if sign.search(line)) for sign in (WINDOW, ROWS))
    modules = float(WINDOW.search(window)[1])
    times = (1000 * (moment(line) - began) for line in (window, rows))
    return (*times, memory.rss / 1e6, (memory.rss - memory.shared) / 1e6, modules)


def wait_for(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the text of the log once everything is in it."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and process.poll() is None:
        text = log.read_text("utf8") if log.exists() else ""
        if all(sign.search(text) for sign in (WINDOW, ROWS, LOADED)):
            return text
        time.sleep(0.05)
    raise SystemExit(f"{process.args} did not start in {PATIENCE_SECONDS} seconds")


def moment(line: str) -> float:
    return datetime.strptime(LOG_TIME.match(line)[1], "%Y-%m-%d %H:%M:%S,%f").timestamp()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(chr(10))[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--program", type=Path, action="append", metavar="PATH", help="(this checkout)")
    parser.add_argument("--file", type=Path, default=FILE, help="(%(default)s)")
    parser.add_argument("--cold", action="store_true", help="start with the program's files on disk only")
    options = parser.parse_args()
    places = [place.absolute() for place in options.program or [PACKAGES]]
    starts_by_place: dict[Path, list[tuple[float, ...]]] = {place: [] for place in places}
    for _ in range(1 + options.rounds):
        for place in places:
            if options.cold:
                forget(place)
            starts_by_place[place].append(start(place, options.file.absolute()))
    for place, starts in starts_by_place.items():
        print(place)
        for name, values in zip(FIGURES, zip(*starts[1:], strict=True), strict=True):
            print(f"  {name:18}{median(values):8.0f}   from {min(values):.0f} to {max(values):.0f}")


if __name__ == "__main__":
    main()
