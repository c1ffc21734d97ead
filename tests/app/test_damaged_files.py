"""Commands name files whose checksums differ."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store
from lamella.app import cli
from lamella.core.scan import file_checks
from lamella.core.scan.checksums import header_at

ROWS = 4_000


def flip(path: Path, group: int) -> None:
    """Change a number of a row group."""
    at = pq.read_metadata(path).row_group(group).column(0).data_page_offset
    with path.open("r+b") as file:
        header = header_at(file, at, at + 1_000)
        assert header is not None
        file.seek(at + header.length + header.size // 2)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    rows = pa.table({"n": list(range(ROWS))})
    pq.write_table(
        rows, tmp_path / "t.parquet", row_group_size=1_000, write_page_checksum=True, compression="none",
        use_dictionary=False,
    )  # fmt: skip
    flip(tmp_path / "t.parquet", 3)
    return tmp_path / "t.parquet"


def test_query_offers_to_look_anyway(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", str(damaged), "select count(*) as c from t"]) == cli.REFUSED
    output = capsys.readouterr().err
    assert "the checksum of a page differs" in output
    assert "--checksums ignore" in output
    words = ["query", str(damaged), "select count(*) as c from t", "--checksums", "ignore", "--format", "csv"]
    assert cli.main(words) == 0
    assert str(ROWS) in capsys.readouterr().out


def test_import_offers_to_look_anyway(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{tmp_path / 'store'}:t"
    assert cli.main(["import", str(damaged), target]) == cli.REFUSED
    assert "--checksums ignore" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
    assert cli.main(["import", str(damaged), target, "--checksums", "ignore"]) == 0
    assert f"{ROWS:,} rows are in table t" in capsys.readouterr().out


def test_an_answer_from_a_damaged_file_is_withdrawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are too large to be read whole before the answer are checked behind it."""
    with Store.open(tmp_path / "store") as store:
        store.create_table("t", pa.table({"n": [i * 7919 % 1_000 for i in range(ROWS)]}))
    path = next(tmp_path.rglob("*.parquet"))
    flip(path, 0)
    monkeypatch.setattr(file_checks, "AT_ONCE_BYTES", -1)
    words = ["query", str(tmp_path / "store"), "select sum(n + 1) as c from t"]
    assert cli.main(words) == cli.DAMAGED
    output = capsys.readouterr().err
    assert f"{path}: is damaged" in output
    assert "Do not rely on the output" in output
    assert cli.main(words) == cli.REFUSED
