#!/usr/bin/env python3
"""Decides what the bundle leaves out, and prints a table of the sizes of its parts.

packaging/bundle_contents.py [FOLDER]       # by part, in megabytes; dist/lamella
packaging/bundle_contents.py --files 20     # the largest files, too
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / "dist" / "lamella"

BENCHMARK_ONLY = (
    "BTrees",
    "ZODB",
    "bson",
    "deltalake",
    "distributed",
    "h5py",
    "parquetdb",
    "persistent",
    "polars",
    "pymongo",
    "pysail",
    "pyspark",
    "requests",
    "sqlalchemy",
    "tables",
)
"""Systems that only the benchmark uses, and the library of lake tables: 500 MB. Errors say how to add them.
apsw stays, for `lamella sqlite`."""

UNUSED_QT = (
    "PySide6.QtDBus",
    "PySide6.QtDesigner",
    "PySide6.QtHelp",
    "PySide6.QtOpenGL",
    "PySide6.QtOpenGLWidgets",
    "PySide6.QtPrintSupport",
    "PySide6.QtQml",
    "PySide6.QtQuick",
    "PySide6.QtQuick3D",
    "PySide6.QtQuickControls2",
    "PySide6.QtQuickWidgets",
    "PySide6.QtSql",
    "PySide6.QtTest",
    "PySide6.QtUiTools",
)
STAND_INS = {"PySide6.QtOpenGL": "no_opengl.py", "PySide6.QtOpenGLWidgets": "no_opengl.py"}
"""Modules that are replaced in the bundle by a file beside this one."""

UNUSED_ARROW = (
    "pyarrow._azurefs",
    "pyarrow._dataset_orc",
    "pyarrow._feather",
    "pyarrow._flight",
    "pyarrow._gcsfs",
    "pyarrow._hdfs",
    "pyarrow._orc",
    "pyarrow._pyarrow_cpp_tests",
    "pyarrow._s3fs",
    "pyarrow._substrait",
    "pyarrow.benchmark",
    "pyarrow.feather",
    "pyarrow.flight",
    "pyarrow.jvm",
    "pyarrow.tests",
)
"""Other machines' files, Spark's plans, ORC, and a second way to read Feather files. pyarrow imports
these where it finds them."""

UNUSED_MODULES = (
    *BENCHMARK_ONLY,
    *UNUSED_QT,
    *UNUSED_ARROW,
    "Cython",
    "IPython",
    "PIL",
    "_curses",
    "_pytest",
    "anyio",
    "apsw.aio",
    "apsw.speedtest",
    "arro3",
    "botocore",
    "bs4",
    "cffi",
    "cryptography",
    "doctest",
    "duckdb.experimental",
    "duckdb.polars_io",
    "duckdb.query_graph",
    "fsspec.conftest",
    "fsspec.fuse",
    "fsspec.gui",
    "fsspec.implementations",
    "fsspec.parquet",
    "fsspec.tests",
    "google",
    "grpc",
    "http.server",
    "hypothesis",
    "idna",
    "jaraco",
    "jeepney",
    "jinja2",
    "keyring",
    "lib2to3",
    "lxml",
    "markupsafe",
    "matplotlib",
    "mesonbuild",
    "mesonpy",
    "mypy",
    "mypy_extensions",
    "networkx",
    "numexpr",
    "numpy._core._multiarray_tests",
    "numpy.distutils",
    "numpy.f2py",
    "numpy.fft",
    "numpy.polynomial",
    "numpy.testing",
    "openpyxl",
    "optparse",
    "pandas._libs.byteswap",
    "pandas._libs.sas",
    "pandas.io.formats.style",
    "pandas.io.formats.style_render",
    "pandas.io.sas.sas7bdat",
    "pandas.io.sas.sas_xport",
    "pandas.plotting._matplotlib",
    "pdb",
    "py",
    "pydoc_data",
    "pygments",
    "pyqtgraph.console",
    "pyqtgraph.examples",
    "pyqtgraph.flowchart",
    "pyqtgraph.opengl",
    "pytest",
    "rich",
    "scipy",
    "secretstorage",
    "setuptools",
    "smtplib",
    "threadpoolctl",
    "tkinter",
    "unittest",
    "xmlrpc",
    "yaml",
    "zstandard",
)
"""Packages of a developer's environment that the program does not need: tests, their servers, and optional
imports of libraries. They include optional packages of the program, keyring and Spark's client, so that a
bundle from a developer's environment has the same content as one from the locked files."""

UNUSED_FILES = (
    # Qt: modules that plugins would bring, screens without a desktop, TLS, pictures nobody shows
    "Qt6EglF",
    "Qt6OpenGL",
    "Qt6Pdf",
    "Qt6Qml",
    "Qt6Quick",
    "Qt6Test",
    "Qt6VirtualKeyboard",
    "/egldeviceintegrations/",
    "/plugins/generic/",
    "/plugins/networkinformation/",
    "/plugins/tls/",
    "/plugins/xcbglintegrations/",
    "/wayland-graphics-integration-client/",
    "/wayland-decoration-client/libbradient",
    "/wayland-shell-integration/libfullscreen",
    "/wayland-shell-integration/libivi",
    "/wayland-shell-integration/libqt-shell",
    "/wayland-shell-integration/libwl-shell",
    "/platforminputcontexts/libqtvirtualkeyboard",
    "libjpeg",
    "/platforms/libqeglfs",
    "/platforms/libqlinuxfb",
    "/platforms/libqminimal",
    "/platforms/libqvkkhrdisplay",
    "/platforms/libqvnc",
    "/imageformats/libqgif",
    "/imageformats/libqicns",
    "/imageformats/libqjpeg",
    "/imageformats/libqtga",
    "/imageformats/libqtiff",
    "/imageformats/libqwbmp",
    "/imageformats/libqwebp",
    "/imageformats/qicns",
    "/imageformats/qjpeg",
    "/imageformats/qtga",
    "/imageformats/qtiff",
    "/imageformats/qwbmp",
    "/imageformats/qwebp",
    "/qml/",
    "/translations/",
    "opengl32sw.dll",
    "d3dcompiler",
    # Arrow: what only the modules above load; headers, Cython's sources
    "arrow_flight",
    "arrow_python_flight",
    "arrow_python_parquet_encryption",
    "arrow_s3",
    "pyarrow/include/",
    "pyarrow/includes/",
    "pyarrow/src/",
    "pyarrow/tests/",
    "_parquet_encryption",
    # Python packages: metadata beyond names and licences, systems that are left out, how the sample was made
    ".dist-info/RECORD",
    ".dist-info/licenses/",  # licences.txt has their texts
    ".dist-info/sboms/",
    "pyqtgraph/colors/",
    "pyqtgraph/icons/peegee/",
    "/deltalake-",
    "/moto-",
    "/parquetdb-",
    "/pysail-",
    "/pyspark_client-",
    "/zodb-",
    "/markupsafe",
    "/make_sample.py",
    ".egg-info/SOURCES.txt",
)
UNUSED_SUFFIXES = (".pxd", ".pxi", ".pyi", ".pyx", ".lib", ".a", ".h")

SYSTEM_LIBRARIES = re.compile(
    r"lib(X|GL|EGL|atk|atspi|blkid|bsd|cairo|cap|com_err|datrie|dbus|drm|epoxy|expat|fontconfig|freetype|fribidi"
    r"|gbm|gcc_s|gcrypt|gdk|gio|glib|gmodule|gobject|gpg-error|graphite2|gssapi|gthread|gtk|harfbuzz|ICE|k5crypto"
    r"|keyutils|krb5|md|mount|ncurses|pango|pcre|pixman|png|readline|resolv|selinux|SM|stdc\+\+|systemd|thai"
    r"|tinfo|wayland|xcb|uuid)[^/]*\.so\.\d+$"
)
"""Libraries of Linux that every desktop has: graphics drivers and input methods need the ones that they were
built with. GTK is the user's own; Qt works without it."""

BUNDLED_XCB = re.compile(r"libxcb-(cursor|icccm|image|keysyms|render-util|util)\.so\.\d+$")
"""Small libraries that Qt needs and that a desktop may lack."""


DOCSTRINGS = ("lamella", "apsw")
"""Packages that keep their docstrings: SQLite's shell makes its help from them. Other modules are compiled as
by `python -OO`, because the bundle has no Python prompt to read docstrings in."""

COPIES = re.compile(r"/pyarrow/lib\w+\.so(\.\d+\.\d+\.\d+)?$")
"""Copies in pyarrow's wheel, which has some libraries under three names; `.so.2600` is the one that is
loaded."""


def needed(entries: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The entries of PyInstaller's lists (place in the bundle, source, kind) that the bundle needs."""
    return [entry for entry in entries if is_needed(entry[0])]


def is_needed(place: str) -> bool:
    path = "/" + place.replace("\\", "/")
    if path.endswith(UNUSED_SUFFIXES) or any(part in path for part in UNUSED_FILES):
        return False
    if path.count("/") == 1 and sys.platform == "linux":
        name = path[1:]
        return bool(BUNDLED_XCB.match(name)) or not SYSTEM_LIBRARIES.match(name)
    return not COPIES.search(path)


def without_docstrings(modules: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """PyInstaller's list of modules (name, source, kind), most of which are compiled as by `python -OO`."""
    return [
        (name, source, kind if name.partition(".")[0] in DOCSTRINGS else f"{kind}-2")
        for name, source, kind in modules
    ]


# ------------------------------------------------------------------------------------ table


PARTS = {
    "Qt: ICU": r"Qt/lib/libicu|icu(data|uc|i18n)",
    "Qt: libraries": r"PySide6/Qt/lib/|/Qt6\w+\.dll|Qt\w+\.framework",
    "Qt: plugins": r"PySide6/(Qt/)?plugins/",
    "Qt: Python bindings": r"PySide6/|shiboken6/|libpyside6|libshiboken6",
    "Arrow": r"pyarrow/",
    "DuckDB": r"_?duckdb",
    "NumPy: OpenBLAS": r"numpy\.libs/|openblas",
    "NumPy": r"numpy/",
    "pandas": r"pandas/",
    "tantivy": r"tantivy/",
    "apsw (SQLite)": r"apsw/",
    "calamine": r"python_calamine/",
    "Excel writer": r"rustpy_xlsxwriter/",
    "Python": r"python3|libpython|lib-dynload|base_library|\.pyd$|python\d+\.dll",
    "OpenSSL": r"libssl|libcrypto",
    "Lamella: sample data": r"lamella/resources/sample/",
    "Lamella: other resources": r"lamella/",
    "start, and all Python code": r"^lamella(w)?(\.exe)?$",
}


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in files(folder))


def part_of(place: str) -> str:
    inside = place.removeprefix("_internal/")
    return next((name for name, pattern in PARTS.items() if re.search(pattern, inside)), "other libraries")


def table(folder: Path) -> str:
    """The size of each part in megabytes as a Markdown table, the largest first."""
    sizes: Counter[str] = Counter()
    for path in files(folder):
        sizes[part_of(path.relative_to(folder).as_posix())] += path.stat().st_size
    lines = [f"| {name} | {megabytes(bytes_)} |" for name, bytes_ in sizes.most_common()]
    return "\n".join(["| part | MB |", "|---|---:|", *lines, f"| all | {megabytes(sizes.total())} |"])


def megabytes(bytes_: int) -> str:
    return f"{bytes_ / 1e6:.1f}"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=BUNDLE)
    parser.add_argument("--files", type=int, default=0, metavar="N", help="name the N largest files, too")
    arguments = parser.parse_args(argv)
    print(table(arguments.folder))
    largest = sorted(files(arguments.folder), key=lambda path: path.stat().st_size, reverse=True)
    for path in largest[: arguments.files]:
        print(f"{megabytes(path.stat().st_size):>8}  {path.relative_to(arguments.folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
