"""The four queries, as the page asks them, in each system's own SQL."""

from __future__ import annotations

QUERIES = ("Q1", "Q2", "Q3", "Q4")

DUCKDB = {
    "Q1": "SELECT cab_type, count(*) FROM trips GROUP BY cab_type",
    "Q2": "SELECT passenger_count, avg(total_amount) FROM trips GROUP BY passenger_count",
    "Q3": "SELECT passenger_count, year(pickup_datetime), count(*) FROM trips GROUP BY 1, 2",
    "Q4": "SELECT passenger_count, year(pickup_datetime) AS pickup_year, round(trip_distance) AS distance,"
    " count(*) AS trips FROM trips GROUP BY 1, 2, 3 ORDER BY pickup_year, trips DESC",
}
"""DuckDB's, and so Lamella's."""

SQLITE = {
    "Q1": "SELECT cab_type, count(*) FROM trips GROUP BY cab_type",
    "Q2": "SELECT passenger_count, avg(total_amount) FROM trips GROUP BY passenger_count",
    "Q3": "SELECT passenger_count, strftime('%Y', pickup_datetime), count(*) FROM trips GROUP BY 1, 2",
    "Q4": "SELECT passenger_count, strftime('%Y', pickup_datetime) AS pickup_year,"
    " round(trip_distance) AS distance, count(*) AS trips FROM trips"
    " GROUP BY 1, 2, 3 ORDER BY pickup_year, trips DESC",
}
"""`pickup_datetime` is text there, as it was published."""

_YEAR = "strftime('%Y', datetime(pickup_datetime / 1000, 'unixepoch'))"

SQLITE_MILLISECONDS = {
    name: text.replace("strftime('%Y', pickup_datetime)", _YEAR) for name, text in SQLITE.items()
}
"""`pickup_datetime` is milliseconds since 1970 there, as in the published Parquet files."""

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
"""Over the views that `view` makes."""


def view(query: str, tables: list[str]) -> str:
    """What makes the view that adds up a table for each file, as the page does for want of one table."""
    parts = " UNION ALL ".join(_PARTS[query].format(table=table) for table in tables)
    return f"CREATE TEMP VIEW query_{query} AS {parts}"
