from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.bench.results.compare import ratios
from lamella.core.bench.results.figures import competitors, shown_bytes, shown_factor, shown_seconds
from lamella.core.bench.results.records import (
    Figures,
    Record,
    Summary,
    by_call,
    from_json,
    read_json,
    repeats_of,
    spread,
    summaries,
    to_json,
    to_saved_names,
    write_json,
)
from lamella.core.errors import BadData, FileProblem
from tests.bench.example_records import record

FIELDS = [
    "workload",
    "system",
    "operation",
    "rows",
    "columns",
    "repeat",
    "seconds",
    "cpu_seconds",
    "peak_rss_bytes",
    "disk_bytes",
    "checksum",
    "temperature",
    "latencies",
    "figures",
]
SAVED_FIELDS = ["workload", "backend", *FIELDS[2:]]
"""The fields that earlier versions wrote, and that are written for them."""


def test_a_record_has_exactly_the_documented_fields() -> None:
    assert [field.name for field in fields(Record)] == FIELDS
    once, often = record("sqlite", 0.5), replace(record("sqlite", 0.5), latencies=(0.4, 0.6))
    assert list(json.loads(to_json([once]))[0]) == SAVED_FIELDS[:-2]
    assert list(json.loads(to_json([often]))[0]) == SAVED_FIELDS[:-1]
    saved = replace(record("sqlite", 0.5), figures=Figures(20, 2, 0.5, 0.1))
    assert list(json.loads(to_json([saved]))[0]) == [*SAVED_FIELDS[:-2], "figures"]
    assert from_json(to_json([once, often, saved])) == [once, often, saved]


def test_figures_stand_for_samples_that_were_not_saved() -> None:
    figures = Figures(samples=200, repeats=2, median=0.5, deviation=0.1, mean=0.52, p95=0.9, p99=1.5)
    group = [replace(record("sqlite", 0.5), figures=figures)]
    (summary,) = summaries(group).values()
    assert (summary.count, summary.median, summary.mean, summary.deviation) == (200, 0.5, 0.52, 0.1)
    assert [summary.percentile(percent) for percent in (50, 95, 99)] == [0.5, 0.9, 1.5]
    assert spread(summary, "median") == (0.4, 0.6)
    assert summaries(group, quantity="disk_bytes")["read", "sqlite", 1000].median == 4096
    assert repeats_of(group) == 2 and group[0].many_calls
    first = replace(record("sqlite", 0.8), figures=Figures(2, 2, 0.8))
    assert list(by_call([first, *group])) == [("read", "first"), ("read", "again")]


def test_records_come_back_from_json_as_they_were(tmp_path: Path) -> None:
    records = [record("sqlite", 0.25), record("lamella", 0.125, repeat=1)]
    write_json(records, tmp_path / "benchmark.json")
    assert from_json((tmp_path / "benchmark.json").read_text(encoding="utf-8")) == records


@pytest.mark.parametrize("text", ['{"workload": "small"}', '[{"workload": "small"}]', "[3]", "[", ""])
def test_what_is_not_an_array_of_records_is_refused(text: str) -> None:
    with pytest.raises(BadData):
        from_json(text)


def test_a_file_of_another_version_is_named_with_the_fields_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    item = to_saved_names(record("sqlite", 0.5).to_dict())
    del item["checksum"]
    path.write_text(json.dumps([item | {"joules": 3}]), encoding="utf-8")
    with pytest.raises(
        FileProblem, match=r"It lacks checksum; it has the unknown joules.*Another version"
    ) as refusal:
        read_json(path)
    assert str(path) in str(refusal.value)


def test_a_file_without_the_system_lacks_it_by_its_name_in_files() -> None:
    item = to_saved_names(record("sqlite", 0.5).to_dict())
    with pytest.raises(BadData, match=r"has the unknown backend"):
        from_json(json.dumps([item | {"system": "sqlite"}]))
    del item["backend"]
    with pytest.raises(BadData, match="lacks backend"):
        from_json(json.dumps([item]))


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "benchmark.json").write_bytes(b"\xff\xfe\x00")
    for name in ("benchmark.json", "absent.json"):
        with pytest.raises(FileProblem, match=name):
            read_json(tmp_path / name)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"nowhere.benchmark\.json"):
        write_json([], tmp_path / "nowhere" / "benchmark.json")


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30), st.floats(0, 100))
def test_statistics_are_numpys(samples: list[float], percent: float) -> None:
    summary = Summary(tuple(samples))
    figures = (summary.mean, summary.deviation, summary.median, summary.lowest, summary.percentile(percent))
    right = (
        np.mean(samples),
        np.std(samples),
        np.median(samples),
        np.min(samples),
        np.percentile(samples, percent),
    )
    assert figures == pytest.approx(right, rel=1e-6, abs=1e-9)


def test_an_error_bar_stays_where_samples_are() -> None:
    summary = Summary((0.001, 0.001, 0.9))
    low, high = spread(summary, "mean")
    assert low == 0.001 and high == pytest.approx(summary.mean + summary.deviation)
    assert spread(summary, "median") == (0.001, pytest.approx(0.4505))
    assert spread(summary, "lowest") == (0.001, 0.001)


def test_summaries_tell_cold_from_warm_and_one_quantity_from_another() -> None:
    records = [record("sqlite", 0.9), record("sqlite", 0.1, repeat=1), record("sqlite", 0.3, repeat=2)]
    point = ("read", "sqlite", 1000)
    assert summaries(records)[point].samples == (0.9, 0.1, 0.3)
    assert summaries(records, "cold")[point].samples == (0.9,)
    assert summaries(records, "warm")[point].samples == (0.1, 0.3)
    assert summaries(records, None, "disk_bytes")[point].mean == 4096


def test_every_latency_is_a_sample_of_time_and_of_nothing_else() -> None:
    records = [replace(record("sqlite", 0.2, repeat=n), latencies=(0.1, 0.3)) for n in range(2)]
    point = ("read", "sqlite", 1000)
    assert summaries(records)[point].samples == (0.1, 0.3, 0.1, 0.3)
    assert summaries(records, quantity="disk_bytes")[point].samples == (4096, 4096)


def test_a_ratio_says_who_was_faster_by_how_much_and_on_what_ground() -> None:
    records = [record("sqlite", 0.104, repeat=n) for n in range(5)]
    records += [record("lamella", 0.002, repeat=n) for n in range(5)]
    (ratio,) = ratios(records)
    assert ratio.factor == pytest.approx(52)
    assert ratio.sentence == (
        "Lamella reads 1,000 rows 52 × faster than SQLite (synchronous off): "
        "2.00 ms against 104 ms, medians of 5"
    )


@pytest.mark.parametrize(
    ("own", "verdict"), [(1.0, "as fast"), (0.97, "as fast"), (7.1, "7.1 × slower"), (0.25, "4.0 × faster")]
)
def test_a_ratio_never_flatters(own: float, verdict: str) -> None:
    (ratio,) = ratios([record("lamella", own), record("sqlite", 1.0)])
    assert ratio.verdict == verdict
    assert ratio.sentence.endswith(", one run")


def test_a_system_that_did_not_finish_a_size_gives_no_ratio_there() -> None:
    records = [record("lamella", 1.0), record("lamella", 1.0, rows=10), record("sqlite", 1.0, rows=10)]
    assert [ratio.rows for ratio in ratios(records)] == [10]


def test_without_lamella_the_first_of_the_table_is_compared() -> None:
    records = [record("sqlite-wal", 2.0), record("sqlite", 1.0)]
    assert competitors(records) == ["sqlite", "sqlite-wal"]
    (ratio,) = ratios(records)
    assert ratio.subject == "SQLite (synchronous off)" and ratio.verdict == "2.0 × faster"


@pytest.mark.parametrize(
    ("text_shown", "text"),
    [
        (shown_seconds(0.00193), "1.93 ms"),
        (shown_seconds(0.0999996), "100 ms"),
        (shown_seconds(12.34), "12.3 s"),
        (shown_seconds(4.2e-8), "42 ns"),
        (shown_factor(9.96), "10"),
        (shown_factor(1250.4), "1,250"),
        (shown_bytes(411_000_000), "411 MB"),
        (shown_bytes(8192), "8.19 KB"),
        (shown_bytes(12), "12 B"),
    ],
)
def test_numbers_are_written_for_people(text_shown: str, text: str) -> None:
    assert text_shown == text
