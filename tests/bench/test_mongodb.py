"""MongoDB in a benchmark: the server is found by the settings, labelled by its name, and left as it was."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest
from pymongo import MongoClient

from lamella.app import settings as servers
from lamella.core.bench import registry
from lamella.core.bench.engine import place
from lamella.core.bench.engine.protocol import Failure, Message, StepStart, Surroundings, UnsupportedStep
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import entry_named
from lamella.core.bench.systems import mongodb
from lamella.core.bench.systems.base import DATABASE_NOTE, NotReady
from lamella.core.bench.workloads.tables import SMALL
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job
from lamella.core.settings import Settings
from tests.bench import mongo_server


def databases(uri: str) -> set[str]:
    with MongoClient(uri) as client:
        return set(client.list_database_names())


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """A URI at which no server listens, with a password, which must not be shown."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv(servers.MONGODB_URI, f"mongodb://me:s3cret@{place}")
    monkeypatch.setenv(mongodb.MONGOD_VARIABLE, "")
    monkeypatch.setattr(mongodb, "ANSWER_SECONDS", 0.2)
    return place


def test_figures_are_labelled_with_the_server_that_gave_them_and_its_databases_go(
    mongodb: str, tmp_path: Path
) -> None:
    before = databases(mongodb)
    heard: list[Message] = []
    records = run_workload("small", [5], ["mongodb"], repeats=2, folder=tmp_path, on_event=heard.append)
    assert [message for message in heard if isinstance(message, Failure)] == []
    assert len(records) == 2 * len(SMALL.operations) and all(record.disk_bytes > 0 for record in records)
    (surroundings,) = (message for message in heard if isinstance(message, Surroundings))
    assert "not MongoDB's engine, but its protocol by mongo-java-server" in surroundings.version
    assert "emulates version 5.0.0 with pymongo" in surroundings.version
    assert {entry_named(record.system).title for record in records} == {
        "MongoDB's protocol, mongo-java-server"
    }
    assert "w=1" in surroundings.description and "durable" in surroundings.description
    assert databases(mongodb) == before


def test_a_connection_is_made_before_anything_is_timed(mongodb: str, tmp_path: Path) -> None:
    system: Any = registry.load("mongodb")(tmp_path / "db", SMALL)
    system.open(writing=False)
    assert system._client.topology_description.has_readable_server()
    system.close()


@pytest.mark.slow
def test_where_no_server_answers_it_is_said_once_and_the_others_go_on(nowhere: str, tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload(
        "small", [2, 3], ["mongodb", "sqlite"], repeats=1, folder=tmp_path, on_event=heard.append
    )
    (message,) = (message for message in heard if isinstance(message, (UnsupportedStep, Failure)))
    assert isinstance(message, UnsupportedStep) and message.system == "mongodb"
    assert f"No server answers at {nowhere}" in message.reason and "set mongodb_uri" in message.reason
    assert "s3cret" not in message.reason
    assert {(record.system, record.rows) for record in records} == {("sqlite", 2), ("sqlite", 3)}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="The program is a shell script")
def test_a_server_that_is_installed_is_started_for_the_benchmark_and_ended(
    nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, folder = mongo_server.program(tmp_path), tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setenv(mongodb.MONGOD_VARIABLE, str(program))
    assert "mongodb" not in registry.unready()
    heard: list[Message] = []
    records = run_workload("small", [5], ["mongodb"], repeats=2, folder=folder, on_event=heard.append)
    assert [message for message in heard if isinstance(message, (Failure, UnsupportedStep))] == []
    assert len(records) == 2 * len(SMALL.operations) and all(record.disk_bytes > 0 for record in records)
    (surroundings,) = (message for message in heard if isinstance(message, Surroundings))
    assert "started for the benchmark" in surroundings.version
    assert list(folder.iterdir()) == []
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or [])
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="The programs are shell scripts")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo db version v8.0.4; [ $1 = --version ] || { echo No room; exit 3; }", "status 3. No room"),
        ("echo hello", "is not a MongoDB server. Hello"),
    ],
)
def test_a_server_that_does_not_start_is_said(
    script: str, said: str, nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, temporary = tmp_path / "mongod", tmp_path / "temporary"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    temporary.mkdir()
    monkeypatch.setenv(mongodb.MONGOD_VARIABLE, str(program))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    system = registry.load("mongodb")
    with pytest.raises(NotReady, match=f"{said}.*install mongod"):
        system.answering_version()
        system.stand_in()
    assert list(temporary.iterdir()) == []


def test_an_address_that_is_none_is_refused_with_the_setting_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(servers.MONGODB_URI, "http://localhost")
    with pytest.raises(NotReady, match="mongodb_uri is not the address"):
        registry.load("mongodb").answering_version()


def test_the_database_of_a_child_that_was_killed_is_dropped(mongodb: str, tmp_path: Path) -> None:
    job, databases_seen = Job(), set[str]()
    before = databases(mongodb)

    def hear(message: Message) -> None:
        if isinstance(message, StepStart) and message.step == "read":
            databases_seen.update(databases(mongodb) - before)
            job.cancel()

    with pytest.raises(Cancelled):
        run_workload("small", [4], ["mongodb"], folder=tmp_path, on_event=hear, job=job)
    assert len(databases_seen) == 1
    assert databases(mongodb) == before and list(tmp_path.iterdir()) == []


def test_a_note_drops_no_database_but_one_that_a_benchmark_made(mongodb: str, tmp_path: Path) -> None:
    with MongoClient(mongodb) as client:
        client["precious"].things.insert_one({"kept": True})
    (tmp_path / "benchmark").mkdir()
    (tmp_path / "benchmark" / DATABASE_NOTE).write_text("precious")
    place.remove_folder(tmp_path / "benchmark")
    assert "precious" in databases(mongodb) and not (tmp_path / "benchmark").exists()


def test_folders_are_removed_when_the_server_is_gone_by_then(
    nowhere: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = mongodb.database_of(tmp_path / "benchmark")
    place.remove_folder(tmp_path / "benchmark")
    assert not (tmp_path / "benchmark").exists()
    assert name in caplog.text and nowhere in caplog.text and "s3cret" not in caplog.text


@pytest.mark.slow
def test_a_benchmark_on_the_command_line_asks_the_server_of_the_settings(
    mongodb_uri: str, lamella_home: Path, tmp_path: Path
) -> None:
    settings = lamella_home / "config" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"version": 1, "mongodb_uri": mongodb_uri}))
    words = ["bench", "--systems", "mongodb", "--rows", "3", "--repeats", "1", "--folder", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != servers.MONGODB_URI}
    result = subprocess.run(
        [sys.executable, "-m", "lamella.app", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "emulates version 5.0.0" in result.stdout
    assert "MongoDB's protocol, mongo-java-server" in result.stdout


def test_the_environment_says_more_than_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings()
    settings["mongodb_uri"] = "mongodb://first"
    monkeypatch.setenv(servers.MONGODB_URI, "")
    monkeypatch.delenv(servers.MONGODB_URI)
    servers.apply_servers(settings)
    assert os.environ[servers.MONGODB_URI] == "mongodb://first"
    settings["mongodb_uri"] = "mongodb://second"
    servers.apply_servers(settings)
    assert os.environ[servers.MONGODB_URI] == "mongodb://first"
