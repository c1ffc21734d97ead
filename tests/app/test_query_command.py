"""Queries from the command line: of stores and files, in SQL, by conditions, words and steps."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from lamella import Store, agg, col, open_dataset
from lamella.app import cli, paths
from lamella.core.query.pipeline_python import to_command
from lamella.core.store.views import FileViews

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAMELLA_HOME", str(tmp_path / "home"))


@pytest.fixture
def shop(tmp_path: Path) -> str:
    with Store.open(tmp_path / "shop") as store:
        rows = [("Oslo", 1.5), ("Rome", 2.25), ("Oslo", 3.0)]
        table = store.create_table("sales", [{"city": city, "amount": amount} for city, amount in rows])
        table.update([{"_id": 1, "amount": 9.0}])
    return str(tmp_path / "shop")


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """The rows that `lamella query` prints as JSON."""

    def ask(*words: str) -> list[dict[str, Any]]:
        code = cli.main(["query", *words, "--format", "json"])
        output = capsys.readouterr()
        assert code == cli.OK, output.err
        rows: list[dict[str, Any]] = json.loads(output.out)
        return rows

    return ask


def _refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(list(words)) == cli.REFUSED
    return capsys.readouterr().err


def test_a_column_of_a_file_that_is_left_out_is_named(tmp_path: Path, capsys) -> None:
    path = tmp_path / "wide.parquet"
    rows = {"n": [1, 2], "wide": pl.Series([1, 2], dtype=pl.Int128)}
    pl.DataFrame(rows).write_parquet(path)
    assert cli.main(["query", str(path), "SELECT * FROM wide ORDER BY n DESC", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == [{"n": 2}, {"n": 1}]
    assert "Column 'wide' is left out: only the program that wrote it" in printed.err


def test_a_statement_takes_values(shop: str, ask: Ask) -> None:
    counted = "select count(*) as n from sales where city = "
    assert ask(shop, f"{counted} ?", "--param", "Oslo") == [{"n": 2}]
    assert ask(shop, f"{counted} $c and amount > $a", "--param", "c=Oslo", "--param", "a=2") == [{"n": 1}]


def test_a_statement_changes_a_table_only_when_it_may(
    shop: str, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    statement = "delete from sales where city = 'Rome'"
    assert "write" in _refused(capsys, "query", shop, statement)
    assert ask(shop, statement, "--write")[0]["deleted"] == 1
    assert ask(shop, "select count(*) as n from sales") == [{"n": 2}]


def test_an_earlier_version_is_asked_in_sql_and_by_a_condition(shop: str, ask: Ask) -> None:
    assert ask(shop, "select amount from sales where city = 'Rome'", "--as-of", "1") == [{"amount": 2.25}]
    assert ask(shop, "--where", "amount > 2.3", "--columns", "city", "--as-of", "1") == [{"city": "Oslo"}]


def test_files_are_asked_in_place(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "days.csv").write_text("day,n\nmon,1\ntue,2\nwed,3\n", encoding="utf-8")
    file = str(tmp_path / "days.csv")
    assert ask(file, "select sum(n) as total from days") == [{"total": 6}]
    assert ask(file, "--where", "n > 1", "--sort", "-n", "--columns", "day") == [
        {"day": "wed"},
        {"day": "tue"},
    ]


def test_options_may_stand_before_the_statement(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "--format", "csv", shop, "select 1 as x"]) == cli.OK
    assert capsys.readouterr().out == "x\n1\n"


def test_stages_and_saved_queries_are_asked(shop: str, ask: Ask, tmp_path: Path) -> None:
    stages = [{"$group": {"_id": "$city", "n": {"$sum": 1}}}, {"$sort": {"n": -1}}]
    expected = [{"_id": "Oslo", "n": 2}, {"_id": "Rome", "n": 1}]
    assert ask(shop, "--aggregate", json.dumps(stages)) == expected
    saved = tmp_path / "q.json"
    with Store.open(shop) as store:
        asking = store["sales"].group_by("city").agg(n=agg.count()).sort("city")
        saved.write_text(json.dumps(asking.to_json()), encoding="utf-8")
    assert ask(shop, "--saved", str(saved)) == [{"city": "Oslo", "n": 2}, {"city": "Rome", "n": 1}]


def test_steps_and_views_are_asked(
    shop: str, ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = tmp_path / "steps.json"
    with Store.open(shop) as store:
        asking = store["sales"].where("amount > 2").group_by("city").agg(n=agg.count())
        store.views.save("big", asking)
        steps.write_text(json.dumps(asking.to_json()), encoding="utf-8")
        listed = json.dumps(asking.to_json()["steps"])
        command = shlex.split(to_command(asking.compute(m=col("n") * 2).pipeline, shop, asking.sources))
        plain = shlex.split(to_command(asking.sort("-city").pipeline, shop, asking.sources))
    rows = [{"city": "Oslo", "n": 1}, {"city": "Rome", "n": 1}]
    assert ask(shop, "--view", "big") == rows
    assert ask(shop, "--steps", str(steps)) == rows
    assert ask(shop, "--steps", steps.read_text()) == rows
    assert ask(shop, "--table", "sales", "--steps", listed) == rows
    assert ask(*command[2:]) == [{**row, "m": 2} for row in rows]
    assert "--steps" not in plain and ask(*plain[2:]) == rows[::-1]
    assert "Did you mean 'big'?" in _refused(capsys, "query", shop, "--view", "bigg")
    assert "cannot be combined with --view" in _refused(
        capsys, "query", shop, "--view", "big", "--limit", "1"
    )
    assert "not JSON" in _refused(capsys, "query", shop, "--steps", "{")
    assert "could not be read" in _refused(capsys, "query", shop, "--steps", "nowhere.json")


def test_views_of_files_are_asked(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "n.csv").write_text("a\n1\n2\n")
    data = open_dataset(tmp_path / "n.csv")
    FileViews(paths.saved_views()).save("big", data.where("a > 1"), [tmp_path / "n.csv"])
    assert ask(str(tmp_path / "n.csv"), "--view", "big") == [{"a": 2}]
    command = shlex.split(
        to_command(data.query().unwind("a").pipeline, "x", data.query().sources, table=False)
    )
    assert command[3] == "--steps"


def test_views_of_folders_are_asked(tmp_path: Path, ask: Ask) -> None:
    """The window saves a view of a folder under the folder, however many files are in it."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in (1, 2):
        pq.write_table(pa.table({"a": [number]}), folder / f"{number}.parquet")
    FileViews(paths.saved_views()).save("big", open_dataset(folder).where("a > 1"), [folder])
    assert ask(str(folder), "--view", "big") == [{"a": 2}]


def test_a_column_is_told_at_a_glance(shop: str, ask: Ask) -> None:
    figures = {row["what"]: row["value"] for row in ask(shop, "--profile", "amount", "--where", "amount < 5")}
    assert (figures["rows"], figures["min"], figures["max"], figures["nulls"]) == ("2", "1.5", "3.0", "0")


def test_indexes_are_made_listed_used_and_dropped(
    shop: str, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["index", shop, "sales", "city"]) == cli.OK
    assert cli.main(["index", shop, "sales", "city", "--words"]) == cli.OK
    capsys.readouterr()
    assert cli.main(["index", shop, "sales"]) == cli.OK
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["sorted", "fulltext"]
    assert [row["city"] for row in ask(shop, "--search", "rome")] == ["Rome"]
    assert cli.main(["index", shop, "sales", "city", "--drop"]) == cli.OK
    assert cli.main(["index", shop, "sales", "city", "--words", "--drop"]) == cli.OK
    capsys.readouterr()
    assert cli.main(["index", shop, "sales"]) == cli.OK
    assert capsys.readouterr().out == "no indexes\n"


def test_json_has_every_column_and_numbers_as_numbers(shop: str, ask: Ask) -> None:
    statement = (
        "select a.city, b.city, sum(1) as s, 0.25::decimal(9, 2) as d,"
        " interval '1 month 2 days 1.5 seconds' as i"
        " from sales a join sales b on a.city = 'Rome' and b.city = 'Rome' group by all"
    )
    assert ask(shop, statement) == [{"city": "Rome", "city_2": "Rome", "s": 1, "d": 0.25, "i": "P1M2DT1.5S"}]


@pytest.mark.parametrize("format_", ["table", "csv", "json", "jsonl"])
def test_times_that_python_has_no_value_for_are_printed(
    shop: str, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    statement = "select date '12000-01-01' as d, 'infinity'::timestamp as t"
    assert cli.main(["query", shop, statement, "--format", format_]) == cli.OK
    assert "12000-01-01" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--agg", "n=min(amount)", "n=max(amount)"], "'n' twice"),
        (["--agg", "q=quantile(amount)"], "quantile(distance, 0.9)"),
        (["--agg", "q=quantile(amount, 1.5)"], "from 0 to 1"),
        (["--profile", "amount", "--sort", "amount"], "--sort cannot be combined with --profile"),
        (["--param", "5"], "--param is for SQL only"),
        (["select 1", "--table", "sales"], "both given"),
        (["--aggregate", "[{"], "not JSON"),
        (["--table", "sales", "--group-by", "city", "--totals"], "--totals needs groups"),
        (["--agg", "n=count()", "--totals"], "--totals needs groups"),
        (["--group-by", "city", "--agg", "n=count()", "--totals", "--format", "csv"], "with --format csv"),
        (["--search", "Oslo", "--totals"], "--totals cannot be combined with --search"),
        ([], "No query was given. Give a SQL statement; or --limit 10, --where or"),
    ],
)
def test_what_does_not_go_together_is_told(
    shop: str, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert reason in _refused(capsys, "query", shop, *words)


def test_totals_are_printed_below_the_groups(
    shop: str, capsys: pytest.CaptureFixture[str], ask: Ask, tmp_path: Path
) -> None:
    """The totals are of all rows, and are not printed for programs, which would read them as a group."""
    groups = ["--group-by", "city", "--agg", "n=count()", "m=mean(amount)", "--sort=-n", "--limit", "1"]
    assert cli.main(["query", shop, *groups, "--totals"]) == cli.OK
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines() if "─" not in line] == [
        ["city", "n", "m"], ["Oslo", "2", "2.25"], ["total", "3", "4.5"],
        ["(1", "row", "and", "their", "totals)"],
    ]  # fmt: skip
    with Store.open(shop) as store:
        query = store["sales"].group_by("city").agg(n=agg.count(), m=agg.mean("amount")).with_totals()
        saved = query.sort("-n").limit(1)
        assert shlex.split(to_command(saved.pipeline, shop, saved.sources)) == [
            "lamella", "query", shop, "--table", "sales", "--group-by", "city", "--totals",
            "--agg", "n=count()", "m=avg(amount)", "--sort=-n", "--limit", "1",
        ]  # fmt: skip
        path = tmp_path / "saved.json"
        path.write_text(json.dumps(saved.to_json()))
    assert cli.main(["query", shop, "--saved", str(path)]) == cli.OK
    assert capsys.readouterr().out == printed
    assert ask(shop, "--saved", str(path)) == [{"city": "Oslo", "n": 2, "m": 2.25}]


def test_a_name_may_be_quoted_as_in_a_condition_and_rows_counted_by_a_star(shop: str, ask: Ask) -> None:
    assert ask(shop, "--agg", "n=count(*)", 'top=max("amount")') == [{"n": 3, "top": 9.0}]


def test_the_table_is_named_unless_there_is_only_one(
    shop: str, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(ask(shop, "--where", "city = 'Oslo'")) == 2
    with Store.open(shop) as store:
        store.create_table("towns", {"city": ["Oslo"]})
    assert "sales, towns" in _refused(capsys, "query", shop, "--where", "city = 'Oslo'")


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl"])
def test_text_that_is_not_utf8_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    rows = pa.table({"n": [1], "s": pa.array([b"ab\xff"]).view(pa.string())})
    pq.write_table(rows, tmp_path / "t.parquet")
    said = _refused(capsys, "query", str(tmp_path / "t.parquet"), "--where", "n = 1", "--format", form)
    assert "Text of column 's' is not UTF-8, or is damaged" in said


def test_versions_of_a_delta_table_are_listed_and_asked(tmp_path: Path, capsys) -> None:
    table = tmp_path / "trips"
    write_deltalake(table, pa.table({"n": [1, 2]}))
    write_deltalake(table, pa.table({"n": [3]}), mode="append")
    assert cli.main(["versions", str(table)]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["1", "0"]
    assert "WRITE Append" in listed[0] and listed[0].endswith("1 row")
    for words in (["--version", "0"], ["--as-of", "0"]):
        assert cli.main(["query", str(table), "--columns", "n", "--format", "csv", *words]) == 0
        assert capsys.readouterr().out.splitlines() == ["n", "1", "2"]
    assert cli.main(["versions", str(tmp_path)]) == 2
    assert "is not a Delta table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "dialect", "form"),
    [
        ("select * from sales limit 1, 2", "MySQL", "SELECT * FROM sales LIMIT 2 OFFSET 1;"),
        ("select 1 as n from dual", "Oracle", "SELECT 1 AS n;"),
        ("select city from sales where rownum < 3", "Oracle", "SELECT city FROM sales LIMIT 2;"),
        ("select top 2 city\nfrom sales", "SQL Server", "SELECT\n  city\nFROM sales\nLIMIT 2;"),
    ],
)
@pytest.mark.parametrize("kind", ["store", "file"])
def test_a_statement_for_another_database_is_recognised(
    shop: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    statement: str,
    dialect: str,
    form: str,
) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("city,amount\nOslo,1.5\n")
    error = _refused(capsys, "query", shop if kind == "store" else str(file), statement)
    assert error.endswith(f"It looks like {dialect}'s SQL. In DuckDB's form:\n{form}\n"), error


def test_a_problem_of_a_statement_is_shown_at_its_place(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = _refused(capsys, "query", shop, "select city,\n  amuont from sales")
    assert error == (
        "lamella: There is no column 'amuont' here.\n\n"
        "LINE 2:   amuont from sales\n"
        "          ^^^^^^\n"
        "Did you mean 'amount'?\n"
    )


def test_advice_about_statements_fits_the_command_line(
    shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["query", shop, "show tables", "--format", "csv"]) == cli.OK
    assert "sales" in capsys.readouterr().out
    assert "SHOW TABLES lists the tables" in _refused(capsys, "query", shop, "show databases")
    (tmp_path / "more.csv").write_text("n\n1\n")
    for reference in ("'more.csv'", "read_csv('more.csv')"):
        file = _refused(capsys, "query", shop, f"select * from {reference}")
        assert "allow it: --files." in file and "files=True" not in file
    assert "add --write." in _refused(capsys, "query", shop, "delete from sales")
    assert "lamella index STORE:TABLE" in _refused(capsys, "query", shop, "create index i on sales (city)")
    assert "the window's sidebar" in _refused(capsys, "query", shop, "drop table sales", "--write")


def test_a_misspelt_statement_is_answered_with_the_one_that_is_meant(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = _refused(capsys, "query", shop, "selct city from sales")
    assert error == (
        "lamella: No statement begins with SELCT.\n\n"
        "LINE 1: selct city from sales\n"
        "        ^^^^^\n"
        "Did you mean 'select'?\n"
    )
