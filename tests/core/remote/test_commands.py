"""`lamella query`, `import`, `export` and `connections test` with addresses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamella import Store
from lamella.app.cli import main
from lamella.core.remote.paths import RemotePath
from tests.remote_servers import S3Server


@pytest.fixture
def address(s3: S3Server, bucket: str) -> str:
    s3.put(bucket, "in/trips.csv", b"n,word\n1,one\n2,two\n3,three\n")
    return f"s3://{bucket}/in/trips.csv"


def test_query_and_sql(address: str, capsys: pytest.CaptureFixture[str]):
    assert main(["query", address, "--where", "n > 1", "--format", "jsonl"]) == 0
    assert [json.loads(line)["word"] for line in capsys.readouterr().out.splitlines()] == ["two", "three"]
    assert main(["query", address, "SELECT sum(n) AS n FROM trips", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 6}]


def test_import_and_export(address: str, bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store = str(tmp_path / "store")
    assert main(["import", address, f"{store}:trips"]) == 0
    with Store.open(store) as opened:
        assert opened["trips"].num_rows == 3
    target = f"s3://{bucket}/out/trips.jsonl"
    assert main(["export", store, "trips", target, "--where", "n < 3"]) == 0
    assert target in capsys.readouterr().out
    lines = RemotePath(target).read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [{"n": 1, "word": "one"}, {"n": 2, "word": "two"}]
    assert main(["export", store, "trips", target]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["export", store, "trips", "https://example.org/trips.csv"]) == 2
    assert "Web servers can only be read" in capsys.readouterr().err


def test_connections_are_tried(address: str, bucket: str, capsys: pytest.CaptureFixture[str]):
    assert main(["connections", "test", "test", f"s3://{bucket}/in"]) == 0
    assert "trips.csv" in capsys.readouterr().out
    assert main(["connections", "test", "test"]) == 2
    assert "Give an address" in capsys.readouterr().err


def test_schemes_that_mean_nothing_say_which_is_meant(capsys: pytest.CaptureFixture[str]):
    assert main(["query", "s4://bucket/x.csv", "--limit", "1"]) == 2
    assert "Did you mean s3://" in capsys.readouterr().err
