"""`lamella change` as people call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lamella import Store
from lamella.app import cli

ROWS = [{"vendor": name, "fare": fare} for name, fare in (("CMT", 12.5), ("VTS", -3.0), ("CMT", 12.5))]


@pytest.fixture
def taxi(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "taxi") as store:
        store.create_table("trips", ROWS)
    return tmp_path / "taxi"


@pytest.fixture
def change(taxi: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def change(*words: str) -> tuple[int, str]:
        code = cli.main(["change", str(taxi), "trips", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return change


def fares(taxi: Path) -> list[float]:
    with Store.open(taxi) as store:
        return store["trips"].read(["fare"]).column(0).to_pylist()


Change = Callable[..., tuple[int, str]]


def test_values_are_computed_where_a_condition_holds(taxi: Path, change: Change) -> None:
    words = ["--where", "fare < 0", "--compute", "fare=-fare", "--set", "vendor=CMT"]
    code, said = change(*words, "--preview")
    assert (code, said) == (0, "1 row would be changed, of 1 row\n")
    assert fares(taxi) == [12.5, -3.0, 12.5]
    code, said = change(*words)
    assert code == 0 and said.startswith("1 row changed in table trips of ")
    assert fares(taxi) == [12.5, 3.0, 12.5]


def test_operators_come_as_json(taxi: Path, change: Change) -> None:
    assert change("--operators", '{"$inc": {"fare": 1}, "$case": {"vendor": "lower"}}')[0] == 0
    assert fares(taxi) == [13.5, -2.0, 13.5]


def test_rows_are_deleted_and_duplicates_dropped(taxi: Path, change: Change) -> None:
    assert change("--drop-duplicates", "--keep", "last")[1].startswith("1 row deleted")
    assert change("--delete", "--where", "fare < 0")[1].startswith("1 row deleted")
    assert fares(taxi) == [12.5]


def test_rows_of_a_file_are_laid_over_by_key(taxi: Path, change: Change, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("vendor,fare,tip\nVTS,4,1\nVTS,5,2\nNEW,1,\n")
    code, said = change("--upsert", str(file), "--on", "vendor", "--preview")
    assert said == (
        "1 row would be added, 1 row would be changed, of 3 rows; "
        "2 rows repeat a key with other values; tip would be int64\n"
    )
    code, said = change("--upsert", str(file), "--on", "vendor")
    assert code == 2 and "two of the rows given" in said
    assert change("--upsert", str(file), "--on", "vendor", "--keep", "last")[0] == 0
    assert fares(taxi) == [12.5, 5.0, 12.5, 1.0]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "The change is not given"),
        (["--delete"], "--delete does not say which rows"),
        (["--set", "fare"], "no column is named"),
        (["--set", "fare=much"], "not a number"),
        (["--set", "fair=1"], "no column 'fair'"),
        (["--compute", "fare=fair * 2"], "no column 'fair'"),
        (["--operators", "[1]"], "not an object of operators"),
        (["--operators", "{"], "is not JSON"),
        (["--set", "fare=1", "--delete", "--where", "fare > 1"], "Only one change"),
        (["--upsert", "x.csv"], "needs the columns that identify rows"),
        (["--upsert", "gone.csv", "--on", "vendor"], "gone.csv"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_changes(
    taxi: Path, change: Change, words: list[str], reason: str
) -> None:
    code, said = change(*words)
    assert code == 2 and reason in said
    assert fares(taxi) == [12.5, -3.0, 12.5]
