"""The workloads on entities: their right answers, and how they are measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.bench import registry
from lamella.core.bench.engine.measure import Sample
from lamella.core.bench.registry import ENTRIES, UnknownWorkload, family_of, workloads_named
from lamella.core.bench.systems.sqlite_entities import SQLiteEntityQueries
from lamella.core.bench.workloads import entities as changed
from lamella.core.bench.workloads.entities import ENTITY_CHANGES, SCHEMA, entities, fingerprint
from lamella.core.bench.workloads.entity_memory import ENTITY_MEMORY
from lamella.core.bench.workloads.entity_queries import (
    DEPTHS,
    ENTITY_QUERIES,
    PAGE,
    EntityQueries,
    by_cursor,
    by_offset,
    page_start,
)
from lamella.core.bench.workloads.entity_storage import ENTITY_STORAGE, EntityStorage
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.questions import QuestionCycle
from lamella.core.scan import cache as caches

ROWS = 80
WORKLOADS = {
    workload.id: workload for workload in (ENTITY_CHANGES, ENTITY_QUERIES, ENTITY_STORAGE, ENTITY_MEMORY)
}
TAKING_PART = [
    (workload, name)
    for workload in WORKLOADS
    for name, entry in ENTRIES.items()
    if entry.takes(WORKLOADS[workload].family)
]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use fewer of everything: right answers do not depend on it."""
    fewer = {name: replace(batches, size=20, times=2) for name, batches in changed.CREATION_BATCHES.items()}
    monkeypatch.setattr(changed, "CREATION_BATCHES", fewer)
    monkeypatch.setattr(changed, "SINGLES", 40)
    monkeypatch.setattr("lamella.core.bench.workloads.questions.CALLS", 2)
    changed._digests.cache_clear()
    yield
    changed._digests.cache_clear()


def samples_of(workload: Workload, name: str, folder: Path, rows: int = ROWS) -> Iterator[Sample]:
    if ENTRIES[name].missing:
        pytest.skip(ENTRIES[name].missing)
    system = registry.load(name, workload.family)(folder / "db", workload)
    cycle = family_of(workload).cycle(system, workload, rows)
    for step in workload.steps:
        if step not in system.cannot:
            yield from cycle.step(step)
    yield from cycle.settle()


def right(workload: Workload, operation: str, rows: int) -> str:
    expected = family_of(workload).answer_function
    assert expected is not None
    return expected(workload, workload.operation(operation), rows)


@pytest.mark.slow(after=2)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("workload", "name"), TAKING_PART)
def test_every_system_answers_rightly(workload: str, name: str, tmp_path: Path) -> None:
    workload_ = WORKLOADS[workload]
    samples = list(samples_of(workload_, name, tmp_path))
    actual = {sample.operation: sample.checksum for sample in samples}
    assert actual == {operation: right(workload_, operation, ROWS) for operation in actual}
    cannot = registry.load(name, workload_.family).cannot
    assert {operation.id for operation in workload_.operations} - set(actual) <= set(cannot)
    assert all(sample.cost.seconds > 0 and sample.disk_bytes > 0 for sample in samples)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_single_entity_is_enough(workload: str, tmp_path: Path) -> None:
    workload_ = WORKLOADS[workload]
    for sample in samples_of(workload_, "sqlite", tmp_path, rows=1):
        assert sample.checksum == right(workload_, sample.operation, 1)


@pytest.mark.usefixtures("quick")
def test_each_change_leaves_other_entities_behind_than_the_one_before() -> None:
    """A system that loses a change is therefore detected."""
    actual = [right(ENTITY_CHANGES, step, ROWS) for step in ENTITY_CHANGES.steps[2:]]
    assert len(set(actual)) == len(actual)


@pytest.mark.usefixtures("quick")
def test_a_sample_is_kept_of_each_batch(tmp_path: Path) -> None:
    samples = {sample.operation: sample for sample in samples_of(ENTITY_CHANGES, "sqlite", tmp_path)}
    assert len(samples["create_hundred"].cost.latencies) == changed.CREATION_BATCHES["create_hundred"].times
    assert len(samples["update_pull"].cost.latencies) == ROWS // 2


class Backwards(SQLiteEntityQueries):
    """Returns the right rows of a page in reverse order."""

    def page(self, keys: Sequence[str], start: int = 0) -> Any:
        return super().page(keys, start)[::-1]


@pytest.mark.usefixtures("quick")
def test_a_page_in_the_wrong_order_is_a_wrong_answer(tmp_path: Path) -> None:
    cycle = QuestionCycle(Backwards(tmp_path / "db", ENTITY_QUERIES), ENTITY_QUERIES, ROWS)
    samples = [sample for step in ("fill", "sort_two", "equality") for sample in cycle.step(step)]
    actual = {sample.operation: sample.checksum for sample in samples}
    assert actual["sort_two"] != right(ENTITY_QUERIES, "sort_two", ROWS)
    assert actual["equality"] == right(ENTITY_QUERIES, "equality", ROWS)


@given(rows=st.integers(1, 300), depth=st.integers(1, 20))
def test_a_page_that_is_not_there_is_the_last_one_there_is(rows: int, depth: int) -> None:
    start = page_start(depth, rows)
    assert start < rows and start % PAGE == 0
    assert start == (depth - 1) * PAGE or start + PAGE >= rows


def test_a_cursor_gives_the_page_that_the_offset_gives() -> None:
    for depth in DEPTHS:
        by = {right(ENTITY_QUERIES, name, ROWS) for name in (by_offset(depth), by_cursor(depth))}
        assert len(by) == 1


@pytest.mark.slow(except_every=5)
@pytest.mark.parametrize(("workload", "name"), TAKING_PART)
def test_every_system_says_how_durable_it_is(workload: str, name: str) -> None:
    assert "durable" in registry.load(name, WORKLOADS[workload].family).describe()


def test_json_is_as_small_as_json_can_be(tmp_path: Path) -> None:
    system = registry.load("jsonl", "entity-storage")(tmp_path, ENTITY_STORAGE)
    assert isinstance(system, EntityStorage)
    system.write(system.prepare(entities(0, 2)))
    lines = (tmp_path / "entities.jsonl").read_text(encoding="utf-8")
    assert '", "' not in lines and '": ' not in lines and lines.count("\n") == 2


def test_lamella_finds_nothing_in_memory_when_it_is_opened_anew(tmp_path: Path) -> None:
    system = registry.load("lamella", "entity-queries")(tmp_path, ENTITY_QUERIES)
    assert isinstance(system, EntityQueries)
    system.fill(3_000)
    system.open(writing=False)
    system.matching("equality")
    assert caches.cache.held_bytes > 0
    system.close()
    assert caches.cache.held_bytes == caches.few_rows.held_bytes == caches.browsing_cache.held_bytes == 0


def test_codecs_make_files_smaller(tmp_path: Path) -> None:
    def size(name: str) -> int:
        return next(samples_of(ENTITY_STORAGE, name, tmp_path / name)).disk_bytes

    assert size("jsonl-gzip") < size("jsonl") / 2
    assert size("parquet-zstd") < size("parquet-snappy") < size("parquet-none")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the last peak of a process")
def test_memory_is_what_the_rows_take_and_not_what_the_process_has(tmp_path: Path) -> None:
    actual = {
        sample.operation: sample.cost for sample in samples_of(ENTITY_MEMORY, "sqlite", tmp_path, 1_000)
    }
    assert 8_000_000 < actual["hold_10k"].peak_rss_bytes < 40_000_000
    assert actual["hold_100"].peak_rss_bytes < 4_000_000


def test_a_page_is_a_group_of_workloads() -> None:
    assert {workload.id for workload in workloads_named("entity")} >= set(WORKLOADS)
    assert workloads_named("entity-storage") == (ENTITY_STORAGE,)
    assert all(workload in workloads_named("all") for workload in workloads_named("entity"))
    with pytest.raises(UnknownWorkload, match="Did you mean 'entity'"):
        workloads_named("entit")


def test_rows_in_another_order_are_another_answer_where_the_order_was_asked_for() -> None:
    rows = pa.Table.from_pylist(entities(0, 20), SCHEMA)
    turned = rows.take(list(reversed(range(20))))
    assert fingerprint(rows) == fingerprint(turned)
    assert fingerprint(rows, in_order=True) != fingerprint(turned, in_order=True)


def test_rows_are_the_same_in_whatever_types_they_come() -> None:
    rows = pa.Table.from_pylist(entities(0, 20), SCHEMA)
    types = {"name": pa.large_string(), "rating": pa.float32(), "tags": pa.large_list(pa.large_string())}
    recast = rows.cast(pa.schema({field.name: types.get(field.name, field.type) for field in SCHEMA}))
    numbered = recast.append_column("_id", pa.array(range(20)))
    assert numbered.schema != rows.schema
    assert fingerprint(numbered) == fingerprint(rows)


@given(number=st.integers(0, 19), name=st.sampled_from(SCHEMA.names))
def test_every_value_counts(number: int, name: str) -> None:
    originals = entities(0, 20)
    changed_value: Any = {
        "views": -1,
        "rating": -1.0,
        "tags": [],
        "profile": {"city": "Lagos", "age": 1},
    }.get(name, "?")
    changed_rows = [
        original | {name: changed_value} if place == number else original
        for place, original in enumerate(originals)
    ]
    after, before = (fingerprint(pa.Table.from_pylist(rows, SCHEMA)) for rows in (changed_rows, originals))
    assert after != before
