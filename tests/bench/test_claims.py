"""The claims of the documents: each test names what exists, and a verdict follows from the records alone."""

from __future__ import annotations

from typing import Any

import pytest

from lamella.core.bench.registry import ENTRIES, entry_named, workload_named
from lamella.core.bench.results.published_results import (
    CANNOT,
    NOT_MEASURED,
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    TESTS,
    Claim,
    claims,
    claims_table,
    judge_claim,
)
from lamella.core.bench.results.records import Record, Tally

RATIO = {
    "kind": "ratio",
    "workload": "small",
    "slow": {"system": "sqlite", "operation": "read"},
    "fast": {"system": "pyarrow", "operation": "read"},
    "least": 10,
    "most": 50,
}


def record(system: str, seconds: float, rows: int = 1000, **more: Any) -> Record:
    fields: dict[str, Any] = {
        "workload": "small",
        "system": system,
        "operation": "read",
        "rows": rows,
        "columns": 100,
        "repeat": 0,
        "seconds": seconds,
        "cpu_seconds": seconds,
        "peak_rss_bytes": 1,
        "disk_bytes": 1,
        "checksum": "1:1",
        "temperature": "cold",
    }
    return Record(**(fields | more))


def verdict(test: dict[str, Any], *records: Record) -> str:
    claim = Claim("A page", "Something.", "", "", (test,))
    return judge_claim(claim, {"small": Tally(records)})[0]


def sides(test: Any) -> list[Any]:
    if test["kind"] == "ratio":
        return [test["slow"], test["fast"]]
    if test["kind"] == "order":
        return [{"system": name, "operation": test["operation"]} for name in test["systems"]]
    return [test]


def test_every_test_asks_for_what_a_system_can_be_asked() -> None:
    for claim in claims():
        assert claim.tests or claim.cannot, claim.claim
        for test in claim.tests:
            workload = workload_named(test["workload"])
            assert test["kind"] in TESTS
            for side in sides(test):
                assert workload.has(side["operation"]), (claim.claim, side)
                assert ENTRIES[side["system"]].takes(workload.family), (claim.claim, side)


@pytest.mark.parametrize(
    ("factor", "expected"), [(5, NOT_REPRODUCED), (10, REPRODUCED), (49, REPRODUCED), (60, NOT_REPRODUCED)]
)
def test_a_ratio_holds_between_its_bounds(factor: float, expected: str) -> None:
    assert verdict(RATIO, record("sqlite", 0.01 * factor), record("pyarrow", 0.01)) == expected


def test_a_ratio_is_taken_at_the_largest_size_that_both_have_or_at_the_one_told() -> None:
    records = [
        *(record("sqlite", 1.0, 10), record("pyarrow", 1.0, 10)),
        *(record("sqlite", 2.0, 100), record("pyarrow", 0.1, 100), record("sqlite", 9.0, 1000)),
    ]
    assert verdict(RATIO, *records) == REPRODUCED
    assert verdict(RATIO | {"rows": 10}, *records) == NOT_REPRODUCED
    assert verdict(RATIO | {"rows": 1000}, *records) == NOT_MEASURED


def test_an_order_has_to_hold_at_every_size() -> None:
    test = {"kind": "order", "workload": "small", "operation": "read", "systems": ["sqlite", "pyarrow"]}
    good = [record("sqlite", 1.0, 10), record("pyarrow", 2.0, 10)]
    assert verdict(test, *good) == REPRODUCED
    assert verdict(test, *good, record("sqlite", 3.0), record("pyarrow", 2.0)) == NOT_REPRODUCED
    assert verdict(test, record("sqlite", 3.0)) == NOT_MEASURED


def test_flat_and_proportional_times_are_told_apart() -> None:
    flat = {"kind": "flat", "workload": "small", "system": "sqlite", "operation": "read", "factor": 2}
    linear = flat | {"kind": "linear"}
    level = [record("sqlite", 1.0, 10), record("sqlite", 1.1, 100)]
    growing = [record("sqlite", 1.0, 10), record("sqlite", 11.0, 100)]
    assert (verdict(flat, *level), verdict(linear, *level)) == (REPRODUCED, NOT_REPRODUCED)
    assert (verdict(flat, *growing), verdict(linear, *growing)) == (NOT_REPRODUCED, REPRODUCED)


def test_a_claim_of_two_tests_may_hold_in_part() -> None:
    ratio = RATIO | {"least": 100, "most": 1000}
    tallies = {"small": Tally([record("sqlite", 0.2), record("pyarrow", 0.01)])}
    verdict_, measured = judge_claim(Claim("A page", "Something.", "", "", (RATIO, ratio)), tallies)
    assert verdict_ == PARTLY
    assert measured.startswith(f"{entry_named('sqlite').title} read 200 ms")


def test_what_cannot_be_asked_says_why() -> None:
    assert judge_claim(Claim("A page", "In a cloud.", "", "There is none here", ()), {}) == (
        CANNOT,
        "There is none here",
    )


def test_the_table_tells_all_claims_of_the_documents_that_a_run_touches() -> None:
    assert claims_table([]).lines == ()
    table = claims_table([record("sqlite", 1.0), record("pyarrow", 0.01)])
    document = "ParquetDB, Small Benchmark"
    assert len(table.lines) == sum(claim.document == document for claim in claims())
    assert {line[0] for line in table.lines} == {document}
    assert {len(line) for line in table.lines} == {len(table.header)}
    assert {line[2] for line in table.lines} >= {NOT_MEASURED, CANNOT, REPRODUCED}
