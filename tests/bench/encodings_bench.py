"""The costs of each Parquet encoding and codec for columns of each kind, as a Markdown table.

    python tests/bench/encodings_bench.py docs/encodings.md [rounds]

Every candidate is measured in a separate process, in an order that is shuffled for each round. The store's
own choice is in bold.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, COLUMNS, ROUNDS, SEED = 100_000, 4, 3, 97
GROUP = 100_000
DICTIONARY = "dictionary"
FIXED = [DICTIONARY, "PLAIN", "BYTE_STREAM_SPLIT"]
WHOLE = [*FIXED, "DELTA_BINARY_PACKED"]
TEXT = [DICTIONARY, "PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
CODECS = ["none", "lz4", "zstd"]

Generator = np.random.Generator
Numbers = dict[str, float]


def words(generator: Generator, count: int) -> list[str]:
    letters = generator.integers(97, 123, size=(count, 9), dtype=np.uint8)
    return [bytes(row).decode() for row in letters]


def sentences(generator: Generator, count: int) -> pa.Array:
    known = np.array(words(generator, 2_000))
    return pa.array([" ".join(row) for row in known[generator.integers(0, 2_000, size=(count, 6))]])


def lists(values: pa.Array) -> pa.Array:
    offsets = np.arange(0, len(values) + 1, 4, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


KINDS: dict[str, tuple[Callable[[Generator], pa.Array], list[str], str]] = {
    "random integers": (lambda g: pa.array(g.integers(0, 1_000_001, ROWS)), WHOLE, "x > 990000"),
    "integers of 64 bits": (lambda g: pa.array(g.integers(-(2**62), 2**62, ROWS)), WHOLE, "x > 4e18"),
    "twenty integers": (lambda g: pa.array(g.integers(0, 20, ROWS)), WHOLE, "x = 7"),
    "ascending numbers": (lambda g: pa.array(np.arange(ROWS)), WHOLE, "x > 99000"),
    "times, seconds apart": (
        lambda g: pa.array(np.cumsum(g.integers(0, 5_000_000, ROWS)) + 10**15).cast(pa.timestamp("us")),
        WHOLE,
        "x > timestamp '2001-09-14'",
    ),
    "prices": (lambda g: pa.array(np.round(g.gamma(2, 8, ROWS), 2)), FIXED, "x > 60"),
    "random floats": (lambda g: pa.array(g.random(ROWS)), FIXED, "x > 0.99"),
    "fifty words": (lambda g: pa.array(np.array(words(g, 50))[g.integers(0, 50, ROWS)]), TEXT, "x > 'y'"),
    "unique words": (lambda g: pa.array(words(g, ROWS)), TEXT, "x > 'zz'"),
    "sentences": (lambda g: sentences(g, ROWS), TEXT, "x > 'zz'"),
    "bools": (lambda g: pa.array(g.random(ROWS) < 0.1), ["PLAIN", "RLE"], "x"),
    "lists of integers": (
        lambda g: lists(pa.array(g.integers(0, 1_000_001, 4 * ROWS))),
        WHOLE,
        "x[1] > 990000",
    ),
    "lists of floats": (lambda g: lists(pa.array(g.random(4 * ROWS))), FIXED, "x[1] > 0.99"),
    "lists of words": (
        lambda g: lists(pa.array(np.array(words(g, 50))[g.integers(0, 50, 4 * ROWS)])),
        TEXT,
        "x[1] > 'y'",
    ),
}


def made(kind: str) -> pa.Table:
    generator = np.random.default_rng(SEED)
    return pa.table({f"x{i}": KINDS[kind][0](generator) for i in range(COLUMNS)})


def candidates() -> list[tuple[str, str, str]]:
    return [
        (kind, name, codec) for kind, (_, names, _) in KINDS.items() for name in names for codec in CODECS
    ]


def chosen(kind: str) -> tuple[str, str]:
    """Return the encoding and codec that the store chooses for a column of this kind."""
    from lamella.core.store.data_files import choose, leaves_of

    encoding = choose(leaves_of(made(kind).select(["x0"]))["x0"][0])
    return encoding.name or DICTIONARY, encoding.codec


def sample(kind: str, name: str, codec: str) -> Numbers:
    from lamella.core.store.data_files import ZSTD, ZSTD_LEVEL

    table, where = made(kind), KINDS[kind][2].replace("x", "x0")
    leaves = leaf_paths(table)
    how = (
        {"use_dictionary": leaves} if name == DICTIONARY else {"column_encoding": dict.fromkeys(leaves, name)}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.parquet"
        write = milliseconds(
            lambda: pq.write_table(
                table,
                path,
                row_group_size=GROUP,
                compression=codec,
                compression_level=ZSTD_LEVEL if codec == ZSTD else None,
                **({"use_dictionary": False} | how),
            )
        )
        reads = [milliseconds(lambda: pq.ParquetFile(path, pre_buffer=False).read()) for _ in range(6)]
        connection = duckdb.connect()
        query = f"SELECT count(*), count(x1) FROM '{path}' WHERE {where}"
        queries = [milliseconds(lambda: connection.sql(query).fetchall()) for _ in range(4)]
        return {
            "write": write,
            "size": path.stat().st_size / 1e6,
            "first": reads[0],
            "read": statistics.median(reads[1:]),
            "query": statistics.median(queries[1:]),
        }


def leaf_paths(table: pa.Table) -> list[str]:
    sink = pa.BufferOutputStream()
    pq.write_table(table.slice(0, 0), sink)
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [schema.column(i).path for i in range(len(schema))]


def milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of all threads, which other programs disturb least."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def sampled(candidate: tuple[str, str, str]) -> Numbers:
    process = subprocess.run(
        [sys.executable, __file__, "--sample", *candidate], capture_output=True, text=True, check=True
    )
    numbers: Numbers = json.loads(process.stdout)
    return numbers


def measured(rounds: int) -> dict[tuple[str, str, str], Numbers]:
    samples: dict[tuple[str, str, str], list[Numbers]] = {candidate: [] for candidate in candidates()}
    for _ in range(rounds):
        for candidate in random.sample(list(samples), len(samples)):
            samples[candidate].append(sampled(candidate))
    return {
        candidate: {key: statistics.median(figures[key] for figures in runs) for key in runs[0]}
        for candidate, runs in samples.items()
    }


def head(rounds: int) -> str:
    return f"""# Encodings

Written by `python tests/bench/encodings_bench.py docs/encodings.md {rounds}` on {os.cpu_count()} cores,
{sys.platform}, with pyarrow {pa.__version__} and DuckDB {duckdb.__version__}: {COLUMNS} columns of {ROWS:,}
rows, medians over processes ({rounds} of each); processor time in milliseconds, sizes in megabytes.
*First* is the first read in a process, *query* a filter on one column and a count over another. **Bold** is
what the store chooses.
"""


def report(numbers: dict[tuple[str, str, str], Numbers], rounds: int) -> str:
    lines = [head(rounds)]
    for kind in KINDS:
        lines += [f"## {kind.capitalize()}", "", "| encoding | codec | write | MB | first | read | query |"]
        lines += ["|---|---|---:|---:|---:|---:|---:|"]
        ours = chosen(kind)
        for (of, name, codec), figures in numbers.items():
            if of == kind:
                cells = [
                    name,
                    codec,
                    *(f"{figures[key]:.1f}" for key in ("write", "size", "first", "read", "query")),
                ]
                bold = [f"**{cell}**" for cell in cells] if (name, codec) == ours else cells
                lines.append(f"| {' | '.join(bold)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--sample"]:
        print(json.dumps(sample(*sys.argv[2:5])))
    elif len(sys.argv) in (2, 3):
        sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))
        rounds = int(sys.argv[2]) if len(sys.argv) == 3 else ROUNDS
        Path(sys.argv[1]).write_text(report(measured(rounds), rounds))
    else:
        sys.exit(__doc__)
