"""The licences of everything in the bundle, from the metadata of the installed packages: one text, which
About shows and every installer contains."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sysconfig
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|AUTHORS)", re.IGNORECASE)
QT = ("PySide6_Essentials", "shiboken6")
QT_NOTICE = """\
Qt and its bindings for Python are used under the GNU Lesser General Public License, version 3, whose text
follows after that of the GNU General Public License, which it refers to. They are shared libraries in files
of their own, in the folders PySide6 and shiboken6 of the program's folder: put other builds of the same
version in their place, and Lamella uses those. Their source is what the Qt project publishes as Qt {version}
and Qt for Python {version}."""
PYINSTALLER_NOTICE = """\
The program that starts Lamella is PyInstaller's, whose licence (the GNU General Public License, version 2 or
later) allows it to be given away under any terms as a part of such a bundle."""
RULE = "-" * 100


def packages_of(modules: Iterable[str]) -> list[str]:
    """The installed packages that these modules, named with or without dots, belong to."""
    by_module = importlib.metadata.packages_distributions()
    tops = {module.partition(".")[0] for module in modules}
    found = {name for top in tops for name in by_module.get(top, ())}
    return sorted(found - {"lamella"}, key=str.lower)


def summary(package: str) -> str:
    """One line about a package: name, version, licence."""
    metadata = importlib.metadata.metadata(package)
    declared = metadata.get("License-Expression") or _classifiers(metadata.get_all("Classifier") or [])
    brief = (metadata.get("License") or "").strip().partition("\n")[0]
    return f"{metadata['Name']} {metadata['Version']}: {declared or brief or 'see its text'}"


def _classifiers(lines: list[str]) -> str:
    return ", ".join(line.rpartition(" :: ")[2] for line in lines if line.startswith("License ::"))


def texts(package: str) -> list[str]:
    """The full licence texts of a package: files of its metadata, or the metadata itself."""
    distribution = importlib.metadata.distribution(package)
    files = [file for file in distribution.files or () if TEXTS.search(file.name) and file.suffix != ".py"]
    found = [Path(str(file.locate())).read_text("utf8", errors="replace").strip() for file in files]
    return list(dict.fromkeys(found)) or [(distribution.metadata.get("License") or "").strip()]


def python_text() -> str:
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_config_var("prefix")):
        for name in ("LICENSE.txt", "LICENSE"):
            path = Path(folder, name)
            if path.is_file():
                return path.read_text("utf8", errors="replace").strip()
    return "Python Software Foundation License, version 2"


def document(packages: Iterable[str]) -> str:
    """The whole text: a line for each package, then the licences."""
    names = list(packages)
    lines = [f"Python {platform.python_version()}: PSF-2.0", *map(summary, names)]
    parts = [
        "Lamella stands on these programs and libraries. The texts of their licences follow.",
        "\n".join(lines),
    ]
    parts += [_part(f"Python {platform.python_version()}", [python_text(), PYINSTALLER_NOTICE])]
    qt = next((name for name in names if name in QT), None)
    if qt is not None:
        licences = [
            (HERE / "licences" / f"{name}-3.0.txt").read_text("utf8").rstrip() for name in ("GPL", "LGPL")
        ]
        version = importlib.metadata.version(qt)
        parts += [_part(f"Qt {version}", [QT_NOTICE.format(version=version), *licences])]
    parts += [_part(summary(name), texts(name)) for name in names if name not in QT]
    return "\n\n".join(parts) + "\n"


def _part(title: str, content: list[str]) -> str:
    return "\n\n".join([f"{RULE}\n{title}\n{RULE}", *filter(None, content)])


def write(modules: Iterable[str], target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document(packages_of(modules)), "utf8")
    return target
