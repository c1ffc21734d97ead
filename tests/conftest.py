"""What holds for every test: a home of its own, no real screen, no thread left running."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

settings.register_profile(
    "lamella",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,  # what fails there is the change's fault, and can be had again
)
settings.load_profile("lamella")

THREAD_GRACE_SECONDS = 5.0


@pytest.fixture(autouse=True)
def lamella_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the user's data, settings, cache and logs."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("LAMELLA_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fails a test that leaves a Python thread of its own running."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    for thread in left:
        thread.join(THREAD_GRACE_SECONDS)
    still = [thread.name for thread in left if thread.is_alive()]
    assert not still, f"threads still running: {still}"
