"""Entities one at a time: the single and batch rows of ParqueDB's page."""

from __future__ import annotations

from core.bench.workloads.model import Operation, Workload

SINGLES = 500
BATCH = 10_000

_EACH = f"; a sample for each of up to {SINGLES} entities, each in a commit of its own."

ENTITY = Workload(
    id="entity",
    title="Entities",
    about="Text, numbers, a list of tags and a nested profile: made, read and changed one at a time.",
    steps=(
        "fill",
        "get",
        "create_one",
        "update_set",
        "update_inc",
        "update_push",
        "delete_one",
        "create_batch",
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
        Operation("update_set", "$set", "sets a field of one of {rows}", "Set one field" + _EACH),
        Operation("update_inc", "$inc", "increments a field of one of {rows}", "Add one to a number" + _EACH),
        Operation("update_push", "$push", "appends to a list of one of {rows}", "Append a tag" + _EACH),
        Operation("delete_one", "Delete one", "deletes one of {rows}", "Delete by id" + _EACH),
        Operation(
            "create_batch",
            f"Create {BATCH:,}",
            f"adds {BATCH:,} entities to {{rows}}",
            f"{BATCH:,} new entities from Python dicts in one commit.",
            resizes=True,
        ),
    ),
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=False,
    family="entity",
)
