"""Folders on a FUSE file system open in place, like any other folder."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, open_dataset

PASSING = """
import os, sys
import mfusepy
class Passing(mfusepy.Operations):
    'Another folder, read alone, whose handles know neither mmap nor ioctl.'
    use_ns = True
    def __init__(self, root): self.root = root
    def _at(self, path): return self.root + path
    def getattr(self, path, fh=None):
        try: status = os.lstat(self._at(path))
        except OSError as error: raise mfusepy.FuseOSError(error.errno)
        names = ("st_mode", "st_size", "st_nlink", "st_uid", "st_gid")
        found = {name: getattr(status, name) for name in names}
        return found | dict.fromkeys(("st_mtime", "st_atime", "st_ctime"), status.st_mtime_ns)
    def readdir(self, path, fh): return [".", "..", *os.listdir(self._at(path))]
    def open(self, path, flags):
        if flags & (os.O_WRONLY | os.O_RDWR): raise mfusepy.FuseOSError(30)
        return os.open(self._at(path), os.O_RDONLY)
    def read(self, path, size, offset, fh): return os.pread(fh, size, offset)
    def release(self, path, fh): os.close(fh); return 0
mfusepy.FUSE(Passing(sys.argv[1]), sys.argv[2], foreground=True, nothreads=True, direct_io=True)
"""


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder, and the same folder through FUSE with `direct_io`, which has no mmap."""
    if sys.platform != "linux" or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("FUSE needs Linux and /dev/fuse")
    folder, place = tmp_path / "folder", tmp_path / "mount"
    folder.mkdir()
    place.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", PASSING, str(folder), str(place)], stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 20
    while not place.is_mount() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    if not place.is_mount():
        process.kill()
        said = process.communicate()[1].strip().splitlines()
        pytest.skip(f"FUSE cannot be mounted here: {said[-1] if said else 'it does not say why'}")
    try:
        yield folder, place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
        process.wait(timeout=20)
        process.communicate()


def test_files_of_every_kind_open_from_a_mount(mounted: tuple[Path, Path], tmp_path: Path):
    folder, place = mounted
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("rows", [{"n": i, "word": f"w{i % 7}"} for i in range(5000)])
        for suffix in ("parquet", "csv", "jsonl", "arrow", "xlsx", "sqlite", "duckdb"):
            table.export(folder / f"rows.{suffix}")
            rows = open_dataset(place / f"rows.{suffix}")
            assert rows.read()["n"].to_pylist() == list(range(5000)), suffix
            assert rows.where("n < 10").count() == 10
            grouped = rows.group_by("word").agg(n=agg.count()).read()
            assert sum(grouped["n"].to_pylist()) == 5000


def test_a_folder_of_parquet_on_a_mount_is_one_dataset_and_notices_changes(mounted: tuple[Path, Path]):
    folder, place = mounted
    for year in (2023, 2024):
        (folder / f"year={year}").mkdir()
        pq.write_table(pa.table({"n": [year]}), folder / f"year={year}" / "part.parquet")
    dataset = open_dataset(place)
    assert dataset.read().to_pydict() == {"n": [2023, 2024], "year": [2023, 2024]}
    pq.write_table(pa.table({"n": [1, 2, 3]}), folder / "year=2024" / "part.parquet")
    with pytest.raises(Exception, match="changed on disk"):
        dataset.read()
    assert open_dataset(place).num_rows == 4
    with pytest.raises(OSError) as caught:
        (place / "new").write_text("x")
    assert caught.value.errno in (errno.EROFS, errno.ENOSYS)
