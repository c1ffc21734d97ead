"""The tier of the suite that `dev.py test` leaves out: tests marked `slow`. A plugin of pytest.

Under `@pytest.mark.slow(after=4)` the first four cases of a parametrised test are not slow; under
`@pytest.mark.slow(except_every=4)` the first, the fifth, the ninth and so on are not. Slow tests run with
`--all`, when their file or they themselves are named on the command line, and under `-m`.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

LEFT_OUT = pytest.StashKey[int]()
"""How many slow tests this process left out."""


class Tier:
    """The set of tests that this run of pytest includes."""

    slow: ClassVar[bool] = False


def examples(full: int) -> int:
    """The number of examples of a property test: LAMELLA_LONG_RUNS, or else its `rounds`."""
    long = os.environ.get("LAMELLA_LONG_RUNS")
    return int(long) if long else rounds(full)


def rounds(full: int) -> int:
    """The number of rounds of a test: `full` where slow tests run, a quarter of them in the suite."""
    return full if Tier.slow else max(1, full // 4)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the tests that are marked slow, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
    Tier.slow = config.option.all or bool(config.option.markexpr or named_files(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unmark_cases(items)
    if config.option.all or config.option.markexpr:
        return
    named = named_files(config)
    slow = [item for item in items if item.get_closest_marker("slow") and item.path not in named]
    if slow:
        config.hook.pytest_deselected(items=slow)
        config.stash[LEFT_OUT] = len(slow)
        out = set(slow)
        items[:] = [item for item in items if item not in out]


def unmark_cases(items: list[pytest.Item]) -> None:
    """Take the mark from the cases of parametrised tests that are not slow."""
    cases: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("slow")
        if mark and mark.kwargs:
            test = item.nodeid.split("[")[0]
            case = cases[test]
            cases[test] += 1
            step = mark.kwargs.get("except_every")
            if case < mark.kwargs.get("after", 0) or (step and case % step == 0):
                item.own_markers.remove(mark)


def named_files(config: pytest.Config) -> set[Path]:
    """The files on the command line, including those before the `::` of a test."""
    paths = (config.invocation_params.dir / argument.split("::")[0] for argument in config.args)
    return {path.resolve() for path in paths if path.is_file()}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["slow"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the number from a worker of pytest-xdist: each worker leaves out the same tests."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("slow", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reports = [
        report
        for each in terminalreporter.stats.values()
        for report in each
        if isinstance(report, pytest.TestReport)
    ]
    if not reports:
        return
    tests, seconds = len({report.nodeid for report in reports}), sum(report.duration for report in reports)
    left_out = config.stash[LEFT_OUT]
    note = f"; {left_out} slow ones were left out, which --all runs" if left_out else ""
    terminalreporter.write_line(f"{tests} tests took {seconds:.0f} s of work{note}")
