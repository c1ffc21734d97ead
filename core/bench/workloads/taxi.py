"""Taxi trips: 51 columns, imported from gzipped CSV files, and the four published queries over them."""

from __future__ import annotations

import gzip
import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, from_values
from lamella.core.bench.engine.measure import Sample, measure
from lamella.core.bench.systems.base import Question, QuestionSystem
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import QuestionCycle, digest
from lamella.core.bench.workloads.table_rows import SEED

_COLD_FIRST = " The first time since the database was opened is cold, later ones are warm."

TAXI = Workload(
    id="taxi",
    title="Taxi trips",
    about=(
        "Trips with 51 columns from gzipped CSV files (56 files from 14 million rows on), and four queries "
        "that count, average and group all trips. A row takes about 130 bytes of gzipped CSV, which is "
        "generated once for all systems, and up to 390 in a system's own form."
    ),
    steps=("import", "Q1", "Q2", "Q3", "Q4"),
    operations=(
        Operation(
            "import",
            "Import",
            "imports {rows} from gzipped CSV",
            "From gzipped CSV files to the system's own form, as its documentation recommends. Generating "
            "the files is not timed.",
            resizes=True,
        ),
        Operation(
            "Q1",
            "Q1: count by cab",
            "counts {rows} by cab",
            "The number of trips by kind of cab." + _COLD_FIRST,
        ),
        Operation(
            "Q2",
            "Q2: average fare",
            "averages the fares of {rows}",
            "The average cost of trips, by number of passengers." + _COLD_FIRST,
        ),
        Operation(
            "Q3",
            "Q3: count by year",
            "counts {rows} by passengers and year",
            "The number of trips, by number of passengers and year." + _COLD_FIRST,
        ),
        Operation(
            "Q4",
            "Q4: count by distance",
            "counts {rows} by passengers, year and distance",
            "The number of trips, by number of passengers, year and whole miles, sorted by year and count."
            + _COLD_FIRST,
        ),
    ),
    default_rows=(100_000, 1_000_000),
    default_repeats=3,
    family="taxi",
    asks_only=True,
    small_rows=(20_000,),
    published_rows=(1_100_000_000,),
)

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_TIME = pa.timestamp("ms")


def _tract(side: str) -> dict[str, pa.DataType]:
    """Return the columns of the census tract in which a trip begins or ends."""
    texts = ("boroname", "ct2010", "boroct2010", "cdeligibil", "ntacode", "ntaname", "puma")
    return {
        f"{side}_nyct2010_gid": _WHOLE,
        f"{side}_ctlabel": _TEXT,
        f"{side}_borocode": _WHOLE,
        **{f"{side}_{name}": _TEXT for name in texts},
    }


TRIP_TYPES: dict[str, pa.DataType] = {
    "trip_id": _WHOLE,
    "vendor_id": _TEXT,
    "pickup_datetime": _TIME,
    "dropoff_datetime": _TIME,
    "store_and_fwd_flag": _TEXT,
    "rate_code_id": _WHOLE,
    "pickup_longitude": _REAL,
    "pickup_latitude": _REAL,
    "dropoff_longitude": _REAL,
    "dropoff_latitude": _REAL,
    "passenger_count": _WHOLE,
    "trip_distance": _REAL,
    "fare_amount": _REAL,
    "extra": _REAL,
    "mta_tax": _REAL,
    "tip_amount": _REAL,
    "tolls_amount": _REAL,
    "ehail_fee": _REAL,
    "improvement_surcharge": _REAL,
    "total_amount": _REAL,
    "payment_type": _TEXT,
    "trip_type": _WHOLE,
    "pickup": _TEXT,
    "dropoff": _TEXT,
    "cab_type": _TEXT,
    "precipitation": _WHOLE,
    "snow_depth": _WHOLE,
    "snowfall": _WHOLE,
    "max_temperature": _WHOLE,
    "min_temperature": _WHOLE,
    "average_wind_speed": _WHOLE,
    **_tract("pickup"),
    **_tract("dropoff"),
}

TRIP_SCHEMA = pa.schema(list(TRIP_TYPES.items()))
ROWS_A_BATCH = 100_000
FIRST_TRIP = np.datetime64("2009-01-01", "ms").astype(np.int64)
DAYS = 7 * 365
BOROUGHS = ("Manhattan", "Brooklyn", "Queens", "Bronx", "Staten Island")
TRACTS = 2_166


def trips(rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the trips in the order of their starts, over seven years."""
    for first in range(0, rows, ROWS_A_BATCH):
        yield _Batch(first, min(ROWS_A_BATCH, rows - first), rows).record_batch()


class _Batch:
    """The trips `first` … `first + count - 1` of `total`."""

    def __init__(self, first: int, count: int, total: int) -> None:
        self._first, self._count, self._total = first, count, total
        self._random = np.random.default_rng([SEED, first])

    def record_batch(self) -> pa.RecordBatch:
        columns = {**self._trip(), **self._money(), **self._weather()}
        for side in ("pickup", "dropoff"):
            columns |= self._place(side)
        return pa.RecordBatch.from_arrays([columns[name] for name in TRIP_SCHEMA.names], schema=TRIP_SCHEMA)

    def _trip(self) -> dict[str, pa.Array]:
        numbers = np.arange(self._first, self._first + self._count)
        day = numbers * DAYS // self._total
        began = FIRST_TRIP + day * 86_400_000 + np.sort(self._whole(0, 86_400)) * 1_000
        self._day = day
        self._distance = np.round(self._random.gamma(1.6, 1.8, self._count), 2)
        took = (180 + self._distance * self._whole(120, 300)).astype(np.int64) * 1_000
        return {
            "trip_id": from_numpy(numbers),
            "vendor_id": self._text(("CMT", "VTS", "DDS"), (0.48, 0.48, 0.04)),
            "pickup_datetime": from_numpy(began, pa.timestamp("ms")),
            "dropoff_datetime": from_numpy(began + took, pa.timestamp("ms")),
            "store_and_fwd_flag": self._text(("N", "Y", None), (0.55, 0.02, 0.43)),
            "rate_code_id": from_numpy(self._choice((1, 2, 3, 4, 5), (0.97, 0.02, 0.004, 0.003, 0.003))),
            "passenger_count": from_numpy(
                self._choice((0, 1, 2, 3, 4, 5, 6), (0.003, 0.697, 0.14, 0.04, 0.02, 0.06, 0.04))
            ),
            "trip_distance": from_numpy(self._distance),
            "trip_type": from_numpy(self._choice((1, 2), (0.98, 0.02)), valid=self._known_mask(0.1)),
            "cab_type": self._text(("yellow", "green", "uber"), (0.9, 0.08, 0.02)),
        }

    def _money(self) -> dict[str, pa.Array]:
        fare = np.round(2.5 + 2.5 * self._distance + 0.5 * self._whole(0, 12), 1)
        tip = np.round(np.where(self._random.random(self._count) < 0.5, fare * 0.2, 0.0), 2)
        extra = self._choice((0.0, 0.5, 1.0), (0.45, 0.35, 0.2))
        tolls = self._choice((0.0, 5.33, 2.44), (0.94, 0.05, 0.01))
        return {
            "fare_amount": from_numpy(fare),
            "extra": from_numpy(extra),
            "mta_tax": from_numpy(np.full(self._count, 0.5)),
            "tip_amount": from_numpy(tip),
            "tolls_amount": from_numpy(tolls),
            "ehail_fee": pa.nulls(self._count, pa.float64()),
            "improvement_surcharge": from_numpy(np.full(self._count, 0.3), valid=self._known_mask(0.15)),
            "total_amount": from_numpy(np.round(fare + tip + extra + tolls + 0.5, 2)),
            "payment_type": self._text(("CSH", "CRD", "NOC", "DIS"), (0.5, 0.49, 0.006, 0.004)),
        }

    def _weather(self) -> dict[str, pa.Array]:
        """Return the weather, which is the same for all trips of a day."""
        season = np.cos(2 * np.pi * (self._day % 365 - 200) / 365)
        spread = self._day * 7_919 % 11
        warm = (600 + 280 * season).astype(np.int64) + spread
        return {
            "precipitation": from_numpy(np.maximum(spread - 7, 0) * 13),
            "snow_depth": from_numpy(np.maximum((-300 * season).astype(np.int64), 0)),
            "snowfall": from_numpy(np.where(season < -0.8, spread, 0)),
            "max_temperature": from_numpy(warm),
            "min_temperature": from_numpy(warm - 100 - spread),
            "average_wind_speed": from_numpy(30 + spread * 5),
        }

    def _place(self, side: str) -> dict[str, pa.Array]:
        tract = self._whole(0, TRACTS)
        borough = tract * len(BOROUGHS) // TRACTS
        longitude = np.round(-74.05 + tract / TRACTS * 0.3 + self._random.random(self._count) / 100, 6)
        latitude = np.round(40.6 + tract % 97 / 97 * 0.3 + self._random.random(self._count) / 100, 6)
        texts = {
            "ctlabel": [f"{n / 100:.2f}" for n in range(TRACTS)],
            "ct2010": [f"{100 * n:06d}" for n in range(TRACTS)],
            "boroct2010": [f"{1 + n * 5 // TRACTS}{100 * n:06d}" for n in range(TRACTS)],
            "cdeligibil": ["IE"[n % 2] for n in range(TRACTS)],
            "ntacode": [f"N{n // 11:03d}" for n in range(TRACTS)],
            "ntaname": [f"Neighbourhood {n // 11}" for n in range(TRACTS)],
            "puma": [str(3_700 + n // 40) for n in range(TRACTS)],
        }
        return {
            side: self._points(longitude, latitude),
            f"{side}_longitude": from_numpy(longitude),
            f"{side}_latitude": from_numpy(latitude),
            f"{side}_nyct2010_gid": from_numpy(tract),
            f"{side}_borocode": from_numpy(borough + 1),
            f"{side}_boroname": _of(BOROUGHS, borough),
            **{f"{side}_{name}": _of(values, tract) for name, values in texts.items()},
        }

    def _points(self, longitude: np.ndarray, latitude: np.ndarray) -> pa.Array:
        """Write points as a spatial database does: the bytes of the coordinates in hexadecimal."""
        bytes_ = np.stack([longitude, latitude], axis=1).astype("<f8").tobytes().hex().upper()
        return from_values([f"0101{bytes_[at : at + 32]}" for at in range(0, len(bytes_), 32)], pa.string())

    def _whole(self, low: int, high: int) -> np.ndarray:
        values: np.ndarray = self._random.integers(low, high, self._count)
        return values

    def _choice(self, values: tuple[float, ...], shares: tuple[float, ...]) -> np.ndarray:
        picks: np.ndarray = np.array(values)[self._places(shares)]
        return picks

    def _text(self, values: tuple[str | None, ...], shares: tuple[float, ...]) -> pa.Array:
        return _of(values, self._places(shares))

    def _places(self, shares: tuple[float, ...]) -> np.ndarray:
        bounds = np.cumsum(shares)
        places: np.ndarray = np.searchsorted(
            bounds, self._random.random(self._count) * bounds[-1], side="right"
        )
        return places

    def _known_mask(self, share: float) -> np.ndarray:
        is_known: np.ndarray = self._random.random(self._count) < share
        return is_known


def _of(values: tuple[str | None, ...] | list[str], places: np.ndarray) -> pa.Array:
    return from_values(values, pa.string()).take(from_numpy(places))


ROWS_A_FILE = 250_000
FEWEST_FILES, MOST_FILES = 2, 56

_FILE_SCHEMA = pa.schema(
    [f.with_type(pa.timestamp("s")) if f.type == pa.timestamp("ms") else f for f in TRIP_SCHEMA]
)


def files_of(folder: Path, rows: int) -> list[Path]:
    """Return the files that `make_files` wrote, in the order of their trips."""
    return sorted(_folder_of_files(folder, rows).iterdir())


def make_files(folder: Path, rows: int) -> None:
    """Generate the CSV files unless they exist. They appear all at once, and memory does not grow with the
    size."""
    place = _folder_of_files(folder, rows)
    if place.exists():
        return
    draft = place.with_suffix(".part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    batches = trips(rows)
    batch = next(batches)
    for number, count in enumerate(rows_of_files(rows)):
        with _CSVWriter(draft / f"trips_{number:02}.csv.gz") as writer:
            missing = count
            while missing:
                batch = batch if batch.num_rows else next(batches)
                part = batch.slice(0, missing)
                writer.write(part)
                batch, missing = batch.slice(part.num_rows), missing - part.num_rows
    draft.rename(place)


def _folder_of_files(folder: Path, rows: int) -> Path:
    return folder / f"taxi-csv-{rows}"


def rows_of_files(rows: int) -> Iterator[int]:
    """Yield the number of rows of each file; they differ by at most one."""
    files = min(rows, MOST_FILES, max(FEWEST_FILES, -(-rows // ROWS_A_FILE)))
    for number in range(files):
        yield rows * (number + 1) // files - rows * number // files


class _CSVWriter:
    def __init__(self, path: Path) -> None:
        from pyarrow import csv

        self._file = gzip.open(path, "wb", compresslevel=1)  # noqa: SIM115 -- closed in __exit__
        unquoted = csv.WriteOptions(quoting_style="none")
        self._csv = csv.CSVWriter(self._file, _FILE_SCHEMA, write_options=unquoted)

    def write(self, batch: pa.RecordBatch) -> None:
        self._csv.write_table(pa.Table.from_batches([batch]).cast(_FILE_SCHEMA))

    def __enter__(self) -> _CSVWriter:
        return self

    def __exit__(self, *problem: object) -> None:
        self._csv.close()
        self._file.close()


QUERIES = ("Q1", "Q2", "Q3", "Q4")

DUCKDB_QUERIES = {
    "Q1": "SELECT cab_type, count(*) FROM trips GROUP BY cab_type",
    "Q2": "SELECT passenger_count, avg(total_amount) FROM trips GROUP BY passenger_count",
    "Q3": "SELECT passenger_count, year(pickup_datetime), count(*) FROM trips GROUP BY 1, 2",
    "Q4": "SELECT passenger_count, year(pickup_datetime) AS pickup_year, round(trip_distance) AS distance,"
    " count(*) AS trips FROM trips GROUP BY 1, 2, 3 ORDER BY pickup_year, trips DESC",
}
"""The queries in DuckDB's dialect, which Lamella uses, too."""

SQLITE_QUERIES = {
    "Q1": "SELECT cab_type, count(*) FROM trips GROUP BY cab_type",
    "Q2": "SELECT passenger_count, avg(total_amount) FROM trips GROUP BY passenger_count",
    "Q3": "SELECT passenger_count, strftime('%Y', pickup_datetime), count(*) FROM trips GROUP BY 1, 2",
    "Q4": "SELECT passenger_count, strftime('%Y', pickup_datetime) AS pickup_year,"
    " round(trip_distance) AS distance, count(*) AS trips FROM trips"
    " GROUP BY 1, 2, 3 ORDER BY pickup_year, trips DESC",
}
"""The queries as published for SQLite, where `pickup_datetime` is text."""

_YEAR = "strftime('%Y', datetime(pickup_datetime / 1000, 'unixepoch'))"

SQLITE_MILLISECONDS = {
    name: text.replace("strftime('%Y', pickup_datetime)", _YEAR) for name, text in SQLITE_QUERIES.items()
}
"""The queries for SQLite where `pickup_datetime` is milliseconds since 1970, as in the published Parquet
files."""

_PARTS = {
    "Q1": "SELECT cab_type, count(*) AS cnt FROM {table} GROUP BY cab_type",
    "Q2": "SELECT passenger_count, total_amount FROM {table}",
    "Q3": f"SELECT passenger_count, {_YEAR} AS pickup_year, count(*) AS num_records FROM {{table}}"
    " GROUP BY passenger_count, pickup_year",
    "Q4": f"SELECT passenger_count, {_YEAR} AS pickup_year, round(trip_distance) AS distance,"
    " count(*) AS num_records FROM {table} GROUP BY passenger_count, pickup_year, distance",
}

SQLITE_VIEWS = {
    "Q1": "SELECT cab_type, sum(cnt) FROM query_Q1 GROUP BY cab_type",
    "Q2": "SELECT passenger_count, avg(total_amount) FROM query_Q2 GROUP BY passenger_count",
    "Q3": "SELECT passenger_count, pickup_year, sum(num_records) FROM query_Q3"
    " GROUP BY passenger_count, pickup_year",
    "Q4": "SELECT passenger_count, pickup_year, distance, sum(num_records) AS the_count FROM query_Q4"
    " GROUP BY passenger_count, pickup_year, distance ORDER BY pickup_year, the_count DESC",
}
"""The queries over the views that `view_statement` creates."""


def view_statement(query: str, tables: list[str]) -> str:
    """Return the statement for a view that merges a table for each file, as the published page does."""
    parts = " UNION ALL ".join(_PARTS[query].format(table=table) for table in tables)
    return f"CREATE TEMP VIEW query_{query} AS {parts}"


SAMPLE_ROWS = 200
"""The number of trips that are read back; all if there are fewer."""

_NUDGE = 1e-11
_BASE = 10_000


class Group(NamedTuple):
    """The values by which the queries group trips."""

    cab: str
    passengers: int
    year: int
    distance: int


def right_answer(workload: Workload, operation: Operation, rows: int) -> str:
    return right_answers(rows)[operation.id]


def comparable_rows(query: str, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Convert a system's rows to the form that is compared."""
    return [_RULES[query](list(row)) for row in rows]


_RULES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "Q1": lambda row: row,
    "Q2": lambda row: [row[0], row[1] * (1 + _NUDGE)],
    "Q3": lambda row: [row[0], int(row[1]), row[2]],
    "Q4": lambda row: [row[0], int(row[1]), *row[2:]],
}


def sample_ids(rows: int) -> list[int]:
    """Return the ids of the trips that are read back after an import."""
    ids: list[int] = np.random.default_rng([SEED, rows]).choice(rows, min(rows, SAMPLE_ROWS), False).tolist()
    return ids


@cache
def right_answers(rows: int) -> dict[str, str]:
    """Return the right answers by operation, all computed in one pass over the trips."""
    import pyarrow.compute as pc

    counts, cents = Counter[Group](), Counter[Group]()
    ids, whole = pa.array(sample_ids(rows), pa.int64()), list[pa.RecordBatch]()
    for batch in trips(rows):
        whole.append(batch.filter(pc.is_in(batch["trip_id"], ids)))
        for group, count, sum_ in _groups(batch):
            counts[group] += count
            cents[group] += sum_
    trips_of, cents_of = _by(counts, "passengers"), _by(cents, "passengers")
    answers: dict[str, list[list[Any]]] = {
        "Q1": _rows(_by(counts, "cab")),
        "Q2": [[key[0], cents_of[key] / count / 100] for key, count in trips_of.items()],
        "Q3": _rows(_by(counts, "passengers", "year")),
        "Q4": _rows(_by(counts, "passengers", "year", "distance")),
    }
    digests = {query: digest(comparable_rows(query, answer)) for query, answer in answers.items()}
    return digests | {"import": digest(pa.Table.from_batches(whole))}


def _groups(batch: pa.RecordBatch) -> Iterable[tuple[Group, int, int]]:
    """Yield each group of a batch with its number of trips and their total cost in cents."""
    import pyarrow.compute as pc

    cabs = pc.unique(batch["cab_type"])
    columns = [
        pc.index_in(batch["cab_type"], cabs),
        batch["passenger_count"],
        pc.year(batch["pickup_datetime"]),
    ]
    distance = np.floor(batch["trip_distance"].to_numpy() + 0.5).astype(np.int64)
    code = np.zeros(batch.num_rows, np.int64)
    for values in (*(column.to_numpy(zero_copy_only=False) for column in columns), distance):
        code = code * _BASE + values
    codes, place, counts = np.unique(code, return_inverse=True, return_counts=True)
    cents = np.bincount(place, np.round(batch["total_amount"].to_numpy() * 100))
    for group_code, count, sum_ in zip(codes.tolist(), counts.tolist(), cents.tolist(), strict=True):
        digits, miles = divmod(group_code, _BASE)
        digits, year = divmod(digits, _BASE)
        cab, passengers = divmod(digits, _BASE)
        yield Group(cabs[cab].as_py(), passengers, year, miles), count, int(sum_)


def _by(sums: Counter[Group], *names: str) -> Counter[tuple[Any, ...]]:
    totals = Counter[tuple[Any, ...]]()
    for group, value in sums.items():
        totals[tuple(getattr(group, name) for name in names)] += value
    return totals


def _rows(counts: Counter[tuple[Any, ...]]) -> list[list[Any]]:
    return [[*key, count] for key, count in counts.items()]


class TaxiSystem(QuestionSystem):
    """A system with taxi trips. `fill` imports the gzipped CSV files, which were generated once for all
    systems of a benchmark."""

    columns = len(TRIP_SCHEMA)

    @property
    def shared_folder(self) -> Path:
        """The folder of the benchmark. In it, each system has a folder with a database for each repeat."""
        return self.folder.parents[1]

    def files(self, rows: int) -> Sequence[Path]:
        return files_of(self.shared_folder, rows)

    def questions(self) -> Mapping[str, Question]:
        return {
            name: Question(partial(self.ask, name), comparable=partial(self._comparable, name))
            for name in QUERIES
        }

    @abstractmethod
    def ask(self, query: str) -> Any:
        """Return the answer in the system's own form."""

    @abstractmethod
    def whole_trips(self, ids: Sequence[int]) -> pa.Table | list[Sequence[Any]]:
        """Return these trips, untimed: the columns of `TRIP_SCHEMA` in its order, with None for missing
        values and datetimes for times."""

    def rows_of(self, answer: Any) -> Iterable[Sequence[Any]]:
        """Convert an answer to rows, with columns in the order of the published query; by default, the answer
        is an Arrow table."""
        return zip(*(column.to_pylist() for column in answer.columns), strict=True)

    def _comparable(self, query: str, answer: Any) -> list[list[Any]]:
        return comparable_rows(query, self.rows_of(answer))


IMPORT = "import"


class TaxiCycle(QuestionCycle):
    system: TaxiSystem

    steps: ClassVar[tuple[str, ...]] = (IMPORT,)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self.import_files() if name == IMPORT else self.ask(name)

    def import_files(self) -> Iterator[Sample]:
        """Time the import, but not generating the files and reading some trips. The queries would notice
        missing trips."""
        make_files(self.system.shared_folder, self.rows)
        self.system.folder.mkdir(parents=True, exist_ok=True)
        _, cost = measure(lambda: self.system.fill(self.rows))
        self.system.open(writing=False)
        fingerprint = digest(self.system.whole_trips(sample_ids(self.rows)))
        self.system.close()
        yield Sample(IMPORT, cost, self.system.disk_bytes(), fingerprint)
