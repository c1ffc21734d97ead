"""A catalog of entities beside a store of objects, one call at a time."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

CALLS = 100
OPENINGS = 100

_EACH = f" A sample for each of {CALLS} calls."
_COMMIT = " Each call is a commit of its own." + _EACH
_BYTES = {"100b": "100 bytes", "1kb": "1,000 bytes", "10kb": "10,000 bytes"}


def _objects(prefix: str, size: str) -> tuple[Operation, Operation]:
    return (
        Operation(
            f"put_{prefix}", f"Put {size}", f"puts an object of {size}", f"A new object of {size}." + _COMMIT
        ),
        Operation(
            f"get_{prefix}", f"Get {size}", f"gets an object of {size}", f"An object of {size}." + _EACH
        ),
    )


_OPERATIONS = (
    Operation(
        "open_cold",
        "Open",
        "opens a database of {rows} and reads its catalog",
        f"Open the closed database in a running process and read which tables and columns it has. A sample "
        f"for each of {OPENINGS} openings.",
    ),
    Operation(
        "warm_get",
        "Get one",
        "gets one of {rows} from an open database",
        "An entity by its id, at random." + _EACH,
    ),
    Operation(
        "catalog_query",
        "Query",
        "finds 20 of {rows} by a field",
        "The names of the first 20 entities of a rating, one rating after the other, with no index." + _EACH,
    ),
    Operation(
        "warm_create", "Create one", "adds one to {rows} in an open database", "A new entity." + _COMMIT
    ),
    Operation(
        "warm_update", "Update one", "updates one of {rows} in an open database", "Set a field." + _COMMIT
    ),
    Operation(
        "crud_cycle",
        "Create, get, update, delete",
        "creates, gets, updates and deletes one beside {rows}",
        "An entity is created, got by its id, updated and deleted: three commits." + _EACH,
    ),
    *(operation for prefix, size in _BYTES.items() for operation in _objects(prefix, size)),
    Operation("head", "Head", "says how large an object is", "The size of an object of 1,000 bytes." + _EACH),
    Operation("list_10", "List 10", "lists ten objects", "The ten keys under a prefix." + _EACH),
    Operation(
        "commit_then_put",
        "Commit, then put",
        "commits an entity beside {rows} and puts an object then",
        "A new entity, and after it an object of 1,000 bytes: two commits." + _EACH,
    ),
    Operation(
        "commit_and_put",
        "Commit and put at once",
        "commits an entity beside {rows} while it puts an object",
        "A new entity, and an object of 1,000 bytes at the same time by another thread." + _EACH,
    ),
    Operation(
        "one_by_one_100",
        "Create 100 one by one",
        "adds 100 to {rows} one by one",
        "A hundred new entities, each in a commit of its own, three times.",
    ),
    Operation(
        "batched_100",
        "Create 100 at once",
        "adds 100 to {rows} in one commit",
        "A hundred new entities in one commit, three times.",
        resizes=True,
    ),
)

CATALOG = Workload(
    id="catalog",
    title="Catalog and objects",
    about="Entities in a database and objects beside them: opened, asked and changed one call at a time.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(1_000, 100_000),
    default_repeats=3,
    opens_inside=False,
    family="catalog",
    small_rows=(1_000,),
    published_rows=(1_000,),
)
