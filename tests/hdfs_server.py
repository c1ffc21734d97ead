"""Hadoop's own HDFS on loopback, by its MiniDFSCluster: a namenode and a datanode; and libhdfs for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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
    <dependency>
      <groupId>org.apache.commons</groupId>
      <artifactId>commons-lang3</artifactId>
      <version>3.17.0</version>
    </dependency>
    <dependency>
      <groupId>javax.xml.bind</groupId>
      <artifactId>jaxb-api</artifactId>
      <version>2.3.1</version>
    </dependency>
  </dependencies>
</project>
"""


LIBHDFS_VERSION = "0.3.1"
"""Of the crate `hdfs-sys`, which has the C sources of libhdfs 3.3: Hadoop publishes no library by itself."""
CARGO = f"""[package]
name = "libhdfs"
version = "1.0.0"
edition = "2021"

[dependencies]
hdfs-sys = {{ version = "={LIBHDFS_VERSION}", features = ["vendored", "hdfs_3_3"] }}
"""


class Namenode(NamedTuple):
    """`web` is its web address, `http://localhost:34567`, `rpc` that of Hadoop's own protocol,
    `hdfs://localhost:45678`."""

    web: str
    rpc: str
    process: subprocess.Popen[str]


@contextmanager
def hdfs_server() -> Iterator[Namenode]:
    """Skips the test, with the reason, where it cannot be. It takes 100 MB, which Maven fetches once, and ten
    seconds to start."""
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
            namenode = Namenode(*ready.split()[1:], process)
            _warm_up(namenode.web)
            yield namenode
        finally:
            process.stdin.close()
            process.wait(timeout=60)
            process.stdout.close()


def libhdfs_environment() -> dict[str, str]:
    """The variables that lead to libhdfs: what this machine has, or else what cargo and gcc build once. Skips
    the test where neither can be."""
    if "ARROW_LIBHDFS_DIR" in os.environ or "HADOOP_HOME" in os.environ:
        return {}
    for tool in ("cargo", "gcc", "javac"):
        if shutil.which(tool) is None:
            pytest.skip(f"libhdfs for tests needs {tool}, which is not installed")
    java_home = Path(shutil.which("javac") or "").resolve().parent.parent
    folder = Path(platformdirs.user_cache_dir("lamella-tests", appauthor=False), f"libhdfs-{LIBHDFS_VERSION}")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _build_libhdfs(Path(scratch), java_home)
            Path(scratch, "library").rename(folder)
    jars = os.pathsep.join(str(jar) for jar in sorted(_jars().glob("*.jar")))
    return {"ARROW_LIBHDFS_DIR": str(folder), "JAVA_HOME": str(java_home), "CLASSPATH": jars}


def _build_libhdfs(folder: Path, java_home: Path) -> None:
    """`library/libhdfs.so`, of the archive of objects that the crate makes."""
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "library").mkdir()
    (folder / "Cargo.toml").write_text(CARGO, encoding="utf-8")
    variables = {"CFLAGS": "-DLIBHDFS_DLL_EXPORT", "JAVA_HOME": str(java_home)}
    build = ["cargo", "build", "--release", "--quiet"]
    result = subprocess.run(
        build, cwd=folder, env=os.environ | variables, capture_output=True, encoding="utf-8", check=False
    )
    if result.returncode:
        pytest.skip(f"libhdfs could not be built: {result.stderr.strip().splitlines()[-1:]}")
    archive = next((folder / "target").rglob("libhdfs.a"))
    link = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", f"-L{java_home}/lib/server", "-ljvm"]
    subprocess.run(["gcc", "-shared", *link, "-o", folder / "library" / "libhdfs.so"], check=True)


def _warm_up(address: str) -> None:
    """Java compiles what is called first for seconds, and the product waits no longer than that."""
    url = f"{address}/webhdfs/v1/tmp/first?user.name=ann&op="
    with urllib.request.urlopen(
        urllib.request.Request(f"{url}CREATE&noredirect=true", method="PUT")
    ) as answer:
        target = json.load(answer)["Location"]
    urllib.request.urlopen(urllib.request.Request(target, b"first", method="PUT")).close()
    for act in ("OPEN", "GETFILESTATUS", "LISTSTATUS_BATCH"):
        urllib.request.urlopen(f"{url}{act}").close()


def _command() -> list[str]:
    opened = [word for package in OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    return ["java", *opened, "-cp", f"{_jars()}/*", str(MAIN)]


def _jars() -> Path:
    """Fetched from Maven Central once."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"HDFS for tests needs {tool}, which is not installed")
    cache = Path(platformdirs.user_cache_dir("lamella-tests", appauthor=False))
    jars = cache / f"hadoop-{VERSION}"
    if not jars.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
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
                pytest.skip(f"Maven Central gave no HDFS within {FETCH_SECONDS} s")
            if result.returncode:
                errors = [line for line in result.stdout.splitlines() if "ERROR" in line]
                pytest.skip(f"Maven could not fetch HDFS: {errors[:1]}")
            if not jars.is_dir():
                fetched.rename(jars)
    return jars
