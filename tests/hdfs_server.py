"""Hadoop's own HDFS on loopback, by its MiniDFSCluster: a namenode and a datanode with WebHDFS."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
import pytest

VERSION = "3.4.1"
MAIN = Path(__file__).with_name("HdfsServer.java")
FETCH_SECONDS = 600
OPENED = ("java.base/java.lang", "java.base/java.util", "java.base/java.net", "java.base/sun.nio.ch")
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId>
  <artifactId>hdfs-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-client-minicluster</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
LONG = "LAMELLA_LONG_RUNS"


@contextmanager
def hdfs_server() -> Iterator[str]:
    """The web address of a namenode, such as `http://localhost:34567`. Skips the test, with the reason, where
    it cannot be: it is large, so it is started by the long form alone."""
    if LONG not in os.environ:
        pytest.skip("HDFS is started by the long form: python3 dev.py test --long hdfs")
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [*_command(), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = next((line for line in process.stdout if line.startswith("READY ")), "")
            assert ready, "the cluster did not start"
            yield ready.split()[1]
        finally:
            process.stdin.close()
            process.wait(timeout=60)
            process.stdout.close()


def _command() -> list[str]:
    opened = [word for package in OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    return ["java", *opened, "-cp", f"{_jars()}/*", str(MAIN)]


def _jars() -> Path:
    """Fetched from Maven Central once."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"HDFS for tests needs {tool}, which is not installed")
    cache = Path(platformdirs.user_cache_dir("lamella-tests", appauthor=False))
    jars = cache / f"hadoop-minicluster-{VERSION}"
    if not jars.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            pom, fetched = Path(scratch, "pom.xml"), Path(scratch, "jars")
            pom.write_text(POM, encoding="utf-8")
            command = ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
            try:
                done = subprocess.run(
                    [*command, f"-DoutputDirectory={fetched}"],
                    capture_output=True,
                    encoding="utf-8",
                    timeout=FETCH_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                pytest.skip(f"Maven Central gave no HDFS within {FETCH_SECONDS} s")
            if done.returncode:
                errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
                pytest.skip(f"Maven could not fetch HDFS: {errors[:1]}")
            if not jars.is_dir():
                fetched.rename(jars)
    return jars
