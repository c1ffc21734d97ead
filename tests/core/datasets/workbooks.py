"""Workbooks written by hand, as small as they can be: what a cell says is what stands in the file; and a
database of two tables."""

from __future__ import annotations

import datetime as dt
import sqlite3
import struct
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_IDS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_DAY, _MOMENT, _TIME = 1, 2, 3
_STYLES = f"""<styleSheet {_MAIN}><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy-mm-dd"/>
<numFmt numFmtId="165" formatCode="yyyy-mm-dd hh:mm:ss"/></numFmts><cellXfs count="4"><xf numFmtId="0"/>
<xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="21"/></cellXfs></styleSheet>"""


_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Override PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"""


class Error(str):
    """A cell with an error, such as #DIV/0!."""


def workbook(
    path: Path,
    sheets: Mapping[str, Sequence[Sequence[Any]]],
    hidden: Sequence[str] = (),
    merged: Sequence[str] = (),
    date_1904: bool = False,
) -> Path:
    listed, relations = [], []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for number, (name, rows) in enumerate(sheets.items(), 1):
            state = ' state="hidden"' if name in hidden else ""
            listed.append(f'<sheet name="{escape(name)}" sheetId="{number}"{state} r:id="r{number}"/>')
            relations.append((f"r{number}", "worksheet", f"worksheets/sheet{number}.xml"))
            book.writestr(f"xl/worksheets/sheet{number}.xml", _sheet(rows, merged, date_1904))
        place = "http://schemas.openxmlformats.org/package/2006/relationships"
        root = f'<Relationship Id="r" Type="{_KIND}officeDocument" Target="xl/workbook.xml"/>'
        book.writestr("_rels/.rels", f'<Relationships xmlns="{place}">{root}</Relationships>')
        epoch = '<workbookPr date1904="1"/>' if date_1904 else ""
        book.writestr(
            "xl/workbook.xml",
            f"<workbook {_MAIN} {_IDS}>{epoch}<sheets>{''.join(listed)}</sheets></workbook>",
        )
        relations.append(("rs", "styles", "styles.xml"))
        parts = "".join(f'<Relationship Id="{i}" Type="{_KIND}{k}" Target="{t}"/>' for i, k, t in relations)
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{place}">{parts}</Relationships>')
        book.writestr("xl/styles.xml", _STYLES)
        book.writestr("[Content_Types].xml", _TYPES)
    return path


def _sheet(rows: Sequence[Sequence[Any]], merged: Sequence[str], date_1904: bool) -> str:
    lines = []
    for number, row in enumerate(rows, 1):
        cells = [_cell(f"{_letters(place)}{number}", v, date_1904) for place, v in enumerate(row)]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    ranges = "".join(f'<mergeCell ref="{range_}"/>' for range_ in merged)
    tail = f'<mergeCells count="{len(merged)}">{ranges}</mergeCells>' if merged else ""
    return f"<worksheet {_MAIN}><sheetData>{''.join(lines)}</sheetData>{tail}</worksheet>"


def _letters(place: int) -> str:
    letters = ""
    place += 1
    while place:
        place, remainder = divmod(place - 1, 26)
        letters = chr(65 + remainder) + letters
    return letters


def _cell(ref: str, value: Any, date_1904: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, Error):
        return f'<c r="{ref}" t="e"><f>1/0</f><v>{value}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{ref}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{ref}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    style, number = _number(value, date_1904)
    return f'<c r="{ref}" s="{style}"><v>{number!r}</v></c>'


def _number(value: Any, date_1904: bool) -> tuple[int, float]:
    epoch = dt.datetime(1904, 1, 1) if date_1904 else dt.datetime(1899, 12, 30)
    if isinstance(value, dt.datetime):
        return _MOMENT, (value - epoch) / dt.timedelta(days=1)
    if isinstance(value, dt.date):
        return _DAY, (dt.datetime(value.year, value.month, value.day) - epoch).days
    if isinstance(value, dt.time):
        return _TIME, (value.hour * 3600 + value.minute * 60 + value.second) / 86_400
    return 0, value


def open_document(path: Path, cells: str) -> Path:
    """A workbook of OpenDocument with one sheet; `cells` are its rows as they stand in the file."""
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "manifest")
    )
    table = f'<table:table table:name="One">{cells}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", kind)
        book.writestr("META-INF/manifest.xml", f"<manifest:manifest {names}>{entry}</manifest:manifest>")
        book.writestr("content.xml", f"<office:document-content {names}>{body}</office:document-content>")
    return path


def encrypted(path: Path) -> Path:
    """A compound file with the streams that Office writes where a workbook has a password."""
    names = ["Root Entry", "EncryptionInfo", "EncryptedPackage"]
    entries = b""
    for place, name in enumerate(names):
        text = name.encode("utf-16-le")
        kind, child, right = (5, 1, -1) if place == 0 else (2, -1, 2 if place == 1 else -1)
        entries += text.ljust(64, b"\0") + struct.pack("<HBBiii", len(text) + 2, kind, 1, -1, right, child)
        entries += b"\0" * 36 + struct.pack("<iq", -2, 0)
    entries = entries.ljust(512, b"\0")
    fat = struct.pack("<128i", -3, -2, *[-1] * 126)
    header = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 16 + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += b"\0" * 6 + struct.pack("<iiiiIiiii", 0, 1, 1, 0, 4096, -2, 0, -2, 0)
    header += struct.pack("<109i", 0, *[-1] * 108)
    path.write_bytes(header + fat + entries)
    return path


def shop_database(folder: Path) -> Path:
    """Customers, and their orders, in SQLite."""
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE customers (id, name)")
        connection.execute("CREATE TABLE orders (customer, total)")
        connection.execute("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo')")
        connection.execute("INSERT INTO orders VALUES (1, 5), (1, 7), (2, 1)")
    return path
