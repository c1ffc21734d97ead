"""core knows no Qt, whatever is imported of it."""

from __future__ import annotations

import subprocess
import sys

IMPORT_ALL = """
import importlib, pkgutil, sys
import core
names = [m.name for m in pkgutil.walk_packages(core.__path__, "core.")]
for name in names:
    importlib.import_module(name)
strangers = {m.partition(".")[0] for m in sys.modules} & {"PySide6", "shiboken6", "pyqtgraph", "ui", "app"}
print(len(names), *sorted(strangers))
"""


def test_importing_all_of_core_brings_no_qt_along():
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, *strangers = done.stdout.split()
    assert int(count) > 30 and strangers == []
