"""After being killed at any moment, a store has every commit that returned and no part of any other.

The long form is `dev.py test --long kill`.
"""

from __future__ import annotations

import subprocess
import sys

from tests.slow_tests import examples

KILLS = examples(full=5)


def test_a_killed_writer_loses_nothing_it_was_told_is_safe() -> None:
    program = [sys.executable, "-m", "tests.core.store.kill", "--times", str(KILLS)]
    result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
