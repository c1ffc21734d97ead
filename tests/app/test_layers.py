"""core knows no Qt, and the checks see a fault wherever it is put."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.house import circles, imports

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "core", "ui", "resources")
MYPY = [sys.executable, "-m", "mypy"]
LINT_IMPORTS = [str(Path(sysconfig.get_path("scripts")) / "lint-imports"), "--no-cache"]

IMPORT_ALL = """
import importlib, pkgutil, sys
import lamella.core
names = [m.name for m in pkgutil.walk_packages(lamella.core.__path__, "lamella.core.")]
for name in names:
    importlib.import_module(name)
above = ("PySide6", "shiboken6", "pyqtgraph", "lamella.ui", "lamella.app")
print(len(names), *sorted(m for m in sys.modules if m.startswith(above)))
"""


@pytest.mark.slow
def test_importing_all_of_core_brings_no_qt_along():
    result = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    count, *strangers = result.stdout.split()
    assert int(count) > 30 and strangers == []


def test_no_modules_import_each_other() -> None:
    """Nor inside functions, nor for type checking alone."""
    assert circles(imports()) == []


@pytest.fixture
def empty_house(tmp_path: Path) -> Path:
    """The project's layout and settings, with one empty module in each room."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "packaging" / "lamella").mkdir(parents=True)
    (tmp_path / "packaging" / "lamella" / "__init__.py").touch()
    shutil.copy(ROOT / "packaging" / "qt_properties.py", tmp_path / "packaging")
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").touch()
        (tmp_path / "packaging" / "lamella" / room).symlink_to(Path("../..") / room)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    for layer in next(each["layers"] for each in contracts if each.get("containers") == ["lamella.core"]):
        (tmp_path / "core" / layer).mkdir()
        (tmp_path / "core" / layer / "__init__.py").touch()
    return tmp_path


def check(command: list[str], house: Path) -> subprocess.CompletedProcess[str]:
    where = os.environ | {"PYTHONPATH": str(house / "packaging")}
    return subprocess.run(command, cwd=house, env=where, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_mypy_sees_a_type_error_in_core(empty_house):
    assert check(MYPY, empty_house).returncode == 0
    (empty_house / "core" / "arrow" / "planted.py").write_text("size: int = 'large'\n")
    result = check(MYPY, empty_house)
    assert result.returncode == 1 and "planted.py:1: error" in result.stdout


FAULTS_OF_UI = """
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

class Title(QLabel):
    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent, wordWrap=True)

field = QLineEdit(accessibleName="Name", textChanged=print)
title = Title("Rows")
title.setTxt("Rows")  # misspelt
Title(nam="Rows")  # not a keyword of this class
Title(field)  # no name
field.accessibleName = "Name"  # hides a method
"""


@pytest.mark.slow
def test_mypy_sees_type_errors_in_ui(empty_house):
    """Properties of Qt are given as keywords, which its types do not list: these are no errors."""
    (empty_house / "ui" / "planted.py").write_text(FAULTS_OF_UI)
    result = check(MYPY, empty_house)
    wrong = {number for number, line in enumerate(FAULTS_OF_UI.splitlines(), 1) if "#" in line}
    found = {int(number) for number in re.findall(r"planted\.py:(\d+): error", result.stdout)}
    assert found == wrong, result.stdout


def test_import_linter_finds_nothing_where_nothing_is_imported(empty_house):
    assert check(LINT_IMPORTS, empty_house).returncode == 0


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("core.arrow", "import lamella.ui"),
        ("core.arrow", "def later():\n    import lamella.app"),
        ("core.filters", "from lamella.core import store"),
        ("core.query", "def later():\n    import lamella.core.datasets"),
        ("ui", "from lamella import app"),
        ("core.scan", "import PySide6"),
    ],
)
def test_import_linter_sees_an_import_of_what_is_above(empty_house, room, line):
    (empty_house / room.replace(".", "/") / "planted.py").write_text(line + "\n")
    result = check(LINT_IMPORTS, empty_house)
    assert result.returncode == 1 and f"lamella.{room}.planted" in result.stdout


PUBLIC = """
import sys, lamella
heavy = sorted({"pyarrow", "duckdb", "numpy", "sqlglot", "pandas"} & set(sys.modules))
print(*heavy, "|", *(name for name in lamella.__all__ if getattr(lamella, name, None) is None))
try:
    lamella.Stores
except AttributeError as error:
    print(error)
"""


def test_public_names_are_imported_when_they_are_used():
    result = subprocess.run([sys.executable, "-c", PUBLIC], capture_output=True, text=True, check=True)
    names, refusal = result.stdout.splitlines()
    assert names.split() == ["|"], "nothing heavy comes with the package, and no name is missing"
    assert "'Stores'" in refusal
