"""The command line with what people type: mostly here, in a process of its own where that matters."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lamella import Store, resources
from lamella.app import __version__, bootstrap, cli
from lamella.app import command_options as options
from lamella.app.commands.table_reference import split_target

ROOT = Path(__file__).resolve().parents[2]


Result = subprocess.CompletedProcess[str]
Lamella = Callable[..., Result]


def process(*words: object) -> Result:
    command = [sys.executable, "-m", "lamella.app", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, encoding="utf8")


@pytest.fixture
def lamella(capsys: pytest.CaptureFixture[str]) -> Lamella:
    """Runs the command as `process` does, here, where everything is imported."""

    def run(*words: object) -> Result:
        capsys.readouterr()
        try:
            status = cli.main([*map(str, words)])
        except SystemExit as end:  # of argparse
            status = int(str(end.code))
        return subprocess.CompletedProcess(words, status, *capsys.readouterr())

    return run


def refused(result: Result) -> str:
    assert result.returncode == 2 and result.stdout == "" and "Traceback" not in result.stderr, result.stderr
    return result.stderr


@pytest.fixture
def store(lamella, tmp_path) -> Path:
    result = lamella("import", resources.sample("airlines"), tmp_path / "air")
    assert result.returncode == 0, result.stderr
    return tmp_path / "air"


def test_the_version_is_told_without_loading_anything_heavy():
    code = "import sys; from lamella.app.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass\n"
    names = {"PySide6", "pyarrow", "duckdb", "numpy", "dataclasses", "decimal", "difflib", "typing"}
    heavy = f"print(sorted({names} & sys.modules.keys()))"
    result = subprocess.run(
        [sys.executable, "-c", code + heavy], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == [f"lamella {__version__}", "[]"]


def test_help_lists_every_command():
    text = process("--help").stdout
    assert all(name in text for name in cli.COMMANDS)
    assert "bench-worker" not in text and "tour" not in text and "screens" not in text


def test_what_is_imported_can_be_asked_for(store):
    result = process("query", store, "select name from airlines where carrier = 'AA'", "--format", "csv")
    assert (result.returncode, result.stdout) == (0, "name\nAmerican Airlines Inc.\n")


def test_the_table_can_be_given_a_name(lamella, tmp_path):
    result = lamella("import", resources.sample("airlines"), f"{tmp_path / 'air'}:carriers")
    assert result.returncode == 0 and "16 rows" in result.stdout and "carriers" in result.stdout
    rows = lamella("query", tmp_path / "air", "select count(*) as n from carriers", "--format", "json")
    assert json.loads(rows.stdout) == [{"n": 16}]


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(store):
    sql = "select * from range(1000000)"
    words = [sys.executable, "-m", "lamella.app", "query", store, sql, "--format", "csv"]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "range\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("select nam from airlines", "name"),
        ("select * from airline", "airlines"),
        ("selec 1", "Did you mean 'select'?"),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(lamella, store, sql, hint):
    assert hint in refused(lamella("query", store, sql))


def test_a_condition_can_be_typed_instead_of_sql(lamella, store):
    words = (
        "--table",
        "airlines",
        "--where",
        "name ~ /american air/i or carrier in ('UA')",
        "--columns",
        "carrier",
    )
    assert lamella("query", store, *words, "--format", "csv").stdout == "carrier\nAA\nUA\n"
    assert lamella("query", store, *words, "--limit", "1", "--format", "csv").stdout == "carrier\nAA\n"


def test_a_condition_that_does_not_fit_is_shown_with_its_place(lamella, store):
    message = refused(lamella("query", store, "--table", "airlines", "--where", "carier = 'AA'"))
    assert message.endswith("Did you mean 'carrier'?\n  carier = 'AA'\n  ^^^^^^\n")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "--table"),
        (["select 1", "--table", "airlines"], "both given"),
        (["select 1", "--where", "carrier = 'AA'"], "SQL and --where"),
        (["select 1", "--search", "air"], "SQL and --search"),
        (
            ["--table", "airlines", "--search", "air", "--sort", "name"],
            "--sort cannot be combined with --search",
        ),
        (["--table", "airlines", "--search", "air"], "indexes.create"),
    ],
)
def test_a_query_is_either_sql_or_a_table(lamella, store, words, hint):
    assert hint in refused(lamella("query", store, *words))


def test_an_export_can_be_of_the_rows_that_meet_a_condition(lamella, store, tmp_path):
    out = tmp_path / "some.csv"
    result = lamella("export", store, "airlines", out, "--where", "carrier between 'A' and 'B'")
    assert result.returncode == 0, result.stderr
    assert [line[1:3] for line in out.read_text().splitlines()[1:]] == ["AA", "AS"]


def test_a_setting_that_cannot_be_followed_is_told_and_the_command_runs(lamella, store, lamella_home):
    path = lamella_home / "config" / "settings.json"
    path.write_text('{"version": 1, "query_memory_mb": "much", "page_cache_mb": 64}')
    result = lamella("query", store, "select 1 as x", "--format", "csv")
    assert (result.returncode, result.stdout) == (0, "x\n1\n")
    assert str(path) in result.stderr and "query_memory_mb" in result.stderr


@pytest.mark.slow
def test_the_memory_of_a_query_is_what_the_settings_say(store, lamella_home):
    path = lamella_home / "config" / "settings.json"
    path.write_text('{"version": 1, "query_memory_mb": 512}')
    result = process("query", store, "select current_setting('memory_limit') as m", "--format", "csv")
    assert result.stdout == "m\n512.0 MiB\n", result.stderr


def test_a_store_that_is_not_there_is_not_made_by_asking(lamella, tmp_path):
    assert "nowhere" in refused(lamella("query", tmp_path / "nowhere", "select 1"))
    assert not (tmp_path / "nowhere").exists()


RAGGED = "a,b\n" + "1,2\n" * 5_000 + "1\n"
CUT = resources.sample("airlines").read_bytes()[:-9]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.parquet", None),
        ("empty.csv", b""),
        pytest.param("cut.parquet", CUT, id="cut.parquet"),
        ("ragged.csv", RAGGED.encode()),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_and_nothing_is_left(lamella, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.iterdir())
    assert name in refused(lamella("import", tmp_path / name, tmp_path / "air"))
    assert sorted(tmp_path.iterdir()) == before


def test_a_failed_import_leaves_the_tables_of_a_store_alone(lamella, tmp_path, store):
    (tmp_path / "ragged.csv").write_text(RAGGED)
    message = refused(lamella("import", tmp_path / "ragged.csv", store))
    assert "ragged.csv" in message and "--ragged pad" in message
    left = lamella("query", store, "select count(*) as n from airlines", "--format", "csv")
    assert left.stdout == "n\n16\n"
    result = lamella("import", tmp_path / "ragged.csv", store, "--ragged", "pad")
    assert result.returncode == 0 and "5,001 rows" in result.stdout


def test_a_colon_without_a_table_is_no_store(lamella, tmp_path):
    message = refused(lamella("import", resources.sample("airlines"), f"{tmp_path / 'cl'}:"))
    assert "names no table" in message and not list(tmp_path.iterdir())


def test_commands_for_a_store_say_where_there_is_none(lamella, tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    assert "there is no store here" in refused(lamella("verify", tmp_path))


def test_a_table_called_like_a_word_of_sql_is_asked_for_in_quotes(lamella, tmp_path):
    assert lamella("import", resources.sample("airlines"), f"{tmp_path / 's'}:semi").returncode == 0
    assert 'write "semi"' in refused(lamella("query", tmp_path / "s", "select * from semi"))
    assert lamella("query", tmp_path / "s", 'select * from "semi"').returncode == 0


def test_text_that_calls_itself_parquet_is_taken_for_what_it_is(lamella, tmp_path):
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n3,4\n")
    result = lamella("import", tmp_path / "t.parquet", f"{tmp_path / 's'}:t")
    assert result.returncode == 0, result.stderr
    rows = lamella("query", tmp_path / "s", "select a, b from t order by a", "--format", "jsonl").stdout
    assert [json.loads(line) for line in rows.splitlines()] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_made_data_has_as_many_rows_as_asked(lamella, tmp_path):
    out = tmp_path / "made.parquet"
    assert lamella("make-data", "mixed", "--rows", "1_000", out).returncode == 0
    result = lamella("import", out, f"{tmp_path / 's'}:made")
    assert result.returncode == 0 and "1,000 rows" in result.stdout


def test_a_bug_is_logged_and_ends_with_1(lamella_home, monkeypatch, capsys):
    def broken(words):
        raise ZeroDivisionError("a bug")

    about, add_options, _work = cli.COMMANDS["query"]
    monkeypatch.setitem(cli.COMMANDS, "query", (about, add_options, broken))
    assert cli.main(["query", "store", "select 1"]) == 1
    log = lamella_home / "log" / "lamella.log"
    output = capsys.readouterr().err
    assert "a bug" in output and str(log) in output and "Traceback" not in output
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize("words", [["--", "bench"], ["./bench"], ["a.csv", "bench"]])
def test_a_file_called_like_a_command_can_be_opened(words):
    assert cli.window_parser().parse_args(words).files[-1] == Path("bench")


@pytest.mark.parametrize(
    ("target", "store", "table"),
    [
        ("air", "air", None),
        ("air:flights", "air", "flights"),
        ("/data/air:my table", "/data/air", "my table"),
        (r"C:\data\air", r"C:\data\air", None),
        (r"C:\data\air:flights", r"C:\data\air", "flights"),
        ("C:air", "C:air", None),
    ],
)
def test_a_target_is_a_store_and_perhaps_a_table(target, store, table):
    assert split_target(target) == (store, table)


@pytest.mark.parametrize("rows", ["-5", "many", "1.5", "1e99999999", "nan", ""])
def test_only_whole_numbers_of_rows_are_made(lamella, tmp_path, rows):
    message = refused(lamella("make-data", "mixed", "--rows", rows, tmp_path / "made.parquet"))
    assert f"'{rows}' is not a whole number" in message and "whole_number" not in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("text", "number"), [("1e6", 1_000_000), ("1_000", 1000), ("0", 0)])
def test_whole_numbers_are_written_in_several_ways(text, number):
    assert options.whole_number(text) == number


def test_columns_that_are_named_stay_as_they_are_written(lamella, tmp_path):
    (tmp_path / "tools.csv").write_text("name,version\na,1.10\nb,1.100\n")
    result = lamella("import", tmp_path / "tools.csv", tmp_path / "s", "--text-columns", "version")
    assert result.returncode == 0, result.stderr
    with Store.open(tmp_path / "s", read_only=True) as store:
        assert store["tools"].read()["version"].to_pylist() == ["1.10", "1.100"]
    message = refused(
        lamella("import", tmp_path / "tools.csv", tmp_path / "s:x", "--text-columns", "versions")
    )
    assert "version" in message


def test_one_row_is_one_row(lamella, tmp_path):
    data = lamella("make-data", "mixed", "--rows", "1", tmp_path / "made.parquet")
    assert data.stdout.startswith("1 row is in ")
    result = lamella("import", tmp_path / "made.parquet", tmp_path / "s")
    assert result.stdout.startswith("1 row is in table made of "), result.stderr


@pytest.mark.parametrize(("word", "hint"), [("improt", "Did you mean 'import'?"), ("zzz", "make-data")])
def test_a_word_that_is_no_file_and_no_command_starts_no_window(lamella, tmp_path, word, hint):
    message = refused(lamella(word, "a", "b"))
    assert message.startswith(f"lamella: no file or command '{word}'. ") and hint in message


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere there is always a display")
def test_a_file_without_a_suffix_is_no_misspelt_command(lamella, tmp_path, monkeypatch):
    without_display(monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert "no file or command" in refused(lamella("improt"))
    (tmp_path / "improt").write_text("a,b\n1,2\n")
    assert "no display" in refused(lamella("improt")), "it would be opened"


@pytest.mark.parametrize("target", [":x", ""])
def test_a_store_without_a_name_is_refused(lamella, tmp_path, target):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert "names no store" in refused(lamella("import", tmp_path / "x.csv", target))


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere there is always a display")
@pytest.mark.parametrize(
    ("name", "display"), [("DISPLAY", ""), ("DISPLAY", ":59999.0"), ("WAYLAND_DISPLAY", "no")]
)
def test_without_a_display_the_window_is_refused(tmp_path, monkeypatch, name, display):
    without_display(monkeypatch)
    monkeypatch.setenv(name, display)
    message = refused(process(resources.sample("airlines")))
    assert (
        "no display" in message
        and display in message
        and "xvfb-run" in message
        and "QT_QPA_PLATFORM" in message
    )


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere there is always a display")
def test_a_display_that_answers_is_taken(monkeypatch):
    without_display(monkeypatch)
    monkeypatch.setattr(bootstrap, "run", lambda *_: 7)
    monkeypatch.setenv("DISPLAY", "far.example:0")
    assert cli.main([]) == 7, "only Qt can tell"
    monkeypatch.delenv("DISPLAY")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as compositor:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        compositor.bind(f"{folder}/wayland-0")
        compositor.listen()
        assert cli.main([]) == 7


def without_display(monkeypatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
def test_a_home_that_cannot_be_written_stops_no_command(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file where a folder should be")
    monkeypatch.setenv("LAMELLA_HOME", str(tmp_path / "taken"))
    result = process("import", resources.sample("airlines"), tmp_path / "air")
    assert result.returncode == 0 and "16 rows" in result.stdout, result.stderr
    assert result.stderr.count("cannot be read") == 1
    answer = process("query", tmp_path / "air", "select count(*) as n from airlines", "--format", "csv")
    assert (answer.returncode, answer.stdout) == (0, "n\n16\n")
    assert answer.stderr.count("cannot be read") == 1
