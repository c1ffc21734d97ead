"""The systems under test and the workloads: one table of each.

Classes are named by place (`module:name`) and imported when needed, so that a benchmark of two systems loads
only two. To add a system or a workload, write its module and its lines here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.errors import LamellaError, UnknownName
from lamella.core.libraries import install_command

if TYPE_CHECKING:
    from lamella.core.bench.engine.measure import Cycle
    from lamella.core.bench.systems.base import System
    from lamella.core.jobs import Job

_PACKAGE = "lamella."
_BENCH_PACKAGE = f"{_PACKAGE}core.bench."
USE = "name it by --interpreter"
"""How to use another Python that has the packages that the installed program lacks."""


class UnknownSystem(UnknownName):
    kind = "system"


class MissingSystem(LamellaError):
    """A system whose package is not installed here, or that does not support a workload."""


class UnknownWorkload(UnknownName):
    kind = "workload"


# -------------------------------------------------------------------------------- systems


@dataclass(frozen=True)
class Entry:
    """A system by its name. `requires` pairs the modules it needs with their names for pip; a system with a
    `server` is ready only while that responds.

    `classes` are places in `systems` by family; `absent` says why it does not support a family in which users
    might look for it. `variant` names what ran it if not the usual program: another Python, or a server that
    only speaks its protocol; its title is then made from `variant_format`.
    """

    id: str
    title: str
    requires: tuple[tuple[str, str], ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict, hash=False)
    absent: Mapping[str, str] = field(default_factory=dict, hash=False)
    server: bool = False
    variant: str = ""
    variant_format: str = "{title}, {variant}"

    @property
    def missing(self) -> str:
        """Why it cannot run here, and the command that fixes that; empty if it can."""
        lacking = [package for module, package in self.requires if find_spec(module) is None]
        if not lacking:
            return ""
        return f"{' and '.join(lacking)} must be installed first. {install_command(lacking, USE)}"

    def place(self, family: str) -> str:
        """The place of its class for a family of workloads; empty if it does not support the family."""
        if ":" in self.id:
            return self.id
        place = self.classes.get(family, "")
        return f"{_BENCH_PACKAGE}systems.{place}" if place and not place.startswith(_PACKAGE) else place

    def takes(self, family: str) -> bool:
        return bool(self.place(family))


_SQLALCHEMY, _APSW = (("sqlalchemy", "SQLAlchemy"),), (("apsw", "apsw"),)

ENTRIES = {
    entry.id: entry
    for entry in (
        Entry(
            "lamella",
            "Lamella",
            classes={
                "table": "lamella:Lamella",
                "entity": "lamella:LamellaEntities",
                "entity-queries": "lamella:LamellaEntityQueries",
                "entity-memory": "lamella:LamellaMemory",
                "entity-storage": "lamella:LamellaStorage",
                "entity-indexes": "lamella_indexes:LamellaIndexes",
                "entity-text": "lamella_indexes:LamellaText",
                "entity-relations": "lamella_indexes:LamellaRelations",
                "catalog": "lamella:LamellaCatalog",
                "taxi": "lamella:LamellaTaxi",
                "transfer": "lamella:LamellaTransfer",
                "mine": "lamella:LamellaUserTable",
            },
        ),
        Entry(
            "sqlite",
            "SQLite (synchronous off)",
            classes={
                "table": "sqlite:SQLite",
                "entity": "sqlite_entities:SQLiteEntities",
                "entity-queries": "sqlite_entities:SQLiteEntityQueries",
                "entity-memory": "sqlite_entities:SQLiteMemory",
                "entity-storage": "sqlite_entities:SQLiteStorage",
                "entity-indexes": "sqlite_entities:SQLiteIndexes",
                "entity-relations": "sqlite_entities:SQLiteRelations",
                "bridge": "sqlite_parquet:BridgeOwnTable",
                "catalog": "sqlite_entities:SQLiteCatalog",
                "taxi": "sqlite_entities:SQLiteTaxi",
                "transfer": "sqlite_entities:SQLiteTransfer",
                "mine": "sqlite_user_table:SQLiteUserTable",
            },
        ),
        Entry(
            "sqlite-wal",
            "SQLite (WAL, synchronous full)",
            classes={
                "table": "sqlite:SQLiteWal",
                "entity": "sqlite_entities:SQLiteWalEntities",
                "catalog": "sqlite_entities:SQLiteWalCatalog",
                "mine": "sqlite_user_table:SQLiteWalUserTable",
            },
        ),
        Entry("sqlite-obj", "SQLite to objects", classes={"table": "sqlite:SQLiteObjects"}),
        Entry("sqlalchemy-core", "SQLAlchemy Core", _SQLALCHEMY, {"table": "sqlalchemy:SQLAlchemyCore"}),
        Entry("sqlalchemy-orm", "SQLAlchemy ORM", _SQLALCHEMY, {"table": "sqlalchemy:SQLAlchemyORM"}),
        Entry(
            "sqlite-parquet",
            "SQLite over Parquet",
            _APSW,
            {
                "table": "sqlite_parquet:SQLiteOverParquet",
                "bridge": "sqlite_parquet:BridgeOverParquet",
                "taxi": "sqlite_parquet:TaxiTableForEachFile",
            },
        ),
        Entry(
            "sqlite-parquet-one-table",
            "SQLite over Parquet, one table",
            _APSW,
            {"taxi": "sqlite_parquet:TaxiOneTable"},
        ),
        Entry(
            "sqlite-parquet-dask",
            "SQLite over Parquet, Dask",
            (*_APSW, ("distributed", "distributed")),
            {"taxi": "sqlite_parquet:TaxiOnDask"},
            absent={
                "table": "Its workers share out many files, and this table is one; SQLite over Parquet, "
                "which they run, takes part",
                "bridge": "Joins and lookups of single rows cannot be added up from the answers of workers; "
                "SQLite over Parquet, which they run, takes part",
            },
        ),
        Entry("sqlite-fts5", "SQLite FTS5", classes={"entity-text": "sqlite_entities:FTS5Text"}),
        Entry("tantivy", "tantivy", classes={"entity-text": "tantivy:TantivyText"}),
        Entry(
            "mongodb",
            "MongoDB",
            (("pymongo", "pymongo"),),
            {"table": "mongodb:MongoTable", "entity": "mongodb:MongoEntities"},
            server=True,
            variant_format="MongoDB's protocol, {variant}",
        ),
        Entry(
            "parquetdb",
            "ParquetDB",
            (("parquetdb", "parquetdb"),),
            {"table": "parquetdb:ParquetDB", "taxi": "parquetdb:ParquetDBTaxi"},
        ),
        Entry(
            "pyarrow",
            "PyArrow (recipe)",
            classes={
                "table": "pyarrow:PyArrowRecipe",
                "taxi": "pyarrow:PyArrowTaxi",
                "mine": "pyarrow:PyArrowUserTable",
            },
        ),
        Entry("pyarrow-tuned", "PyArrow (tuned)", classes={"table": "pyarrow:PyArrowTuned"}),
        Entry(
            "duckdb",
            "DuckDB",
            classes={
                "table": "duckdb:DuckDB",
                "entity": "duckdb:DuckDBEntities",
                "entity-queries": "duckdb:DuckDBEntityQueries",
                "entity-memory": "duckdb:DuckDBMemory",
                "entity-storage": "duckdb:DuckDBStorage",
                "entity-indexes": "duckdb:DuckDBIndexes",
                "entity-relations": "duckdb:DuckDBRelations",
                "bridge": "duckdb:DuckDBTable",
                "taxi": "duckdb:DuckDBTaxi",
                "transfer": "duckdb:DuckDBTransfer",
                "mine": "duckdb:DuckDBUserTable",
            },
            absent={
                "entity-text": "DuckDB's full-text search is an extension that does not come with its Python "
                "package: it is downloaded where it is first used",
            },
        ),
        Entry("duckdb-parquet", "DuckDB over Parquet", classes={"taxi": "duckdb:DuckDBParquetTaxi"}),
        Entry(
            "spark-connect",
            "Spark Connect",
            (("pyspark", "pyspark-client"),),
            {"taxi": "spark_connect:SparkConnectTaxi"},
            server=True,
        ),
        Entry(
            "polars",
            "Polars",
            (("polars", "polars"),),
            {
                "table": "polars:Polars",
                "entity-queries": "polars_entities:PolarsEntityQueries",
                "entity-memory": "polars_entities:PolarsMemory",
                "entity-indexes": "polars_entities:PolarsScans",
                "taxi": "polars_entities:PolarsTaxi",
                "transfer": "polars_entities:PolarsTransfer",
                "mine": "polars_user_table:PolarsUserTable",
            },
        ),
        Entry(
            "pandas",
            "pandas",
            classes={
                "table": "pandas:Pandas",
                "entity-queries": "pandas:PandasEntityQueries",
                "entity-memory": "pandas:PandasMemory",
                "entity-indexes": "pandas:PandasScans",
                "taxi": "pandas:PandasTaxi",
                "transfer": "pandas:PandasTransfer",
                "mine": "pandas:PandasUserTable",
            },
        ),
        Entry("deltalake", "Delta Lake", (("deltalake", "deltalake"),), {"table": "deltalake:DeltaLake"}),
        Entry("folder", "Folder of files", classes={"catalog": "folder:FolderOfFiles"}),
        Entry(
            "s3",
            "S3",
            (("obstore", "obstore"),),
            {"catalog": "object_stores:S3Objects"},
            server=True,
            variant_format="S3, {variant}",
        ),
        Entry(
            "hdfs",
            "HDFS",
            (("fsspec", "fsspec"), ("requests", "requests")),
            {"catalog": "object_stores:HdfsObjects"},
            server=True,
        ),
        Entry("csv", "CSV", classes={"table": "python_files:CSV", "mine": "user_table_files:CSVUserTable"}),
        Entry("csv-numpy", "CSV by NumPy", classes={"table": "python_files:CSVNumPy"}),
        Entry(
            "jsonl",
            "JSON lines",
            classes={
                "table": "python_files:JSONLines",
                "entity-storage": "entity_files:EntityJSONLines",
                "mine": "user_table_files:JSONLinesUserTable",
            },
        ),
        Entry("jsonl-gzip", "JSON lines, gzip", classes={"entity-storage": "entity_files:GzippedJSONLines"}),
        Entry("parquet-none", "Parquet, no codec", classes={"entity-storage": "entity_files:PlainParquet"}),
        Entry("parquet-snappy", "Parquet, snappy", classes={"entity-storage": "entity_files:SnappyParquet"}),
        Entry("parquet-gzip", "Parquet, gzip", classes={"entity-storage": "entity_files:GzipParquet"}),
        Entry("parquet-lz4", "Parquet, LZ4", classes={"entity-storage": "entity_files:LZ4Parquet"}),
        Entry("parquet-zstd", "Parquet, zstd", classes={"entity-storage": "entity_files:ZstdParquet"}),
        Entry(
            "pickle",
            "pickle",
            classes={"table": "python_files:Pickle", "mine": "user_table_files:PickleUserTable"},
        ),
        Entry("pickle-obj", "pickle of objects", classes={"table": "python_files:PickleObjects"}),
        Entry("zodb", "ZODB", (("ZODB", "ZODB"), ("BTrees", "BTrees")), {"table": "zodb:ZODBTree"}),
        Entry("pytables", "PyTables", (("tables", "tables"),), {"table": "pytables:PyTables"}),
        Entry("h5py", "h5py", (("h5py", "h5py"),), {"table": "h5py:H5py"}),
    )
}


def entry_named(name: str) -> Entry:
    """A system of the table, a variant of one, or a system of the user's named `package.module:Class`.

    Raises UnknownSystem, with the nearest name, for anything else.
    """
    if name in ENTRIES:
        return ENTRIES[name]
    if ":" in name:
        return Entry(name, name.rpartition(":")[2])
    base, _, variant = name.partition(_BY)
    if base in ENTRIES and variant:
        entry = ENTRIES[base]
        return replace(
            entry,
            id=name,
            title=entry.variant_format.format(title=entry.title, variant=variant),
            variant=variant,
        )
    raise UnknownSystem(name, "The benchmark", ENTRIES)


_BY = "@"


def variant_name(name: str, variant: str) -> str:
    """The name in results of a system that another program than usual ran: "csv@PyPy 7.3.11" has the title
    "CSV, PyPy 7.3.11", and is listed beside "csv"."""
    return f"{name}{_BY}{variant}" if variant else name


def plain_name(name: str) -> str:
    """The name of the system without its variant."""
    return name if ":" in name else name.partition(_BY)[0]


def accepted_name(name: str) -> str:
    """A name that `entry_named` accepts, with `name` as its title if it is unknown: for files of other
    versions, for example."""
    return name if ":" in name or plain_name(name) in ENTRIES else f":{name}"


def place_in_table(name: str) -> int:
    """The position of a system or a variant in the table; systems of the user's come last."""
    systems, base = list(ENTRIES), plain_name(name)
    return systems.index(base) if base in ENTRIES else len(systems)


def unready() -> dict[str, str]:
    """Why systems cannot be measured here now, by their ids: a missing package, or a server that does not
    respond.

    Blocks for seconds if a server does not respond.
    """
    reasons = {entry.id: entry.missing or unready_reason(entry) for entry in ENTRIES.values()}
    return {name: reason for name, reason in reasons.items() if reason}


def unready_reason(entry: Entry) -> str:
    """Why the server of a system does not respond; empty if it does or there is none. Blocks for seconds."""
    if entry.server:
        try:
            load(entry.id, next(filter(entry.takes, FAMILIES))).answering_version()
        except LamellaError as error:
            return str(error)
    return ""


def add_class(name: str, family: str, place: str) -> None:
    """Add a class for a system and a family that is in a higher layer: `place` begins with "lamella." and
    names the class, or a function that returns it."""
    entry = ENTRIES[name]
    ENTRIES[name] = replace(entry, classes={**entry.classes, family: place})


def load(name: str, family: str = "table") -> type[System]:
    """The system's class. Raises UnknownSystem, or MissingSystem, which says what to install."""
    entry = entry_named(name)
    if entry.variant:
        raise UnknownSystem(name, "The benchmark", ENTRIES)
    if entry.missing:
        raise MissingSystem(f"{entry.title} cannot take part", entry.missing)
    if not entry.takes(family):
        raise MissingSystem(f"{entry.title} does not support workloads of the kind '{family}'")
    try:
        place = load_place(entry.place(family))
        system: type[System] = place if isinstance(place, type) else place()
    except (ImportError, AttributeError) as error:
        raise MissingSystem(f"The system {name} cannot be loaded", str(error)) from error
    return system


def load_place(place: str) -> Any:
    """The object at `module:name`, or a system in the user's own file at `benchmark.py:name`.

    Raises ImportError or AttributeError if there is none, and ScriptFailed if the file does not run.
    """
    module, _, name = place.rpartition(":")
    if module.endswith(".py"):
        from lamella.core.bench.systems.user_script import system_class

        return system_class(module, name)
    return getattr(import_module(module), name)


# ------------------------------------------------------------------------------- families


AnswerFunction = Callable[[Workload, Operation, int], str]


@dataclass(frozen=True)
class Family:
    """What the workloads of one family share, by place: how they run, and their right answers.

    `prepares` makes the data that all systems get. Without `answers` the right answers are not known
    beforehand, and the systems have to agree.
    """

    id: str
    runs: str
    answers: str | None = None
    prepares: str | None = None

    def prepare(self, workload: Workload, rows: Iterable[int], folder: Path, job: Job) -> Workload:
        """Prepare the workload's data in the benchmark's folder, before any system is timed."""
        if self.prepares is None:
            return workload
        prepared_workload: Workload = load_place(_BENCH_PACKAGE + self.prepares)(workload, rows, folder, job)
        return prepared_workload

    @property
    def cycle(self) -> type[Cycle[Any]]:
        cycle_class: type[Cycle[Any]] = load_place(_BENCH_PACKAGE + self.runs)
        return cycle_class

    @property
    def answer_function(self) -> AnswerFunction | None:
        return load_place(_BENCH_PACKAGE + self.answers) if self.answers else None

    @property
    def places(self) -> Mapping[str, str]:
        """The places of the classes by system."""
        return {entry.id: entry.place(self.id) for entry in ENTRIES.values() if entry.takes(self.id)}

    @property
    def absent(self) -> Mapping[str, str]:
        """Why systems in which users might be interested do not support the family, by system."""
        return {entry.id: entry.absent[self.id] for entry in ENTRIES.values() if self.id in entry.absent}


_QUESTIONS = "workloads.questions:QuestionCycle"

FAMILIES = {
    family.id: family
    for family in (
        Family("table", "workloads.table_cycle:TableCycle", "workloads.table_rows:right_answer"),
        Family("entity", "workloads.entities:EntityCycle", "workloads.entities:right_answer"),
        Family("entity-queries", _QUESTIONS, "workloads.entity_queries:right_answer"),
        Family(
            "entity-memory", "workloads.entity_memory:MemoryCycle", "workloads.entity_memory:right_answer"
        ),
        Family(
            "entity-storage", "workloads.entity_storage:StorageCycle", "workloads.entity_storage:right_answer"
        ),
        Family("entity-indexes", _QUESTIONS),
        Family("entity-text", _QUESTIONS),
        Family("entity-relations", _QUESTIONS),
        Family("bridge", _QUESTIONS),
        Family("catalog", "workloads.catalog:CatalogCycle", "workloads.catalog:right_answer"),
        Family(
            "mine",
            "workloads.user_table:UserTableCycle",
            "workloads.user_table:right_answer",
            "workloads.user_table_source:prepare",
        ),
        Family("own", "systems.user_script:ScriptCycle"),
        Family("taxi", "workloads.taxi:TaxiCycle", "workloads.taxi:right_answer"),
        Family("transfer", "workloads.transfer:TransferCycle", "workloads.transfer:right_answer"),
        Family(
            "window", *(f"workloads.window:{name}" for name in ("WindowCycle", "right_answer", "prepare"))
        ),
    )
}


def family_of(workload: Workload) -> Family:
    return FAMILIES[workload.family]


# ------------------------------------------------------------------------------ workloads


class _Workloads(Mapping[str, Workload]):
    """The workloads by their ids, in the table's order; each is imported when it is first needed."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Workload:
        workload: Workload = load_place(f"{_BENCH_PACKAGE}workloads.{self._places[name]}")
        return workload

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


WORKLOADS: Mapping[str, Workload] = _Workloads(
    {
        "small": "tables:SMALL",
        "update": "tables:UPDATE_ALL",
        "single": "tables:SINGLE",
        "partial": "tables:PARTIAL",
        "needle": "tables:NEEDLE",
        "scattered": "tables:SCATTERED_CHANGES",
        "floats": "tables:FLOATS",
        "entity-changes": "entities:ENTITY_CHANGES",
        "entity-queries": "entity_queries:ENTITY_QUERIES",
        "entity-storage": "entity_storage:ENTITY_STORAGE",
        "entity-memory": "entity_memory:ENTITY_MEMORY",
        "entity-indexes": "entity_indexes:ENTITY_INDEXES",
        "entity-text": "entity_text:ENTITY_TEXT",
        "entity-relations": "entity_relations:ENTITY_RELATIONS",
        "bridge": "bridge:BRIDGE",
        "taxi": "taxi:TAXI",
        "catalog": "catalog:CATALOG",
        "transfer": "transfer:TRANSFER",
        "window": "window:WINDOW",
    }
)

GROUPS: dict[str, tuple[str, ...]] = {
    "entity": (
        *("entity-changes", "entity-queries", "entity-storage", "entity-memory"),
        *("entity-indexes", "entity-text", "entity-relations"),
    )
}
"""Names for several workloads, those of one published page."""

ALL = "all"


def workload_named(name: str) -> Workload:
    """A workload of the table, one on the user's own table ("mine:…"), or the one in a Python file.

    Raises UnknownWorkload, with the nearest name, if there is none, and FileProblem for a file without a
    benchmark.
    """
    user_workload = _user_workload(name)
    if user_workload is not None:
        return user_workload
    if name not in WORKLOADS:
        raise UnknownWorkload(name, "The benchmark", WORKLOADS)
    return WORKLOADS[name]


def workload_with_options(name: str, table_rows: int | None, options: Mapping[str, Any]) -> Workload:
    """A workload by its name, with these options instead of its own. Raises UnknownWorkload."""
    workload = replace(workload_named(name), table_rows=table_rows, options=options)
    if workload.family != "mine" or not options:
        return workload
    from lamella.core.bench.workloads.user_table import with_options

    return with_options(workload)


def workloads_named(name: str) -> tuple[Workload, ...]:
    """One workload by its id, the workloads of a group, or all. Raises UnknownWorkload."""
    if name == ALL:
        return tuple(WORKLOADS.values())
    if name in GROUPS:
        return tuple(map(workload_named, GROUPS[name]))
    user_workload = _user_workload(name)
    if user_workload is not None:
        return (user_workload,)
    if name not in WORKLOADS:
        raise UnknownWorkload(name, "The benchmark", [*WORKLOADS, *GROUPS, ALL])
    return (WORKLOADS[name],)


def _user_workload(name: str) -> Workload | None:
    if name.endswith(".py"):
        from lamella.core.bench.workloads.user_script import load_file

        return load_file(name)
    if name.startswith("mine:"):
        from lamella.core.bench.workloads.user_table import user_table_named

        return user_table_named(name)
    return None
