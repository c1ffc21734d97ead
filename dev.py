#!/usr/bin/env python3
"""Set up the project and run it: `run`, `test`, `shots`, `bundle`. Uses the standard library only.

`test` runs every check; `test --all` includes the slow tests; `test --long` runs the long forms of tests
instead, all of them or those named (see tests/long_forms.py). Everything is installed into `.venv` beside
this file. Arguments after the command are passed on.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.util
import os
import platform
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parent
LONG_FORMS = runpy.run_path(str(ROOT / "tests" / "long_forms.py"))[
    "LONG_FORMS"
]  # `import tests` may find another package
VENV = ROOT / ".venv"
STAMP = VENV / "lamella-installed"
PACKAGE = ROOT / "packaging" / "lamella"
ROOMS = ("app", "core", "ui", "resources")
"""The folders that `packaging/lamella` links to, so that they can be imported as `lamella.core` and so on."""

LINKED = (*ROOMS, "docs")
"""The rooms, and the pages that the program shows as its help."""

WINDOWS = os.name == "nt"
TRIED_PYTHONS = ((3, 11), (3, 12), (3, 13))
"""The Python versions on which the whole suite passes, the same as `requires-python` in pyproject.toml."""

# Libraries that Qt's wheels expect on a Linux system -> the Debian package that contains them.
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libzstd.so.1": "libzstd1",
}
X11_LIBRARIES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
WORKERS = ("-n", "2", "--dist", "worksteal")
"""Two processes share the tests; the one that finishes first takes over some of the other's. Arguments after
`test` can override this."""
SLOWEST = ("--durations", "10")
NO_BYTECODE = [] if sys.dont_write_bytecode else ["--no-compile"]
"""What pip takes. Compiling all 13,000 modules of the packages takes about half a minute, and most are never
imported; those that are get their bytecode then."""
LIMIT_SECONDS = 300
"""The time limit of all checks on two idle cores. Exceeding it is reported but is no failure: machines
differ."""

MEMORY_FOLDER, ENOUGH_MEMORY = Path("/dev/shm"), 8 << 30
"""Where the files of tests are when all tests run, and how many bytes must be free for that."""

FONT_PACKAGE = "fonts-dejavu-core"
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
FONT_SUFFIXES = {".ttf", ".otf", ".ttc", ".pfb"}


class SetupProblem(Exception):
    """A problem that the user has to solve first; the message says how."""


# ---------------------------------------------------------------- the machine


def loadable(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def has_font(folders: tuple[str, ...] = FONT_FOLDERS) -> bool:
    for folder in folders:
        for _, _, names in os.walk(Path(folder).expanduser()):
            if any(Path(name).suffix.lower() in FONT_SUFFIXES for name in names):
                return True
    return False


def has_display() -> bool:
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def missing_packages(with_display: bool) -> dict[str, str]:
    """What this Linux machine lacks, by a name that users recognise, and the Debian package of each."""
    wanted = {**QT_LIBRARIES, **(X11_LIBRARIES if with_display else {})}
    missing = {library: package for library, package in wanted.items() if not loadable(library)}
    if not has_font():
        missing["a font"] = FONT_PACKAGE
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        missing["Python's venv module"] = f"python3.{sys.version_info.minor}-venv"
    return missing


def prepare_system(with_display: bool) -> None:
    """Install the system packages that Qt needs and the machine lacks, or print the command that does."""
    if not sys.platform.startswith("linux"):
        return
    missing = missing_packages(with_display)
    if not missing:
        return
    things = ", ".join(missing)
    if not shutil.which("apt-get"):
        raise SetupProblem(f"This system lacks {things}. Install them with its package manager first.")
    install = ["apt-get", "install", "-y", "--no-install-recommends", *sorted(set(missing.values()))]
    if os.geteuid() != 0:
        command = f"sudo apt-get update && sudo {shlex.join(install)}"
        raise SetupProblem(f"This system lacks {things}. This installs them:\n\n    {command}\n")
    print(f"Installing what is missing: {things}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    call(["apt-get", "update", "-q"], environment)
    call(install, environment)


def wrong_python() -> str:
    """The message for an unsupported Python, with the command to use instead if one is installed."""
    *others, last = versions = [".".join(map(str, version)) for version in TRIED_PYTHONS]
    known = f"Lamella runs on Python {', '.join(others)} and {last}; this is {platform.python_version()}."
    commands = [f"python{version}" for version in reversed(versions) if shutil.which(f"python{version}")]
    return f"{known} {f'Use {commands[0]} dev.py' if commands else 'Install one of these'}."


# ------------------------------------------------------------ the environment


def venv_python(venv: Path = VENV) -> Path:
    return venv / ("Scripts/python.exe" if WINDOWS else "bin/python")


def fingerprint(root: Path = ROOT) -> str:
    """A digest that changes whenever the dependencies have to be installed again."""
    digest = hashlib.sha256(platform.python_version().encode())
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def installed(stamp: Path, extras: set[str], wanted: str) -> bool:
    """Whether `stamp` says that at least these extras were installed, with the fingerprint `wanted`."""
    if not stamp.exists():
        return False
    found, *have = stamp.read_text(encoding="utf8").split()
    return found == wanted and extras <= set(have)


def prepare_environment(extras: set[str]) -> None:
    link_rooms()
    wanted = fingerprint()
    if venv_python().exists() and installed(STAMP, extras, wanted):
        return
    if not venv_python().exists():
        print("Creating .venv", flush=True)
        call([sys.executable, "-m", "venv", "--clear", str(VENV)])
    target = f"{ROOT}[{','.join(sorted(extras))}]" if extras else str(ROOT)
    print("Installing (once; takes a few minutes on a slow connection)", flush=True)
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    call([*pip, *NO_BYTECODE, "-c", str(ROOT / "constraints.txt"), "-e", target])
    STAMP.write_text("\n".join([wanted, *sorted(extras)]) + "\n", encoding="utf8")


def link_rooms(package: Path = PACKAGE, root: Path = ROOT) -> None:
    """Create the links that git checked out as text files, as it does on Windows by default."""
    for name in LINKED:
        link = package / name
        if link.is_dir():
            continue
        link.unlink(missing_ok=True)
        if WINDOWS:
            import _winapi

            _winapi.CreateJunction(str(root / name), str(link))
        else:
            link.symlink_to(Path("../..") / name, target_is_directory=True)


def call(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a command that must succeed; its own output says what went wrong."""
    code = subprocess.call(command, cwd=ROOT, env=environment)
    if code:
        raise SetupProblem(f"This step failed with exit code {code}: {shlex.join(command)}")


def offscreen() -> dict[str, str]:
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen"}


def of_tests() -> dict[str, str]:
    """The environment of tests. Bytecode is always written: without it, each of the many processes that tests
    start would compile every module again, and each worker every test."""
    return {name: value for name, value in offscreen().items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def tests_in_memory(folder: Path = MEMORY_FOLDER) -> Iterator[dict[str, str]]:
    """The environment of tests, with their files in memory if there is room: they write two gigabytes, and
    wait for the disk thousands of times."""
    if not has_room(folder):
        yield of_tests()
        return
    with tempfile.TemporaryDirectory(prefix="lamella-", dir=folder, ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o1777)  # like /tmp itself: some tests give up root privileges
        yield of_tests() | {"TMPDIR": place}


def has_room(folder: Path, memory: Path = Path("/proc/meminfo")) -> bool:
    if not (folder.is_dir() and os.access(folder, os.W_OK) and memory.exists()):
        return False
    available = re.search(r"^MemAvailable: +(\d+) kB$", memory.read_text("ascii"), re.MULTILINE)
    free = min(shutil.disk_usage(folder).free, int(available[1]) << 10 if available else 0)
    return free >= ENOUGH_MEMORY


def display_answers() -> bool:
    """Whether Qt can open a window here: DISPLAY may name a display that has no server."""
    if not has_display():
        return False
    probe = "from PySide6.QtGui import QGuiApplication; QGuiApplication([])"
    return subprocess.run([str(venv_python()), "-c", probe], capture_output=True, check=False).returncode == 0


# --------------------------------------------------------------- the commands


def run(rest: list[str]) -> int:
    """Open the window with the sample data, or with the given files; without a display, take pictures."""
    prepare_system(has_display())
    prepare_environment(set())
    program = [str(venv_python()), "-m", "lamella.app"]
    if display_answers():
        return end_of_program(subprocess.call([*program, *(rest or ["--sample"])], cwd=ROOT))
    pictures = ROOT / "build" / "tour"
    print("No display: the program runs offscreen, works through the sample data and takes pictures.")
    environment = {**offscreen(), "PYTHONFAULTHANDLER": "1"}
    code = subprocess.call([*program, "--tour", str(pictures)], cwd=ROOT, env=environment)
    if code == 0:
        print(f"The pictures are in {pictures}")
    return end_of_program(code)


def end_of_program(code: int) -> int:
    """The exit code of this command. A program that a signal has ended has said nothing itself."""
    if code >= 0:
        return code
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    print(f"Lamella was ended by {name}. This is a bug if you did not end it yourself.", file=sys.stderr)
    return 128 - code  # as shells do


def test(rest: list[str]) -> int:
    """Run every check, even if one fails; arguments go to pytest. Tests marked slow are skipped, unless it
    is `test --all`. `test --long [NAME ...]` runs the long forms of tests instead, which take more than
    an hour."""
    if rest[:1] == ["--long"]:
        return run_long_forms(rest[1:])
    prepare_system(with_display=False)
    prepare_environment({"bench", "dev"})
    python, tools = str(venv_python()), venv_python().parent
    begun, whole = time.monotonic(), rest in ([], ["--all"])
    checks = {
        "ruff": [python, "-m", "ruff", "check", "."],
        "import-linter": [str(tools / "lint-imports")],
        "pytest": [python, "-m", "pytest", *WORKERS, *SLOWEST, *rest],
    }
    with (
        tests_in_memory() if whole else nullcontext(of_tests()) as environment
    ):  # else their files may be needed
        failed = run_checks(checks, {"mypy": [python, "-m", "mypy"]}, environment)
    if not rest:
        print(in_time(time.monotonic() - begun), flush=True)
    print(f"Failed: {', '.join(failed)}" if failed else "All checks passed", flush=True)
    return 1 if failed else 0


def run_checks(
    checks: Mapping[str, list[str]],
    beside: Mapping[str, list[str]],
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """Run the checks, and those of `beside` at the same time, whose output is printed last. Return the names
    of those that failed."""
    failed = []
    environment = environment or of_tests()
    quiet = {
        name: subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, command in beside.items()
    }
    for name, command in checks.items():
        print(f"\n== {name}", flush=True)
        begun = time.monotonic()
        if subprocess.call(command, cwd=ROOT, env=environment):
            failed.append(name)
        print(f"{name} took {duration(time.monotonic() - begun)}", flush=True)
    for name, process in quiet.items():
        said, _ = process.communicate()
        print(f"\n== {name}\n{said}", flush=True)
        if process.returncode:
            failed.append(name)
    return failed


def in_time(seconds: float) -> str:
    word = "within" if seconds <= LIMIT_SECONDS else "over"
    return (
        f"All checks took {duration(seconds)} on {os.cpu_count()} cores: {word} the limit of "
        f"{duration(LIMIT_SECONDS)} for two idle cores"
    )


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def run_long_forms(names: list[str]) -> int:
    """Run all long forms, or those named, and summarise the results at the end. `list` only lists them."""
    known = "\n".join(
        f"{name:10} {form.about}: about {form.minutes} min" for name, form in LONG_FORMS.items()
    )
    if names == ["list"]:
        print(known)
        return 0
    unknown = [name for name in names if name not in LONG_FORMS]
    if unknown:
        raise SetupProblem(f"There is no long form {', '.join(unknown)}. The long forms are:\n{known}")
    prepare_system(with_display=False)
    prepare_environment({"bench", "dev"})
    results = {name: run_long_form(name) for name in names or LONG_FORMS}
    print()
    for name, result in results.items():
        print(f"{name:10} {result}")
    return int(any(result.startswith("failed") for result in results.values()))


def run_long_form(name: str) -> str:
    form = LONG_FORMS[name]
    if form.needs and not os.environ.get(form.needs):
        return f"not run: {form.needs} is not set"
    print(f"\n== {name}: {form.about}; about {form.minutes} min", flush=True)
    begun = time.monotonic()
    code = subprocess.call(
        [str(venv_python()), *form.words], cwd=ROOT, env={**of_tests(), **form.environment}
    )
    took = duration(time.monotonic() - begun)
    return f"failed with exit code {code} after {took}" if code else f"passed in {took}"


def shots(rest: list[str]) -> int:
    """Take the pictures of the documentation again, in docs/pictures; or, with a folder, write pictures of
    every screen into it: light and dark, three sizes, large text; the table at 200% scale, too. Prefixes of
    names after the folder choose screens: `shots DIR chart sql`."""
    prepare_system(with_display=False)
    prepare_environment({"dev"})
    program = [str(venv_python()), "-m", "lamella.app"]
    if rest:
        screens = [str(venv_python()), "-m", "tests.screens", str(Path(rest[0]).resolve()), *rest[1:]]
        for scale in ("1", "2"):
            call(screens, {**of_tests(), "QT_SCALE_FACTOR": scale})
        return 0
    folder = ROOT / "build" / "tour"
    shutil.rmtree(folder, ignore_errors=True)
    call([*program, "--tour", str(folder), "--tour-rows", "100000"], offscreen())
    call([str(venv_python()), str(ROOT / "packaging" / "pictures.py"), str(folder)], of_tests())
    return 0


def bundle(rest: list[str]) -> int:
    """Build `dist/lamella` with PyInstaller and let it take its own pictures, to check that it works.
    `bundle --locked` installs the dependencies into `build/locked`, by the hashes in packaging/locks."""
    prepare_system(with_display=True)
    packaging, smaller = ROOT / "packaging", ROOT / "build" / "bundle-packages"
    locked, others = "--locked" in rest, [word for word in rest if word != "--locked"]
    python = str(prepare_locked_environment() if locked else prepare_developing())
    call([python, str(packaging / "bundle_trimming.py"), str(smaller)])
    call(
        [python, "-m", "PyInstaller", "--noconfirm", *others, str(packaging / "lamella.spec")],
        {**os.environ, "PYTHONPATH": str(smaller)},
    )
    program = ROOT / "dist" / "lamella" / ("lamella.exe" if WINDOWS else "lamella")
    call([str(program), "--tour", str(ROOT / "build" / "bundle-tour")], offscreen())
    call([python, str(packaging / "bundle_contents.py")])
    print(f"The program is {program}")
    return 0


def prepare_developing() -> Path:
    prepare_environment({"dev"})
    return venv_python()


def prepare_locked_environment() -> Path:
    """Create an environment with only Lamella and the files with the locked hashes; return its Python."""
    link_rooms()
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    venv = ROOT / "build" / "locked"
    call([sys.executable, "-m", "venv", "--clear", str(venv)])
    pip = [str(venv_python(venv)), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    call([*pip, "--require-hashes", "--requirement", str(ROOT / "packaging" / "locks" / f"{system}.txt")])
    call([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])
    return venv_python(venv)


COMMANDS = {"run": run, "test": test, "shots": shots, "bundle": bundle}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dev.py", formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.description = "\n".join(
        f"{name:7} {work.__doc__}".replace("\n    ", "\n        ") for name, work in COMMANDS.items()
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="passed on")
    arguments = parser.parse_args(argv)
    if tuple(sys.version_info[:2]) not in TRIED_PYTHONS:
        print(wrong_python(), file=sys.stderr)
        return 2
    try:
        return COMMANDS[arguments.command](arguments.rest)
    except SetupProblem as problem:
        print(problem, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
