"""The 51 columns of the trips, as the benchmark of 1.1 billion taxi rides has them."""

from __future__ import annotations

import pyarrow as pa

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_TIME = pa.timestamp("ms")


def _place(side: str) -> dict[str, pa.DataType]:
    """The census tract in which a trip begins or ends."""
    texts = ("boroname", "ct2010", "boroct2010", "cdeligibil", "ntacode", "ntaname", "puma")
    return {
        f"{side}_nyct2010_gid": _WHOLE,
        f"{side}_ctlabel": _TEXT,
        f"{side}_borocode": _WHOLE,
        **{f"{side}_{name}": _TEXT for name in texts},
    }


TYPES: dict[str, pa.DataType] = {
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
    **_place("pickup"),
    **_place("dropoff"),
}

SCHEMA = pa.schema(list(TYPES.items()))
