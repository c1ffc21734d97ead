#!/usr/bin/env python3
"""Creates the packages for Linux from `dist/lamella`: dist/lamella_VERSION_ARCHITECTURE.deb and a .tar.xz.

    packaging/linux_packages.py                  # both
    packaging/linux_packages.py --only tar       # one of them
    packaging/linux_packages.py --version 0.2.0  # with another version than the program's

The .deb needs Debian's dpkg-dev, which finds the system packages that the bundle's libraries need. The
maintainer is DEBFULLNAME with DEBEMAIL, or the author of the last commit.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import app_icon
import manual

from lamella.app import __version__

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "packaging" / "linux"
BUNDLE = ROOT / "dist" / "lamella"
PLACE = Path("usr/lib/lamella")
OPTIONAL = {"libqgtk3.so": "Suggests", "libreadline": "Recommends", "readline.": "Recommends"}
"""How the needs of optional files are declared, by the name of the file."""

LOADED_BY_NAME = (
    "libgl1",
    "libegl1",
    "libdbus-1-3",
    "libxkbcommon-x11-0",
    "libxcb-cursor0",
    "fontconfig-config",
)
ALSO = ("hicolor-icon-theme", "shared-mime-info")
LEVEL = 6
"""The compression level of xz: higher ones need a gigabyte of memory and save 2 %."""
SUMMARY = "data explorer for Parquet, CSV, JSON, Excel and databases"
ABOUT = """\
 Lamella opens Parquet, Arrow, CSV, JSON, Excel, SQLite and DuckDB files of any
 size, filters them by conditions that are built or typed, exports them to
 other formats, and edits copies of them with a preview, a history and undo.
 Groups, joins, SQL and full-text search answer questions; benchmarks compare
 it with other systems.
 .
 Python and the libraries that Lamella runs on are inside the package."""


def architecture() -> str:
    return subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
    ).stdout.strip()


def last_commit() -> tuple[datetime, str]:
    """The time of the last commit, and its author's mail address."""
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct %ce"]
    done = subprocess.run(git, capture_output=True, text=True, check=True)
    seconds, address = done.stdout.split()
    return datetime.fromtimestamp(int(seconds), UTC), address


def maintainer(address: str) -> str:
    name = os.environ.get("DEBFULLNAME", "The Lamella contributors")
    return f"{name} <{os.environ.get('DEBEMAIL', address)}>"


# ----------------------------------------------------------------------------- what is shared


def lay_out_desktop(share: Path, version: str, date: datetime) -> None:
    """Write the desktop files below a folder `share`: entry, icons, metadata, file types, manual page."""
    applications, metadata, types = (share / name for name in ("applications", "metainfo", "mime/packages"))
    for folder in (applications, metadata, types):
        folder.mkdir(parents=True)
    shutil.copy(HERE / "lamella.desktop", applications)
    shutil.copy(HERE / "lamella.mime.xml", types / "lamella.xml")
    text = (HERE / "lamella.metainfo.xml").read_text("utf8")
    text = text.replace("@VERSION@", version).replace("@DATE@", f"{date:%Y-%m-%d}")
    (metadata / "org.lamella.Lamella.metainfo.xml").write_text(text, "utf8")
    app_icon.write_theme(ROOT / "resources" / "icons" / "lamella.svg", share / "icons" / "hicolor")
    pages = share / "man" / "man1"
    pages.mkdir(parents=True)
    write_gzip(pages / "lamella.1.gz", manual.page(f"{date:%Y-%m-%d}").encode())


def write_gzip(target: Path, content: bytes) -> None:
    """Compress a file reproducibly: the same content gives the same bytes."""
    target.write_bytes(gzip.compress(content, 9, mtime=0))


def set_modes(folder: Path) -> None:
    """Set the modes that Debian requires, whatever the umask: 755 for programs, 644 for everything else."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or (
                path.name == "lamella" and path.read_bytes()[:4] in (b"\x7fELF", b"#!/b")
            )
            path.chmod(0o755 if runs else 0o644)


# ------------------------------------------------------------------------------------ .deb


def make_deb(version: str, target: Path, level: int = LEVEL) -> Path:
    date, address = last_commit()
    with tempfile.TemporaryDirectory(prefix="lamella-deb-") as folder:
        root = Path(folder, "root")
        (root / PLACE).parent.mkdir(parents=True)
        shutil.copytree(BUNDLE, root / PLACE, symlinks=True)
        for path in libraries_of_debian(root / PLACE / "_internal"):
            path.unlink()
        (root / PLACE / "_internal" / "LICENSE").unlink(missing_ok=True)  # Debian has its text
        binaries = root / "usr" / "bin"
        binaries.mkdir()
        (binaries / "lamella").symlink_to("../lib/lamella/lamella")
        lay_out_desktop(root / "usr" / "share", version, date)
        lay_out_documents(root / "usr" / "share", version, date, maintainer(address))
        set_modes(root)
        control = root / "DEBIAN"
        control.mkdir()
        (control / "control").write_text(control_file(root, version, maintainer(address)), "utf8")
        made = target / f"lamella_{version}_{architecture()}.deb"
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", f"-z{level}", "--build", str(root), str(made)]
        subprocess.run(
            command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(int(date.timestamp()))}
        )
    return made


def libraries_of_debian(folder: Path) -> list[Path]:
    """The libraries from the system where the bundle was built, which the package depends on instead."""
    return [path for path in folder.glob("lib*.so*") if not path.is_symlink() and "python" not in path.name]


def lay_out_documents(share: Path, version: str, date: datetime, who: str) -> None:
    documents, overrides = share / "doc" / "lamella", share / "lintian" / "overrides"
    documents.mkdir(parents=True)
    overrides.mkdir(parents=True)
    shutil.copy(HERE / "lintian-overrides", overrides / "lamella")
    (documents / "copyright").write_text(copyright_file(date.year), "utf8")
    write_gzip(documents / "NEWS.md.gz", (ROOT / "CHANGELOG.md").read_bytes())
    lines = (f"lamella ({version}) unstable; urgency=medium", f"  * Lamella {version}.", f" -- {who}  ")
    entry = "\n\n".join(lines) + format_datetime(date) + "\n"
    write_gzip(documents / "changelog.gz", entry.encode())


def copyright_file(year: int) -> str:
    licences = BUNDLE / "_internal" / "lamella" / "resources" / "licences.txt"
    inside = licences.read_text("utf8").partition("\n\n---")[0].split("\n\n")[1]
    return (
        f"Copyright (c) {year} the Lamella contributors\n\n"
        "Lamella is licensed under the Apache License, version 2.0, which is in\n"
        "/usr/share/common-licenses/Apache-2.0. What else is inside has the licences that\n"
        "follow; their texts and Qt's notice are in\n"
        f"/{PLACE}/_internal/lamella/resources/licences.txt.\n\n{inside}\n"
    )


def control_file(root: Path, version: str, who: str) -> str:
    size = sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir())
    fields = {
        "Package": "lamella",
        "Version": version,
        "Architecture": architecture(),
        "Maintainer": who,
        "Installed-Size": str(size // 1024),
        **system_packages(root),
        "Section": "database",
        "Priority": "optional",
        "Description": f"{SUMMARY}\n{ABOUT}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def system_packages(root: Path) -> dict[str, str]:
    """Depends, Recommends and Suggests: the packages of libraries that the bundle links to, or that Qt loads
    by name."""
    inside = root / PLACE / "_internal"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "debian").mkdir()
        (Path(folder) / "debian" / "control").write_text(
            "Source: lamella\n\nPackage: lamella\nArchitecture: any\n"
        )
        own = {path.parent for path in inside.rglob("*.so*")}
        done = subprocess.run(
            ["dpkg-shlibdeps", "-O", "--ignore-missing-info", "--warnings=0", "-xlamella",
             *(f"-l{path}" for path in sorted(own)), *_files_by_field(root)],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"dpkg-shlibdeps: {done.stderr.strip()}")
    found = dict(line.removeprefix("shlibs:").split("=", 1) for line in done.stdout.splitlines())
    known = {re.split(r"[ (:]", name.strip())[0] for name in found["Depends"].split(",")}
    more = [name for name in (*LOADED_BY_NAME, *ALSO) if name not in known]
    found["Depends"] = ", ".join([found["Depends"], *more])
    return {name: found[name] for name in ("Depends", "Recommends", "Suggests") if found.get(name)}


def _files_by_field(root: Path) -> list[str]:
    words = []
    for path in sorted((root / PLACE).rglob("*")):
        if not path.is_file() or path.is_symlink() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        field = next((field for part, field in OPTIONAL.items() if path.name.startswith(part)), "Depends")
        words += [f"-d{field}", f"-e{path}"]
    return words


# --------------------------------------------------------------------------------- .tar.xz


def make_tar(version: str, target: Path, level: int = LEVEL) -> Path:
    """Create an archive with one folder that runs from anywhere: the bundle, a start script, desktop
    files."""
    date, _ = last_commit()
    name = f"lamella-{version}-linux-{os.uname().machine}"
    with tempfile.TemporaryDirectory(prefix="lamella-tar-") as folder:
        root = Path(folder, name)
        shutil.copytree(BUNDLE, root / "lib", symlinks=True)
        lay_out_desktop(root / "share", version, date)
        script = (HERE / "launcher.sh").read_text("utf8").replace("@GLIBC@", needed_glibc(BUNDLE))
        (root / "lamella").write_text(script, "utf8")
        shutil.copy(HERE / "README.txt", root)
        shutil.copy(ROOT / "LICENSE", root)
        set_modes(root)
        made = target / f"{name}.tar.xz"
        subprocess.run(
            ["tar", "--create", "--sort=name", "--owner=root:0", "--group=root:0", f"--mtime={date}",
             f"--use-compress-program=xz -{level} -T0", f"--file={made}", f"--directory={folder}", name],
            check=True,
        )  # fmt: skip
    return made


def needed_glibc(folder: Path) -> str:
    """The newest version of the C library that any file of the bundle needs."""
    versions = {(2, 0)}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if content[:4] == b"\x7fELF":
                found = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", content)
                versions |= {(int(major), int(minor)) for major, minor in found}
    return ".".join(map(str, max(versions)))


def main(argv: list[str]) -> int:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--only", choices=("deb", "tar"))
    parser.add_argument("--version", default=__version__)
    parser.add_argument("--level", type=int, default=LEVEL, metavar="N", help="of xz, 0 to 9 (%(default)s)")
    parser.add_argument("--target", type=Path, default=ROOT / "dist", metavar="DIR")
    arguments = parser.parse_args(argv)
    if not (BUNDLE / "lamella").exists():
        print(f"{BUNDLE} is missing: run python3 dev.py bundle first", file=sys.stderr)
        return 2
    arguments.target.mkdir(parents=True, exist_ok=True)
    for kind, make in {"deb": make_deb, "tar": make_tar}.items():
        if arguments.only in (None, kind):
            made = make(arguments.version, arguments.target, arguments.level)
            print(f"{made}: {made.stat().st_size / 1e6:.1f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
