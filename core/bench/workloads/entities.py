"""Entities changed one at a time and in batches: the CRUD and update operator tables of ParqueDB's page."""

from __future__ import annotations

from dataclasses import dataclass

from lamella.core.bench.workloads.model import Operation, Workload

SINGLES = 500


@dataclass(frozen=True)
class Batches:
    """So many commits of so many entities each."""

    size: int
    times: int


CREATED = {
    "create_hundred": Batches(100, 10),
    "create_thousand": Batches(1_000, 5),
    "create_batch": Batches(10_000, 1),
}
DELETED = Batches(100, 10)

_EACH = f"; a sample for each of up to {SINGLES} entities, each in a commit of its own."


def _update(name: str, title: str, does: str, about: str) -> Operation:
    return Operation(name, title, f"{does} of one of {{rows}}", about + _EACH)


def _creating(name: str) -> Operation:
    size, times = CREATED[name].size, CREATED[name].times
    samples = "" if times == 1 else f"; a sample for each of {times} batches"
    about = f"{size:,} new entities from Python dicts in one commit{samples}."
    return Operation(name, f"Create {size:,}", f"adds {size:,} entities to {{rows}}", about, resizes=True)


ENTITY_CHANGES = Workload(
    id="entity-changes",
    title="Entities",
    about="Text, numbers, a list of tags and a nested profile: made, read and changed, by one and by many. A "
    "sample leaves out what a system puts off until it is closed: Lamella's flush of 1,000 pending rows and "
    "more, SQLite's checkpoint of its write-ahead log.",
    steps=(
        *("fill", "get", "create_one", "update_set", "update_inc", "update_push"),
        *("update_set_several", "update_add_to_set", "update_pull", "update_unset"),
        *("delete_one", "create_hundred", "create_thousand", "create_batch", "delete_hundred"),
    ),
    operations=(
        Operation(
            "get", "Get by id", "gets one of {rows} by its id", "First time since opening, at random" + _EACH
        ),
        Operation(
            "get_again",
            "Get again",
            "gets one of {rows} by its id once more",
            "The same entities once more" + _EACH,
        ),
        Operation("create_one", "Create one", "adds one entity to {rows}", "One new entity" + _EACH),
        _update("update_set", "$set", "sets a field", "Set one field"),
        _update("update_inc", "$inc", "increments a field", "Add one to a number"),
        _update("update_push", "$push", "appends to a list", "Append a tag"),
        _update("update_set_several", "$set of three", "sets three fields", "Set three fields"),
        _update(
            "update_add_to_set",
            "$addToSet",
            "adds to a set",
            "Append a tag unless it is there, as it is in a quarter of the entities",
        ),
        _update("update_pull", "$pull", "takes out of a list", "Take out the entity's first tag"),
        _update("update_unset", "$unset", "removes a field", "Remove a field, or make it null"),
        Operation("delete_one", "Delete one", "deletes one of {rows}", "Delete by id" + _EACH),
        *map(_creating, CREATED),
        Operation(
            "delete_hundred",
            f"Delete {DELETED.size}",
            f"deletes {DELETED.size} entities from {{rows}} and those added",
            f"Delete {DELETED.size} by their ids, scattered over all, in one commit;"
            f" a sample for each of {DELETED.times} batches.",
        ),
    ),
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=False,
    family="entity",
    published_rows=(1_000, 10_000, 100_000),
)
