"""Results files and samples as JSON: what they hold, and bad ones, which are refused or shown harmlessly."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.registry import entry_named
from lamella.core.bench.results import results_file
from lamella.core.bench.results.compare import compare, comparison_table
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import (
    Figures,
    read_json,
    to_json,
)
from lamella.core.bench.results.report import text_report
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import SavedRun
from lamella.core.bench.results.store import (
    SavedRuns,
)
from lamella.core.bench.workloads.tables import SMALL
from lamella.core.errors import FileProblem
from tests.bench.example_records import record, recorded


def test_a_results_file_holds_everything_of_a_run(tmp_path: Path) -> None:
    figures = Figures(200, 2, 0.5, 0.1, 0.52, 0.9, 1.5)
    saved = replace(record("sqlite", 0.5, rows=10), figures=figures)
    run = replace(recorded(), note="on a quiet machine")
    run = replace(run, records=(*run.records, saved))
    write_results_file(run, tmp_path / "a.results")
    write_results_file(run, tmp_path / "b.results")
    assert read_results_file(tmp_path / "a.results") == replace(run, id=1)
    assert (tmp_path / "a.results").read_bytes() == (tmp_path / "b.results").read_bytes()


def test_a_file_of_saved_runs_is_a_results_file_of_them_together(tmp_path: Path) -> None:
    saved_runs = SavedRuns(tmp_path / "runs.sqlite")
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
