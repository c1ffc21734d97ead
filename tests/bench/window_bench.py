"""How long the window takes, and stands still, at what people do: `python -m tests.bench.window_bench FILE`.

For each act: the longest piece of work of the window's thread, as its processor time, so that other programs
do not count; the 99th percentile of those pieces; and the seconds until the rows are there.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("LAMELLA_HOME", tempfile.mkdtemp())

import numpy as np
import pyarrow.types as types
from PySide6.QtCore import QSize

from lamella import agg, col
from lamella.app.bootstrap import application
from lamella.app.program import Program
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.window.dataset_tab import DatasetTab

SIZE = QSize(1280, 800)
LEAST_PIECE, QUIET_SECONDS = 0.0005, 0.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a file with a column of numbers and one of text")
    parser.add_argument("--limit", type=float, default=120, help="seconds that one act may take")
    arguments = parser.parse_args()
    app, program = application(), Program()
    window = program.window
    window.resize(SIZE)
    window.show()

    def act(title: str, do: Callable[[], object]) -> DatasetTab:
        began, there, pieces = time.perf_counter(), 0.0, [_seconds(do)]
        while time.perf_counter() - began < arguments.limit:
            pieces.append(_seconds(app.processEvents))
            tab = window.tabs.dataset_tab
            shown = tab is not None and tab.shown is not None and not tab.loader.running
            there = there or (time.perf_counter() - began if shown else 0.0)
            if shown and not program.tasks.running and time.perf_counter() - began > QUIET_SECONDS:
                break
            time.sleep(0.001)
        counted = [piece for piece in pieces if piece > LEAST_PIECE] or [0.0]
        tab = window.tabs.dataset_tab
        assert tab is not None, "the file was not opened"
        longest, p99 = 1e3 * max(counted), 1e3 * np.percentile(counted, 99)
        figures = f"longest {longest:5.0f} ms   p99 {p99:5.0f} ms   rows after {there:6.2f} s"
        print(f"{title:26} {figures}   {tab.status}", flush=True)
        return tab

    tab = act("open", lambda: window.open_paths([arguments.file]))
    assert tab.view is not None
    fields = list(tab.view.schema)
    number = next(f.name for f in reversed(fields) if types.is_floating(f.type) or types.is_integer(f.type))
    text = next(f.name for f in fields if types.is_string(f.type) or types.is_large_string(f.type))
    figures = (("n", agg.count()), ("mean", agg.mean(number)))
    act("filter", lambda: tab.add_filter(col(number) > 1))
    act("open the filter's form", tab.steps.edit_filter)
    act("close it", tab.steps.close_editor)
    act("sort", lambda: tab.set_sort([SortKey(number, True)]))
    act("compute a column", lambda: tab.add_step(Compute((("double", col(number) * 2),))))
    act("group", lambda: tab.add_step(Group((text,), figures)))
    act("sort the groups", lambda: tab.set_sort([SortKey("n", True)]))
    act("go back", tab.go_back)
    tab.grid.go_to(0, 0)
    act("inspect a column", lambda: tab.inspector.show_page("column"))
    act("dark theme", lambda: theme.current().set_mode("dark"))
    act("remove all steps", lambda: tab.apply(Line()))
    program.tasks.shutdown()
    os._exit(0)


def _seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


if __name__ == "__main__":
    main()
