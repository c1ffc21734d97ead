"""SQLite over 1,000,000 rows in Parquet files, as virtual tables, beside a table of its own with no index.

The library, the statements and the rows are the same: two files of 5 row groups each, in order of `trip` and
`at`. The note says how many row groups a statement read and how many it could skip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.arrays import from_numpy
from tests.bench.asking.model import LAMELLA, Question, Questions, Suite

if TYPE_CHECKING:
    import apsw

FILES, GROUPS = 2, 5
ZONES = 200
QUESTIONS = {
    "scan: sum of a column": "SELECT sum(amount) FROM trips",
    "group by a text": "SELECT zone, count(*), avg(amount) FROM trips GROUP BY zone",
    "count": "SELECT count(*) FROM trips",
    "filter, in order": "SELECT count(*), sum(amount) FROM trips WHERE trip BETWEEN {half} AND {half} + 999",
    "filter, by hour": "SELECT count(*) FROM trips WHERE at >= '2024-01-02' AND at < '2024-01-02 01'",
    "filter, not in order": "SELECT count(*), sum(amount) FROM trips WHERE passengers = 7 AND amount > 99.5",
    "LIKE 'zone 01%'": "SELECT count(*) FROM trips WHERE zone LIKE 'zone 01%'",
    "20 rows, all columns": "SELECT * FROM trips WHERE rowid BETWEEN {half} AND {half} + 19",
    "join 200 zones, group": "SELECT borough, count(*) FROM zones JOIN trips USING (zone) WHERE amount > 99"
    " GROUP BY borough",
}


def make(folder: Path, rows: int) -> None:
    import apsw

    from core.bridge import connect

    data, in_file = _trips(rows), -(-rows // FILES)
    (folder / "trips").mkdir()
    for number in range(FILES):
        part = data.slice(number * in_file, in_file)
        pq.write_table(part, folder / "trips" / f"{number}.parquet", row_group_size=-(-in_file // GROUPS))
    given = connect(folder / "trips")
    given.execute("ATTACH ? AS own", [str(folder / "own.sqlite")])
    declared = ", ".join(f"{name} {kind}" for _, name, kind, *_ in given.execute("PRAGMA table_info(trips)"))
    given.execute(f"CREATE TABLE own.trips ({declared}); INSERT INTO own.trips SELECT * FROM temp.trips")
    given.close()
    own = apsw.Connection(str(folder / "own.sqlite"))
    _add_zones(own)
    own.close()


def _add_zones(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE zones (zone TEXT, borough TEXT)")
    zones = ((f"zone {number:03}", f"borough {number % 6}") for number in range(ZONES))
    connection.executemany("INSERT INTO zones VALUES (?, ?)", zones)


def _trips(rows: int) -> pa.Table:
    random = np.random.default_rng(0)
    moments = 1_704_067_200_000_000 + np.arange(rows) * (30 * 86_400_000_000 // rows)
    names = pa.array([f"zone {number:03}" for number in range(ZONES)])
    return pa.table(
        {
            "trip": from_numpy(np.arange(rows)),
            "at": from_numpy(moments).cast(pa.timestamp("us")),
            "zone": names.take(from_numpy(random.integers(0, ZONES, rows))),
            "passengers": from_numpy(random.integers(0, 9, rows)),
            "amount": from_numpy(np.round(random.random(rows) * 100, 2)),
            "tip": from_numpy(np.round(random.random(rows) * 10, 2)),
        }
    )


def lamella(folder: Path) -> Questions:
    from core.bridge import connect

    connection = connect(folder / "trips")
    _add_zones(connection)
    return {
        name: Question(ask, note=partial(_row_groups, connection, ask)) for name, ask in _asked(connection)
    }


def sqlite(folder: Path) -> Questions:
    import apsw

    return dict(_asked(apsw.Connection(str(folder / "own.sqlite"))))


def _asked(connection: apsw.Connection) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    count: Any = connection.execute("SELECT count(*) FROM trips").fetchall()[0][0]
    for name, text in QUESTIONS.items():
        yield name, partial(_ask, connection, text.format(half=count // 2))


def _ask(connection: apsw.Connection, statement: str) -> list[Any]:
    return connection.execute(statement).fetchall()


def _row_groups(connection: apsw.Connection, ask: Callable[[], object]) -> str:
    """Those of one call more."""
    from core.bridge import row_groups

    before = row_groups(connection)
    ask()
    after = row_groups(connection)
    return f"row groups: {after.read - before.read} read, {after.skipped - before.skipped} skipped"


BRIDGE = Suite("bridge", __doc__ or "", 1_000_000, make, {LAMELLA: lamella, "SQLite": sqlite})
