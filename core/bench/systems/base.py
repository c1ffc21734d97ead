"""What every system under test can be asked, by what it keeps. One instance, one database, one folder."""

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
"""A file in a system's folder: the address of its folder on a server, which is removed with it."""
DATABASE_NOTE = "mongodb-database"
"""A file in a system's folder: the name of its database on a server, which is dropped with the folder."""


class NotReady(LamellaError):
    """A system that is installed and cannot be asked now: for example, its server does not answer."""


class System(ABC):
    """Subclasses do each operation as their system's own documentation recommends.

    `description` says how it is configured, durability above all, in one sentence; `cannot` maps the steps
    that a system has no means for to the reason.
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
        """Of the system measured, as its maker writes it. Quick: it is shown before anything runs."""

    @classmethod
    def answering_version(cls) -> str:
        """`version`, but of who really answers; may take seconds. Raises NotReady."""
        return cls.version()

    @classmethod
    def answered_by(cls) -> str:
        """Another program that answers in the place of the system, which its name does not say; else empty.
        Called after `answering_version`."""
        return ""

    @classmethod
    def describe(cls) -> str:
        """`description`, and what has to be looked up for it. Quick, too."""
        return cls.description

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many columns its table holds."""

    @abstractmethod
    def open(self, writing: bool) -> None:
        """The database in `folder`, made when missing; `writing` says that changes will follow."""

    @abstractmethod
    def close(self) -> None: ...

    def vacuum(self) -> bool:
        """Give back space that nothing needs any more; False when this system keeps none."""
        return False

    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())


class FileBasedSystem(System):
    """Keeps its rows in one file: every call opens it and closes it."""

    file_name: ClassVar[str]

    @property
    def path(self) -> Path:
        return self.folder / self.file_name

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Nothing is held open."""

    def rewrite(self, write: Callable[[Path], object]) -> None:
        """Have `write` make a new file and put it in the place of the old one, in one step."""
        staged = self.path.with_name(f"new-{self.file_name}")
        write(staged)
        staged.replace(self.path)


class TableSystem(System):
    """A table of numbers, one row after the other: of type `workload.dtype`, beside an integer key.

    `prepare…` methods do what a user must do to a list of dicts before the system takes it; they
    are timed apart. Answers are whatever the system gives; `blocks` turns them into columns.
    """

    def prepare(self, rows: Rows) -> Any:
        return rows

    @abstractmethod
    def create(self, prepared: Any) -> None: ...

    def fill(self, blocks: Iterable[Columns]) -> None:
        """Create the table from blocks of columns, in whatever form is quickest."""
        self.create(self.prepare([row for block in blocks for row in dicts(block)]))

    @abstractmethod
    def read(self) -> Any:
        """Every row and column."""

    @abstractmethod
    def query(self) -> Any:
        """Every column of the rows where col1 > 100 and col97 < 1000."""

    @abstractmethod
    def find(self) -> Any:
        """col0 of the rows where it is -1, and no other column."""

    def row_ids(self, numbers: Numbers) -> Sequence[int]:
        """What the system itself calls the rows that were put in at these places, counted from 0."""
        ids: list[int] = numbers.tolist()
        return ids

    @abstractmethod
    def get(self, row_id: int) -> Any:
        """One row, all columns."""

    @abstractmethod
    def as_row(self, answer: Any) -> Mapping[str, Any]:
        """What `get` gave, as names and values."""

    def index(self, column: str) -> bool:
        """Make what finding rows by this column needs; False when this system needs nothing."""
        return False

    def prepare_update(self, rows: Rows) -> Any:
        return rows

    def update(self, prepared: Any) -> None:
        """New values for rows found by the workload's key column."""
        raise NotImplementedError

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Any:
        """`rows` may hold some of the columns only; all hold the same."""
        raise NotImplementedError

    def update_by_row_id(self, prepared: Any) -> None:
        """One commit."""
        self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        """One commit."""
        raise NotImplementedError

    @abstractmethod
    def blocks(self, answer: Any, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        """The columns `names` of an answer, some thousands of rows at a time.

        Numbers of any width: who checks them makes `workload.dtype` of them where that is exact.
        """

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        """The columns `names` of everything, for a check that is not timed."""
        return self.blocks(self.read(), names)


Entity = dict[str, Any]

FIELDS = ("name", "status", "views", "rating", "tags", "profile", "about")
"""Of an entity, in the order of their columns."""

Id = Any
"""What the system itself calls an entity."""


class EntitySystem(System):
    """Every change is one commit. What a system needs of an entity first is part of the time.

    The operators mean what MongoDB says they mean; a field that was taken away may be null instead.
    """

    @property
    def columns(self) -> int:
        return len(FIELDS)

    @abstractmethod
    def fill(self, entities: list[Entity]) -> None:
        """Make the table with these in it."""

    @abstractmethod
    def ids(self) -> list[Id]:
        """Of all that are there, in the order they came."""

    @abstractmethod
    def get(self, row_id: Id) -> Any: ...

    @abstractmethod
    def as_entity(self, answer: Any) -> Entity:
        """What `get` gave, as it was put in: without the id, and None for a field that was taken away."""

    @abstractmethod
    def create(self, entities: list[Entity]) -> None: ...

    @abstractmethod
    def set_fields(self, row_id: Id, values: Mapping[str, Any]) -> None:
        """$set of one field or several."""

    @abstractmethod
    def increment(self, row_id: Id, name: str, by: int) -> None:
        """$inc."""

    @abstractmethod
    def push(self, row_id: Id, name: str, value: str) -> None:
        """$push: append to a list."""

    @abstractmethod
    def add_to_set(self, row_id: Id, name: str, value: str) -> None:
        """$addToSet: append to a list that lacks it, leave any other as it is."""

    @abstractmethod
    def pull(self, row_id: Id, name: str, value: str) -> None:
        """$pull: take every item that equals it out of a list; the others keep their order."""

    @abstractmethod
    def unset(self, row_id: Id, name: str) -> None:
        """$unset."""

    @abstractmethod
    def delete(self, row_ids: Sequence[Id]) -> None:
        """One or many."""

    @abstractmethod
    def contents(self) -> Iterator[Entity]:
        """All of them, each as `as_entity` would give it."""


class OperatorEntities(EntitySystem):
    """Changes by operators as MongoDB writes them."""

    unset_to: ClassVar[Any]
    """What stands beside a field that is taken away."""

    @abstractmethod
    def operate(self, row_id: Id, operators: dict[str, Any]) -> None:
        """One commit."""

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
    """Bytes by key, as an object store has them; a key is "prefix/name". Every put is one commit."""

    @abstractmethod
    def fill(self, entities: list[Entity]) -> None:
        """Make the database, with these entities in it where it keeps any."""

    @abstractmethod
    def put_object(self, key: str, body: bytes) -> None:
        """Whole or not at all."""

    @abstractmethod
    def get_object(self, key: str) -> bytes: ...

    @abstractmethod
    def head_object(self, key: str) -> int:
        """How many bytes it has; they are not read."""

    @abstractmethod
    def list_objects(self, prefix: str) -> Sequence[str]:
        """The keys under a prefix, in order."""


class CatalogSystem(ObjectSystem, EntitySystem):
    """Entities and objects in one database."""

    @abstractmethod
    def tables(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table, ids left out: what its catalog says."""

    @abstractmethod
    def create_one(self, entity: Entity) -> int:
        """Its id."""

    @abstractmethod
    def names_rated(self, rating: float, limit: int) -> Sequence[str]:
        """The names of the first entities of this rating, in order of id."""


@dataclass(frozen=True)
class Question:
    """Only `ask` is timed. Its answer is a list of rows, an Arrow table, an array of numbers or one value.

    `of` are values that it is asked about, one a call. `before` makes ready for each call. `comparable` turns
    an answer, and what it was asked about, into what is compared with other systems.
    """

    ask: Callable[..., Any]
    of: Sequence[Any] = ()
    before: Callable[[], object] | None = None
    comparable: Callable[..., Any] | None = None


Questions = Mapping[str, Question]


class QuestionSystem(System):
    """Holds the rows of its workload; what it cannot be asked stands in `cannot`, by operation."""

    @abstractmethod
    def fill(self, rows: int) -> None:
        """Make the database in `folder`, closed afterwards; the rows come from the workload's own data."""

    @abstractmethod
    def questions(self) -> Questions:
        """By operation, of the database that `open` opened. Making them costs next to nothing."""
