"""The commands that measure the store run from end to end on few rows, and judge correctly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.results_file import read_results_file
from lamella.core.errors import BadData
from tests.bench import goals_bench, memory_bench
from tests.bench.goals import GOALS, Goal, goal_table, missed_and_met, verdicts
from tests.bench.goals_bench import FULL
from tests.bench.page import put_into

ROOT = Path(__file__).resolve().parents[2]


def record(system: str, operation: str, seconds: float, rows: int = 100_000) -> Record:
    return Record("small", system, operation, rows, 100, 0, seconds, seconds, 1, 4096, "1:0", "cold")


def told(records: list[Record]) -> dict[tuple[str, str | None], bool]:
    return {(v.goal.operation, v.goal.rival): v.met for v in verdicts(records) if v.counts}


@pytest.mark.parametrize(("seconds", "met"), [(0.55, True), (0.56, False)])
def test_a_ratio_is_judged_against_the_rival_of_the_same_run(seconds: float, met: bool) -> None:
    actual = told([record("lamella", "create", seconds), record("sqlite", "create", 1.0)])
    assert actual == {("create", "sqlite"): met}


def test_a_percentile_is_judged_where_the_goal_is_one() -> None:
    latencies = (*[0.0001] * 98, 0.5, 0.5)
    slow = replace(record("lamella", "create_one", 0.01), workload="entity-changes", latencies=latencies)
    p50, p99 = (v for v in verdicts([slow]) if v.goal.operation == "create_one")
    assert p50.met and not p99.met
    assert "MISSED" in goal_table([p99]).as_text() and "p99" in goal_table([p99]).as_text()


def test_a_goal_of_a_question_is_met_by_the_time_it_takes_to_ask_again() -> None:
    first = replace(record("lamella", "count", 9.0), workload="entity-queries")
    slow = replace(first, latencies=(0.0003, 0.0004), temperature="warm")
    quick = replace(first, latencies=(0.0001, 0.0001), temperature="warm")
    assert [v.met for v in verdicts([first] * 5 + [quick])] == [True]
    assert [v.met for v in verdicts([first, slow])] == [False]


def test_a_size_that_no_goal_was_set_for_is_shown_and_not_judged() -> None:
    actual = verdicts([record("lamella", "create", 9.0, rows=20), record("sqlite", "create", 1.0, rows=20)])
    assert actual and not any(verdict.counts for verdict in actual)
    assert "set for another size" in goal_table(actual).as_text()


def test_what_is_missed_stands_alone_and_what_is_met_together() -> None:
    changes = [
        replace(record("lamella", name, 0.01, 10_000), workload="entity-changes", latencies=(seconds,) * 9)
        for name, seconds in (("create_one", 0.0004), ("update_set", 0.0008), ("update_inc", 0.003))
    ]
    single = [
        replace(record(system, "update_cell", seconds, rows), workload="single")
        for rows, seconds in ((10, 0.5), (1000, 0.3))
        for system, seconds in (("lamella", 0.6), ("sqlite-wal", seconds))
    ]
    missed, met = missed_and_met(verdicts([*changes, *single]))
    (line,) = missed.lines
    assert line[:4] == ("entity-changes", "$inc, p50", "10,000", "3.00 ms")
    lines = {line[1]: line for line in met.lines}
    assert lines["Create one; $set: p50"][3] == "400 µs to 800 µs"
    assert lines["Create one; $set; $inc: p99"][3] == "400 µs to 3.00 ms"
    rival = "SQLite (WAL, synchronous full) 500 ms to 300 ms"
    assert lines["Update one cell"][2:6] == ("10 to 1,000", "600 ms", rival, "× 1.2 to × 2.0")


@pytest.mark.parametrize("name", ["store", "queries"])
def test_the_pages_of_goals_say_what_their_results_files_hold(name: str) -> None:
    page = (ROOT / "docs" / f"benchmarks-{name}.md").read_text(encoding="utf-8")
    run = read_results_file(ROOT / "docs" / "results" / f"{name}.results")
    measured = page.partition("<!-- measured: begin -->")[2].partition("<!-- measured: end -->")[0]
    assert measured.strip() == goals_bench.report(run, f"results/{name}.results").strip()
    assert len(page.splitlines()) <= 150


def test_what_was_not_measured_on_both_sides_has_no_verdict() -> None:
    assert verdicts([record("lamella", "create", 0.1)]) == []


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_is_measured_by_the_full_run(goal: Goal) -> None:
    assert WORKLOADS[goal.workload].has(goal.operation)
    sizes = {n for plan in FULL if plan.workload.id == goal.workload for n in plan.rows}
    systems = {s for plan in FULL if plan.workload.id == goal.workload for s in plan.systems}
    assert sizes >= set(goal.rows) and systems >= {"lamella", goal.rival or "lamella"}


def test_the_measured_part_of_a_page_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    parts = "".join(f"<!-- {part}: begin -->\nold {part}\n<!-- {part}: end -->\n" for part in "ab")
    page.write_text(f"# Mine\n\n{parts}\nSaid by hand.\n", encoding="utf-8")
    put_into(page, "b", "new figures")
    text = page.read_text(encoding="utf-8")
    assert "new figures" in text and "old a" in text and "old b" not in text
    assert text.startswith("# Mine\n") and text.endswith("Said by hand.\n")


def test_a_page_without_the_place_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Somebody's own.\n", encoding="utf-8")
    with pytest.raises(BadData, match="measured: begin"):
        put_into(page, "measured", "figures")
    assert page.read_text(encoding="utf-8") == "Somebody's own.\n"


@pytest.mark.slow
def test_the_tiny_form_measures_reports_and_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page, work = tmp_path / "out.results", tmp_path / "page.md", tmp_path / "work"
    work.mkdir()
    words = ["--tiny", "--only", "small", "--systems", "lamella,sqlite", "--folder", str(work)]
    assert goals_bench.main([*words, "--export", str(out), "--report", str(page)]) == 0
    run = read_results_file(out)
    assert {sample.system for sample in run.samples} == {"lamella", "sqlite"} and "--tiny" in run.command
    text = page.read_text(encoding="utf-8")
    assert "Machine:" in text and "durable" in text and "[out.results](out.results)" in text
    assert "0 of 0 goals are met" in text and "| Small benchmark | 20 | Lamella |" in text
    assert "set for another size" in capsys.readouterr().out
    again = tmp_path / "again.md"
    assert goals_bench.main(["--of", str(out), "--report", str(again)]) == 0
    assert again.read_text(encoding="utf-8") == text
    assert list(work.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", memory_bench.BYTES_PER_ROW)
def test_every_step_of_the_memory_measurement_keeps_the_rows(kind: str, tmp_path: Path) -> None:
    for step, work in memory_bench.STEPS.items():
        work(tmp_path, kind, 2_000)
        assert not list(tmp_path.glob("large.csv")) or step == "write csv"
    with Store.open(tmp_path / "batches") as store:
        deleted = len(range(0, 2_000, 2))
        assert store["large"].num_rows == 2_000 - deleted + memory_bench.INSERTS * 2_000


@pytest.mark.slow
def test_the_memory_measurement_judges_and_reports(tmp_path: Path) -> None:
    page, out = tmp_path / "page.md", tmp_path / "out.json"
    words = ["--gigabytes", "0.0002", "--folder", str(tmp_path), "--report", str(page), "--json", str(out)]
    assert memory_bench.main(words) == 0
    assert "| compact | 250 |" in page.read_text(encoding="utf-8")
    steps = {item["step"]: item for item in json.loads(out.read_text(encoding="utf-8"))}
    assert set(steps) == set(memory_bench.STEPS)
    assert all(item["peak_rss_bytes"] > 10_000_000 and item["disk_bytes"] > 0 for item in steps.values())
    assert not list(tmp_path.glob("lamella-memory-*"))


def test_a_step_that_takes_too_much_is_said() -> None:
    greedy = memory_bench.Measurement("compact", 1, 1.0, 1_000_000_000, 1)
    assert not greedy.met and "NO" in memory_bench.table_of([greedy]).as_text()


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="are needed"):
        memory_bench.refuse_full_disk(tmp_path, 10**18)
