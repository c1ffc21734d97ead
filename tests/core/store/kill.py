"""Kills a process at random moments while it writes to a store, and checks the store that remains.

    python -m tests.core.store.kill --times 200 [--seed 1]

A child makes one random change after another. Before each change it sends the expected contents of all
tables, computed on plain arrays, and after it a message that the change is done. The child is killed in
between. The store must then be as the last finished change left it, or as the change in progress would have
left it, undamaged and with no stray files. The next child continues from there.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lamella import Store
from lamella.core.arrow.arrays import to_numpy
from lamella.core.store import maintenance as tidying
from lamella.core.store.importing import import_file

ROUNDS_A_STORE = 25
MOST_CHANGES = 25
MOST_SECONDS_AFTER = 0.03
SECONDS_TO_ANSWER = 120
START = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
ENTRIES = 8
"""Small commits are merged this often, so that merges are killed, too."""
MIDDLING = (9_000, 9_500)
START_ROWS = 22_000


@dataclass(frozen=True)
class Model:
    """A table: its version, its ids, and its columns by name."""

    version: int
    ids: np.ndarray
    columns: dict[str, np.ndarray]

    def next(self, ids: np.ndarray | None = None, **columns: np.ndarray) -> Model:
        ids_now = self.ids if ids is None else ids
        return Model(self.version + 1, ids_now, {**self.columns, **columns})

    def only(self, mask: np.ndarray) -> Model:
        columns = {name: values[mask] for name, values in self.columns.items()}
        return Model(self.version + 1, self.ids[mask], columns)

    def set(self, name: str, rows: np.ndarray, value: int) -> Model:
        values = self.columns[name].copy()
        values[rows] = value
        return self.next(**{name: values})


Tables = dict[str, Model]


class Step(NamedTuple):
    """The expected tables, and the work that produces them."""

    tables: Tables
    work: Callable[[], object]
    undoable: bool = False


def read_tables(store: Store) -> Tables:
    tables: Tables = {}
    for name in store.tables:
        table = store[name]
        rows = table.read()
        columns = {c: to_numpy(rows.column(c)) for c in rows.column_names}
        tables[name] = Model(table.version, columns.pop("_id"), columns)
    return tables


def fingerprint(tables: Tables) -> str:
    digest = hashlib.sha256()
    for name, table in sorted(tables.items()):
        digest.update(f"{name} {table.version} {list(table.columns)}".encode())
        for values in (table.ids, *table.columns.values()):
            digest.update(np.ascontiguousarray(values, np.int64).tobytes())
    return digest.hexdigest()


@dataclass
class Writer:
    """Random changes to a store, with plain arrays as the model."""

    store: Store
    chance: random.Random
    tables: Tables = field(init=False)
    before: Tables | None = None

    def __post_init__(self) -> None:
        self.tables = read_tables(self.store)

    def steps(self) -> Iterator[Step]:
        """Yield steps; each must be carried out before the next is requested."""
        while True:
            if "a" not in self.tables or "b" not in self.tables:
                step = self.create("a" if "a" not in self.tables else "b")
            else:
                step = self.chance.choices(list(STEPS), list(STEPS.values()))[0](self)
            if step is not None:
                yield step
                self.before, self.tables = self.tables if step.undoable else None, step.tables

    def create(self, name: str) -> Step:
        values = np.arange(START_ROWS, dtype=np.int64) * 7919 % 99_991
        model = Model(1, np.arange(START_ROWS), {"x": values, "y": values + 1})
        data = pa.table({"x": values, "y": values + 1})
        return Step({**self.tables, name: model}, lambda: self.store.create_table(name, data))

    def some(self, at_least: int, at_most: int) -> tuple[str, Model, np.ndarray]:
        """A random table, its model, and ascending row numbers in it."""
        name = self.chance.choice(["a", "b"])
        model = self.tables[name]
        count = min(self.chance.randint(at_least, at_most), len(model.ids))
        return name, model, np.array(sorted(self.chance.sample(range(len(model.ids)), count)), np.int64)

    def update(self, at_least: int, at_most: int) -> Step | None:
        name, model, rows = self.some(at_least, at_most)
        if not len(rows):
            return None
        column, value = self.chance.choice(list(model.columns)), self.chance.randrange(1 << 40)
        data = pa.table({"_id": model.ids[rows], column: np.full(len(rows), value)})
        return Step(
            {**self.tables, name: model.set(column, rows, value)},
            lambda: self.store[name].update(data),
            undoable=True,
        )

    def insert(self, at_least: int, at_most: int) -> Step:
        """Ids are found out by inserting: so many, and larger than all before."""
        name, model, _ = self.some(0, 0)
        count, value = self.chance.randint(at_least, at_most), self.chance.randrange(1 << 40)
        data = pa.table({column: np.full(count, value) for column in model.columns})
        first = self.store._catalog.table(self.store[name]._reader.table_id).next_id
        ids = np.append(model.ids, np.arange(first, first + count))
        grown = {c: np.append(values, np.full(count, value)) for c, values in model.columns.items()}
        return Step(
            {**self.tables, name: model.next(ids, **grown)},
            lambda: self.store[name].insert(data),
            undoable=True,
        )

    def delete(self, at_least: int, at_most: int) -> Step | None:
        name, model, rows = self.some(at_least, at_most)
        if len(model.ids) < 2 * len(rows) or not len(rows):
            return None
        positions, gone = np.delete(np.arange(len(model.ids)), rows), model.ids[rows].tolist()
        return Step(
            {**self.tables, name: model.only(positions)},
            lambda: self.store[name].delete(ids=gone),
            undoable=True,
        )

    def add_column(self) -> Step:
        name, model, _ = self.some(0, 0)
        column, value = f"c{model.version}", self.chance.randrange(100)
        after = model.next(**{column: np.full(len(model.ids), value, np.int64)})
        return Step(
            {**self.tables, name: after},
            lambda: self.store[name].columns.add(column, "int64", value),
            undoable=True,
        )

    def drop_column(self) -> Step | None:
        name, model, _ = self.some(0, 0)
        if len(model.columns) < 3:
            return None
        column = self.chance.choice(list(model.columns))
        left = {c: values for c, values in model.columns.items() if c != column}
        after = replace(model.next(), columns=left)
        return Step(
            {**self.tables, name: after}, lambda: self.store[name].columns.drop(column), undoable=True
        )

    def rename_column(self) -> Step:
        name, model, _ = self.some(0, 0)
        old, new = self.chance.choice(list(model.columns)), f"r{model.version}"
        columns = {new if c == old else c: values for c, values in model.columns.items()}
        after = replace(model.next(), columns=columns)
        return Step(
            {**self.tables, name: after}, lambda: self.store[name].columns.rename(old, new), undoable=True
        )

    def undo(self) -> Step | None:
        """Undo the change just made, if it was to a single table."""
        before = self.before or {}
        changed = [name for name, model in before.items() if model.version != self.tables[name].version]
        if len(changed) != 1:
            return None
        name, now = changed[0], self.tables[changed[0]]
        after = replace(before[name], version=now.version + 1)
        return Step({**self.tables, name: after}, self.store[name].history.undo)

    def together(self) -> Step:
        """Change both tables in one transaction."""
        value = self.chance.randrange(1 << 40)
        rows = np.arange(
            min(len(self.tables["a"].ids), len(self.tables["b"].ids), self.chance.choice([3, 15_000]))
        )
        columns = {name: next(iter(model.columns)) for name, model in self.tables.items()}
        after = {name: self.tables[name].set(columns[name], rows, value) for name in ("a", "b")}

        def work() -> None:
            with self.store.transaction():
                for name in ("a", "b"):
                    ids, cells = self.tables[name].ids[rows], np.full(len(rows), value)
                    self.store[name].update(pa.table({"_id": ids, columns[name]: cells}))

        return Step({**self.tables, **after}, work)

    def drop(self) -> Step:
        name = self.chance.choice(["a", "b"])
        left = {n: model for n, model in self.tables.items() if n != name}
        return Step(left, lambda: self.store.drop_table(name))

    def import_rows(self) -> Step:
        """Import a file as table `c`, or drop the one imported before."""
        if "c" in self.tables:
            left = {n: model for n, model in self.tables.items() if n != "c"}
            return Step(left, lambda: self.store.drop_table("c"))
        values = np.arange(self.chance.choice([10, 30_000]), dtype=np.int64)
        source = self.store.path.with_name("c.csv")
        source.write_text("\n".join(["x", *map(str, values.tolist())]) + "\n")
        model = Model(1, values, {"x": values})
        return Step({**self.tables, "c": model}, lambda: import_file(source, self.store))

    def flush(self) -> Step:
        name, _, _ = self.some(0, 0)
        return Step(self.tables, self.store[name].maintenance.flush)

    def compact(self) -> Step:
        name, _, _ = self.some(0, 0)
        rows = self.chance.choice([None, 5_000])
        return Step(self.tables, lambda: self.store[name].maintenance.compact(rows, rows))

    def expire(self) -> Step:
        name, _, _ = self.some(0, 0)

        def work() -> None:
            self.store[name].maintenance.expire(keep_versions=self.chance.randint(1, 9))
            self.store.maintenance.vacuum()

        return Step(self.tables, work)


STEPS: dict[Callable[[Writer], Step | None], int] = {
    lambda w: w.update(1, 5): 10,
    lambda w: w.update(*MIDDLING): 4,
    lambda w: w.update(10_500, 12_000): 4,
    lambda w: w.update(START_ROWS, START_ROWS): 3,
    lambda w: w.insert(1, 5): 6,
    lambda w: w.insert(1_500, 6_000): 3,
    lambda w: w.delete(1, 5): 5,
    lambda w: w.delete(5_000, 9_000): 1,
    Writer.add_column: 2,
    Writer.drop_column: 2,
    Writer.rename_column: 2,
    Writer.undo: 6,
    Writer.together: 5,
    Writer.drop: 1,
    Writer.import_rows: 3,
    Writer.flush: 4,
    Writer.compact: 4,
    Writer.expire: 3,
}


def write(path: Path, seed: int, connection: Connection) -> None:
    """Make changes in the child until it is killed."""
    tidying.ENTRIES = ENTRIES
    with Store.open(path) as store:
        writer = Writer(store, random.Random(seed))
        connection.send(fingerprint(writer.tables))
        for step in writer.steps():
            connection.send(fingerprint(step.tables))
            step.work()
            connection.send("done")


@dataclass
class Told:
    """The fingerprints that the child sent: after the last finished change, and after the one in progress."""

    done: str = ""
    begun: str = ""
    changes: int = 0

    def hear(self, message: str) -> None:
        if message != "done":
            self.begun = message
            self.done = self.done or message
        else:
            self.done = self.begun
            self.changes += 1


def kill_once(path: Path, seed: int) -> Told:
    chance, report = random.Random(seed), Told()
    context = multiprocessing.get_context(START)
    hears, tells = context.Pipe(duplex=False)
    child = context.Process(target=write, args=(path, seed, tells))
    child.start()
    tells.close()
    enough = chance.randint(0, MOST_CHANGES)
    while report.changes < enough or not report.begun:
        if not hears.poll(SECONDS_TO_ANSWER):
            raise AssertionError("the writer hangs")
        try:
            report.hear(hears.recv())
        except EOFError as error:
            raise AssertionError("the writer failed by itself") from error
    time.sleep(chance.uniform(0, MOST_SECONDS_AFTER))  # chooses the moment of the kill
    child.kill()
    child.join()
    try:
        while True:
            report.hear(hears.recv())
    except EOFError:
        return report


def check(path: Path, report: Told) -> str:
    """Describe what is wrong with the store; empty if nothing is."""
    with Store.open(path) as store:
        stray = [str(p) for folder in ("tmp", "readers") for p in (path / folder).glob("*")]
        actual = fingerprint(read_tables(store))
        if actual not in (report.done, report.begun):
            return f"the tables are neither as {report.changes} changes left them, nor as the next one does"
        for name in store.tables:
            oldest = store[name].history.commits()[0].version
            store[name].read(as_of=oldest)
        known = store._catalog.known_paths()
        data = path / "data"
        stray += [
            str(p) for p in data.rglob("*") if p.is_file() and p.relative_to(data).as_posix() not in known
        ]
        return "; ".join([*store.maintenance.verify().problems, *(f"left over: {p}" for p in stray)])


def main(times: int, seed: int) -> int:
    kills, changes = 0, 0
    while kills < times:
        folder = Path(tempfile.mkdtemp(prefix="lamella-kill-"))
        for _ in range(min(ROUNDS_A_STORE, times - kills)):
            report = kill_once(folder / "s", seed + kills)
            kills, changes = kills + 1, changes + report.changes
            problem = check(folder / "s", report)
            if problem:
                print(f"kill {kills}, seed {seed + kills - 1}: {problem}\nthe store is kept: {folder}")
                return 1
        shutil.rmtree(folder)
    print(f"{kills} kills, {changes} changes done before them: all there and nothing else")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    raise SystemExit(main(arguments.times, arguments.seed))
