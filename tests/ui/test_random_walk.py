"""A short walk at random through the window; the long form is `dev.py test --long walk`."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.slow_tests import examples


def test_a_walk_at_random_meets_no_unexpected_error() -> None:
    steps = str(examples(120))
    command = [sys.executable, "-m", "tests.ui.random_walk", "--steps", steps, "--seed", "7"]
    walk = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert walk.returncode == 0, walk.stdout + walk.stderr
    assert "Seed 7: 0 problems" in walk.stdout
