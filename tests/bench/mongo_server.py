"""A server that speaks MongoDB's wire protocol over a real socket: mongo-java-server on an H2 file."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
import pytest

VERSION = "1.47.0"
MAIN = Path(__file__).with_name("MongoServer.java")
FETCH_SECONDS = 180
QUICK_TO_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId>
  <artifactId>mongo-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>de.bwaldvogel</groupId>
      <artifactId>mongo-java-server-h2-backend</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Yield the URI of a server with its data in `folder`. Skips the test, with a reason, if it cannot
    start."""
    with subprocess.Popen(
        [*_command(), str(folder / "mongo.h2")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        port = process.stdout.readline().strip()
        assert port, process.stderr.read()
        yield f"mongodb://127.0.0.1:{port}"
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def program(folder: Path) -> Path:
    """Return a `mongod` that takes the arguments of MongoDB's own server, and starts this one."""
    script = folder / "mongod"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "db version v5.0.0"; exit; fi\n'
        f'exec {shlex.join(_command())} "$2/mongo.h2" "$6"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


def _command() -> list[str]:
    return ["java", *QUICK_TO_START, "-cp", f"{_jars()}/*", str(MAIN)]


def _jars() -> Path:
    """Return the jars, which are fetched from Maven Central once."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"A MongoDB server for tests needs {tool}, which is not installed")
    cache = Path(platformdirs.user_cache_dir("lamella-tests", appauthor=False))
    jars = cache / f"mongo-java-server-{VERSION}"
    if not jars.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _fetch(jars)
    return jars


def _fetch(jars: Path) -> None:
    with tempfile.TemporaryDirectory(dir=jars.parent) as scratch:
        pom, fetched = Path(scratch, "pom.xml"), Path(scratch, "jars")
        pom.write_text(POM, encoding="utf-8")
        command = ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
        try:
            result = subprocess.run(
                [*command, f"-DoutputDirectory={fetched}"],
                capture_output=True,
                encoding="utf-8",
                timeout=FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"Maven Central gave no MongoDB server for tests within {FETCH_SECONDS} s")
        if result.returncode != 0:
            pytest.skip(f"Maven could not fetch a MongoDB server for tests: {_first_error(result.stdout)}")
        if not jars.is_dir():  # another run may have been faster
            fetched.rename(jars)


def _first_error(said: str) -> str:
    return next((line for line in said.splitlines() if "ERROR" in line), "it does not say why")
