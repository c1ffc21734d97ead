"""`lamella bench` as people type it. Benchmarks are real, with few rows; each test has a home of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lamella.app import cli, paths
from lamella.app import settings as servers
from lamella.app.command_options import byte_count
from lamella.app.commands.bench import bar, choice_of, time_left
from lamella.core.bench.registry import ENTRIES, WORKLOADS, unready
from lamella.core.bench.results.records import write_json
from lamella.core.bench.results.store import SavedRuns
from lamella.core.bench.systems import mongodb
from lamella.core.jobs import Progress
from tests.bench.example_records import record

ROOT = Path(__file__).resolve().parents[2]
(RESULTS,) = (Path(__file__).resolve().parents[2] / "docs" / "results").glob("2*.results")
FEW = ("--workload", "small", "--rows", "3", "--systems", "sqlite,sqlite-wal", "--repeats", "1")
ODD = "tests.bench.odd_systems:"

Said = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _silence_is_heard_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests have no server, and need not wait for it as long as people do."""
    monkeypatch.setattr(mongodb, "ANSWER_SECONDS", 0.2)


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs the command here; its exit status, what it said and what went wrong."""

    def run(*words: object) -> tuple[int, str, str]:
        status = cli.main(["bench", *map(str, words)])
        return status, *capsys.readouterr()

    return run


def test_a_benchmark_is_told_written_reported_and_kept(bench: Said, tmp_path: Path) -> None:
    out, report = tmp_path / "out.json", tmp_path / "report.md"
    status, said, problems = bench(*FEW, "--json", out, "--report", report, "--note", "first", "--seed", 5)
    assert (status, problems) == (0, "")
    assert said.startswith("About ") and "sqlite: 3 rows, create, repeat 1" in said
    assert "Times at 3 rows, 1 repeat" in said and "Read again" in said
    records = json.loads(out.read_text())
    assert {item["backend"] for item in records} == {"sqlite", "sqlite-wal"}
    assert set(records[0]) == {
        "workload", "backend", "operation", "rows", "columns", "repeat", "seconds", "cpu_seconds",
        "peak_rss_bytes", "disk_bytes", "checksum", "temperature",
    }  # fmt: skip
    page = report.read_text()
    assert "Machine:" in page and "synchronous=OFF" in page and "--seed 5" in page
    assert "lamella bench --workload small --systems sqlite,sqlite-wal --rows 3 --repeats 1" in page
    (saved_run,) = SavedRuns(paths.saved_runs()).runs()
    assert (saved_run.note, saved_run.samples, saved_run.failures) == ("first", len(records), 0)


@pytest.mark.slow
def test_the_option_backends_of_earlier_versions_names_systems(bench: Said) -> None:
    words = ("--workload", "small", "--rows", "3", "--repeats", "1", "--backends", "sqlite")
    status, said, problems = bench(*words, "--systems", "sqlite-wal")
    assert (status, problems) == (0, "")
    assert "sqlite: 3 rows" in said and "sqlite-wal: 3 rows" in said


@pytest.mark.slow
def test_several_workloads_stand_in_one_report(bench: Said, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    words = ("--workload", "small,floats", "--workload", "needle", "--systems", "sqlite,sqlite-fts5")
    status, said, _ = bench(*words, "--rows", 2, "--repeats", 1, "--report", report, "--no-save", "--quiet")
    assert status == 0 and "repeat 1" not in said
    page = report.read_text()
    titles = ("## Small benchmark", "## Random floats", "## Needle in a haystack")
    assert [title in page for title in titles] == [True] * 3
    assert page.count("SQLite FTS5, ") == 3
    assert not paths.saved_runs().exists()


@pytest.mark.slow
def test_a_benchmark_inside_a_smaller_table(bench: Said) -> None:
    words = ("--workload", "partial", "--rows", "1,5", "--table-rows", "20", "--systems", "sqlite")
    status, said, _ = bench(*words, "--repeats", 1, "--no-save")
    assert status == 0 and "Times at 5 rows" in said and "Update some" in said


def test_a_system_that_answers_wrongly_ends_it_with_1(bench: Said) -> None:
    status, said, _ = bench(*FEW[:4], "--systems", f"{ODD}Liar,sqlite", "--repeats", 1, "--quiet")
    assert status == 1
    assert "Wrong answer: 2 rows" in said and "Saved as run 1" in said


@pytest.mark.slow
def test_a_limit_that_is_passed_is_a_result(bench: Said) -> None:
    systems = f"{ODD}Sleeper,sqlite"
    status, said, _ = bench(*FEW[:4], "--systems", systems, "--repeats", 1, "--limit", "2")
    assert status == 0
    assert "Ended: the limit of 2 s was exceeded" in said


@pytest.mark.slow
def test_kept_runs_are_listed_shown_noted_measured_again_compared_and_forgotten(
    bench: Said, tmp_path: Path
) -> None:
    assert "There are no saved runs" in bench("--runs")[1]
    bench(*FEW[:4], "--systems", "sqlite", "--repeats", 3, "--seed", 1)
    status, said, _ = bench("--again", 1, "--quiet")
    assert status == 0 and "Saved as run 2" in said
    first, second = SavedRuns(paths.saved_runs()).run(1), SavedRuns(paths.saved_runs()).run(2)
    assert first.choice == second.choice
    status, said, _ = bench("--show", 1, "--note", "before", "--json", tmp_path / "one.json")
    assert status == 0 and "Times at 3 rows, 3 repeats" in said and first.command in said
    page = tmp_path / "both.md"
    bench("--workload", "needle", "--rows", "3", "--systems", "sqlite", "--repeats", 1)
    assert bench("--show", 1, 2, 3, "--report", page)[0] == 0
    both = page.read_text()
    assert first.command in both and "## Small benchmark" in both and "## Needle in a haystack" in both
    bench("--delete", 3)
    listed = bench("--runs")[1].splitlines()
    assert listed[2].split()[0] == "2" and listed[3].split()[0] == "1" and listed[3].endswith("before")
    status, said, _ = bench("--compare", 1, tmp_path / "one.json")
    assert status == 0 and "6 measured in both: 6 same." in said
    assert bench("--show", 1, "--export", tmp_path / "one.results")[0] == 0
    assert bench("--delete", 1, 2)[0] == 0
    status, said, _ = bench("--show", tmp_path / "one.results")
    assert status == 0 and "Times at 3 rows, 3 repeats" in said and first.command in said and "before" in said
    status, said, _ = bench("--compare", tmp_path / "one.json", tmp_path / "one.results")
    assert status == 0 and "6 measured in both: 6 same." in said
    status, _, problems = bench("--show", tmp_path / "one.results", "--note", "after")
    assert status == 2 and "cannot be changed" in problems
    assert "not a results file" in bench("--show", tmp_path / "one.json")[2]
    status, said, _ = bench("--show", RESULTS, "--workload", "small,taxi")
    assert status == 0 and "Small benchmark: Times at 100,000 rows, 3 repeats" in said
    assert "Q1: count by cab, again" in said and "Full text" not in said and "AMD EPYC" in said
    status, _, problems = bench("--show", tmp_path / "one.results", "--workload", "taxi")
    assert status == 2 and "it did not measure taxi" in problems and "It measured small" in problems
    assert "There are no saved runs" in bench("--runs")[1]


def test_compare_ends_with_1_when_something_became_slower(bench: Said, tmp_path: Path) -> None:
    for name, seconds in (("before", 0.1), ("after", 0.3)):
        write_json([record("sqlite", seconds, repeat=n) for n in range(3)], tmp_path / f"{name}.json")
    status, said, _ = bench("--compare", tmp_path / "before.json", tmp_path / "after.json")
    assert status == 1
    assert "slower" in said and "3.0 × slower" in said and "1 measured in both: 1 slower." in said
    assert bench("--compare", tmp_path / "after.json", tmp_path / "before.json")[0] == 0


def test_compare_bears_with_what_a_tolerance_allows_and_with_other_systems(
    bench: Said, tmp_path: Path
) -> None:
    files = [tmp_path / "before.json", tmp_path / "after.json"]
    for file, seconds in zip(files, (0.1, 0.2), strict=True):
        slow = [record("sqlite", seconds, repeat=n) for n in range(3)]
        write_json([*slow, *(record("lamella", 0.1, repeat=n) for n in range(3))], file)
    assert bench("--compare", *files)[0] == bench("--compare", *files, "--tolerance", 1.9)[0] == 1
    status, said, _ = bench("--compare", *files, "--tolerance", 2.1)
    assert status == 0 and "0 of them took 2.1 times as long or longer" in said
    status, said, _ = bench("--compare", *files, "--systems", "lamella")
    assert status == 0 and "1 measured in both: 1 same." in said
    with pytest.raises(SystemExit, match="2"):
        bench("--compare", *files, "--tolerance", 0.5)


def test_the_workflow_says_what_the_command_understands() -> None:
    workflow = (Path(__file__).parents[2] / ".github/workflows/benchmark.yml").read_text("utf8")
    bench = re.findall(r"lamella\.app bench((?:[^\n]*\\\n)*[^\n]*)", workflow)
    commands = " ".join([*bench, *re.findall(r"measure (?:before|after) ([^\n]*)", workflow)])
    options = set(re.findall(r"--[a-z-]+", commands))
    known = {word for action in cli.command_parser("bench")._actions for word in action.option_strings}
    assert {"--compare", "--tolerance", "--note", "--no-save", "--export"} <= options <= known


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--systems", "sqlit"), "Did you mean 'sqlite'"),
        (("--workload", "smal"), "Did you mean 'small'"),
        (("--rows", "0"), "at least 1"),
        (("--scale", "tiny"), "--scale tiny is neither small or published nor a list of row counts"),
        (("--table-rows", "20"), "--table-rows 20 has no meaning here"),
        (("--where", "a > 1"), "Name it with --table"),
        (("--json", "/nowhere/out.json"), "/nowhere/out.json: cannot be written"),
        (("--rows", "1e12"), "This benchmark does not fit on this computer"),
        (("--show", "7"), "No saved run has the number 7"),
        (("--show", "absent.results"), "absent.results: cannot be read"),
        (("--export", "/nowhere/run.results"), "/nowhere/run.results: cannot be written"),
        (("--again", "7"), "No saved run has the number 7"),
        (("--compare", "7", "8"), "No saved run has the number 7"),
        (("--compare", "absent.json", "8"), "absent.json: cannot be read"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_measured(
    bench: Said, words: tuple[str, ...], reason: str
) -> None:
    status, said, problems = bench(*words)
    assert (status, said) == (2, "") and reason in problems


def test_a_damaged_file_of_kept_runs_is_said_before_the_benchmark(bench: Said) -> None:
    paths.saved_runs().write_text("damaged " * 1000)
    status, said, problems = bench(*FEW)
    assert (status, said) == (2, "")
    assert str(paths.saved_runs()) in problems and "Move the file away" in problems


def test_the_list_names_workloads_groups_and_what_systems_need(
    bench: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = ENTRIES["polars"]
    monkeypatch.setitem(ENTRIES, "polars", replace(lacking, requires=(("no_such_module", "polars"),)))
    status, said, _ = bench("--list")
    assert status == 0
    assert {"small", "partial", "entity-changes", "lamella", "pyarrow-tuned"} <= set(said.split())
    assert "PyArrow (tuned). Ready." in said
    text = " ".join(said.split())
    assert all(workload.check.sentence in text for workload in WORKLOADS.values())
    assert f"Run: {sys.executable} -m pip install polars" in said


@pytest.mark.slow
def test_the_list_says_that_no_server_answers(bench: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound and not listening, so that nobody answers there
        place = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv(servers.MONGODB_URI, f"mongodb://{place}")
        monkeypatch.setenv(mongodb.MONGOD_VARIABLE, "")
        status, said, _ = bench("--list")
        words = ["--workload", "entity", "--systems", "all", "--scale", "small"]
        choice = choice_of(cli.command_parser("bench").parse_args(words))
    assert status == 0
    (line,) = [line for line in said.splitlines() if line.startswith("  mongodb ")]
    assert f"No server answers at {place}" in line and "Ready" not in line
    (entity,) = [block for block in said.split("Sizes: ") if "Systems that are ready: lamella" in block][:1]
    assert "mongodb" not in entity.partition("Systems that are ready: ")[2]
    assert "mongodb" not in choice.parts[0].systems and "sqlite" in choice.parts[0].systems


@pytest.mark.slow
def test_a_run_that_measured_nothing_ends_with_1(bench: Said) -> None:
    status, _, problems = bench(*FEW[:4], "--systems", f"{ODD}Sleeper", "--repeats", 1, "--limit", "1")
    assert status == 1
    assert "Nothing was measured" in problems


@pytest.mark.slow
def test_the_list_fits_the_terminal(bench: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    workloads, _, systems = bench("--list")[1].partition("Systems:")
    assert max(map(len, workloads.splitlines())) <= 70
    assert set(ENTRIES) - set(unready()) <= set(workloads.split()), "no name is cut in two"
    assert systems


def test_all_systems_are_those_that_are_ready_for_the_workload() -> None:
    words = ["--workload", "entity", "--systems", "all", "--scale", "small"]
    choice = choice_of(cli.command_parser("bench").parse_args(words))
    assert len(choice.parts) > 3
    assert all("lamella" in part.systems for part in choice.parts)
    assert all(ENTRIES[name].takes(part.workload.family) for part in choice.parts for name in part.systems)


@pytest.mark.slow
def test_ctrl_c_ends_the_benchmark_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    words = (*FEW[:2], "--rows", "3", "--systems", f"{ODD}Sleeper", "--repeats", "1", "--folder", tmp_path)
    command = [sys.executable, "-m", "lamella.app", "bench", *map(str, words)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as benchmark:
        assert benchmark.stdout is not None
        assert any("read, repeat 1" in line for line in benchmark.stdout)
        benchmark.send_signal(signal.SIGINT)
        said = benchmark.stdout.read()
    assert benchmark.returncode == 130
    assert "Stopped. Results so far:" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_on_a_terminal_one_line_tells_how_far_it_is(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "lamella.app", "bench", *FEW, "--folder", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=slave, text=True, check=True)
    os.close(slave)
    progress = os.read(master, 100_000).decode()
    os.close(master)
    assert "left  sqlite, 3 rows, query" in progress and "[#" in progress and "\n" not in progress
    assert "repeat 1" not in result.stdout and "Times at 3 rows" in result.stdout


def test_the_time_left_follows_the_pace() -> None:
    assert bar(Progress(500, 1000)) == "[##########----------]  50%"
    assert time_left(Progress(0, 60_000), 0.0) == "60 s left"
    assert time_left(Progress(30_000, 60_000), 15.0) == "15 s left"
    assert time_left(Progress(60_000, 600_000), 120.0) == "18 min left"


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4_000_000_000), ("500 mb", 500_000_000), ("12", 12), ("1.5kB", 1500)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert byte_count(text) == size


@pytest.mark.parametrize("words", [("--limit", "soon"), ("--limit", "0"), ("--limit-memory", "much")])
def test_limits_that_mean_nothing_are_refused(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["bench", *words])
    assert ended.value.code == 2 and f"'{words[1]}' is not a" in capsys.readouterr().err


def test_the_help_says_what_the_exit_status_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["bench", "--help"])
    text = capsys.readouterr().out
    assert "exit status: 0 on success; 1 if a system failed" in text
    assert "--systems" in text and "--backends" not in text
