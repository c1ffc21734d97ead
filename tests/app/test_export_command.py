"""`lamella export` as people call it: sources, formats, options, exit codes, and help made from the table."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, export, open_dataset
from lamella.app import cli
from lamella.app.command_options import EXPORT_EXAMPLES
from lamella.core.errors import BadData
from lamella.core.transfer import excel
from lamella.core.transfer.formats import FORMATS, Format, all_options

Run = Callable[..., tuple[int, str, str]]
ROWS = {"n": [1, 2, 3, 4], "word": ["b", "a", None, "=c"], "x": [0.5, 1.0, 2.5, None]}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pq.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "shop") as store:
        store.create_table("orders", ROWS)
        store.create_table("empty", {"a": pa.array([], pa.int64())})
        store.views.save("large", store["orders"].where(col("n") > 2).sort("-n").select("n"))
    return tmp_path / "shop"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> tuple[int, str, str]:
        code = cli.main(["export", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_file_in_place_becomes_one_of_another_format(run: Run, source: Path, tmp_path: Path) -> None:
    code, out, _ = run(
        source, tmp_path / "o.csv", "--where", "n > 1", "--columns", "word,n", "--sort", "-n",
        "--delimiter", ";", "--no-header", "--quoting", "needed", "--null", "NA", "--neutralise-formulas",
    )  # fmt: skip
    assert (code, out) == (0, f"3 rows are in {tmp_path / 'o.csv'} (1 file, 15 bytes)\n")
    assert (tmp_path / "o.csv").read_text() == "'=c;4\nNA;3\na;2\n"


def test_advice_names_the_options_of_the_command(
    run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "ROWS_A_SHEET", 3)
    assert "or use several sheets: --too-many-rows split." in run(source, tmp_path / "o.xlsx")[2]
    assert run(source, tmp_path / "o.xlsx", "--too-many-rows", "split")[0] == 0
    assert run(source, tmp_path / "o.xlsx")[2].endswith("or replace it: --overwrite.\n")
    with pytest.raises(BadData, match="or use several sheets: too_many_rows='split'"):
        export(open_dataset(source), tmp_path / "python.xlsx")


def test_a_file_is_replaced_by_rows_of_its_own_only_on_request(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n\n1\n2\n3\n")
    code, _, error = run(path, path, "--where", "n > 1")
    assert code == 2 and "is there already" in error and path.read_text() == "n\n1\n2\n3\n"
    assert run(path, path, "--where", "n > 1", "--overwrite")[0] == 0
    assert open_dataset(path).read().column("n").to_pylist() == [2, 3]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("known", FORMATS, ids=[known.id for known in FORMATS])
def test_every_format_can_be_named_and_written(run: Run, store: Path, tmp_path: Path, known: Format) -> None:
    code, out, error = run(store, "orders", tmp_path / "out", "--format", known.id)
    assert (code, error) == (0, "")
    files = "2 files" if known.id == "delta" else "1 file"
    assert out.startswith(f"4 rows are in {tmp_path / 'out'} ({files}, ")


def test_a_table_of_a_store_is_named_where_there_are_several(run: Run, store: Path, tmp_path: Path) -> None:
    code, _, error = run(store, tmp_path / "o.csv")
    assert code == cli.REFUSED
    assert "orders" in error
    assert run(store, "orders", tmp_path / "o.csv", "--ids", "--columns", "n")[0] == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == '"_id","n"'
    code, _, error = run(store, "order", tmp_path / "x.csv")
    assert (code, "Did you mean 'orders'" in error) == (cli.REFUSED, True)


def test_a_saved_view_is_exported_in_its_order(run: Run, store: Path, tmp_path: Path) -> None:
    assert run(store, tmp_path / "o.json", "--view", "large", "--no-indent")[0] == 0
    assert json.loads((tmp_path / "o.json").read_text()) == [{"n": 4}, {"n": 3}]
    code, _, error = run(store, tmp_path / "p.json", "--view", "large", "--where", "n > 1")
    assert (code, "--where cannot be combined with --view" in error) == (cli.REFUSED, True)


def test_an_earlier_version_is_exported(run: Run, store: Path, tmp_path: Path) -> None:
    with Store.open(store) as opened:
        opened["orders"].delete(ids=[0])
    assert run(store, "orders", tmp_path / "o.jsonl", "--as-of", "1")[0] == 0
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 4


def test_a_table_is_added_to_a_database(run: Run, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "o.sqlite"
    assert run(store, "orders", path, "--primary-key", "n")[0] == 0
    code, _, error = run(store, "orders", path)
    assert (code, "is there already" in error) == (cli.REFUSED, True)
    assert run(store, "orders", path, "--add", "--table-name", "again", "--indexes", "n,word")[0] == 0
    connection = sqlite3.connect(path)
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    connection.close()
    assert names == [("orders",), ("again",)]


def test_losses_are_said_and_nothing_is_written(run: Run, store: Path, tmp_path: Path) -> None:
    code, out, _ = run(store, "orders", tmp_path / "o.sqlite", "--losses")
    assert code == 0
    assert "x: NaN becomes null" in out
    assert "_id" not in out
    assert run(store, "orders", tmp_path / "o.parquet", "--losses")[1] == "Parquet loses nothing\n"
    assert not list(tmp_path.glob("o.*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["o.xyz"], "names no format"),
        (["o.csv", "--codec", "zstd"], "Export to CSV has no option 'codec'"),
        (["o.csv", "--encoding", "utf8"], "Did you mean 'utf-8'"),
        (["o.csv", "--columns", "nn"], "has no column 'nn'"),
        (["o.csv", "--sort", "nn"], "has no column 'nn'"),
        (["o.csv", "--format", "cvs"], "Did you mean 'csv'"),
        (["o.sqlite", "--primary-key", "nn"], "column 'nn' is not exported"),
        (["nowhere/o.csv"], "There is no folder"),
        (["o.csv", "--as-of", "1"], "--as-of is for stores"),
    ],
)
def test_what_cannot_be_exported_is_refused_by_exit_code_2(
    run: Run, source: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    before = sorted(tmp_path.iterdir())
    code, _, error = run(source, tmp_path / words[0], *words[1:])
    assert code == cli.REFUSED
    assert said in error
    assert sorted(tmp_path.iterdir()) == before


def test_help_has_every_option_and_examples_that_parse(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["export", "--help"])
    text = capsys.readouterr().out
    for pairs in all_options().values():
        assert pairs[0][1].flag in text
    lines = [
        line.partition("  #")[0] for line in EXPORT_EXAMPLES.splitlines() if line.startswith("  lamella")
    ]
    assert len(lines) == 6
    assert all(line.strip() in text for line in lines)


def test_the_examples_of_the_help_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open("shop") as store:
        store.create_table("orders", {"id": [1, 2]})
        store.create_table("other", {"id": [1, 2]})
    with Store.open("taxi") as store:
        store.create_table("trips", {"zone": ["a", "b"], "n": [1, 2]})
    pq.write_table(pa.table({"n": [1.5]}), "trips.parquet")
    Path("logs").mkdir()
    Path("logs/a.jsonl").write_text(
        '{"at": 1, "level": "error", "text": "x"}\n{"at": 2, "level": "info", "text": "y"}\n'
    )
    connection = sqlite3.connect("shop.sqlite")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    for line in EXPORT_EXAMPLES.splitlines():
        if line.startswith("  lamella"):
            words = shlex.split(line.partition("  #")[0])[2:]
            assert run(*words)[::2] == (0, ""), words
    assert open_dataset("by-zone").num_rows == 2
    assert Path("errors.md").read_text().splitlines()[2:] == ["| 1 | x |"]
    assert Path("trips.csv").read_bytes().endswith(b"1,5\n")
