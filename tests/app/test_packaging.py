"""The bundle and the packages have the parts they need, as far as this shows without building them."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import bundle_contents
import bundle_trimming
import licences
import linux_packages
import manual
import pictures
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PySide6.QtGui import QColor, QImage

from lamella.app import cli
from lamella.core.bench import registry
from lamella.core.bench.engine import child
from lamella.core.bench.registry import ENTRIES
from lamella.core.datasets.formats import FORMATS
from lamella.core.libraries import install_command
from lamella.core.remote.connections import Connection, MissingSecret
from lamella.ui.dialogs import about

ROOT = Path(__file__).resolve().parents[2]
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.mark.parametrize(
    "place",
    [
        "pyarrow/libarrow.so.2600",
        "pyarrow/libarrow_python.so.2600",
        "PySide6/Qt/lib/libQt6Network.so.6",
        "PySide6/QtNetwork.abi3.so",
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqoffscreen.so",
        "lamella/resources/sample/flights.parquet",
        "libxcb-cursor.so.0",
        "libsqlite3.so.0",
        "duckdb-2.0.0.dist-info/METADATA",
    ],
)
def test_the_bundle_keeps_what_the_program_needs(place):
    assert bundle_contents.is_needed(place)


WITHOUT = """
import sys
unused = tuple(sys.argv[1:])

class Left:
    def find_spec(self, name, path=None, target=None):
        if any(name == module or name.startswith(f"{module}.") for module in unused):
            raise ModuleNotFoundError(f"{name} is not in the bundle", name=name)

sys.meta_path.insert(0, Left())
import duckdb
from obstore.store import S3Store
from lamella.core.remote import duckdb_files, http, object_store, trial, web, webhdfs
duckdb_files.register(duckdb.connect())
http.HttpClient({})
S3Store("bucket", region="us-east-1", skip_signature=True)
"""


def test_files_elsewhere_are_read_without_what_the_bundle_leaves_out():
    command = [sys.executable, "-c", WITHOUT, *bundle_contents.UNUSED_MODULES]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "place",
    [
        "pyarrow/libarrow_flight.so.2600",
        "pyarrow/libarrow_python.so",
        "pyarrow/include/arrow/api.h",
        "PySide6/Qt/translations/qt_de.qm",
        "PySide6\\translations\\qt_de.qm",
        "PySide6/Qt/plugins/platforms/libqeglfs.so",
        "pandas-3.1.1.dist-info/RECORD",
    ],
)
def test_the_bundle_leaves_out_what_nothing_uses(place):
    assert not bundle_contents.is_needed(place)


def test_docstrings_stay_where_the_program_shows_them():
    modules = [(name, f"/{name}.py", "PYMODULE") for name in ("lamella.app.cli", "apsw.shell", "pandas.core")]
    kinds = [kind for _, _, kind in bundle_contents.without_docstrings(modules)]
    assert kinds == ["PYMODULE", "PYMODULE", "PYMODULE-2"]


def test_libraries_of_the_desktop_are_the_systems_own(monkeypatch):
    monkeypatch.setattr(bundle_contents.sys, "platform", "linux")
    for name in ("libstdc++.so.6", "libGL.so.1", "libX11.so.6", "libfontconfig.so.1", "libgtk-3.so.0"):
        assert not bundle_contents.is_needed(name), name


def test_systems_that_are_left_out_say_what_they_lack():
    """Else the benchmark would offer them in the bundle and fail."""
    needed = {module.partition(".")[0] for entry in ENTRIES.values() for module, _ in entry.requires}
    assert needed - {"apsw", "fsspec", "obstore"} <= set(bundle_contents.BENCHMARK_ONLY)


@pytest.mark.parametrize(
    ("started", "program_name"),
    [("lamella", "lamella"), ("lamellaw", "lamella.exe"), ("lamella.exe", "lamella.exe")],
)
def test_workers_of_the_bundle_are_the_program_with_streams(monkeypatch, tmp_path, started, program_name):
    """On Windows the window is started by another one, which has none."""
    monkeypatch.setattr(child.sys, "frozen", True, raising=False)
    monkeypatch.setattr(child.sys, "executable", str(tmp_path / started))
    assert child.command("--bench-worker") == [str(tmp_path / program_name), "--bench-worker"]


def test_the_bundle_says_how_systems_are_added(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    said = install_command(["polars"], registry.USE)
    assert all(
        part in said for part in ("installed program", "pip install lamella-", "polars", "--interpreter")
    )


def test_the_bundle_says_that_the_keyring_is_not_in_it(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", None)  # importing it raises
    connection = Connection(
        "lab", "s3", secrets={"access_key": "keyring:lab/me", "secret_key": "env:LAB_KEY"}
    )
    with pytest.raises(MissingSecret, match=r"keyring.* not installed.*Use env:NAME.*cannot be added"):
        connection.secret("access_key")


def test_second_launch_and_language_files_are_not_excluded():
    modules = {"PySide6.QtNetwork", "PySide6.QtSvg", "PySide6.QtWidgets", "apsw", "pandas", "tantivy", "ssl"}
    assert not modules & set(bundle_contents.UNUSED_MODULES)


def test_part_of_an_archive_of_icu_is_an_archive():
    names = [b"icudt73l/coll/de.res", b"icudt73l/de.res", b"icudt73l/root.res", b"icudt73l/zone/de.res"]
    whole = bundle_trimming.archive_body([(name, name * 3) for name in names])
    header = b"\x20\x00\xda\x27" + bytes(28)
    body = bundle_trimming.smaller_archive(header + whole).removeprefix(header)
    assert body == bundle_trimming.archive_body([(name, (name * 3).ljust(64, b"\0")) for name in names[::2]])


def test_windows_offers_the_program_for_every_format():
    script = (ROOT / "packaging/windows/lamella.nsi").read_text("utf8")
    suffixes = {suffix for known in FORMATS for suffix in known.suffixes}
    for macro in ("OfferFor", "StopOfferingFor"):
        assert set(re.findall(rf'insertmacro {macro} "\.(\w+)"', script)) == suffixes


def test_desktop_entry_offers_the_types_that_the_package_defines():
    entry = configparser.RawConfigParser()
    entry.optionxform = str  # type: ignore[assignment, method-assign]
    entry.read(ROOT / "packaging/linux/lamella.desktop", "utf8")
    offered = set(entry["Desktop Entry"]["MimeType"].strip(";").split(";"))
    types = ElementTree.parse(ROOT / "packaging/linux/lamella.mime.xml").getroot()
    defined = {each.attrib["type"] for each in types}
    patterns = {glob.attrib["pattern"] for glob in types.iter(f"{MIME}glob")}
    assert defined <= offered and offered == {media for known in FORMATS for media in known.media}
    provides = ElementTree.parse(ROOT / "packaging/linux/lamella.metainfo.xml").getroot().iter("mediatype")
    assert {each.text for each in provides} == offered
    assert {"*.parquet", "*.pq", "*.arrow", "*.feather", "*.jsonl"} <= patterns
    assert entry["Desktop Entry"]["Exec"] == "lamella %F"


def test_manual_has_every_command_and_option():
    page = manual.page()
    for name in cli.COMMANDS:
        assert f".SS lamella {manual.plain(name)}\n" in page
        options = re.findall(r"(?<![\w-])--?[a-z][\w-]*", cli.command_parser(name).format_usage())
        assert options
        for option in options:
            assert manual.plain(option) in page, (name, option)
    assert "bench\\-worker" not in page


def test_licences_of_packages_stand_in_full_and_of_qt_with_its_notice():
    packages = licences.packages_of(["duckdb", "pyarrow.parquet", "PySide6", "numpy.linalg", "json"])
    assert packages == ["duckdb", "numpy", "pyarrow", "PySide6_Essentials"]
    text = licences.document(packages)
    for part in (
        "GNU LESSER GENERAL PUBLIC LICENSE",
        "put other builds",
        "Apache License",
        "PYTHON SOFTWARE",
    ):
        assert part in text, part
    assert re.search(r"^numpy [\d.]+: BSD", text, re.MULTILINE)


def test_about_shows_the_licences_that_the_bundle_holds(qtbot, monkeypatch):
    monkeypatch.setattr(about, "licences", lambda: "Every licence")
    dialog = about.AboutDialog()
    qtbot.addWidget(dialog)
    next(button for button in dialog.findChildren(about.QPushButton) if button.text() == "Licences").click()
    licences_dialog = dialog.findChild(about.LicencesDialog)
    assert licences_dialog.text.toPlainText() == "Every licence"


def test_pictures_of_pages_have_256_colors_and_those_that_matter():
    picture = QImage(64, 64, QImage.Format.Format_RGB32)
    for x in range(64):
        for y in range(64):
            picture.setPixelColor(x, y, QColor(4 * x, 4 * y, 0) if y < 16 else QColor("white"))
    smaller = pictures.with_fewer_colors(picture)
    assert smaller.size() == picture.size() and smaller.colorCount() == 256
    assert smaller.pixelColor(40, 40) == QColor("white")
    color, was = smaller.pixelColor(63, 15), picture.pixelColor(63, 15)
    assert abs(color.red() - was.red()) + abs(color.green() - was.green()) < 20
    plain = QImage(8, 8, QImage.Format.Format_RGB32)
    plain.fill(QColor("teal"))
    assert pictures.with_fewer_colors(plain).convertToFormat(plain.format()) == plain


def test_needed_glibc_is_the_newest_of_any_file(tmp_path):
    (tmp_path / "one.so").write_bytes(b"\x7fELF\0GLIBC_2.9\0GLIBC_2.17\0")
    (tmp_path / "text").write_bytes(b"\0GLIBC_2.99\0")
    assert linux_packages.needed_glibc(tmp_path) == "2.17"


@pytest.mark.skipif(sys.platform != "linux", reason="a script of the packages for Linux")
@pytest.mark.parametrize(
    ("libc", "code", "said"),
    [
        ("glibc 2.31", 2, "needs the GNU C library 2.35 or newer; here is 2.31"),
        ("glibc 2.9", 2, "here is 2.9"),
        ("", 2, "another C library"),
        ("glibc 2.35", 0, "started with 'a b'"),
        ("glibc 3.1", 0, "started with 'a b'"),
    ],
)
def test_the_archive_says_when_the_c_library_is_too_old(tmp_path, libc, code, said):
    script = (ROOT / "packaging/linux/launcher.sh").read_text("utf8").replace("@GLIBC@", "2.35")
    for name, text in {
        "lamella": script,
        "bin/getconf": f"#!/bin/sh\necho '{libc}'\n",
        "lib/lamella": "#!/bin/sh\necho \"started with '$1'\"\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    result = subprocess.run(
        [tmp_path / "lamella", "a b"], capture_output=True, text=True, check=False, env={"PATH": path}
    )
    assert (result.returncode, said in result.stdout + result.stderr) == (code, True), result.stderr


def test_workflows_name_files_that_there_are():
    """A change is checked out to a folder `after`, where it is measured beside the version before."""
    folders, files = r"(?:packaging|resources|app)/[\w./-]+", r"(?:dev\.py|constraints\.txt)\b"
    names = re.compile(rf"(?<![\w./-])(?:after/)?({folders}|{files})")
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        named = set(names.findall(file.read_text("utf8").replace("\\", "/")))
        assert named and [path for path in named if not (ROOT / path).exists()] == [], file


def test_locks_have_the_versions_that_are_tested_and_a_hash_of_each():
    pins = dict(
        re.findall(r"^([\w.-]+)==([\w.]+)$", (ROOT / "constraints.txt").read_text("utf8"), re.MULTILINE)
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    direct = {Requirement(line).name for line in project["dependencies"]}
    for system in ("linux", "windows", "macos", "numpy-source"):
        lines = (ROOT / "packaging" / "locks" / f"{system}.txt").read_text("utf8").splitlines()[1:]
        actual = [re.fullmatch(r"([\w.-]+)==([\w.]+) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
        assert all(actual), system
        locked = {match[1]: match[2] for match in actual if match}
        assert {name: pins.get(name, version) for name, version in locked.items()} == locked, system
        names = {canonicalize_name(name) for name in locked}
        assert system == "numpy-source" or {canonicalize_name(name) for name in direct} <= names, system


def test_workflows_name_actions_by_their_commits():
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", file.read_text("utf8"))
        assert used and all(re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", action) for action in used), file
