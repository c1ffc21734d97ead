"""Slow tests run when asked for, and no room of code depends on them alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.slow_tests import Tier, examples

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
import pytest

def test_quick():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.slow(after=2)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("other", [(), (3,)])
def test_sizes(size, other):
    pass

@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("size", range(5))
def test_every_size(size):
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setattr(Tier, "slow", Tier.slow)  # which a run inside this one sets
    (pytester.mkdir("room") / "test_it.py").write_text(SUITE)
    pytester.makeini("[pytest]\nmarkers =\n  slow")
    return pytester


@pytest.mark.slow(after=5)
@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ((), 5),
        (("room",), 5),
        (("-k", "slow"), 0),
        (("-k", "every_size"), 2),
        (("--all",), 11),
        (("-m", "slow"), 6),
        (("-m", "not slow"), 5),
        (("room/test_it.py",), 11),
        (("room/test_it.py::test_slow",), 1),
        (("room/test_it.py::test_sizes",), 4),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_slow_tests_run_when_they_are_named(suite, words, passed):
    result = suite.runpytest_inprocess("-p", "tests.slow_tests", "-p", "no:cacheprovider", *words)
    assert result.parseoutcomes().get("passed", 0) == passed


def test_the_summary_says_what_was_left_out(suite):
    result = suite.runpytest_inprocess("-p", "tests.slow_tests")
    result.stdout.fnmatch_lines(["5 tests took * s of work; 6 slow ones were left out, which --all runs"])
    result = suite.runpytest_inprocess("-p", "tests.slow_tests", "--all")
    result.stdout.fnmatch_lines(["11 tests took * s of work"])


def test_property_tests_have_fewer_examples_in_the_suite(monkeypatch):
    monkeypatch.delenv("LAMELLA_LONG_RUNS", raising=False)
    monkeypatch.setattr(Tier, "slow", False)
    assert [examples(full) for full in (1, 10, 25)] == [1, 2, 6]
    monkeypatch.setattr(Tier, "slow", True)
    assert examples(25) == 25
    monkeypatch.setenv("LAMELLA_LONG_RUNS", "1000")
    assert examples(25) == 1000


TEST = re.compile(r"^(?: *def test_|Test\w+ = )", re.MULTILINE)
SLOW = re.compile(r"^ *@pytest\.mark\.slow$|^Test\w+\.pytestmark = .*slow", re.MULTILINE)


def test_every_file_of_tests_keeps_some_in_the_suite():
    texts = {file: file.read_text("utf8") for file in (ROOT / "tests").rglob("test_*.py")}
    assert all(TEST.search(text) for text in texts.values())
    only_slow = [file for file, text in texts.items() if len(TEST.findall(text)) <= len(SLOW.findall(text))]
    assert only_slow == []
