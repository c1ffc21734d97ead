"""The cache of ranges is shared by programs, stays within its limit, and does not return damaged data."""

from __future__ import annotations

from pathlib import Path

from lamella.core.remote.addresses import Address
from lamella.core.remote.cache import CacheEntry, RangeCache
from lamella.core.remote.server import Status

ADDRESS = Address.parse("s3://bucket/key")
MB = 1 << 20


def entry(cache: RangeCache, etag: str = "1") -> CacheEntry:
    return cache.entry(ADDRESS, Status(100 * MB, 0, etag))


def test_parts_of_what_is_kept_are_read_without_the_rest(tmp_path: Path):
    """The checksum of the whole is compared once; a file that is truncated later is still noticed."""
    cache = RangeCache(tmp_path)
    entry(cache).write(1000, bytes(range(256)) * 4)
    reader = entry(cache)
    for start, stop in ((1000, 2024), (1001, 1003), (2020, 2024)):
        assert bytes(reader.read(start, stop) or b"") == (bytes(range(256)) * 4)[start - 1000 : stop - 1000]
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(path.read_bytes()[:-1])
    assert reader.read(1001, 1003) is None
    assert reader.missing([(1000, 2024)]) == [(1000, 2024)]
    assert not path.exists()


def test_what_is_damaged_before_it_is_first_read_is_dropped(tmp_path: Path):
    cache = RangeCache(tmp_path)
    entry(cache).write(0, b"a" * 1000)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(b"b" * 1000)
    assert entry(cache).read(0, 10) is None
    assert cache.size() == 0


def test_two_programs_keep_one_limit(tmp_path: Path):
    """Neither knows what the other writes: each measures the folder again now and then."""
    programs = [RangeCache(tmp_path, most_bytes=10 * MB) for _ in range(2)]
    for number in range(40):
        entry(programs[number % 2], str(number)).write(0, bytes([number]) * MB)
    assert programs[0].size() <= 1.2 * 10 * MB
    assert bytes(entry(programs[1], "39").read(0, 3) or b"") == b"\x27" * 3


def test_writing_the_same_again_drives_nothing_out(tmp_path: Path):
    cache = RangeCache(tmp_path, most_bytes=10 * MB)
    entry(cache, "first").write(0, b"a" * MB)
    for _ in range(50):
        entry(cache, "same").write(0, b"b" * MB)
    assert cache.size() == 2 * MB
    assert entry(cache, "first").read(0, 1) is not None


def test_a_folder_that_a_sweep_took_is_made_again(tmp_path: Path):
    cache = RangeCache(tmp_path)
    cached = entry(cache)
    cached.write(0, b"abc")
    cache.clear()
    assert cached.read(0, 3) is None
    cached.write(0, b"abc")
    assert bytes(cached.read(0, 3) or b"") == b"abc"
