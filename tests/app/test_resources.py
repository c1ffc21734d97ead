"""Files that travel with the program are found and have the promised content."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lamella import resources

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "core", "ui", "resources")
ROWS = {"flights": 336_776, "airlines": 16, "airports": 1_458, "planes": 3_322, "weather": 26_115}
ICONS = sorted(resources.path("icons").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"

LOOK = """
import pathlib, sys
from lamella import resources
assert pathlib.Path(resources.__file__).is_relative_to(sys.argv[1]), resources.__file__
for table in resources.SAMPLE_TABLES:
    print(table, resources.sample(table).stat().st_size)
print(resources.path("icons", "open.svg").read_text().count("<svg"))
"""


@pytest.mark.parametrize("table", resources.SAMPLE_TABLES)
def test_the_sample_tables_are_whole(table):
    assert pq.ParquetFile(resources.sample(table)).metadata.num_rows == ROWS[table]


def test_flights_have_several_row_groups_and_whole_numbers_with_nulls():
    file = pq.ParquetFile(resources.sample("flights"))
    delay = file.read(columns=["dep_delay"]).column(0)
    assert file.num_row_groups == 4
    assert str(delay.type) == "int64" and delay.null_count == 8_255
    assert str(file.schema_arrow.field("time_hour").type) == "timestamp[us]"


@pytest.mark.parametrize("icon", [i for i in ICONS if i.stem != "lamella"], ids=lambda path: path.stem)
def test_icons_are_one_family(icon):
    root = ElementTree.parse(icon).getroot()
    assert root.get("viewBox") == "0 0 24 24"
    assert (root.get("stroke"), root.get("stroke-width")) == ("currentColor", "1.75")
    assert {child.get("fill") for child in root} <= {None, "currentColor"}
    assert {child.tag.removeprefix(SVG) for child in root} <= {"path", "circle", "rect", "ellipse"}


def test_what_is_missing_is_named():
    with pytest.raises(FileNotFoundError, match=r"nothing\.svg"):
        resources.path("icons", "nothing.svg")


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_wheel_has_every_file_of_the_package_and_nothing_else(tmp_path):
    source, unpacked = tmp_path / "source", tmp_path / "unpacked"
    for name in ("app", "core", "ui", "resources", "packaging/lamella"):
        shutil.copytree(
            ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = ["pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), "."]
    subprocess.run([sys.executable, "-m", *build], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("lamella-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    (metadata,) = unpacked.glob("*.dist-info")
    shutil.rmtree(metadata)
    rooms = {
        f"{name}/{file}" for name in ("app", "core", "ui", "resources") for file in files_below(source / name)
    }
    assert files_below(unpacked) == {f"lamella/{file}" for file in {"__init__.py", "py.typed"} | rooms}
    look = [sys.executable, "-c", LOOK, str(unpacked)]
    result = subprocess.run(look, cwd=unpacked, check=True, capture_output=True, text=True)
    *tables, icon = result.stdout.splitlines()
    assert [line.split()[0] for line in tables] == list(resources.SAMPLE_TABLES) and icon == "1"
