"""Fixtures for the tests of benchmarks."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lamella.app import settings as servers
from tests.bench import mongo_server


@pytest.fixture(autouse=True)
def frozen_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze pytest's objects, since every measurement starts with a garbage collection. Counting the frozen
    objects is also skipped: it takes 13 ms each time.

    They stay frozen for the tests of other folders, whose collections would go through all of them.
    """
    gc.freeze()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)


@pytest.fixture(scope="session")
def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mongo_server.running(tmp_path_factory.mktemp("mongodb")) as uri:
        yield uri


@pytest.fixture
def mongodb(mongodb_uri: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of a server, which benchmarks find, too."""
    monkeypatch.setenv(servers.MONGODB_URI, mongodb_uri)
    return mongodb_uri


@pytest.fixture(autouse=True)
def server_of_system(request: pytest.FixtureRequest) -> None:
    """Start a MongoDB server for tests of the system "mongodb"."""
    call = getattr(request.node, "callspec", None)
    if call is not None and "mongodb" in call.params.values():
        request.getfixturevalue("mongodb")
