"""Runs in a SQLite file: saving, listing, notes, deleting, damaged files, and results files."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.costs import planned_trials
from lamella.core.bench.engine.protocol import (
    CRASHED,
    Doing,
    Ended,
    Failure,
    Measured,
    Surroundings,
    Unsupported,
)
from lamella.core.bench.registry import entry_named, workload_named
from lamella.core.bench.results import batches, results_file
from lamella.core.bench.results.compare import compare, comparison_table, ratios, standings
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import (
    Figures,
    Tally,
    by_call,
    read_json,
    summaries,
    to_json,
    to_saved_names,
)
from lamella.core.bench.results.report import text_report
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import Recording, SavedRun
from lamella.core.bench.results.store import (
    SavedRuns,
    UnknownRun,
    trend,
)
from lamella.core.bench.workloads.tables import NEEDLE, PARTIAL, SMALL
from lamella.core.errors import BadData, FileProblem
from tests.bench import costs
from tests.bench.example_records import record

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHOICE = Choice(
    (part_of(SMALL, ["lamella", "sqlite"], [10, 1000], 3), part_of(NEEDLE, ["sqlite"], [5], 1)), seed=7
)


@pytest.fixture
def saved_runs(tmp_path: Path) -> SavedRuns:
    return SavedRuns(tmp_path / "deep" / "races.sqlite")


def recorded(started: datetime = NOON, seconds: float = 0.5) -> SavedRun:
    recording = Recording(CHOICE, started)
    for message in (
        Surroundings("sqlite", "3.40", "not durable", {"python": "CPython 3.11", "cores": 2}, "small"),
        Doing("sqlite", 1000, 0, "read"),
        Measured(record("sqlite", seconds)),
        Measured(replace(record("sqlite", seconds, repeat=1), latencies=(0.25, 0.75))),
        Unsupported("needle", "sqlite", "index", "It has none"),
        Failure("small", "lamella", "read", 10, 0, "It fell", "at length", CRASHED),
        Ended("small", "sqlite", 1000, 1000, 3, 6, 2.5, 50_000_000, 4096),
    ):
        recording.receive(message)
    return recording.run()


def test_a_run_comes_back_with_all_it_told(saved_runs: SavedRuns) -> None:
    run = recorded()
    number = saved_runs.save(run)
    assert saved_runs.run(number) == replace(run, id=number)
    assert run.records[1].latencies == (0.25, 0.75) and run.failures and run.unsupported and run.ended
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
        ("UPDATE ended SET steps = 'many'", "Ended.steps is 'many'"),
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
    (ended,) = recorded().ended
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
    assert older.run(first.id).unsupported[0].reason.startswith("DuckDB's full-text search is an extension")
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


def test_a_results_file_holds_everything_of_a_run(tmp_path: Path) -> None:
    figures = Figures(200, 2, 0.5, 0.1, 0.52, 0.9, 1.5)
    saved = replace(record("sqlite", 0.5, rows=10), figures=figures)
    run = replace(recorded(), note="on a quiet machine")
    run = replace(run, records=(*run.records, saved))
    write_results_file(run, tmp_path / "a.results")
    write_results_file(run, tmp_path / "b.results")
    assert read_results_file(tmp_path / "a.results") == replace(run, id=1)
    assert (tmp_path / "a.results").read_bytes() == (tmp_path / "b.results").read_bytes()


def test_a_file_of_saved_runs_is_a_results_file_of_them_together(saved_runs: SavedRuns) -> None:
    saved_runs.save(recorded())
    saved_runs.save(replace(recorded(), title="the other"))
    run = read_results_file(saved_runs.path)
    assert run.title == "2 benchmarks together" and len(run.records) == 2


DEEP = '{"parts": ' * 90_000


def _results(path: Path) -> bytes:
    write_results_file(recorded(), path)
    return path.read_bytes()


def _changed(statement: str):
    """Return the contents of a results file after a SQL statement that changes it."""

    def change(path: Path) -> bytes:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.deserialize(gzip.decompress(_results(path)))
            connection.executescript(statement)
            return gzip.compress(connection.serialize())

    return change


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: b"", "not a results file.*It is empty"),
        (lambda path: b'{"name": "Lamella"}', "not a results file.*--json writes, which --compare reads"),
        (lambda path: gzip.compress(b'{"name": "Lamella"}'), "not a results file.*It begins with"),
        (lambda path: b"PAR1" * 100, "not a results file.*It begins with b'PAR1PAR1PAR1'"),
        (lambda path: _results(path)[:-200], "damaged.*Copy it again"),
        (lambda path: b"".join((_results(path)[:500], b"x" * 9, _results(path)[509:])), "damaged"),
        (lambda path: gzip.compress(gzip.decompress(_results(path))[:9000]), "damaged"),
        (lambda path: gzip.compress(bytes(1 << 21)), "larger than 2,000,000 bytes"),
        (_changed("PRAGMA user_version = 3"), "later version.*3"),
        (_changed("PRAGMA application_id = 5"), "does not contain saved runs"),
        (_changed("DELETE FROM runs"), "not a results file.*It has no runs"),
        (_changed("DROP TABLE samples"), "cannot be read.*lacks samples.backend"),
        (_changed("CREATE VIEW more AS SELECT 1"), "not a results file.*a view 'more'"),
        (
            _changed("CREATE VIRTUAL TABLE words USING fts5(text)"),
            "not a results file.*virtual table 'words'",
        ),
        (
            _changed("ALTER TABLE runs ADD COLUMN made TEXT AS (zeroblob(900000000))"),
            "not a results file.*computed column 'runs.made'",
        ),
        (_changed(f"UPDATE runs SET note = zeroblob({1 << 26})"), "damaged.*too big|larger than"),
        (_changed("UPDATE runs SET note = hex(zeroblob(700000))"), "has 1,400,000 characters"),
        (
            _changed(
                "INSERT INTO ended SELECT 1, 'small', 'x', 1, 1, 1, 1, 1, 1, 1 FROM"
                " (WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n LIMIT 200) SELECT v FROM n)"
            ),
            "not a results file.*20[0-9] rows; the maximum is 100",
        ),
        (
            _changed("UPDATE batches SET samples = 99, places = zeroblob(792)"),
            "[0-9]+ rows; the maximum is 100",
        ),
        (_changed("UPDATE batches SET rows = -5"), "damaged.*its rows is impossible"),
        (_changed(f"UPDATE batches SET figures = '{'[' * 90_000}'"), "damaged.*is not JSON"),
        (_changed(f"UPDATE surroundings SET environment = '{'[' * 90_000}'"), "damaged.*is not JSON"),
        (_changed(f"UPDATE runs SET choice = '{DEEP}'"), "damaged.*is not JSON"),
        (_changed("UPDATE batches SET seconds = 'long'"), "damaged.*its seconds is impossible"),
        (_changed("UPDATE runs SET started = 'noon'"), "damaged.*noon"),
    ],
)
def test_a_file_that_is_no_results_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make, said: str
) -> None:
    monkeypatch.setattr(results_file, "MOST_BYTES", 2_000_000)
    monkeypatch.setattr(results_file, "MOST_ROWS", 100)
    path = tmp_path / "some.results"
    path.write_bytes(make(path))
    with pytest.raises(FileProblem, match=said) as refusal:
        read_results_file(path)
    assert str(path) in str(refusal.value)


def test_a_results_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="cannot be read"):
        read_results_file(tmp_path / "absent.results")
    with pytest.raises(FileProblem, match="cannot be written"):
        write_results_file(recorded(), tmp_path / "absent" / "run.results")


def _opened(tmp_path: Path, *statements: str) -> SavedRun:
    path = tmp_path / "theirs.results"
    path.write_bytes(_changed(";".join(statements))(path) if statements else _results(path))
    return read_results_file(path)


def test_control_characters_in_a_results_file_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    run = _opened(
        tmp_path,
        "UPDATE runs SET title = char(27) || '[31mred', note = 'a' || char(8238) || 'b', command = char(7)",
        "UPDATE batches SET operation = 'read' || char(27) || '[2J', backend = char(155) || 'sqlite'",
        "UPDATE failures SET message = char(27) || ']0;title'",
    )
    texts = (markdown_report(run), text_report(run.records), comparison_text(run))
    assert not [text for text in texts for character in text if character in "\x1b\x07\x9b\u202e"]
    assert run.title == "␛[31mred" and run.note == "a\\u202eb"
    assert entry_named(run.records[0].system).title == "\\x9bsqlite"


def comparison_text(run: SavedRun) -> str:
    return comparison_table(compare(run.records, run.records)).as_text()


def test_what_is_not_known_here_keeps_its_name_in_reports(tmp_path: Path) -> None:
    run = _opened(
        tmp_path,
        "UPDATE batches SET backend = 'leveldb'",
        "UPDATE failures SET workload = 'mail', operation = 'send'",
        "CREATE TEMP TABLE other AS SELECT * FROM batches; UPDATE other SET workload = 'mail'",
        "INSERT INTO batches SELECT * FROM other",
    )
    assert "leveldb" in text_report(run.records)
    assert "mail: this version does not know the workload" in text_report(run.records)
    assert "leveldb" in markdown_report(run) and "## mail" in markdown_report(run)
    assert "leveldb" in comparison_text(run) and "mail" in comparison_text(run)
    saved = SavedRuns(tmp_path / "runs.sqlite")
    assert saved.run(saved.save(run)).records == run.records


def test_a_results_file_makes_nothing_of_its_own_run_here(tmp_path: Path) -> None:
    ours = recorded()
    assert ours.choice is not None
    named = replace(ours.choice, interpreter="/tmp/evil", folder=Path("/srv"), limit_seconds=3.0)
    own = Choice((part_of(SMALL, ["sqlite", "evil.module:System"], [10], 1),), seed=7)
    path = tmp_path / "theirs.results"
    write_results_file(replace(ours, choice=named), path)
    choice = read_results_file(path).choice
    assert choice == replace(named, interpreter=None, folder=None)
    write_results_file(replace(ours, choice=own), path)
    assert read_results_file(path).choice is None


def test_times_of_zero_are_compared() -> None:
    none = [replace(sample, seconds=0.0) for sample in (record("sqlite", 1.0), record("lamella", 1.0))]
    assert [standing.factor for standing in standings(none)] == [1.0]
    assert [standing.factor for standing in compare(none, none)] == [1.0, 1.0]
    assert ratios(none)[0].verdict == "as fast"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 90_000, "must be JSON"),
        ('[{"rows": 1}]', "different fields"),
        ("[3]", "must be a JSON object. It is 3"),
        (lambda item: item | {"seconds": "long"}, "Record.seconds is 'long'"),
        (lambda item: item | {"rows": 10**30}, "Record.rows is 1000000000.*is impossible"),
        (lambda item: item | {"latencies": {"a": 1}}, "should be seconds"),
        (lambda item: item | {"latencies": [1e300]}, "should be seconds"),
        (lambda item: item | {"figures": [1]}, "must be a JSON object"),
    ],
)
def test_samples_as_json_are_checked_as_results_files_are(text, said: str, tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    (item,) = json.loads(to_json([record("sqlite", 0.5)]))
    path.write_text(text if isinstance(text, str) else json.dumps([text(item)]))
    with pytest.raises(FileProblem, match=said) as refusal:
        read_json(path)
    assert str(path) in str(refusal.value)


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
