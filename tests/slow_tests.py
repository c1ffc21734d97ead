"""The tier of the suite that `dev.py test` leaves out: tests marked `slow`. A plugin of pytest.

They run with `--all`, when their file or they themselves are named on the command line, and under `-m`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

LEFT_OUT = pytest.StashKey[int]()
"""How many slow tests this process left out."""


def slow_after(quick: int, cases: Iterable[Any]) -> Iterator[Any]:
    """The cases of a parametrised test: the first `quick` belong to the suite, the others are slow."""
    for number, case in enumerate(cases):
        if number < quick:
            yield case
        elif hasattr(case, "marks"):  # of pytest.param
            yield pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
        else:
            values = case if isinstance(case, tuple) else (case,)
            yield pytest.param(*values, marks=pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the tests that are marked slow, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.all or config.option.markexpr:
        return
    named = named_files(config)
    slow = [item for item in items if item.get_closest_marker("slow") and item.path not in named]
    if slow:
        config.hook.pytest_deselected(items=slow)
        config.stash[LEFT_OUT] = len(slow)
        out = set(slow)
        items[:] = [item for item in items if item not in out]


def named_files(config: pytest.Config) -> set[Path]:
    """Those on the command line, also before the `::` of a test."""
    paths = (config.invocation_params.dir / argument.split("::")[0] for argument in config.args)
    return {path.resolve() for path in paths if path.is_file()}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["slow"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Of pytest-xdist: each worker leaves out the same tests."""
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
    rest = f"; {left_out} slow ones were left out, which --all runs" if left_out else ""
    terminalreporter.write_line(f"{tests} tests took {seconds:.0f} s of work{rest}")
