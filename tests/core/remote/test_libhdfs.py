"""An HDFS address is reached through libhdfs if Hadoop is installed, otherwise through WebHDFS."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from lamella.core.remote import libhdfs
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection
from lamella.core.remote.hdfs import Hdfs, new_server, route
from lamella.core.remote.webhdfs import WebHdfs

CLASSES = (
    "org/apache/hadoop/fs/FileSystem",
    "org/apache/hadoop/hdfs/DistributedFileSystem",
    "org/apache/commons/lang3/exception/ExceptionUtils",
)
ADDRESS = Address.parse("hdfs://namenode:8020/data")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the command hadoop is a script here")


def make_jar(path: Path, classes: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        for name in classes:
            jar.writestr(f"{name}.class", b"")


@pytest.fixture
def hadoop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a complete installation."""
    home, java = tmp_path / "hadoop", tmp_path / "java"
    for file, content in (
        (home / "lib" / "native" / libhdfs.LIBRARY, CLASSES[2].encode()),
        (java / libhdfs.JVM, b""),
    ):
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
    make_jar(home / "share" / "common.jar", CLASSES[:1])
    make_jar(home / "share" / "hdfs.jar", CLASSES[1:])
    (home / "bin").mkdir()
    command = home / "bin" / "hadoop"
    command.write_text(f"#!/bin/sh\necho {home}/etc:{home}/share/common.jar:{home}/share/hdfs.jar\n")
    command.chmod(0o755)
    for name in ("ARROW_LIBHDFS_DIR", "CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HADOOP_HOME", str(home))
    monkeypatch.setenv("JAVA_HOME", str(java))
    return home


def test_libhdfs_is_taken_where_hadoop_is_installed(hadoop: Path):
    way = route(ADDRESS, None)
    library = hadoop / "lib" / "native" / libhdfs.LIBRARY
    assert way.sentence == f"Through libhdfs: {library} is installed."
    assert way.installation is not None
    assert way.installation.classpath.split(os.pathsep)[1:] == [
        str(hadoop / "share" / name) for name in ("common.jar", "hdfs.jar")
    ]
    assert isinstance(new_server(ADDRESS, None), Hdfs)


def test_hadoop_is_found_by_its_command(hadoop: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HADOOP_HOME")
    assert route(ADDRESS, None).installation is None
    monkeypatch.setenv("PATH", f"{hadoop / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert route(ADDRESS, None).installation is not None


def test_a_class_path_may_be_given_with_patterns(hadoop: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", str(hadoop / "lib" / "native"))
    monkeypatch.delenv("HADOOP_HOME")
    monkeypatch.setenv("CLASSPATH", f"{hadoop}/share/*")
    way = route(ADDRESS, None).installation
    assert way is not None
    assert way.classpath == f"{hadoop}/share/*"


@pytest.mark.parametrize(
    ("address", "connection", "reason"),
    [
        ("webhdfs://namenode:9870/data", None, "the address begins with webhdfs://"),
        ("swebhdfs://namenode/data", None, "the address begins with swebhdfs://"),
        (
            "hdfs://namenode/data",
            Connection("lab", "hdfs", endpoint="http://namenode:9870"),
            "the endpoint of the connection 'lab' is a web address",
        ),
        (
            "hdfs://namenode/data",
            Connection("lab", "hdfs", secrets={"token": "env:TOKEN"}),
            "the connection 'lab' has a delegation token",
        ),
    ],
)
def test_webhdfs_is_taken_where_it_is_meant(
    hadoop: Path, monkeypatch: pytest.MonkeyPatch, address: str, connection: Connection | None, reason: str
):
    monkeypatch.setenv("TOKEN", "a-token")
    assert route(Address.parse(address), connection).sentence == f"Through WebHDFS: {reason}."
    assert isinstance(new_server(Address.parse(address), connection), WebHdfs)


def test_an_endpoint_of_hadoops_protocol_wants_libhdfs(hadoop: Path, monkeypatch: pytest.MonkeyPatch):
    connection = Connection("lab", "hdfs", endpoint="hdfs://namenode:8020")
    assert isinstance(new_server(ADDRESS, connection), Hdfs)
    monkeypatch.delenv("HADOOP_HOME")
    assert isinstance(new_server(ADDRESS, connection), WebHdfs)  # of the same host, at its usual port


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        (f"hadoop/lib/native/{libhdfs.LIBRARY}", f"{libhdfs.LIBRARY} is not in "),
        (f"java/{libhdfs.JVM}", "needs Java, which is not at "),
        ("hadoop/bin/hadoop", "neither CLASSPATH nor the command hadoop says where Hadoop's jars are"),
        ("hadoop/share/common.jar", "the class path lacks hadoop-common"),
        ("hadoop/share/hdfs.jar", "the class path lacks hadoop-hdfs-client, commons-lang3"),
    ],
)
def test_what_is_missing_is_named(hadoop: Path, tmp_path: Path, gone: str, reason: str):
    (tmp_path / gone).unlink()
    sentence = route(ADDRESS, None).sentence
    assert sentence.startswith("Through WebHDFS: ")
    assert reason in sentence
    assert "Set HADOOP_HOME" in sentence


def test_the_error_of_hadoops_command_is_passed_on(hadoop: Path):
    (hadoop / "bin" / "hadoop").write_text("#!/bin/sh\necho 'JAVA_HOME is odd' >&2\nexit 1\n")
    assert "JAVA_HOME is odd" in route(ADDRESS, None).sentence
