"""Indexes, text, relations and SQLite over Parquet: all systems give the same answers, which are
meaningful."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lamella import Store
from lamella.core.bench import registry
from lamella.core.bench.engine.protocol import Message, UnsupportedStep
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import ENTRIES, WORKLOADS, family_of
from lamella.core.bench.results.published_results import published_lines
from lamella.core.bench.systems.base import QuestionSystem
from lamella.core.bench.systems.lamella_indexes import LamellaIndexes, LamellaText
from lamella.core.bench.systems.sqlite_parquet import BridgeOverParquet
from lamella.core.bench.workloads import entity_relations as related
from lamella.core.bench.workloads.bridge import BRIDGE, FILES, GROUPS, means_to_sums
from lamella.core.bench.workloads.entity_indexes import (
    ENTITY_INDEXES,
    INDEX_COLUMNS,
    KEYS,
    ROWS,
    SCANS,
    index_step,
    scan_step,
)
from lamella.core.bench.workloads.entity_relations import ENTITY_RELATIONS
from lamella.core.bench.workloads.entity_text import CHANGED_TEXT, ENTITY_TEXT, compare_ids, documents
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.questions import digest
from lamella.core.bridge import row_groups

SIZES = {ENTITY_INDEXES.id: 400, ENTITY_TEXT.id: 600, ENTITY_RELATIONS.id: 400, BRIDGE.id: 400}
COMPLETE = {ENTITY_INDEXES.id: "sqlite", BRIDGE.id: "sqlite"}
"""The systems that support every operation: Lamella, except in the benchmark of SQLite over Parquet."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use fewer calls: right answers do not depend on their number."""
    monkeypatch.setattr("lamella.core.bench.workloads.questions.CALLS", 2)
    monkeypatch.setattr("lamella.core.bench.workloads.entity_indexes.NUM_LOOKUPS", 4)
    monkeypatch.setattr("lamella.core.bench.workloads.entity_text.TURNS", 3)
    monkeypatch.setattr("lamella.core.bench.workloads.entity_text.COMMITS", 2)
    monkeypatch.setattr("lamella.core.bench.workloads.entity_relations.NUM_LOOKUPS", 4)


def opened(system: type[QuestionSystem], workload: Workload, folder: Path) -> QuestionSystem:
    """Return a system that is filled and open."""
    new_system = system(folder / "db", workload)
    new_system.folder.mkdir()
    new_system.fill(SIZES[workload.id])
    new_system.open(writing=False)
    return new_system


def answers(workload: Workload, name: str, folder: Path) -> dict[str, str]:
    """Return the checksums of all operations that the system supports."""
    system = registry.load(name, workload.family)(folder / name, workload)
    cycle = family_of(workload).cycle(system, workload, SIZES[workload.id])
    steps = [step for step in workload.steps if step not in system.cannot]
    samples = [sample for step in steps for sample in cycle.step(step)]
    assert {sample.operation for sample in samples} == set(steps) - {"fill"}
    assert all(sample.disk_bytes > 0 and sample.cost.seconds > 0 for sample in samples)
    return {sample.operation: sample.checksum for sample in samples}


@pytest.mark.slow
@pytest.mark.parametrize("workload", SIZES)
def test_every_system_answers_every_question_alike(workload: str, tmp_path: Path) -> None:
    workload_ = WORKLOADS[workload]
    names = [name for name, entry in ENTRIES.items() if entry.takes(workload_.family) and not entry.missing]
    answers_by_system = {name: answers(workload_, name, tmp_path) for name in names}
    assert len(names) > 1
    everything = answers_by_system[COMPLETE.get(workload, "lamella")]
    assert set(everything) == {operation.id for operation in workload_.operations}
    for name, own_answers in answers_by_system.items():
        assert own_answers == {operation: everything[operation] for operation in own_answers}, name


# ------------------------------------------------------------------- indexes


def test_scans_are_asked_before_there_is_an_index_and_builds_leave_one(tmp_path: Path) -> None:
    steps = list(ENTITY_INDEXES.steps)
    builds = [steps.index(f"build_{column}") for column in INDEX_COLUMNS]
    assert max(steps.index(scan_step(name, what)) for name in SCANS for what in (KEYS, ROWS)) < min(builds)
    assert max(builds) < min(steps.index(index_step(name, what)) for name in SCANS for what in (KEYS, ROWS))
    system = opened(LamellaIndexes, ENTITY_INDEXES, tmp_path)
    table = Store.open(system.folder)["items"]
    assert not table.indexes
    for column in INDEX_COLUMNS:
        question = system.questions()[f"build_{column}"]
        for _ in range(2):
            assert question.before is not None
            question.before()
            question.ask()
    assert {index.columns for index in table.indexes} == {(column,) for column in INDEX_COLUMNS}
    table.store.close()
    system.close()


def test_an_index_finds_what_looking_at_every_row_finds(tmp_path: Path) -> None:
    answers_found = answers(ENTITY_INDEXES, "lamella", tmp_path)
    for name in SCANS:
        for what in (KEYS, ROWS):
            assert answers_found[index_step(name, what)] == answers_found[scan_step(name, what)]


def test_a_lookup_finds_twenty_rows_and_a_point_one(tmp_path: Path) -> None:
    system = opened(LamellaIndexes, ENTITY_INDEXES, tmp_path)
    questions = system.questions()
    for name, count in (("equality", 20), ("range", 20), ("prefix", 20), ("in", 20), ("point", 1)):
        question = questions[index_step(name, ROWS)]
        assert {len(question.ask(owner)) for owner in question.of} == {count}
        assert {len(questions[index_step(name, KEYS)].ask(owner)) for owner in question.of} == {count}
    system.close()


def test_sqlite_looks_into_its_indexes(tmp_path: Path) -> None:
    answers(ENTITY_INDEXES, "sqlite", tmp_path)
    connection = sqlite3.connect(tmp_path / "sqlite" / "benchmark.sqlite")
    for condition in ("number = 1", "owner = 1", "code >= 'a' AND code < 'b'", "number BETWEEN 1 AND 2"):
        plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM items WHERE {condition}").fetchall()
        assert "USING INDEX items_" in plan[0][3]
    connection.close()


def test_both_published_figures_for_equality_by_a_hash_index_are_kept() -> None:
    medians = {
        name: [
            line.points[0].seconds
            for line in published_lines(ENTITY_INDEXES.id, name)
            if "hash" in line.title
        ]
        for name in ("equality_rows", "equality_keys")
    }
    assert medians == {"equality_rows": [0.0005], "equality_keys": [0.0001]}


@pytest.mark.parametrize(
    ("workload", "operation", "published_as", "rows", "seconds"),
    [
        (
            "entity-indexes",
            "scan_equality_rows",
            "Equality (100K), Without Index and Full Scan",
            100_000,
            0.2,
        ),
        ("entity-indexes", "prefix_keys", "Prefix (100K), SST Index", 100_000, 0.001),
        ("entity-indexes", "build_code", "Index Build Time, Hash", 500_000, 0.6),
        ("entity-indexes", "build_code", "Index Build Time, SST", 10_000, 0.025),
        ("entity-text", "phrase", "Phrase", 50_000, 0.008),
        ("entity-text", "rare_term", "Rare term", 10_000, 0.0002),
        ("entity-text", "build_words", "Index Build Time, FTS", 100_000, 0.8),
        ("entity-relations", "entries", "Relationship traverse, target (p50)", 100_000, 0.05),
        ("entity-relations", "entries", "Relationship traverse, target (p99)", 100_000, 0.2),
    ],
)
def test_figures_are_the_pages(
    workload: str, operation: str, published_as: str, rows: int, seconds: float
) -> None:
    (line,) = (
        line_ for line_ in published_lines(workload, operation) if line_.published_name == published_as
    )
    assert {point.rows: point.seconds for point in line.points}[rows] == seconds


# ---------------------------------------------------------------------- text


def test_a_best_document_that_does_not_match_is_noticed() -> None:
    assert compare_ids([1, 2], [1, 2, 3]) != compare_ids([1, 9], [1, 2, 3])
    assert compare_ids([1, 2], [1, 2, 3]) != compare_ids([1, 2], [1, 2, 4])
    assert compare_ids([1, 2], [1, 2, 3]) == compare_ids([3, 1], [3, 2, 1]), "ranks differ between systems"


def test_documents_begin_with_those_of_fewer() -> None:
    few, many = documents(50), documents(120)
    assert many["text"][:50] == few["text"]
    assert all(len(str(text).split()) == 40 for text in many["text"])


def test_each_small_commit_is_found_by_the_search_after_it(tmp_path: Path) -> None:
    system = opened(LamellaText, ENTITY_TEXT, tmp_path)
    question = system.questions()["after_commit_rows"]
    table = Store.open(system.folder)["changing"]
    for number in question.of:
        assert question.before is not None
        question.before()
        assert (table.get(number) or {})["text"] == CHANGED_TEXT.format(number)
        assert number in question.ask(number)["_id"].to_pylist()
    table.store.close()
    system.close()


def test_a_system_that_is_absent_says_why(tmp_path: Path) -> None:
    heard: list[Message] = []
    assert (
        run_workload("entity-text", [20], ["duckdb"], repeats=1, folder=tmp_path, on_event=heard.append) == []
    )
    (message,) = (message for message in heard if isinstance(message, UnsupportedStep))
    assert "downloaded" in message.reason


# ----------------------------------------------------------------- relations


def test_films_occupations_and_products_have_the_shapes_of_the_page() -> None:
    tables = related.tables(2_000)
    counts = [len(next(iter(columns.values()))) for columns in tables.values()]
    assert list(tables) == list(related.RELATED_TYPES)
    assert counts == [2_000, 1_000, 4_000, 20, 35, 400, 1 + 8 + 50 + 1_000]
    products = tables["products"]
    level_of = dict(zip(products["code"], products["level"], strict=True))
    for parent, level in zip(products["parent"], products["level"], strict=True):
        assert level == 0 if parent is None else level_of[parent] == level - 1
    entries = tables["cast"]["person"]
    assert all(40 <= entries.count(person) < 100 for person in related.some_people(2_000))


def test_pages_of_related_rows_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    pages = tuple(_page(tmp_path, name) for name in ("entries_page", "entries_next_page"))
    assert len(pages[0]) == len(pages[1]) == 20
    assert max(pages[0]) < min(pages[1])


def _page(folder: Path, operation: str) -> list[Any]:
    system = registry.load("lamella", "entity-relations")(folder / operation, ENTITY_RELATIONS)
    assert isinstance(system, QuestionSystem)
    system.folder.mkdir()
    system.fill(1_000)
    system.open(writing=False)
    question = system.questions()[operation]
    ids: list[Any] = question.ask(question.of[0])["_id"].to_pylist()
    system.close()
    return ids


# -------------------------------------------------------------------- bridge


def test_means_are_compared_by_what_they_add_up_to() -> None:
    half_way, added_otherwise = 11.71984375, 11.719843749999999
    assert digest([(half_way,)]) != digest([(added_otherwise,)])
    assert (
        means_to_sums([("a", 512, half_way)])
        == means_to_sums([("a", 512, added_otherwise)])
        == [("a", 512, 6000.56)]
    )
    assert means_to_sums([("a", 512, half_way)]) != means_to_sums([("a", 512, half_way + 0.01 / 512)])


def test_what_is_in_order_is_found_without_reading_all_files(tmp_path: Path) -> None:
    system = opened(BridgeOverParquet, BRIDGE, tmp_path)
    assert isinstance(system, BridgeOverParquet)
    question = system.questions()["filter_ordered"]
    before = row_groups(system._connection)
    question.ask()
    after = row_groups(system._connection)
    assert after.skipped - before.skipped > 0
    assert after.read - before.read + after.skipped - before.skipped == FILES * GROUPS
    system.close()
