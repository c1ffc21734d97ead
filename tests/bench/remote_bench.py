"""Compares libraries that read object storage, on one server: the reason for using `obstore`.

    python -m tests.bench.remote_bench http://127.0.0.1:7070 KEY SECRET BUCKET

writes 256 MB to the bucket, and measures medians of a size, of a range of 64 KB, of 24 ranges of 2 MB on
eight threads (as for a page of a Parquet file), and of the whole. Libraries that are not installed are left
out.

    python -m tests.bench.remote_bench http://127.0.0.1:7070 KEY SECRET BUCKET --first-rows 20000000

writes a Parquet file with this number of rows and 20 columns to the bucket, and measures medians of opening
it and reading the first 200 rows of 12 columns, as a window does: in new processes, with an empty and with a
full cache.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

SIZE, REPEATS, THREADS = 256 << 20, 7, 8
KEY = "remote_bench"
ReadRange = Callable[[int, int], int]


def libraries(
    endpoint: str, key: str, secret: str, bucket: str
) -> Iterator[tuple[str, Callable[[], int], ReadRange]]:
    """Return for each library its name, a function for the file's size, and one that reads a range and
    returns its length."""
    with suppress(ImportError):
        store = opened(endpoint, key, secret, bucket)
        yield (
            "obstore",
            lambda: store.head(KEY)["size"],
            lambda start, stop: len(store.get_range(KEY, start=start, end=stop)),
        )
    with suppress(ImportError):
        from pyarrow.fs import S3FileSystem

        system = S3FileSystem(
            access_key=key, secret_key=secret, endpoint_override=endpoint, region="us-east-1"
        )
        file = system.open_input_file(f"{bucket}/{KEY}")
        yield (
            "pyarrow.fs",
            lambda: system.get_file_info(f"{bucket}/{KEY}").size,
            lambda start, stop: len(file.read_at(stop - start, start)),
        )
    with suppress(ImportError):
        from s3fs import S3FileSystem as Fsspec

        filesystem = Fsspec(key=key, secret=secret, endpoint_url=endpoint)

        def size() -> int:
            filesystem.invalidate_cache()
            return int(filesystem.info(f"{bucket}/{KEY}")["size"])

        yield (
            "s3fs",
            size,
            lambda start, stop: len(filesystem.cat_file(f"{bucket}/{KEY}", start=start, end=stop)),
        )


def opened(endpoint: str, key: str, secret: str, bucket: str) -> Any:
    from obstore.store import S3Store

    return S3Store(
        bucket,
        endpoint=endpoint,
        access_key_id=key,
        secret_access_key=secret,
        region="us-east-1",
        client_options={"allow_http": True},
    )


def median(work: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


FIRST_ROWS = """
import sys, time
from lamella import open_dataset
from lamella.core.remote.connections import Connection, Connections
Connections().save(Connection("bench", "s3", endpoint=sys.argv[1],
    secrets={"access_key": "env:BENCH_KEY", "secret_key": "env:BENCH_SECRET"}), replace=True)
import lamella.core.remote.object_store, obstore.store
begun = time.perf_counter()
rows = open_dataset(sys.argv[2])
rows.read(columns=rows.schema.names[:12], limit=200)
print(time.perf_counter() - begun)
"""


def first_rows(rows: int, endpoint: str, key: str, secret: str, bucket: str) -> None:
    from lamella.core.transfer.generate import make

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "rows.parquet")
        make("mixed", rows, path)
        opened(endpoint, key, secret, bucket).put("rows.parquet", path)
        print(f"{path.stat().st_size / 1e9:.2f} GB")
        path.unlink()
        environment = {**os.environ, "BENCH_KEY": key, "BENCH_SECRET": secret}
        command = [sys.executable, "-c", FIRST_ROWS, endpoint, f"s3://{bucket}/rows.parquet"]
        times: dict[str, list[float]] = {"empty cache": [], "full cache": []}
        for number in range(REPEATS):
            environment["LAMELLA_HOME"] = str(Path(scratch, str(number)))
            for samples in times.values():
                result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                samples.append(float(result.stdout))
        for name, samples in times.items():
            print(f"{name}: {statistics.median(samples) * 1000:.0f} ms of {sorted(samples)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("endpoint", "key", "secret", "bucket"):
        parser.add_argument(name)
    parser.add_argument("--first-rows", type=int, metavar="ROWS")
    options = vars(parser.parse_args())
    rows = options.pop("first_rows")
    if rows:
        first_rows(rows, **options)
        return
    opened(**options).put(KEY, os.urandom(SIZE))
    chance = random.Random(1)
    starts = [chance.randrange(SIZE - (2 << 20)) for _ in range(24)]
    print("| library | size, ms | 64 KB, ms | 24 × 2 MB, ms | 256 MB, ms |\n|---|---:|---:|---:|---:|")
    with ThreadPoolExecutor(THREADS) as threads:
        for name, size, read_range in libraries(**options):
            read_range(0, 10)

            def many(read_range: ReadRange = read_range) -> list[int]:
                return list(threads.map(lambda start: read_range(start, start + (2 << 20)), starts))

            def whole(read_range: ReadRange = read_range) -> list[int]:
                return list(
                    threads.map(lambda start: read_range(start, start + (8 << 20)), range(0, SIZE, 8 << 20))
                )

            times = (
                median(size, 21),
                median(lambda read_range=read_range: read_range(0, 64 << 10), 21),
                median(many),
                median(whole, 3),
            )
            print(f"| {name} | {' | '.join(f'{time:.1f}' for time in times)} |")


if __name__ == "__main__":
    main()
