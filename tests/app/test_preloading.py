"""What is imported before it is first used, and on which thread."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, linecache, sys, threading
from lamella.app import bootstrap
app = bootstrap.application()
linecache.clearcache()
from lamella.app import preloading, program
from lamella.core import libraries
from lamella.core.jobs import Job
from shiboken6 import Shiboken

created = {}

@classmethod
def note(cls, /, **options):
    created.setdefault(threading.current_thread().name, []).append(f"{cls.__module__}.{cls.__qualname__}")
    super(Shiboken.Object, cls).__init_subclass__(**options)

Shiboken.Object.__init_subclass__ = note

def load():
    libraries.load()
    preloading.load_qt_free_modules(Job())

thread = threading.Thread(target=load, name="reader")
thread.start()
thread.join()
by_thread = set(sys.modules)
steps = []
for _ in preloading.load_qt_modules():
    steps.append(sorted(set(sys.modules) - by_thread))
    by_thread = set(sys.modules)
missing = [name for name in preloading.QT_MODULES if name not in sys.modules]
sources = [name for name in linecache.cache if "lamella" in name]
report = {"created": created, "steps": steps, "missing": missing, "sources": sources}
print(json.dumps(report | {"pandas": "pandas" in sys.modules}))
"""

MOST_MODULES = 8
"""Of one step, which holds the window."""


@pytest.fixture(scope="module")
def report() -> dict:
    words = [sys.executable, "-c", PROGRAM]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def test_views_are_imported_before_they_are_first_shown_and_pandas_is_not(report):
    assert report["missing"] == [] and not report["pandas"]


def test_pyside_reads_no_source_of_the_modules(report):
    """It would search each for its own name."""
    assert report["sources"] == []


def test_no_class_of_qt_is_created_on_another_thread(report):
    """Qt reads PySide's table of classes without the interpreter's lock, and crashed while it grew."""
    assert list(report["created"]) == ["MainThread"]


def test_the_thread_of_the_window_imports_only_what_needs_qt(report):
    of_window = [name for step in report["steps"] for name in step]
    others = [name for name in of_window if name.startswith(("lamella.core", "sqlglot", "duckdb", "pyarrow"))]
    assert others == []


def test_each_step_imports_few_modules_of_the_window(report):
    of_window = [[name for name in step if name.startswith("lamella.")] for step in report["steps"]]
    assert max(len(step) for step in of_window) <= MOST_MODULES
