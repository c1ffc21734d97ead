"""Keys of a bucket that no file system would allow, or that look like something else."""

from __future__ import annotations

import pytest

from lamella import FileProblem, open_dataset
from lamella.core.datasets.locate import locate
from lamella.core.remote import listing, object_store
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.paths import RemotePath
from tests.remote_servers import S3Server, listing_server
from tests.slow_tests import Tier

ODD = [
    "a b.csv", "100%.csv", "%41.csv", "ü.csv", "e\u0301.csv", "😀.csv", "#h?x=1.csv", "plus+sign.csv",
    "quote'\".csv", "back\\slash.csv", "star*.csv", "br[1].csv", "semi;colon&.csv", "~tilde.csv",
    "deep/x y.csv",
]  # fmt: skip


def names(address: str, recursive: bool = False) -> list[str]:
    pages = listing.pages(Address.parse(address), recursive)
    return [f"{e.address.key}{'/' if e.is_folder else ''}" for page in pages for e in page]


def test_files_of_odd_names_are_listed_and_open(s3: S3Server, bucket: str):
    for number, key in enumerate(ODD):
        s3.put(bucket, key, f"n\n{number}\n".encode())
    assert sorted(names(f"s3://{bucket}", recursive=True)) == sorted(ODD)
    for number, key in list(enumerate(ODD))[:: 1 if Tier.slow else 2]:
        assert open_dataset(f"s3://{bucket}/{key}").read()["n"].to_pylist() == [number], key
    assert open_dataset(f"s3://{bucket}").num_rows == len(ODD)
    assert open_dataset(f"s3://{bucket}/*.csv").num_rows == len(ODD) - 1


def test_no_sign_of_a_pattern_but_two_stars_is_a_slash(s3: S3Server, bucket: str):
    for key in ("a/x-y.csv", "a/x/y.csv", "b.csv"):
        s3.put(bucket, key, b"n\n1\n")
    for pattern, keys in {
        "?/x?y.csv": ["a/x-y.csv"],
        "?/x[!a]y.csv": ["a/x-y.csv"],
        "?/[x]/y.csv": ["a/x/y.csv"],
        "*/*.csv": ["a/x-y.csv"],
        "**/*y.csv": ["a/x-y.csv", "a/x/y.csv"],
        "a/**": ["a/x-y.csv", "a/x/y.csv"],
    }.items():
        pages = listing.matches(Address.parse(f"s3://{bucket}/{pattern}"))
        assert [entry.address.key for page in pages for entry in page] == keys, pattern


def test_a_pattern_in_a_folder_that_listings_leave_out(s3: S3Server, bucket: str):
    s3.put(bucket, "_stage/1.csv", b"n\n1\n")
    s3.put(bucket, "_stage/_temporary/2.csv", b"n\n2\n")
    assert open_dataset(f"s3://{bucket}/_stage/**/*.csv").read()["n"].to_pylist() == [1]


def test_a_folder_of_empty_files_is_there(s3: S3Server, bucket: str):
    s3.put(bucket, "out/_SUCCESS", b"")
    with pytest.raises(FileProblem, match="holds no data files"):
        open_dataset(f"s3://{bucket}/out")


def test_markers_of_folders_are_no_files(s3: S3Server, bucket: str):
    """The S3 console creates an empty object `folder/` for a folder."""
    for key in ("deep/", "deep/x.csv", "deep/er/", "deep/er/y.csv"):
        s3.put(bucket, key, b"n\n1\n" if key.endswith(".csv") else b"")
    assert names(f"s3://{bucket}") == ["deep/"]
    assert names(f"s3://{bucket}/deep") == ["deep/er/", "deep/x.csv"]
    assert open_dataset(f"s3://{bucket}/deep").num_rows == 2


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("odd", ["odd//x.csv", "odd/../x.csv", "odd/t\tb.csv"], ids=["empty", "up", "tab"])
def test_a_key_that_cannot_be_read_is_named_and_hides_no_other(s3: S3Server, bucket: str, odd: str):
    for key in ("a.csv", odd, "z/b.csv"):
        s3.put(bucket, key, b"n\n1\n")
    assert names(f"s3://{bucket}") == ["a.csv", "odd/", "z/"]
    assert open_dataset(f"s3://{bucket}/a.csv").num_rows == 1
    assert open_dataset(f"s3://{bucket}/z").num_rows == 1
    with pytest.raises(FileProblem, match="contains a file that cannot be listed") as caught:
        locate(RemotePath(f"s3://{bucket}"))
    assert repr(odd) in str(caught.value)
    with pytest.raises(FileProblem, match="cannot be opened") as caught:
        open_dataset(f"s3://{bucket}/{odd}")
    assert repr(odd) in str(caught.value)


def test_a_server_that_heeds_no_offset_is_listed_to_its_end(monkeypatch: pytest.MonkeyPatch):
    """Azure's emulator is such a server: continuing after a large folder would restart at its beginning."""
    monkeypatch.setattr(object_store, "KEYS_BEFORE_SKIP", 1500)
    with listing_server() as server:
        server.most_pages, server.begins_anew = 4, True
        Connections().save(Connection("large", "s3", endpoint=server.endpoint, anonymous=True))
        assert names("s3://large/") == ["flat/"]
        assert server.pages <= 6
        assert len(names("s3://large/flat")) == 4000
