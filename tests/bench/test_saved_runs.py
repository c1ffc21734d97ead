"""Runs in a SQLite file: saving, listing, notes, deleting, damaged files."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.costs import planned_trials
from lamella.core.bench.registry import entry_named, workload_named
from lamella.core.bench.results import batches
from lamella.core.bench.results.compare import compare, ratios, standings
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import (
    Figures,
    Tally,
    by_call,
    summaries,
    to_saved_names,
)
from lamella.core.bench.results.store import (
    SavedRuns,
    UnknownRun,
    trend,
)
from lamella.core.bench.workloads.tables import PARTIAL
from lamella.core.errors import BadData, FileProblem
from tests.bench import costs
from tests.bench.example_records import CHOICE, NOON, record, recorded


@pytest.fixture
def saved_runs(tmp_path: Path) -> SavedRuns:
    return SavedRuns(tmp_path / "deep" / "races.sqlite")


def test_a_run_comes_back_with_all_it_told(saved_runs: SavedRuns) -> None:
    run = recorded()
    number = saved_runs.save(run)
    assert saved_runs.run(number) == replace(run, id=number)
    assert (
        run.records[1].latencies == (0.25, 0.75) and run.failures and run.unsupported_steps and run.processes
    )
    assert run.choice == CHOICE


def test_runs_are_listed_newest_first_with_what_they_measured(saved_runs: SavedRuns) -> None:
    first, second = saved_runs.save(recorded()), saved_runs.save(recorded(NOON + timedelta(days=1)))
    newest, oldest = saved_runs.runs()
    assert (newest.id, oldest.id) == (second, first)
    assert newest.started == NOON + timedelta(days=1)
    assert (newest.workloads, newest.systems) == (("small", "needle"), ("lamella", "sqlite"))
    assert (newest.sizes, newest.repeats, newest.samples, newest.failures) == ((5, 10, 1000), 3, 2, 1)
    assert newest.title == "Small benchmark and 1 more: Lamella, SQLite (synchronous off)"
    assert "--workload small" in newest.command and "--seed 7" in newest.command


def test_nothing_was_kept_yet_and_looking_makes_no_file(saved_runs: SavedRuns) -> None:
    assert saved_runs.runs() == []
    assert not saved_runs.path.parent.exists()


def test_runs_are_noted_and_deleted_with_their_samples(saved_runs: SavedRuns) -> None:
    first, second = saved_runs.save(recorded()), saved_runs.save(recorded())
    saved_runs.note(second, "after the change")
    saved_runs.delete([first])
    (left,) = saved_runs.runs()
    assert (left.id, left.note) == (second, "after the change")
    assert saved_runs.run(second).note == "after the change"
    with closing(sqlite3.connect(saved_runs.path)) as connection:
        assert connection.execute("SELECT DISTINCT run FROM batches").fetchall() == [(second,)]
    assert saved_runs.save(recorded()) > second  # a number is never reused


def test_a_number_that_no_run_has_is_refused_and_nothing_is_deleted(saved_runs: SavedRuns) -> None:
    number = saved_runs.save(recorded())
    with pytest.raises(UnknownRun, match="No saved run has the number 99"):
        saved_runs.delete([number, 99])
    with pytest.raises(UnknownRun):
        saved_runs.run(99)
    with pytest.raises(UnknownRun):
        saved_runs.note(99, "lost")
    assert len(saved_runs.runs()) == 1


def test_a_run_of_a_workload_that_is_no_more_can_still_be_read(saved_runs: SavedRuns) -> None:
    number = saved_runs.save(recorded())
    with closing(sqlite3.connect(saved_runs.path)) as connection, connection:
        connection.execute("""UPDATE runs SET choice = replace(choice, '"needle"', '"noodle"')""")
    run = saved_runs.run(number)
    assert run.choice is None and len(run.records) == 2


def test_several_writers_at_once_keep_every_run(saved_runs: SavedRuns) -> None:
    writers = [threading.Thread(target=lambda: saved_runs.save(recorded())) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len({run.id for run in saved_runs.runs()}) == 8


def _damaged(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def _of_later_version(path: Path) -> None:
    SavedRuns(path).save(recorded())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def _of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def _cut_short(path: Path) -> None:
    SavedRuns(path).save(replace(recorded(), records=tuple(record("sqlite", n + 1.0) for n in range(500))))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_damaged, "Move the file away"),
        (_of_later_version, r"later version.*99.*Use that version"),
        (_of_another_program, "does not contain saved runs"),
        (_cut_short, "Move the file away"),
    ],
)
def test_a_file_that_is_no_good_is_named_and_never_overwritten(tmp_path: Path, make, said: str) -> None:
    path = tmp_path / "races.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(FileProblem, match=said) as refusal:
        SavedRuns(path).save(recorded())
    assert str(path) in str(refusal.value)
    with pytest.raises(FileProblem, match=said):
        SavedRuns(path).runs()
    assert path.read_bytes() == before


def after(path: Path, statement: str) -> SavedRuns:
    """Return the saved runs after a SQL statement that damages the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    return SavedRuns(path)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE batches SET seconds = 'long'", "its seconds is impossible"),
        ("UPDATE batches SET seconds = zeroblob(24)", "its seconds is impossible"),
        ("UPDATE batches SET samples = 9", "its places is impossible"),
        ("UPDATE batches SET samples = -1", "its samples is impossible"),
        ("UPDATE batches SET rows = 0", "its rows is impossible"),
        ("UPDATE batches SET seconds = x'000000000000f87f'", "seconds is nan seconds, which is impossible"),
        ("UPDATE batches SET disk_bytes = x'ffffffffffffffff'", "disk_bytes is -1, which is impossible"),
        ("UPDATE batches SET latencies = zeroblob(80)", "another number of latencies than it says"),
        ("UPDATE batches SET latencies = zeroblob(9)", "its latencies is impossible"),
        ("UPDATE batches SET calls = zeroblob(9)", "its calls is impossible"),
        ("UPDATE batches SET figures = '{'", "is not JSON"),
        ("UPDATE batches SET figures = '{}'", "Figures.samples is None"),
        ("UPDATE batches SET checksum = CAST(x'ff' AS TEXT)", "UTF-8|utf-8"),
        ("UPDATE surroundings SET environment = '[]'", "not the kind of JSON"),
        ("UPDATE ended SET steps = 'many'", "ProcessUsage.steps is 'many'"),
        ("UPDATE runs SET started = 'noon'", "'noon', which is not a time"),
        ("UPDATE runs SET choice = '{}'", "What a run measured cannot be read"),
        ("UPDATE runs SET seconds = 'long'", "SavedRun.seconds is 'long'"),
    ],
)
def test_a_damaged_value_is_an_error_with_the_file(saved_runs: SavedRuns, statement: str, said: str) -> None:
    number = saved_runs.save(recorded())
    with pytest.raises(FileProblem, match=said) as refusal:
        after(saved_runs.path, statement).run(number)
    assert str(saved_runs.path) in str(refusal.value)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE samples SET latencies = '{'", "is not JSON"),
        (f"UPDATE samples SET latencies = '{'[' * 90_000}'", "is not JSON"),
        ("UPDATE samples SET latencies = '{}'", "Figures.samples is None"),
        ("UPDATE samples SET latencies = '[\"a\"]'", "should be seconds"),
        ("UPDATE samples SET latencies = '[0.1, 1e999]'", "should be seconds"),
        ("UPDATE samples SET rows = -5", "Record.rows is -5, which is impossible"),
        ("UPDATE samples SET seconds = 'long'", "Record.seconds is 'long'"),
        ("UPDATE samples SET seconds = -4e303", "seconds, which is impossible"),
        ("UPDATE samples SET checksum = CAST(x'ff' AS TEXT)", "UTF-8|utf-8"),
    ],
)
def test_a_sample_of_version_1_that_is_damaged_is_told_with_the_file(
    older: SavedRuns, statement: str, said: str
) -> None:
    with pytest.raises(FileProblem, match=said) as refusal:
        after(older.path, statement).run(1)
    assert str(older.path) in str(refusal.value)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileProblem, match="runs cannot be saved here"):
        SavedRuns(tmp_path / "file" / "races.sqlite").save(recorded())


def test_a_trend_has_a_point_for_every_run_that_measured_it(saved_runs: SavedRuns) -> None:
    for day, seconds in enumerate((0.5, 0.4, 0.3)):
        run = recorded(NOON + timedelta(days=day))
        saved_runs.save(
            replace(run, records=tuple(record("sqlite", seconds + n / 100, repeat=n) for n in range(3)))
        )
    saved_runs.save(replace(recorded(), records=(record("lamella", 9.0),)))
    points = trend(saved_runs, "small", "read", "sqlite", 1000)
    assert [(point.run, round(point.value, 3), point.samples) for point in points] == [
        (1, 0.51, 3), (2, 0.41, 3), (3, 0.31, 3),
    ]  # fmt: skip
    assert [point.started for point in points] == [NOON + timedelta(days=day) for day in range(3)]
    assert all(point.low < point.value < point.high for point in points)
    assert trend(saved_runs, "small", "read", "sqlite", 5) == []
    (lowest, *_) = trend(saved_runs, "small", "read", "sqlite", 1000, "lowest")
    assert lowest.value == 0.5


def test_a_trend_of_a_question_is_of_its_later_calls_unless_the_first_are_wanted(
    saved_runs: SavedRuns,
) -> None:
    first, again = record("sqlite", 0.9), replace(record("sqlite", 0.2), latencies=(0.1, 0.3))
    saved_runs.save(replace(recorded(), records=(first, again)))
    assert [point.value for point in trend(saved_runs, "small", "read", "sqlite", 1000)] == [0.2]
    assert [point.value for point in trend(saved_runs, "small", "read", "sqlite", 1000, call="first")] == [
        0.9
    ]


def test_a_choice_is_the_same_after_it_was_written_down() -> None:
    within = replace(PARTIAL, table_rows=500)
    choice = Choice((part_of(within, ["sqlite"], [1, 5]),), True, 3, Path("/data"), "pypy", 2.5, 10**9)
    assert Choice.from_json(choice.to_json()) == choice


def test_a_file_that_is_no_good_can_be_moved_aside_for_a_new_one(tmp_path: Path) -> None:
    store = SavedRuns(tmp_path / "races.sqlite")
    for number in (1, 2):
        _damaged(store.path)
        assert store.move_aside() == tmp_path / f"races-{number}.sqlite"
    assert store.save(recorded()) == 1
    assert (tmp_path / "races-1.sqlite").read_bytes().startswith(b"this is no database")


def test_nothing_can_be_moved_aside_where_there_is_nothing(saved_runs: SavedRuns) -> None:
    with pytest.raises(FileProblem):
        saved_runs.move_aside()


def test_what_kept_benchmarks_took_is_written_for_those_to_come(
    saved_runs: SavedRuns, tmp_path: Path
) -> None:
    saved_runs.save(recorded())
    out = tmp_path / "costs.json"
    assert costs.main([str(saved_runs.path), "--out", str(out)]) == 0
    (ended,) = recorded().processes
    assert to_saved_names(vars(ended)) in json.loads(out.read_text())


@pytest.fixture
def older(tmp_path: Path) -> SavedRuns:
    """Runs that were saved when every workload and system had a separate folder: tables, full text, and a
    table of the user's."""
    return SavedRuns(Path(shutil.copy(Path(__file__).with_name("runs_of_version_1.sqlite"), tmp_path)))


def test_runs_of_an_older_version_open_and_report(older: SavedRuns) -> None:
    second, first = older.runs()
    assert (first.workloads, first.systems) == (
        ("small", "entity-text"),
        ("lamella", "sqlite", "csv", "sqlite-fts5", "duckdb"),
    )
    assert (first.samples, first.note, first.seconds, second.samples) == (98, "before the move", 12.5, 18)
    for summary in (first, second):
        run = older.run(summary.id)
        report = markdown_report(run)
        assert all(workload_named(name).title in report for name in summary.workloads)
        assert len(compare(run.records, run.records)) > 10
    assert (
        older.run(first.id)
        .unsupported_steps[0]
        .reason.startswith("DuckDB's full-text search is an extension")
    )
    assert (
        len(older.processes()) == 10
        and older.costs().seconds(planned_trials(older.run(first.id).choice)[0]) > 0
    )


def test_a_choice_of_an_older_version_is_asked_again_in_the_same_words(older: SavedRuns) -> None:
    for summary in older.runs():
        run = older.run(summary.id)
        assert run.choice is not None
        assert "--backends" in run.command, "it had this name then, and is understood still"
        assert "\n".join(run.choice.commands) == run.command.replace("--backends", "--systems")
        assert Choice.from_json(run.choice.to_json()) == run.choice
        for part in run.choice.parts:
            assert part.workload.steps and all(entry_named(name).title for name in part.systems)
    assert run.choice.limit_seconds == 60.0 and run.choice.seed == 7


def test_a_file_of_an_older_version_takes_new_runs(older: SavedRuns) -> None:
    before, run = older.path.read_bytes(), older.run(1)
    assert older.path.read_bytes() == before, "reading leaves it as it is"
    number = older.save(run)
    assert older.run(number).records == run.records == older.run(1).records
    assert sorted(saved_run.samples for saved_run in older.runs()) == [18, 98, 98]
    sample = run.records[0]
    samples = older.samples_of(sample.workload, sample.operation, sample.system, sample.rows)
    assert [run for run, _, _ in samples] == [1, number]
    assert len({tuple(part.values("seconds")) for _, _, each in samples for part in each[:1]}) == 1
    older.delete([1])
    assert {saved_run.id for saved_run in older.runs()} == {number, 2}


def test_samples_come_back_in_the_order_in_which_they_were_measured(saved_runs: SavedRuns) -> None:
    """The samples are of several points in turn; some are of many calls, and some have only figures."""
    records = [
        replace(
            record(system, seconds + repeat / 10, rows=rows, repeat=repeat),
            latencies=(0.1, 0.2 * repeat) if rows == 10 and repeat != 1 else (),
            figures=Figures(5, 1, seconds) if rows == 100 else None,
        )
        for repeat in range(3)
        for system, seconds in (("sqlite", 0.5), ("lamella", 0.0))
        for rows in (10, 100, 1000)
    ]
    saved = saved_runs.run(saved_runs.save(replace(recorded(), records=records)))
    assert (
        list(saved.records) == records
        and saved.records[4] == records[4]
        and saved.records[2:5] == tuple(records[2:5])
    )
    assert saved_runs.run(saved_runs.save(saved)).records == saved.records
    assert summaries(saved.samples) == summaries(records)
    calls = {call: sum(map(len, of)) for call, of in by_call(saved.samples).items()}
    assert calls == {call: len(of) for call, of in by_call(records).items()}
    for quantity in ("cpu_seconds", "disk_bytes"):
        assert Tally(saved.samples).summaries(quantity) == Tally(records).summaries(quantity)


def test_batches_of_very_many_calls_are_divided(
    saved_runs: SavedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_CALLS", 5)
    records = [replace(record("sqlite", 0.1, repeat=1), latencies=(0.1, 0.2 + n, 0.3)) for n in range(7)]
    saved = saved_runs.run(saved_runs.save(replace(recorded(), records=records)))
    assert list(saved.records) == records and len(saved.samples) == 4


def test_times_of_zero_are_compared() -> None:
    none = [replace(sample, seconds=0.0) for sample in (record("sqlite", 1.0), record("lamella", 1.0))]
    assert [standing.factor for standing in standings(none)] == [1.0]
    assert [standing.factor for standing in compare(none, none)] == [1.0, 1.0]
    assert ratios(none)[0].verdict == "as fast"


def test_runs_are_searched_by_what_they_are_called_measured_and_tagged(saved_runs: SavedRuns) -> None:
    first, second = saved_runs.save(recorded()), saved_runs.save(recorded(NOON + timedelta(days=1)))
    saved_runs.note(first, "#baseline before the index, issue#3 #Old-disk")
    runs = saved_runs.runs()
    assert runs[1].tags == ("baseline", "Old-disk") and runs[0].tags == ()

    def found(text: str) -> list[int]:
        return [run.id for run in runs if run.matches(text)]

    assert found("") == found("small SQLITE") == found("needle lamella") == [second, first]
    assert found("#baseline") == found("#old-disk index") == found("before the") == [first]
    assert found("2026-03-02") == [second]
    assert found("#base") == found("#index") == found("polars") == []
    assert runs[0].machine == "2 cores" and found("2 cores") == [second, first]


def test_notes_that_are_too_long_are_refused_and_the_old_one_stays(saved_runs: SavedRuns) -> None:
    number = saved_runs.save(recorded())
    saved_runs.note(number, "short")
    with pytest.raises(BadData, match=r"at most 10,000 characters; this one has 1,000,000"):
        saved_runs.note(number, "x" * 1_000_000)
    assert saved_runs.run(number).note == "short"
