"""Files damaged at random: an ordinary read returns the right answer or raises an error of ours.

LAMELLA_LONG_RUNS=1200 damages 300 files of each kind.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.report import text_report
from lamella.core.bench.results.results_file import read_results_file
from lamella.core.bench.results.store import SavedRuns
from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.scan import file_checks
from lamella.core.scan.file_checks import checks
from lamella.core.store import rewrite as placement
from lamella.core.store.folder import CATALOG
from tests.property.damage import REFUSED, Answers, answers_of, answers_of_table, damage, page_headers
from tests.slow_tests import examples

ROUNDS = examples(12) // 3
"""The number of files for each of ten kinds."""
ROWS = 1_200

KINDS: dict[str, Callable[[Path], list[Path]]] = {
    "data files": lambda store: sorted(store.glob("data/*/*.parquet")),
    "change files": lambda store: sorted(store.glob("data/*/*.cells")),
    "sorted index": lambda store: [p for p in sorted(store.glob("index/*/*")) if p.is_file()],
    "fulltext index": lambda store: [p for p in sorted(store.glob("index/*/*/**/*")) if p.is_file()],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with files of every kind."""
    path = tmp_path_factory.mktemp("damage") / "store"
    chance = random.Random(5)
    rows = {
        "n": list(range(ROWS)),
        "x": [chance.random() for _ in range(ROWS)],
        "s": [None if i % 11 == 0 else f"w{i % 13} seven" for i in range(ROWS)],
        "u": [f"{chance.random()}" for _ in range(ROWS)],
        "nested": [{"a": i, "b": [i, None]} for i in range(ROWS)],
    }
    with Store.open(path) as store:
        table = store.create_table("t", pa.table(rows))
        table.maintenance.compact(rows_a_group=400)
        table.indexes.create("n")
        table.indexes.create("s", kind="fulltext")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(placement, "SMALL_ROWS", 50)  # so few changes go to a change file
            table.update([{"_id": i, "x": -float(i)} for i in range(0, ROWS, 3)])
        table.insert([{"n": 5_000, "x": 0.5, "s": "w7 seven", "u": "new"}])
        table.delete(ids=[9, 10])
        table.update([{"_id": 7, "s": "changed"}])
    return path


@pytest.fixture(scope="module")
def right(whole: Path) -> Answers:
    answers = answers_of_table(whole, "t")
    assert REFUSED not in answers.values()
    return answers


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_of_a_store(whole: Path, right: Answers, tmp_path: Path, kind: str) -> None:
    assert KINDS[kind](whole), kind
    for number in range(ROUNDS):
        chance = random.Random(f"{kind} {number}")
        store = Path(shutil.copytree(whole, tmp_path / f"{number}"))
        path = chance.choice([path for path in KINDS[kind](store) if path.stat().st_size])
        with ExitStack() as stack:
            large = number % 2 == 1
            if large:
                stack.enter_context(as_large())
            _damaged_file_of_a_store(store, path, kind, right, chance, large)
        shutil.rmtree(store)


def _damaged_file_of_a_store(
    store: Path, path: Path, kind: str, right: Answers, chance: random.Random, large: bool
) -> None:
    fault = damage(path, chance, page_headers(path) if large and "files" in kind else ())
    before = checks.damages
    answers = answers_of_table(store, "t")
    checks.settle()
    if checks.damages > before:  # what was answered from it is withdrawn
        answers = answers_of_table(store, "t")
    _assert_right_or_refused(answers, right, fault)
    if kind.endswith("index"):
        assert answers == right, fault


@contextmanager
def as_large() -> Iterator[None]:
    """Files are checked in the background, and pages when they are decoded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_checks, "AT_ONCE_BYTES", -1)
        patch.setattr("lamella.core.datasets.parquet.AT_ONCE_BYTES", -1)
        patch.setattr(file_checks, "DELAY_SECONDS", 0.0)
        yield
        checks.settle()


@pytest.fixture(scope="module")
def rows(whole: Path) -> pa.Table:
    with Store.open(whole, read_only=True) as store:
        return store["t"].as_of(1).read(["n", "x", "s", "u"])


@pytest.fixture
def as_if_large() -> Iterator[None]:
    with as_large():
        yield


def test_damaged_pages_of_parquet_in_place(rows: pa.Table, tmp_path: Path, as_if_large: None) -> None:
    """Damage in a footer or page header may go unnoticed: the format has no checksum for them."""
    pq.write_table(rows, tmp_path / "whole.parquet", write_page_checksum=True, row_group_size=300)
    right = answers_of(open_dataset(tmp_path / "whole.parquet"))
    assert REFUSED not in right.values()
    for number in range(ROUNDS):
        path = Path(shutil.copyfile(tmp_path / "whole.parquet", tmp_path / f"{number}.parquet"))
        size = path.stat().st_size
        footer = range(size - 8 - int.from_bytes(path.read_bytes()[-8:-4], "little"), size)
        fault = damage(path, random.Random(f"pages {number}"), page_headers(path).union(footer, range(4)))
        answers = {"open": REFUSED}
        for _ in range(2):  # what was answered before the check is withdrawn
            with suppress(LamellaError):
                answers = answers_of(open_dataset(path))
            checks.settle()
        _assert_right_or_refused(answers, right, fault)


def test_damaged_parquet_in_place_meets_errors_of_ours_alone(rows: pa.Table, tmp_path: Path) -> None:
    pq.write_table(rows, tmp_path / "whole.parquet", row_group_size=300)
    for number in range(ROUNDS):
        path = Path(shutil.copyfile(tmp_path / "whole.parquet", tmp_path / f"{number}.parquet"))
        damage(path, random.Random(f"anywhere {number}"))
        # Without checksums a text may be invalid: Arrow raises when this test converts it to Python values.
        with suppress(LamellaError, UnicodeDecodeError):
            answers_of(open_dataset(path))


def test_damaged_copies_of_text_files_are_made_anew(rows: pa.Table, tmp_path: Path) -> None:
    text = tmp_path / "t.csv"
    pa_csv.write_csv(pa.concat_tables([rows] * 25), text)  # too large to be cached in memory

    def opened() -> Dataset:
        dataset = open_dataset(text, cache_dir=tmp_path / "cache")
        dataset.fill(Job())
        return dataset

    right = answers_of(opened())
    assert REFUSED not in right.values()
    for number in range(ROUNDS):
        chance = random.Random(f"cache {number}")
        path = chance.choice([p for p in sorted((tmp_path / "cache").rglob("*.*")) if p.suffix != ".lock"])
        before = path.stat()
        copy = Path(shutil.copyfile(path, tmp_path / path.name))  # another file, as if to another process
        fault = damage(copy, chance)
        os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))  # a fault of the disk leaves no trace
        copy.replace(path)
        _assert_right_or_refused(answers_of(opened()), right, fault)
        assert answers_of(opened()) == right, fault
        gc.collect()


def test_a_damaged_catalog_meets_errors_of_ours_alone(whole: Path, tmp_path: Path) -> None:
    """SQLite has no checksums for its pages: damaged data may be read as other values."""
    for number in range(ROUNDS):
        store = Path(shutil.copytree(whole, tmp_path / f"{number}"))
        damage(store / CATALOG, random.Random(f"catalog {number}"))
        answers_of_table(store, "t")
        with suppress(LamellaError), Store.open(store, read_only=True) as opened:
            opened.maintenance.verify()
        shutil.rmtree(store)


def test_damaged_runs_of_benchmarks_meet_errors_of_ours_alone(tmp_path: Path) -> None:
    """SQLite has no checksums for its pages, here and in catalogs."""
    whole = Path(__file__).parents[1] / "bench" / "runs_of_version_1.sqlite"
    for number in range(ROUNDS):
        path = Path(shutil.copyfile(whole, tmp_path / f"{number}.sqlite"))
        damage(path, random.Random(f"runs {number}"))
        saved = SavedRuns(path)
        with suppress(LamellaError):
            for run in saved.runs():
                markdown_report(saved.run(run.id))
        with suppress(LamellaError):
            text_report(read_results_file(path).records)


def test_a_damaged_log_gives_an_earlier_version(tmp_path: Path) -> None:
    """SQLite treats damage in a log as its end; see `core.store.verify`."""
    Store.open(tmp_path / "whole").close()
    with Store.open(tmp_path / "whole") as store:
        table = store.create_table("t", {"n": [0, 0]})
        for value in range(1, 25):
            table.update([{"_id": 1, "n": value}])
        shutil.copytree(tmp_path / "whole", tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
    for number in range(ROUNDS):
        store_folder = Path(shutil.copytree(tmp_path / "crashed", tmp_path / f"{number}"))
        fault = damage(store_folder / f"{CATALOG}-wal", random.Random(f"log {number}"))
        with suppress(LamellaError), Store.open(store_folder, read_only=True) as opened:
            lost = any("are lost" in problem for problem in opened.maintenance.verify().problems)
            if "t" not in opened:
                continue
            newest = opened["t"].version
            assert opened["t"].read(["n"]).column("n").to_pylist() == [0, newest - 1], fault
            assert lost or newest > 22 or "cut" in fault or "zeros" in fault, fault
        shutil.rmtree(store_folder)


def _assert_right_or_refused(answers: Answers, right: Answers, fault: str) -> None:
    wrong = [question for question, answer in answers.items() if answer not in (REFUSED, right.get(question))]
    assert not wrong, (fault, wrong)
