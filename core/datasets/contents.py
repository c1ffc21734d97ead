"""The beginning and end of a file, and what foreign formats look like there."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lamella.core.datasets.locate import cannot_read
from lamella.core.errors import FileProblem

HEAD_BYTES = 64 << 10
TAIL_BYTES = 8


@dataclass(frozen=True)
class Contents:
    """What a file's format is recognised by; its name plays no part."""

    path: Path
    size: int
    head: bytes
    tail: bytes

    @property
    def whole(self) -> bool:
        return self.size <= len(self.head)


def look_into(path: Path) -> Contents:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            return Contents(path, size, head, file.read(TAIL_BYTES))
    except OSError as error:
        raise cannot_read(path, error) from error


_CONTINUATION = b"\xff\xff\xff\xff"


def is_arrow_file(contents: Contents) -> bool:
    """Whether it is an Arrow file, also a truncated one: opening it reports that."""
    return contents.head.startswith(b"ARROW1\0\0")


def is_arrow_stream(contents: Contents) -> bool:
    """Whether it is an Arrow stream, which begins with the length of its schema, a flatbuffers table."""
    head = contents.head
    if not head.startswith(_CONTINUATION):
        return False
    try:
        return pa.ipc.open_stream(pa.py_buffer(head)).schema is not None
    except (pa.ArrowInvalid, OSError):
        return len(head) < contents.size and int.from_bytes(head[4:8], "little") > len(head)


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OF_WORKBOOKS = tuple(name.encode("utf-16-le") for name in ("workbook", "book", "encryptedpackage"))


def is_workbook(contents: Contents) -> bool:
    """Whether it is a workbook of Excel or OpenDocument, also an encrypted or truncated one."""
    if contents.head.startswith(OLE):
        directory = _directory(contents).lower()  # some programs write the names in capitals
        return any(name in directory for name in _OF_WORKBOOKS)
    if not contents.head.startswith(b"PK\x03\x04"):
        return False
    try:
        with contents.path.open("rb") as file, zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            if names & {"xl/workbook.xml", "xl/workbook.bin"}:
                return True
            types = _content_types(archive) if _TYPES in names else b""
    except (zipfile.BadZipFile, OSError):
        return b"xl/" in contents.head or _SPREADSHEET in contents.head
    return any(kind in types for kind in _WORKBOOK_TYPES) or _SPREADSHEET in contents.head


_TYPES, _MOST_TYPES = "[Content_Types].xml", 1 << 20
"""The part that names the types of all parts, which may be anywhere (ECMA-376, part 2)."""
_WORKBOOK_TYPES = (
    *(b"spreadsheetml.sheet.main+xml", b"spreadsheetml.template.main+xml"),
    *(b"ms-excel.sheet.", b"ms-excel.template."),
)


def _content_types(archive: zipfile.ZipFile) -> bytes:
    try:
        with archive.open(_TYPES) as part:
            return part.read(_MOST_TYPES)
    except (EOFError, zlib.error, RuntimeError):  # damaged, encrypted, or an unknown compression
        return b""


_SPREADSHEET = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"


def _directory(contents: Contents) -> bytes:
    """The first sectors of the directory of a compound file, the container of older Office documents."""
    head = contents.head
    sector_bytes = 1 << int.from_bytes(head[30:32], "little") % 16
    place = (int.from_bytes(head[48:52], "little") + 1) * sector_bytes
    with contents.path.open("rb") as file:
        file.seek(place)
        return file.read(4 * sector_bytes)


WEB_PAGE = "a web page (HTML)"
ENCRYPTED_PARQUET = "an encrypted Parquet file"

# Signatures as the formats' own specifications give them.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"FEA1", "a Feather file of the first version"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"PARE", ENCRYPTED_PARQUET),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (OLE, "an old Office document"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
)
_HTML = re.compile(rb"(?is)(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)[\s>]")


def foreign_format(contents: Contents) -> str | None:
    """The name, with its article, of a format that cannot be opened; None if the file has no such format."""
    if _HTML.match(contents.head):
        return WEB_PAGE
    for signature, label in _SIGNATURES:
        if contents.head.startswith(signature):
            return (
                _kind_of_zip(contents)
                if signature == b"PK\x03\x04"
                else _unless_text(contents, signature, label)
            )
    return None


def refuse_foreign(contents: Contents, fix: Callable[[], str]) -> None:
    """Raise `FileProblem` for a file in a format that cannot be opened. `fix` names those that can."""
    foreign = foreign_format(contents)
    if foreign is None:
        return
    if foreign == WEB_PAGE:
        why = "A server may have sent a page for signing in, or an error, instead of the file"
        raise FileProblem(contents.path, f"is {foreign}", why, "Open it in a browser to see what it says")
    if foreign == ENCRYPTED_PARQUET:
        why = "Its footer is encrypted, so not even the names of its columns can be read"
        raise FileProblem(
            contents.path, f"is {foreign}", why, "Decrypt it with the program that has its keys"
        )
    if "a ZIP archive of" in foreign:
        why = "Only archives of one file are opened"
        raise FileProblem(contents.path, f"is {foreign}", why, "Unpack it first")
    raise FileProblem(contents.path, f"is {foreign}", "Files of that kind cannot be opened", fix())


def _unless_text(contents: Contents, signature: bytes, label: str) -> str | None:
    """The label, or None if the signature is only letters and the file looks like text: 'ORC,weight'."""
    letters = signature.isalnum() and b"\0" not in contents.head and contents.head.isascii()
    return None if letters else label


def _kind_of_zip(contents: Contents) -> str | None:
    """The name of what the archive is; None for an archive of one file, which is read as that file."""
    names = contents.head
    try:
        with contents.path.open("rb") as file, zipfile.ZipFile(file) as archive:
            files = [name for name in archive.namelist() if not name.endswith("/")]
    except (zipfile.BadZipFile, OSError):
        files = []
    files = [name for name in files if not name.startswith("__MACOSX/")]
    if len(files) == 1:
        return None
    if b"[Content_Types].xml" in names:
        return "a Word document" if b"word/" in names else "an Office document"
    if b"mimetypeapplication/vnd.oasis" in names:
        return "an OpenDocument file"
    return f"a ZIP archive of {len(files):,} files" if files else "a ZIP archive that is empty or damaged"
