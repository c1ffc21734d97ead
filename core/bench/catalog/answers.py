"""What must be read back after each step: entities and objects as they were put, by their digests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from lamella.core.bench.catalog.data import (
    LIMIT,
    RATINGS,
    SIZES,
    STATUS,
    groups,
    listed_objects,
    new_entities,
    objects,
    pairs,
)
from lamella.core.bench.data import picked
from lamella.core.bench.entities.data import Entity, entities
from lamella.core.bench.questions.answers import digest, together
from lamella.core.bench.workloads import Operation, Pick, Workload
from lamella.core.bench.workloads.catalog import CALLS

READ, UPDATED = Pick("catalog-get", CALLS), Pick("catalog-update", CALLS)


def expected(workload: Workload, operation: Operation, rows: int) -> str:
    step = operation.id
    if step in ("warm_get", "warm_update"):
        change = {"status": STATUS} if step == "warm_update" else {}
        pick = UPDATED if step == "warm_update" else READ
        held = entities(0, rows)
        return of_entities(held[number] | change for number in numbers(pick, workload, rows))
    return _BY_STEP[step](rows)


def numbers(pick: Pick, workload: Workload, rows: int) -> list[int]:
    found: list[int] = picked(pick, workload, rows).tolist()
    return found


def of_entities(found: Iterable[Entity]) -> str:
    return digest([[one] for one in found])


def of_objects(found: Mapping[str, bytes]) -> str:
    return digest([[key, sha256(body).hexdigest()] for key, body in found.items()])


def of_sizes(found: Mapping[str, int]) -> str:
    return digest([[key, size] for key, size in found.items()])


def of_pairs(entities_found: Iterable[Entity], objects_found: Mapping[str, bytes]) -> str:
    return together([of_entities(entities_found), of_objects(objects_found)])


def of_names(found: Iterable[tuple[float, Iterable[str]]]) -> str:
    """By rating; the names in their order."""
    return digest([[rating, list(names)] for rating, names in found])


def of_keys(found: Iterable[str]) -> str:
    return digest([[number, key] for number, key in enumerate(found)])


def of_fields(found: Iterable[str]) -> str:
    return digest([[name] for name in found])


def _rated(rows: int) -> str:
    held = entities(0, rows)
    names = {rating: [one["name"] for one in held if one["rating"] == rating] for rating in RATINGS}
    return of_names((rating, found[:LIMIT]) for rating, found in names.items())


def _in_groups(step: str) -> Callable[[int], str]:
    return lambda rows: of_entities(one for group in groups(step, rows) for one in group)


def _of_prefix(prefix: str) -> Callable[[int], str]:
    return lambda rows: of_objects(objects(prefix, SIZES[prefix]))


_BY_STEP: dict[str, Callable[[int], str]] = {
    "open_cold": lambda rows: of_fields(entities(0, 1)[0]),
    "catalog_query": _rated,
    "warm_create": lambda rows: of_entities(new_entities("warm_create", rows)),
    "crud_cycle": lambda rows: of_entities(new_entities("crud_cycle", rows)),
    **{f"{verb}_{prefix}": _of_prefix(prefix) for verb in ("put", "get") for prefix in SIZES},
    "head": lambda rows: of_sizes(dict.fromkeys(objects("1kb", SIZES["1kb"]), SIZES["1kb"])),
    "list_10": lambda rows: of_keys(listed_objects()),
    "commit_then_put": lambda rows: of_pairs(*pairs("commit_then_put", rows)),
    "commit_and_put": lambda rows: of_pairs(*pairs("commit_and_put", rows)),
    "one_by_one_100": _in_groups("one_by_one_100"),
    "batched_100": _in_groups("batched_100"),
}
