"""Trips from a seed: the same for every system, and any number of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy, from_values
from lamella.core.bench.data import SEED
from lamella.core.bench.taxi.columns import SCHEMA

ROWS_A_BATCH = 100_000
FIRST_TRIP = np.datetime64("2009-01-01", "ms").astype(np.int64)
DAYS = 7 * 365
BOROUGHS = ("Manhattan", "Brooklyn", "Queens", "Bronx", "Staten Island")
TRACTS = 2_166


def trips(rows: int) -> Iterator[pa.RecordBatch]:
    """In the order in which they began, over seven years."""
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
        return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)

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
            "trip_type": from_numpy(self._choice((1, 2), (0.98, 0.02)), valid=self._known(0.1)),
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
            "improvement_surcharge": from_numpy(np.full(self._count, 0.3), valid=self._known(0.15)),
            "total_amount": from_numpy(np.round(fare + tip + extra + tolls + 0.5, 2)),
            "payment_type": self._text(("CSH", "CRD", "NOC", "DIS"), (0.5, 0.49, 0.006, 0.004)),
        }

    def _weather(self) -> dict[str, pa.Array]:
        """The same for all trips of a day."""
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
        """What a spatial database writes for a point: its coordinates' bytes in hexadecimal digits."""
        bytes_ = np.stack([longitude, latitude], axis=1).astype("<f8").tobytes().hex().upper()
        return from_values([f"0101{bytes_[at : at + 32]}" for at in range(0, len(bytes_), 32)], pa.string())

    def _whole(self, low: int, high: int) -> np.ndarray:
        found: np.ndarray = self._random.integers(low, high, self._count)
        return found

    def _choice(self, values: tuple[float, ...], shares: tuple[float, ...]) -> np.ndarray:
        chosen: np.ndarray = np.array(values)[self._places(shares)]
        return chosen

    def _text(self, values: tuple[str | None, ...], shares: tuple[float, ...]) -> pa.Array:
        return _of(values, self._places(shares))

    def _places(self, shares: tuple[float, ...]) -> np.ndarray:
        ends = np.cumsum(shares)
        found: np.ndarray = np.searchsorted(ends, self._random.random(self._count) * ends[-1], side="right")
        return found

    def _known(self, share: float) -> np.ndarray:
        known: np.ndarray = self._random.random(self._count) < share
        return known


def _of(values: tuple[str | None, ...] | list[str], places: np.ndarray) -> pa.Array:
    return from_values(values, pa.string()).take(from_numpy(places))
