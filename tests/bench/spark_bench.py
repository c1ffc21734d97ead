"""The time that Lamella adds to a bare client: `python -m tests.bench.spark_bench [--server sc://…]`.

The same SQL on the same server, over a generated Parquet file: medians of interleaved runs, in milliseconds.
Without `--server`, Sail is started. "plan" is the time in which Lamella writes the statement.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella import agg, col
from lamella.core.arrow.arrays import from_numpy
from lamella.core.datasets.spark import SparkTable, open_spark_table
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.remote.spark_connect import parse_address
from tests import spark_servers

ALLOWED_MS, ALLOWED_SHARE = 20, 0.10


def rows_of(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {
            "id": from_numpy(np.arange(count)),
            "number": from_numpy(random.integers(0, 1_000, count)),
            "float": from_numpy(random.normal(size=count)),
            "word": pa.array([f"word {word}" for word in random.integers(0, 200, count)]),
        }
    )


def questions(table: SparkTable) -> dict[str, Query]:
    rows = table.query()
    return {
        "count": rows.agg(n=agg.count()),
        "filter, 1,000 rows": rows.where(col("number") == 7).limit(1_000),
        "group": rows.group_by("word").agg(n=agg.count(), mean=agg.mean("float")),
        "five steps": rows.where(col("number") > 500)
        .compute(half=col("number") / 2)
        .group_by("word")
        .agg(n=agg.count(), least=agg.min("half"))
        .sort("-n", "word")
        .limit(10),
        "100,000 rows": rows.limit(100_000),
    }


def bare_client(address: str) -> Callable[[str], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql.connect.client import SparkConnectClient
        from pyspark.sql.connect.plan import SQL
    client = SparkConnectClient(address)
    return lambda sql: client.to_table(SQL(sql).to_proto(client), {})[0]


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--server", default="")
    arguments = parser.parse_args()
    running = nullcontext() if arguments.server else spark_servers.sail()
    with tempfile.TemporaryDirectory() as folder, running as server:
        address = arguments.server or server.address
        path = Path(folder, "rows.parquet")
        pq.write_table(rows_of(arguments.rows), path)
        table = open_spark_table(f"{address}/parquet:{path}")
        ask = bare_client(str(parse_address(address)[0]))
        print(f"{'question':22}{'bare':>8}{'Lamella':>9}{'plan':>7}{'more':>7}   allowed")
        for name, query in questions(table).items():
            sql = table.engine.statement(query, Job())
            runs = {
                "bare": lambda sql=sql: ask(sql),
                "ours": lambda query=query: query.read(),
                "plan": lambda query=query: table.engine.statement(query, Job()),
            }
            times: dict[str, list[float]] = {way: [] for way in runs}
            for _ in range(arguments.repeats + 1):
                for way, run in runs.items():
                    times[way].append(timed(run))
            bare, ours, plan = (statistics.median(times[way][1:]) for way in runs)
            allowed = max(ALLOWED_MS, bare * ALLOWED_SHARE)
            met = "met" if ours - bare <= allowed else "missed"
            print(f"{name:22}{bare:8.1f}{ours:9.1f}{plan:7.1f}{ours - bare:7.1f}   {allowed:.0f} ms, {met}")


if __name__ == "__main__":
    main()
