"""Another Python as the worker's interpreter: the same data and answers, with the standard library only."""

from __future__ import annotations

import ast
import platform
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lamella.core.bench import plain, registry
from lamella.core.bench.engine import interpreters
from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.interpreters import BadInterpreter, Interpreter, examine, objection
from lamella.core.bench.engine.protocol import Failure, Message, StepStart, Surroundings, UnsupportedStep
from lamella.core.bench.engine.runner import run, run_workload
from lamella.core.bench.plain.rows import checksum as plain_checksum
from lamella.core.bench.plain.systems import DESCRIPTIONS, PLACES
from lamella.core.bench.registry import UnknownSystem, entry_named, variant_name
from lamella.core.bench.results.compare import standings
from lamella.core.bench.results.figures import in_order
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.run import Recording, combine
from lamella.core.bench.results.store import SavedRuns, trend
from lamella.core.bench.workloads.table_rows import blocks, checksum
from lamella.core.bench.workloads.tables import FLOATS, SMALL
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job

OWN = f"{platform.python_implementation()} {platform.python_version()}"
STANDARD = ["sqlite", "sqlite-obj", "csv", "pickle", "pickle-obj"]
ROWS = 300


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This Python under another name: with the same packages, but another interpreter for a benchmark."""
    if sys.platform == "win32":
        pytest.skip("The other name is a shell script")
    script = tmp_path_factory.mktemp("elsewhere") / "python-elsewhere"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return script


def measured(
    interpreter: Path | str | None, names: list[str], folder: Path
) -> tuple[list[Record], list[Message]]:
    heard: list[Message] = []
    records = run_workload(
        "floats", [ROWS], names, repeats=1, folder=folder, on_event=heard.append, interpreter=interpreter
    )
    return records, heard


def assert_complete(records: list[Record], names: list[str], interpreter: str = OWN) -> None:
    names = [variant_name(name, interpreter) for name in names]
    actual = sorted((record.system, record.operation) for record in records)
    assert actual == sorted((name, operation.id) for name in names for operation in FLOATS.operations)
    assert all(record.seconds > 0 and record.disk_bytes > 8 * 5 * ROWS for record in records)
    assert all(record.peak_rss_bytes > 1_000_000 for record in records)


@pytest.mark.slow
def test_every_system_that_another_python_can_run_answers_rightly_there(
    elsewhere: Path, tmp_path: Path
) -> None:
    pytest.importorskip("sqlalchemy")
    names = list(DESCRIPTIONS)
    records, heard = measured(elsewhere, names, tmp_path)
    assert [message for message in heard if isinstance(message, (Failure, UnsupportedStep))] == []
    assert_complete(records, names)
    ours, _ = measured(None, ["sqlite"], tmp_path)
    assert {r.checksum for r in records} == {r.checksum for r in ours}
    under_another = [record for record in records if record.system == variant_name("csv", OWN)]
    assert [r.operation for r in under_another] == [r.operation for r in ours]
    assert [r.temperature for r in under_another] == [r.temperature for r in ours]


def test_the_standard_library_is_all_that_the_worker_needs(tmp_path: Path) -> None:
    """Runs PyPy if it is installed, which has no NumPy, and corresponds to about Python 3.9."""
    pypy = shutil.which("pypy3")
    if pypy is None:
        pytest.skip("PyPy is not installed here: pypy3 is not on the PATH")
    records, heard = measured(pypy, [*STANDARD, "csv-numpy"], tmp_path)
    interpreter = examine(pypy)
    assert interpreter is not None and interpreter.name.startswith("PyPy 7.")
    assert_complete(records, STANDARD, interpreter.name)
    actual = [message for message in heard if isinstance(message, Surroundings)]
    assert {message.system for message in actual} == {
        variant_name(name, interpreter.name) for name in STANDARD
    }
    assert all("PyPy" in message.version and "durable" in message.description for message in actual)
    assert all("PyPy" in message.environment["python"] for message in actual)
    (message,) = (message for message in heard if isinstance(message, UnsupportedStep))
    assert message.system == "csv-numpy" and "which PyPy" in message.reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_with_a_process_for_every_step_each_sample_is_cold(elsewhere: Path, tmp_path: Path) -> None:
    records = run_workload(
        FLOATS, [9], ["csv"], repeats=2, folder=tmp_path, fresh=True, interpreter=elsewhere
    )
    assert [r.temperature for r in records if r.operation != "read_again"] == ["cold"] * 6
    assert list(tmp_path.iterdir()) == []


def test_cancel_ends_the_other_python_at_once(elsewhere: Path, tmp_path: Path) -> None:
    job = Job()

    def hear(message: Message) -> None:
        if isinstance(message, StepStart) and message.step == "read":
            job.cancel()

    with pytest.raises(Cancelled):
        run_workload(FLOATS, [9], ["sqlite"], folder=tmp_path, on_event=hear, job=job, interpreter=elsewhere)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_system_that_fails_there_is_told_and_the_others_go_on(elsewhere: Path, tmp_path: Path) -> None:
    """A folder with the name of its file blocks CSV."""
    heard, csv = list[Message](), variant_name("csv", OWN)

    def hear(message: Message) -> None:
        heard.append(message)
        if isinstance(message, StepStart) and message.system == csv and message.step == "create":
            next(tmp_path.rglob("csv-*/0")).joinpath("benchmark.csv").mkdir()

    records = run_workload(FLOATS, [9], ["csv", "pickle"], 1, tmp_path, hear, interpreter=elsewhere)
    (failure,) = (message for message in heard if isinstance(message, Failure))
    assert (failure.system, failure.operation) == (csv, "create")
    assert "IsADirectoryError" in failure.message and "worker.py" in failure.details
    assert {record.system for record in records} == {variant_name("pickle", OWN)}


def test_another_python_is_part_of_a_systems_name() -> None:
    name = variant_name("csv", "PyPy 7.3.11")
    entry = entry_named(name)
    assert (entry.id, entry.title, entry.variant) == (name, "CSV, PyPy 7.3.11", "PyPy 7.3.11")
    assert in_order([name, "pickle", "csv", "sqlite"]) == ["sqlite", "csv", name, "pickle"]
    assert entry_named("/home/me@here/mine.py:A list").title == "A list"
    for odd in ("csv@", "cvs@PyPy 7.3.11"):
        with pytest.raises(UnknownSystem):
            entry_named(odd)


def test_a_system_is_not_chosen_by_the_name_that_another_python_gave_it(tmp_path: Path) -> None:
    name = variant_name("csv", "PyPy 7.3.11")
    with pytest.raises(UnknownSystem, match="csv@PyPy"):
        run_workload(FLOATS, [9], [name], folder=tmp_path)
    with pytest.raises(UnknownSystem):
        registry.load(name)


@pytest.mark.slow
def test_saved_figures_of_another_python_stand_beside_ours(elsewhere: Path, tmp_path: Path) -> None:
    saved, folder = SavedRuns(tmp_path / "runs.sqlite"), tmp_path / "disk"
    folder.mkdir()
    for interpreter in (None, str(elsewhere)):
        choice = Choice((part_of(FLOATS, ["csv"], [9], 1),), seed=1, folder=folder, interpreter=interpreter)
        recording = Recording(choice)
        run(choice, recording.receive)
        saved.save(recording.run())
    name = variant_name("csv", OWN)
    assert [run.systems for run in saved.runs()] == [(name,), ("csv",)]
    assert [len(trend(saved, "floats", "read", system, 9)) for system in ("csv", name)] == [1, 1]
    both = combine([saved.run(run.id) for run in saved.runs()])
    assert {(standing.subject, standing.rival) for standing in standings(both.records)} == {("csv", name)}


def test_what_another_python_cannot_run_has_its_reason() -> None:
    libraries = {"sqlite": "3.40.1", "sqlalchemy": "", "numpy": ""}
    interpreter = Interpreter(Path("/usr/bin/pypy3"), "PyPy", [7, 3, 11], [3, 9, 16], libraries, 1e-9, 1e-9)
    assert interpreter.sentence == "PyPy 7.3.11 (Python 3.9.16)"
    assert objection(interpreter, "sqlite", FLOATS) == ""
    assert "Small benchmark needs NumPy, which PyPy" in objection(interpreter, "sqlite", SMALL)
    assert "/usr/bin/pypy3 -m pip install 'SQLAlchemy>=2'" in objection(interpreter, "sqlalchemy-orm", FLOATS)
    libraries["sqlalchemy"] = "1.4.46"
    assert "1.4.46 is too old" in objection(interpreter, "sqlalchemy-core", FLOATS)
    libraries["numpy"] = "2.0.2"
    assert "not PyPy 7.3.11" in objection(interpreter, "h5py", FLOATS)


def test_our_own_python_is_no_other_one() -> None:
    assert examine(None) is None
    assert examine(sys.executable) is None


@pytest.mark.parametrize(
    ("path_text", "said"),
    [
        ("no-such-python", "no interpreter no-such-python"),
        ("false", "does not work as a Python. It ended with status 1"),
    ],
)
def test_an_interpreter_that_is_none_is_refused_before_anything_starts(
    path_text: str, said: str, tmp_path: Path
) -> None:
    heard: list[Message] = []
    with pytest.raises(BadInterpreter, match=said):
        run_workload(FLOATS, [9], ["sqlite"], folder=tmp_path, on_event=heard.append, interpreter=path_text)
    assert heard == [] and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_python_that_is_too_old_is_refused(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "OLDEST", (4, 0))
    with pytest.raises(BadInterpreter, match=r"too old.*from Python 4\.0 on"):
        examine(str(elsewhere))


def test_its_checksum_is_ours() -> None:
    tables = list(blocks(FLOATS, 20))
    assert plain_checksum(zip(*tables[0].values(), strict=True)) == checksum(list(b.values()) for b in tables)
    odd = [(-0.0, float("nan")), (0.0, -float("nan"))]
    assert plain_checksum(odd[:1]) == plain_checksum(odd[1:]) != plain_checksum([(1.0, float("nan"))])


def test_every_system_there_is_described() -> None:
    assert set(PLACES) == set(DESCRIPTIONS)


def test_the_worker_imports_nothing_but_the_standard_library() -> None:
    """The interpreter is isolated from all installed packages."""
    folder = Path(interpreters.__file__).resolve().parents[2]
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import bench.plain.worker, bench.plain.systems"
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_worker_is_written_in_the_words_of_the_oldest_python() -> None:
    files = list(Path(plain.__file__).parent.glob("*.py"))
    assert len(files) > 5
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"), feature_version=interpreters.OLDEST)


@pytest.mark.slow
def test_installed_program_runs_its_own_worker_in_a_python_that_has_lamella(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars runs there, which the installed program does not have, and so do workloads other than floats."""
    monkeypatch.setattr(interpreters.sys, "frozen", True, raising=False)  # type: ignore[attr-defined]
    heard: list[Message] = []
    records = run_workload(SMALL, [9], ["polars"], 1, tmp_path, heard.append, interpreter=elsewhere)
    assert {record.operation for record in records} == {operation.id for operation in SMALL.operations}
    assert not [message for message in heard if isinstance(message, Failure)]


@pytest.mark.slow
def test_installed_program_runs_plain_workers_where_lamella_is_another_version(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters.sys, "frozen", True, raising=False)  # type: ignore[attr-defined]
    interpreter = examine(str(elsewhere))
    assert interpreter is not None and interpreter.is_complete
    assert "needs NumPy" in objection(replace(interpreter, lamella="0.0.1"), "polars", SMALL)
