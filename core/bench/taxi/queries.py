"""The four queries, as the page asks them, in each system's own SQL."""

from __future__ import annotations

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
