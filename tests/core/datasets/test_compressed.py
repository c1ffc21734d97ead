"""Compressed text: every way in which it comes, what is no single text, and what is made to fill disks."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lamella.core.datasets import cache, open_dataset
from lamella.core.datasets.text import dataset as opening
from lamella.core.datasets.text import source
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job

CSV = "n,s\n" + "".join(f"{n},row {n}\n" for n in range(500))
ROWS = 60_000


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def zipped(data: bytes, name: str = "data.csv") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped, "zst": zstd,
}  # fmt: skip


def opened(path: Path) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_delimited_text(tmp_path: Path, way: str, encoding: str) -> None:
    path = tmp_path / f"trips.csv.{way}"
    path.write_bytes(WAYS[way](CSV.encode(encoding)))
    dataset = opened(path)
    assert dataset.name == "trips" and dataset.format.startswith("CSV, ")
    assert dataset.read()["n"].to_pylist() == list(range(500))


@pytest.mark.parametrize("way", WAYS)
def test_json_of_both_kinds(tmp_path: Path, way: str) -> None:
    rows = [{"n": 1}, {"n": 2}]
    for text in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
        (tmp_path / "a").write_bytes(WAYS[way](text.encode()))
        assert opened(tmp_path / "a").read().to_pylist() == rows


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("way", WAYS)
def test_a_large_one_is_read_through_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(opening, "SMALLEST_BLOCK", 256 << 10)
    text = "n,s\n" + "".join(f"{n},row {n} and so on\n" for n in range(ROWS))
    (tmp_path / "a").write_bytes(WAYS[way](text.encode()))
    dataset = opened(tmp_path / "a")
    assert not dataset.snapshot().complete
    fractions: list[float | None] = []
    dataset.fill(Job(lambda progress: fractions.append(progress.fraction)))
    assert dataset.num_rows == ROWS and fractions[-1] is not None and fractions[-1] > 0.9


@pytest.mark.parametrize("way", WAYS)
def test_one_that_was_cut_off_is_refused(tmp_path: Path, way: str) -> None:
    (tmp_path / "a.csv").write_bytes(WAYS[way](CSV.encode())[:-60])
    with pytest.raises(
        FileProblem, match=r"decompressed as .*download it again|ZIP archive that is empty or damaged"
    ):
        opened(tmp_path / "a.csv").count()


def test_a_damaged_member_of_an_archive_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped(CSV.encode()))
    data[60:70] = bytes(10)
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(FileProblem, match="could not be decompressed as zip"):
        opened(tmp_path / "a.zip")


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.csv", CSV)
    with pytest.raises(FileProblem, match=r"ZIP archive of 2 files.*Unpack it first"):
        opened(path)


def test_what_systems_put_beside_a_file_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/a.csv", CSV)
        archive.writestr("__MACOSX/folder/._a.csv", b"\0")
    assert opened(path).num_rows == 500


@pytest.mark.parametrize("name", ["../../escaped.csv", "/tmp/escaped.csv", "C:\\escaped.csv", "a\0b.csv"])
def test_names_inside_an_archive_lead_nowhere(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "deep" / "deeper"
    folder.mkdir(parents=True)
    (folder / "a.zip").write_bytes(zipped(CSV.encode(), name))
    dataset = opened(folder / "a.zip")
    dataset.count()
    assert dataset.num_rows == 500
    assert [p.name for p in tmp_path.rglob("*.csv")] == []


def test_a_link_inside_an_archive_is_not_followed(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("data.csv")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(FileProblem, match=r"holds a link.*not followed"):
        opened(tmp_path / "a.zip")


def test_a_password_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped(CSV.encode()))
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + place] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(FileProblem, match=r"protected by a password.*Unpack"):
        opened(tmp_path / "a.zip")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("way", WAYS)
def test_a_file_made_to_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(source, "MOST_PLAIN_BYTES", 4 << 20)
    monkeypatch.setattr(source, "MOST_TIMES", 100)
    (tmp_path / "a.csv").write_bytes(WAYS[way](b"a,b\n" + b"1,2\n" * (3 << 20)))
    with pytest.raises(FileProblem, match=r"more than 100 times as large.*decompress it yourself"):
        opened(tmp_path / "a.csv").fill(Job())
    with pytest.raises(FileProblem, match="more than 100 times"):
        list(opened(tmp_path / "a.csv").rows_once(Job(), lambda rows, position: None))


def test_a_cache_leaves_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "12345678\n" * 300_000)
    dataset = opened(path)
    monkeypatch.setattr(
        cache.shutil, "disk_usage", lambda folder: SimpleNamespace(total=100 << 30, free=500 << 20)
    )
    with pytest.raises(FileProblem, match=r"cache of files cannot be written.*500 MB left.*Make room"):
        dataset.fill(Job())
    assert dataset.num_rows > 1000
