"""Taxi trips: 51 columns, imported from gzipped CSV files, and the four published queries over them."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

_ASKED = " Its first time since the database was opened is cold, those after it are warm."

TAXI = Workload(
    id="taxi",
    title="Taxi trips",
    about=(
        "Trips with 51 columns from gzipped CSV files (56 of them from 14 million rows on), and four "
        "queries that count, average and group all of them. A row takes about 130 bytes of gzipped CSV, "
        "which is made once for all systems, and up to 390 in a system's own form."
    ),
    steps=("import", "Q1", "Q2", "Q3", "Q4"),
    operations=(
        Operation(
            "import",
            "Import",
            "imports {rows} from gzipped CSV",
            "From gzipped CSV files to the system's own form, as its documentation recommends. Making the "
            "files is not part of it.",
            resizes=True,
        ),
        Operation(
            "Q1",
            "Q1: count by cab",
            "counts {rows} by cab",
            "How many trips each kind of cab made." + _ASKED,
        ),
        Operation(
            "Q2",
            "Q2: average fare",
            "averages the fares of {rows}",
            "What trips cost on average, by number of passengers." + _ASKED,
        ),
        Operation(
            "Q3",
            "Q3: count by year",
            "counts {rows} by passengers and year",
            "How many trips, by number of passengers and year." + _ASKED,
        ),
        Operation(
            "Q4",
            "Q4: count by distance",
            "counts {rows} by passengers, year and distance",
            "How many trips, by number of passengers, year and whole miles, in order of year and count."
            + _ASKED,
        ),
    ),
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(100_000, 1_000_000),
    default_repeats=3,
    opens_inside=False,
    family="taxi",
    asks_only=True,
    small_rows=(20_000,),
    published_rows=(1_100_000_000,),
)
