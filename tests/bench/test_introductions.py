"""Systems introduce themselves in separate processes."""

from __future__ import annotations

import socket

import pytest

from lamella.core.bench.engine.child import Introduction, ask_introductions
from lamella.core.bench.registry import ENTRIES
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job


@pytest.mark.slow
def test_every_system_of_a_family_tells_its_version_and_configuration() -> None:
    introductions: list[Introduction] = []
    ask_introductions(["table"], introductions.append, Job())
    ready = [entry.id for entry in ENTRIES.values() if entry.takes("table")]
    assert sorted(introduction.system for introduction in introductions) == sorted(ready)
    for introduction in introductions:
        assert introduction.problem or (introduction.version and introduction.description), introduction


@pytest.mark.slow
def test_a_system_whose_server_does_not_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound and not listening, so that nobody answers there
        place = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv("LAMELLA_MONGODB_URI", f"mongodb://{place}")
        introductions: list[Introduction] = []
        ask_introductions(["entity"], introductions.append, Job())
    assert introductions[-1].system == "mongodb", "others do not wait for it"
    assert f"No server answers at {place}" in introductions[-1].problem


def test_asking_ends_at_once_when_it_is_told_to() -> None:
    job, introductions = Job(), list[Introduction]()

    def heard(introduction: Introduction) -> None:
        introductions.append(introduction)
        job.cancel()

    with pytest.raises(Cancelled):
        ask_introductions(["table"], heard, job)
    assert 1 <= len(introductions) < sum(entry.takes("table") for entry in ENTRIES.values())
