"""A benchmark in the user's own file: it runs as docs/benchmark.md says, and errors are reported with their
line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from lamella.app import cli
from lamella.app.commands.bench import choice_of
from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice, part_of, ready_systems
from lamella.core.bench.engine.protocol import WRONG, Failure, Message
from lamella.core.bench.registry import workload_named
from lamella.core.bench.results.records import Record
from lamella.core.bench.systems.user_script import as_rows
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_script import OwnFileProblem, load_file, system_names

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "benchmark.md").read_text(encoding="utf8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def file_in(tmp_path: Path, text: str = EXAMPLE) -> Path:
    path = tmp_path / "my_benchmark.py"
    path.write_text(text, encoding="utf-8")
    return path


def measured(workload: Workload, folder: Path, fresh: bool = False) -> tuple[list[Record], list[Message]]:
    heard: list[Message] = []
    names = [entry.id for entry in ready_systems(workload)]
    choice = Choice((part_of(workload, names, [1000], 1),), fresh=fresh, folder=folder)
    return runner.run(choice, heard.append), heard


def arguments(line: str) -> Choice:
    words = shlex.split(line)[2:]
    return choice_of(cli.command_parser("bench").parse_intermixed_args(words))


@pytest.mark.slow
def test_the_page_shows_a_file_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    path = file_in(tmp_path)
    workload = workload_named(str(path))
    assert (workload.title, workload.about) == (
        "Membership", "How long does it take to look up a name in a list, and in a set?"
    )  # fmt: skip
    records, heard = measured(workload, tmp_path, fresh=True)
    assert not [message for message in heard if isinstance(message, Failure)]
    assert {(r.system.rpartition(":")[2], r.operation) for r in records} == {
        (system, operation) for system in ("a list", "a set") for operation in ("load", "look_up")
    }
    assert all(record.columns == 1 for record in records)
    assert [place.name for place in tmp_path.iterdir()] == ["my_benchmark.py"]


def test_the_commands_of_the_page_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file_in(tmp_path)
    lines = [line.partition("  #")[0] for line in PAGE.splitlines() if line.startswith("lamella ")]
    for line in lines:
        cli.command_parser("bench").parse_intermixed_args(shlex.split(line)[2:])
    both, set_choice = (arguments(line) for line in lines if "my_benchmark.py" in line)
    assert [name.rpartition(":")[2] for name in both.systems] == ["a list", "a set"]
    assert [name.rpartition(":")[2] for name in set_choice.systems] == ["a set"]
    assert set_choice.rows == (1000, 1_000_000) and Choice.from_json(set_choice.to_json()) == set_choice


@pytest.mark.slow
def test_systems_that_disagree_are_told(tmp_path: Path) -> None:
    replacement = "class InASet(InAList):\n    def look_up(self):\n        return -1\n"
    path = file_in(tmp_path, EXAMPLE.replace("class InASet(InAList):", replacement))
    _, heard = measured(load_file(path), tmp_path)
    failures = [message for message in heard if isinstance(message, Failure)]
    assert {(failure.operation, failure.kind) for failure in failures} == {("look_up", WRONG)}


@pytest.mark.slow
def test_an_error_while_it_runs_names_file_and_line(tmp_path: Path) -> None:
    path = file_in(tmp_path, EXAMPLE.replace("return sum(", "return 1 / 0 * sum("))
    line = (
        path.read_text().splitlines().index(next(x for x in path.read_text().splitlines() if "1 / 0" in x))
        + 1
    )
    _, heard = measured(load_file(path), tmp_path)
    failures = [message for message in heard if isinstance(message, Failure)]
    assert {failure.system for failure in failures} == set(system_names(load_file(path)))
    assert all(f"my_benchmark.py, line {line}: ZeroDivisionError" in failure.message for failure in failures)
    assert all("Traceback" in failure.details for failure in failures)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("def data(rows):", "def data(rows:", r"line 9: '\(' was never closed"),
        ("def data", "def rows", r"it has no function data\(rows\)"),
        ("SYSTEMS =", "SYSTEM =", "it has no SYSTEMS"),
        ('{"a list": InAList, "a set": InASet}', "dict()", "line 26: SYSTEMS is not a dict of classes"),
        ('"a list":', '"a:list":', "line 26: a name in SYSTEMS is not a text without colons"),
        ("OPERATIONS =", "OPERATION =", "it has no OPERATIONS"),
        ('["look_up"]', '["look up"]', "line 6: OPERATIONS are not names of methods"),
        ('["look_up"]', '["load"]', "line 6: OPERATIONS contains 'load', which is a reserved name"),
        ('["look_up"]', 'list("ab")', "line 6: OPERATIONS is computed"),
        ("def look_up", "def look_for", "line 13: InAList, the system 'a list', has no method look_up"),
        ('"Membership"', '"Membership"\nROWS = 0', "line 6: ROWS are not positive whole numbers"),
        ('"Membership"', '"Membership"\nREPEATS = "3"', "line 6: REPEATS is not a positive whole number"),
    ],
)
def test_what_is_wrong_with_the_file_is_told_with_its_line(
    before: str, after: str, reason: str, tmp_path: Path
) -> None:
    assert before in EXAMPLE
    path = file_in(tmp_path, EXAMPLE.replace(before, after, 1))
    with pytest.raises(OwnFileProblem, match=reason) as problem:
        load_file(path)
    assert str(path) in str(problem.value) and "docs/benchmark.md" in str(problem.value)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(OwnFileProblem, match="cannot be read"):
        workload_named(str(tmp_path / "absent.py"))


def test_reading_the_file_does_not_run_it(tmp_path: Path) -> None:
    path = file_in(tmp_path, EXAMPLE + "\nraise SystemExit\n")
    assert load_file(path).title == "Membership"


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    assert load_file(path).title == "Membership"
    path.write_text(EXAMPLE.replace("Membership", "Names in many"), encoding="utf-8")
    assert load_file(path).title == "Names in many"


def test_answers_are_told_in_rows_whatever_they_are() -> None:
    assert as_rows([1, (2, 3)]) == [[1], [2, 3]] and as_rows({"a": 1}) == [["a", 1]] and as_rows(7) == 7
    pandas = pytest.importorskip("pandas")
    assert as_rows(pandas.DataFrame({"n": [1]})) == pa.table({"n": [1]})
