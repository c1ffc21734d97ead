"""The interfaces of systems under test, by the data that they store. An instance has one database in one
folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import Numbers, Row, dicts
from lamella.core.errors import LamellaError

Rows = list[Row]

SERVER_FOLDER_NOTE = "server-folder"
"""The name of a file in a system's folder. It contains the address of the system's folder on a server, which
is removed along with the local one."""
DATABASE_NOTE = "mongodb-database"
"""The name of a file in a system's folder. It contains the name of the system's database on a server, which
is dropped along with the folder."""


class NotReady(LamellaError):
    """A system is installed but cannot run now: for example, its server does not answer."""


class System(ABC):
    """A system under test. Subclasses implement each operation as the system's documentation recommends.

    `description` says in one sentence how the system is configured, above all its durability. `cannot` maps
    the steps that the system does not support to the reason.
    """

    id: ClassVar[str]
    description: ClassVar[str]
    cannot: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path, workload: Workload) -> None:
        self.folder = folder
        self.workload = workload

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Return the version of the system, as its maker writes it. Quick: it is shown before a run."""

    @classmethod
    def answering_version(cls) -> str:
        """Return the version of the server that answers, by default `version`. May take seconds. Raises
        `NotReady`."""
        return cls.version()

    @classmethod
    def stand_in(cls) -> str:
        """Return the name of the program that stands in for the system, if there is one; otherwise an empty
        text. Called after `answering_version`."""
        return ""

    @classmethod
    def describe(cls) -> str:
        """Return `description`, with details that are only known at run time. Quick, too."""
        return cls.description

    @property
    @abstractmethod
    def columns(self) -> int:
        """The number of columns of its table."""

    @abstractmethod
    def open(self, writing: bool) -> None:
        """Open the database in `folder`, and create it if it is missing. With `writing`, changes follow."""

    @abstractmethod
    def close(self) -> None: ...

    def vacuum(self) -> bool:
        """Free unused space; return False if this system has nothing to free."""
        return False

    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())


class FileBasedSystem(System):
    """A system with its rows in one file, which every call opens and closes."""

    file_name: ClassVar[str]

    @property
    def path(self) -> Path:
        return self.folder / self.file_name

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Nothing is open."""

    def rewrite(self, write: Callable[[Path], object]) -> None:
        """Write a new file with `write`, and replace the old one atomically."""
        staged = self.path.with_name(f"new-{self.file_name}")
        write(staged)
        staged.replace(self.path)


class TableSystem(System):
    """A system with a table of numbers of type `workload.dtype`, and an integer key in some workloads.

    `prepare…` methods convert a list of dicts to what the system takes, as a user has to; they are timed
    separately. Answers have the system's own form; `blocks` converts them to columns.
    """

    def prepare(self, rows: Rows) -> Any:
        return rows

    @abstractmethod
    def create(self, prepared: Any) -> None: ...

    def fill(self, blocks: Iterable[Columns]) -> None:
        """Create the table from blocks of columns, in the fastest way."""
        self.create(self.prepare([row for block in blocks for row in dicts(block)]))

    @abstractmethod
    def read(self) -> Any:
        """Return all rows and columns."""

    @abstractmethod
    def query(self) -> Any:
        """Return all columns of the rows where col1 > 100 and col97 < 1000."""

    @abstractmethod
    def find(self) -> Any:
        """Return only col0 of the rows where it is -1."""

    def row_ids(self, numbers: Numbers) -> Sequence[int]:
        """Return the system's own ids of rows, given by the order in which they were added, from 0."""
        ids: list[int] = numbers.tolist()
        return ids

    @abstractmethod
    def get(self, row_id: int) -> Any:
        """Return one row with all columns."""

    @abstractmethod
    def as_row(self, answer: Any) -> Mapping[str, Any]:
        """Convert the answer of `get` to names and values."""

    def index(self, column: str) -> bool:
        """Create the index for finding rows by this column; return False if the system needs none."""
        return False

    def prepare_update(self, rows: Rows) -> Any:
        return rows

    def update(self, prepared: Any) -> None:
        """Set new values in the rows that have the given values in the workload's key column."""
        raise NotImplementedError

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Any:
        """`rows` may have only some of the columns; all have the same ones."""
        raise NotImplementedError

    def update_by_row_id(self, prepared: Any) -> None:
        """Update the rows in one commit."""
        self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        """Delete the rows in one commit."""
        raise NotImplementedError

    @abstractmethod
    def blocks(self, answer: Any, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        """Yield the columns `names` of an answer, some thousands of rows at a time.

        The numbers may have any width: the check converts them to `workload.dtype` where that is exact.
        """

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        """Yield the columns `names` of all rows, for a check that is not timed."""
        return self.blocks(self.read(), names)


Entity = dict[str, Any]

FIELDS = ("name", "status", "views", "rating", "tags", "profile", "about")
"""The fields of an entity, in the order of the columns."""

Id = Any
"""The system's own id of an entity."""


class EntitySystem(System):
    """A system with entities. Every change is one commit, and its time includes any conversion of the entity.

    The operators have the meaning that they have in MongoDB, except that a removed field may be null instead.
    """

    @property
    def columns(self) -> int:
        return len(FIELDS)

    @abstractmethod
    def fill(self, entities: list[Entity]) -> None:
        """Create the table with these entities."""

    @abstractmethod
    def ids(self) -> list[Id]:
        """Return the ids of all entities, in the order in which they were added."""

    @abstractmethod
    def get(self, row_id: Id) -> Any: ...

    @abstractmethod
    def as_entity(self, answer: Any) -> Entity:
        """Convert the answer of `get` to the original form: without the id, and with None for a removed
        field."""

    @abstractmethod
    def create(self, entities: list[Entity]) -> None: ...

    @abstractmethod
    def set_fields(self, row_id: Id, values: Mapping[str, Any]) -> None:
        """$set: set one or more fields."""

    @abstractmethod
    def increment(self, row_id: Id, name: str, by: int) -> None:
        """$inc: add to a number."""

    @abstractmethod
    def push(self, row_id: Id, name: str, value: str) -> None:
        """$push: append to a list."""

    @abstractmethod
    def add_to_set(self, row_id: Id, name: str, value: str) -> None:
        """$addToSet: append to a list unless it has the value already."""

    @abstractmethod
    def pull(self, row_id: Id, name: str, value: str) -> None:
        """$pull: remove every equal item from a list; the others keep their order."""

    @abstractmethod
    def unset(self, row_id: Id, name: str) -> None:
        """$unset: remove a field."""

    @abstractmethod
    def delete(self, row_ids: Sequence[Id]) -> None:
        """Delete one or more entities."""

    @abstractmethod
    def contents(self) -> Iterator[Entity]:
        """Yield all entities, each as `as_entity` returns it."""


class OperatorEntities(EntitySystem):
    """A system that changes entities by MongoDB's update operators."""

    unset_to: ClassVar[Any]
    """The value that `$unset` has for a field."""

    @abstractmethod
    def operate(self, row_id: Id, operators: dict[str, Any]) -> None:
        """Apply update operators to an entity in one commit."""

    def set_fields(self, row_id: Id, values: Mapping[str, Any]) -> None:
        self.operate(row_id, {"$set": values})

    def increment(self, row_id: Id, name: str, by: int) -> None:
        self.operate(row_id, {"$inc": {name: by}})

    def push(self, row_id: Id, name: str, value: str) -> None:
        self.operate(row_id, {"$push": {name: value}})

    def add_to_set(self, row_id: Id, name: str, value: str) -> None:
        self.operate(row_id, {"$addToSet": {name: value}})

    def pull(self, row_id: Id, name: str, value: str) -> None:
        self.operate(row_id, {"$pull": {name: value}})

    def unset(self, row_id: Id, name: str) -> None:
        self.operate(row_id, {"$unset": {name: self.unset_to}})


class ObjectSystem(System):
    """A system with bytes by key, like an object store; a key is "prefix/name". Every put is one commit."""

    @abstractmethod
    def fill(self, entities: list[Entity]) -> None:
        """Create the database, with these entities if the system has entities."""

    @abstractmethod
    def put_object(self, key: str, body: bytes) -> None:
        """Write an object atomically."""

    @abstractmethod
    def get_object(self, key: str) -> bytes: ...

    @abstractmethod
    def head_object(self, key: str) -> int:
        """Return the size of an object in bytes, without reading it."""

    @abstractmethod
    def list_objects(self, prefix: str) -> Sequence[str]:
        """Return the keys with a prefix, in order."""


class CatalogSystem(ObjectSystem, EntitySystem):
    """A system with entities and objects in one database."""

    @abstractmethod
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Return the columns of each table, without ids, from the system's catalog."""

    @abstractmethod
    def create_one(self, entity: Entity) -> int:
        """Add an entity and return its id."""

    @abstractmethod
    def names_with_rating(self, rating: float, limit: int) -> Sequence[str]:
        """Return the names of the first entities with this rating, in order of id."""


@dataclass(frozen=True)
class Question:
    """A query to measure. Only `ask` is timed. Its answer is a list of rows, an Arrow table, an array of
    numbers or one value.

    `of` are the values that `ask` takes, one per call. `before` prepares each call. `comparable` converts an
    answer, and the value that `ask` took, to a form that is compared with other systems.
    """

    ask: Callable[..., Any]
    of: Sequence[Any] = ()
    before: Callable[[], object] | None = None
    comparable: Callable[..., Any] | None = None


Questions = Mapping[str, Question]


class QuestionSystem(System):
    """A system that answers the questions of its workload; unsupported operations are in `cannot`."""

    @abstractmethod
    def fill(self, rows: int) -> None:
        """Create the database in `folder` with rows of the workload's data, and close it."""

    @abstractmethod
    def questions(self) -> Questions:
        """Return the questions by operation, for the database that `open` opened. Cheap."""
