"""Servers of Spark Connect on loopback: Sail, and Apache Spark itself in an environment of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

APACHE_VERSION = "4.2.0"
START_SECONDS = 120
_SAIL = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer(ip="127.0.0.1", port=int(sys.argv[1]))
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
server.stop()
"""


class Server:
    """`address` is that of the server; `kill` ends it as a crash would."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process, self.port = process, port
        self.address = f"sc://127.0.0.1:{port}"

    @property
    def processor_seconds(self) -> float:
        """The processor time that it has used so far."""
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def sail(port: int = 0) -> Iterator[Server]:
    """Start Sail at this port, or at any. Skips the test, with the reason, if it is not installed."""
    pytest.importorskip("pysail", reason="Sail is not installed: pip install 'lamella[dev]'")
    environment = {**os.environ, "RUST_LOG": "off"}
    with subprocess.Popen(
        [sys.executable, "-c", _SAIL, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield Server(process, int(process.stdout.readline()))
        finally:
            process.kill()


@contextmanager
def apache_spark(folder: Path, *, token: str = "") -> Iterator[Server]:
    """Apache Spark, fetched from PyPI into a folder below the temporary one, which stays there for the next
    time: `pyspark` cannot be installed beside `pyspark-client`. Skips the test without Java."""
    if shutil.which("java") is None:
        pytest.skip("Apache Spark needs Java, which this machine lacks")
    home = _installed()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": folder / "warehouse",
        **({"spark.connect.authenticate.token": token} if token else {}),
    }
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    main = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    log = folder / "spark.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            [home / "bin" / "spark-submit", "--master", "local[2]", *options, *main],
            stdout=output,
            stderr=output,
            env=environment,
            cwd=folder,
            encoding="utf-8",
        ) as process,
    ):
        try:
            _wait_until_it_listens(process, port, log)
            yield Server(process, port)
        finally:
            process.terminate()


def _installed() -> Path:
    environment = Path(tempfile.gettempdir(), f"lamella-apache-spark-{APACHE_VERSION}")
    python = environment / "bin" / "python"
    home = ["-c", "import pyspark, pathlib; print(pathlib.Path(pyspark.__file__).parent)"]
    if not (environment / "whole").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        fetch = [python, "-m", "pip", "install", "--quiet", f"pyspark[connect]=={APACHE_VERSION}"]
        if subprocess.run(fetch, check=False).returncode:
            pytest.skip("Apache Spark could not be fetched")
        (environment / "whole").touch()
    result = subprocess.run([python, *home], check=True, capture_output=True, encoding="utf-8")
    return Path(result.stdout.strip())


def _wait_until_it_listens(process: subprocess.Popen[str], port: int, log: Path) -> None:
    last = time.monotonic() + START_SECONDS
    while time.monotonic() < last and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"Apache Spark did not start:\n{log.read_text()[-3000:]}")
