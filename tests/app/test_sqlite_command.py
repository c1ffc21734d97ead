"""`lamella sqlite` as people call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lamella import Store, resources
from lamella.app import cli

AIRLINES, PLANES = (str(resources.sample(name)) for name in ("airlines", "planes"))


def test_files_and_stores_are_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "taxi") as store:
        store.create_table("trips", {"carrier": ["AA", "AA", "UA"]})
    sql = "select name, count(*) from trips join airlines using (carrier) group by 1"
    assert (
        cli.main(["sqlite", str(tmp_path / "taxi"), AIRLINES, "--command", sql, "--command", ".tables"]) == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        *("American Airlines Inc.|2", "United Air Lines Inc.|1"),
        *("airlines", "trips"),
    ]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("delete from airlines", "may not be modified"),
        ("select nope from airlines", "no such column: nope"),
        (".nope", 'Unknown command "nope"'),
        ("create virtual table t using lamella('nowhere.parquet')", "nowhere.parquet: is not there"),
    ],
)
def test_what_fails_is_told_once_and_ends_it(
    command: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["sqlite", AIRLINES, "--command", command, "--command", "select 'later'"]) == cli.REFUSED
    printed = capsys.readouterr()
    assert printed.err.count(reason) == 1
    assert "later" not in printed.out


def test_a_command_that_is_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sqlite", AIRLINES, "--command", "select '\udcff'"]) == cli.REFUSED
    output = capsys.readouterr()
    assert "half a character" in output.err
    assert "codec" not in output.err + output.out


@pytest.mark.slow
def test_a_script_that_is_not_utf8_is_refused() -> None:
    code = "import sys; from lamella.app import cli; sys.exit(cli.main(sys.argv[1:]))"
    words = [sys.executable, "-X", "utf8", "-c", code, "sqlite", AIRLINES]
    result = subprocess.run(words, check=False, input=b"select '\xff';\n", capture_output=True, timeout=60)
    assert result.returncode == cli.REFUSED
    assert b"the commands are not UTF-8 text" in result.stderr


def test_a_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sqlite", AIRLINES.replace("airlines", "airlinez")]) == cli.REFUSED
    assert "Did you mean" in capsys.readouterr().err


def test_a_script_comes_from_standard_input() -> None:
    """pandas, which takes long to import, stays out of it."""
    code = (
        "import sys; from lamella.app import cli; code = cli.main(sys.argv[1:]);"
        "assert 'pandas' not in sys.modules; sys.exit(code)"
    )
    script = "select count(*) from planes where year between 1990 and '1999';\n.quit\n"
    result = subprocess.run(
        [sys.executable, "-c", code, "sqlite", PLANES],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr, result.stdout) == (0, "", "977\n")
