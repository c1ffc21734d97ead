"""Random damage to files, and ordinary reads of their contents."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lamella import Store, agg
from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError
from lamella.core.scan import checksums as page_checksums

BLOCK = 4096
Answers = dict[str, Any]
REFUSED = "refused"


def flip_bit(path: Path, place: int | None = None) -> None:
    """Flip the last bit of a byte, by default of one in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if place is None else place] ^= 1
    path.write_bytes(content)


def damage(path: Path, chance: random.Random, spared: Collection[int] = ()) -> str:
    """Flip bits, write zeros over a block, or cut the file off; return a description. Bytes at the positions
    `spared` are unchanged."""
    content = bytearray(path.read_bytes())
    before = bytes(content)
    kind = chance.choice(["flip", "flip", "flips", "zeros", "cut"])
    at = _place(len(content), chance)
    if kind == "flip":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "flips":
        for _ in range(chance.randrange(2, 20)):
            content[_place(len(content), chance)] = chance.randrange(256)
    elif kind == "zeros":
        start = at // BLOCK * BLOCK if chance.random() < 0.5 else at
        stop = min(len(content), start + chance.choice([16, 512, BLOCK]))
        content[start:stop] = bytes(stop - start)
    else:
        del content[at:]
    for place in spared:
        content[place : place + 1] = before[place : place + 1] if place < len(content) else b""
    path.write_bytes(content)
    return f"{path.name}: {kind} at {at} of {len(before)}" + (" (no change)" if content == before else "")


def page_headers(path: Path) -> set[int]:
    """The places of a Parquet file's page headers: of large files they are verified only where the engine
    reads the file, for no page checksum is of them."""
    places = set[int]()
    with path.open("rb") as file:
        for first, stop in page_checksums.chunk_spans(pq.read_metadata(path)):
            at = first
            while at < stop and (header := page_checksums.header_at(file, at, stop)) is not None:
                places.update(range(at, at + header.length))
                at += header.length + header.size
    return places


def _place(size: int, chance: random.Random) -> int:
    """Beginnings and ends have the data that readers rely on, and are damaged more often."""
    near = min(size, 600)
    where = chance.choice(["anywhere", "anywhere", "begin", "end"])
    if where == "begin":
        return chance.randrange(near)
    return chance.randrange(size - near, size) if where == "end" else chance.randrange(size)


def answers_of_table(folder: Path, name: str) -> Answers:
    """The answers of a table of a store; `REFUSED` for each query that raises an error of ours."""
    try:
        with Store.open(folder) as store:
            table = store[name]
            answers = {f"get {i}": _asked(partial(table.get, i)) for i in (0, 1, 7, 40, 1_200)}
            answers |= {
                "version 1": _asked(lambda: table.as_of(1).read().to_pylist()),
                "search": _asked(lambda: sorted(table.search("w7", columns=["_id"])["_id"].to_pylist())),
                "sql": _asked(lambda: store.sql("select sum(n), max(x), count(s) from t").to_pylist()),
            }
            return answers | answers_of(table)
    except LamellaError:
        return {"open": REFUSED}


def answers_of(dataset: Dataset) -> Answers:
    """The same for any dataset with the columns n, x and s."""
    groups = dataset.where("n < 900").group_by("s").agg(c=agg.count(), t=agg.sum("n"))  # type: ignore[attr-defined]
    questions: dict[str, Callable[[], Any]] = {
        "count": lambda: dataset.count("n > 100 and n < 700"),
        "groups": lambda: groups.sort("s").read().to_pylist(),
        "groups again": lambda: groups.sort("s").read().to_pylist(),
        "where": lambda: dataset.read(where="n = 77 or x < 0.01", sort="n").to_pylist(),
        "sorted": lambda: dataset.read(["x"], sort="-x", limit=20).to_pylist(),
        "rows": lambda: dataset.read().to_pylist(),
        "rows again": lambda: dataset.read().to_pylist(),
        "texts": lambda: dataset.read(["s"], where="s = 'w7 seven'").num_rows,
        "offset": lambda: dataset.read(offset=500, limit=7).to_pylist(),
    }
    return {question: _asked(ask) for question, ask in questions.items()}


def _asked(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except LamellaError:
        return REFUSED
