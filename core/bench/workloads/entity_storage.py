"""Entities written and read as a whole: the sizes and codecs of ParqueDB's page."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

ENTITY_STORAGE = Workload(
    id="entity-storage",
    title="Size of entities",
    about="The same entities as JSON, as Parquet with each codec, and in databases: written, read, and how"
    " large they are on disk. Formats and codecs stand beside systems.",
    steps=("write", "read"),
    operations=(
        Operation(
            "write",
            "Write",
            "writes {rows}",
            "Write all to a new file or table, from the form that it takes: an Arrow table, dicts or tuples.",
            resizes=True,
        ),
        Operation(
            "write_from_dicts",
            "Write, with preparation",
            "writes {rows} from dicts",
            "The same from Python dicts: what has to be made of them first is counted too.",
        ),
        Operation(
            "read",
            "Read",
            "reads {rows}",
            "Open it and read all, nothing kept in memory: into an Arrow table, dicts or tuples.",
        ),
    ),
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=True,
    family="entity-storage",
    published_rows=(1_000, 10_000, 100_000),
)
