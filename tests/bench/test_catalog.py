"""The workload on a catalog and its objects: after each call, the written data is read back."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lamella.core.bench import registry
from lamella.core.bench.engine.measure import Sample
from lamella.core.bench.engine.place import benchmark_folder
from lamella.core.bench.registry import FAMILIES
from lamella.core.bench.results.published_results import publications, published_lines
from lamella.core.bench.results.results_file import read_results_file
from lamella.core.bench.systems.base import CatalogSystem
from lamella.core.bench.systems.folder import Files
from lamella.core.bench.systems.object_stores import HDFS_VARIABLE
from lamella.core.bench.systems.sqlite_entities import SQLiteCatalog
from lamella.core.bench.workloads import catalog
from lamella.core.bench.workloads.catalog import CALLS, CATALOG, FEWER_CALLS, CatalogCycle, right_answer
from tests.bench import objects_page
from tests.hdfs_server import hdfs_server
from tests.slow_tests import Tier

ROWS = 60
ASKED_OF_SERVERS = (
    "fill",
    "put_100b",
    "get_100b",
    "put_1kb",
    "get_1kb",
    "put_10mb",
    "get_10mb",
    "head",
    "list_10",
)
"""Other sizes make no difference to a server, and take longer than on a disk."""
QUICK = ("lamella",)
"""What the suite runs; `--all` runs every system."""
QUICK_OPENINGS, QUICK_CALLS = 10, {"10kb": 20, "100kb": 4, "1mb": 2, "10mb": 1}
"""How often the suite opens a database, and puts and gets large objects."""
LARGE = tuple(FEWER_CALLS)
Ran = tuple[str, dict[str, Sample]]


def params() -> list[object]:
    names = FAMILIES["catalog"].places
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


@pytest.fixture(scope="module", params=params())
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Run each step on a separate instance, as separate processes do. Each collects garbage before it is
    timed, which can skip the objects of other tests."""
    with ExitStack() as servers, pytest.MonkeyPatch.context() as patch:
        if not Tier.slow:
            patch.setattr(catalog, "OPENINGS", QUICK_OPENINGS)
            for size, calls in QUICK_CALLS.items():
                patch.setitem(FEWER_CALLS, size, calls)
        if request.param == "hdfs" and os.environ.get("LAMELLA_LONG_RUNS"):
            namenode = servers.enter_context(hdfs_server()).web.removeprefix("http://")
            patch.setenv(HDFS_VARIABLE, f"webhdfs://ann@{namenode}/tmp")
        yield _ran(request.param, tmp_path_factory.mktemp("catalog") / "db")


def _ran(name: str, folder: Path) -> Ran:
    entry = registry.ENTRIES[name]
    if reason := entry.missing or registry.unready_reason(entry):
        pytest.skip(reason)
    gc.freeze()
    system = registry.load(name, "catalog")
    samples: dict[str, Sample] = {}
    for step in ASKED_OF_SERVERS if entry.server else CATALOG.steps:
        if step not in system.cannot:
            cycle = CatalogCycle(system(folder, CATALOG), CATALOG, ROWS)
            samples |= {sample.operation: sample for sample in cycle.step(step)}
            assert list(cycle.settle()) == []
    return name, samples


def test_what_is_read_back_is_what_was_put(ran: Ran) -> None:
    _, samples = ran
    assert {name: sample.checksum for name, sample in samples.items()} == {
        name: right_answer(CATALOG, CATALOG.operation(name), ROWS) for name in samples
    }


def test_the_page_of_objects_is_made_of_its_results_file() -> None:
    run = read_results_file(objects_page.RESULTS)
    assert objects_page.PAGE.read_text(encoding="utf-8") == objects_page.page_text(run)


def test_every_step_is_done_or_has_a_reason(ran: Ran) -> None:
    name, samples = ran
    cannot = registry.load(name, "catalog").cannot
    operations = {operation.id for operation in CATALOG.operations}
    if registry.ENTRIES[name].server:
        operations = set(cannot) | set(ASKED_OF_SERVERS) - {"fill"}
    assert set(samples) | set(cannot) == operations
    assert not set(samples) & set(cannot)
    assert all(len(reason) > 20 for reason in cannot.values())
    assert name != "lamella" or not cannot


def test_every_call_has_a_latency(ran: Ran) -> None:
    _, samples = ran
    few = {"open_cold": catalog.OPENINGS, "warm_get": ROWS // 2, "warm_update": ROWS // 2}
    few |= {"one_by_one_100": 3, "batched_100": 3}
    few |= {f"{verb}_{prefix}": count for verb in ("put", "get") for prefix, count in FEWER_CALLS.items()}
    for name, sample in samples.items():
        assert len(sample.cost.latencies) == few.get(name, CALLS), name
        assert sample.cost.seconds == pytest.approx(sum(sample.cost.latencies) / len(sample.cost.latencies))
        assert sample.disk_bytes > 0


def test_what_is_asked_once_before_it_is_timed_is_told_as_warm(ran: Ran) -> None:
    _, samples = ran
    asked_before = {"warm_get", "catalog_query"} & set(samples)
    assert {name for name, sample in samples.items() if sample.again} == asked_before


def test_a_system_says_how_durable_it_is(ran: Ran) -> None:
    system = registry.load(ran[0], "catalog")
    assert system.version() and "durable" in system.describe()


class LosesTheLastByte(SQLiteCatalog):
    def put_object(self, key: str, body: bytes) -> None:
        super().put_object(key, body[:-1])


class DeletesNothing(SQLiteCatalog):
    def delete(self, row_ids: object) -> None:
        """Delete nothing."""


@pytest.mark.parametrize(("system", "step"), [(LosesTheLastByte, "put_1kb"), (DeletesNothing, "crud_cycle")])
def test_a_system_that_loses_or_keeps_what_it_should_not_is_found_out(
    system: type[CatalogSystem], step: str, tmp_path: Path
) -> None:
    cycle = CatalogCycle(system(tmp_path / "db", CATALOG), CATALOG, ROWS)
    list(cycle.step("fill"))
    (sample,) = cycle.step(step)
    assert sample.checksum != right_answer(CATALOG, CATALOG.operation(step), ROWS)


def test_a_file_is_replaced_whole_and_drafts_are_not_listed(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.put("a/1", b"first")
    files.put("a/1", b"second time")
    files.put("b/1", b"")
    tmp_path.joinpath("a", ".2.part").write_bytes(b"half")
    assert files.keys("a") == ["a/1"]
    assert (files.get("a/1"), files.size("a/1"), files.size("b/1")) == (b"second time", 11, 0)


def test_published_means_stand_beside_every_operation_that_the_page_timed() -> None:
    timed = {name for line in publications("catalog") for name in line.operations}
    large = {f"{verb}_{prefix}" for verb in ("put", "get") for prefix in LARGE}
    own = {"one_by_one_100", "batched_100", *large}
    assert {operation.id for operation in CATALOG.operations} - timed == own
    spots = {"open_cold": 0.003, "put_100b": 0.0011, "list_10": 0.0001, "crud_cycle": 0.0036}
    for name, seconds in spots.items():
        (line,) = published_lines("catalog", name)
        assert (line.points[0].seconds, line.statistic) == (seconds, "mean")


def test_what_a_benchmark_put_on_a_server_goes_with_its_folder(tmp_path: Path) -> None:
    entry = registry.ENTRIES["s3"]
    if reason := entry.missing or registry.unready_reason(entry):
        pytest.skip(reason)
    with benchmark_folder(tmp_path) as folder:
        system = registry.load("s3", "catalog")(folder / "s3" / "0", CATALOG)
        system.open(writing=True)
        system.put_object("a/1", b"12")
        assert (system.list_objects("a"), system.head_object("a/1"), system.disk_bytes()) == (["a/1"], 2, 2)
    assert system.list_objects("a") == []
