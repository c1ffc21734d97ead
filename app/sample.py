"""The sample tables as a store of the user's own, ready to edit, and how they belong together."""

from __future__ import annotations

import logging

from lamella import resources
from lamella.core.errors import UnknownName
from lamella.core.jobs import Job
from lamella.core.store.store import Store
from lamella.core.transfer import import_file

FIRST_SHOWN = "flights"
RELATIONS: dict[str, tuple[list[str], list[str]]] = {
    "carrier": (["flights.carrier"], ["airlines.carrier"]),
    "plane": (["flights.tailnum"], ["planes.tailnum"]),
    "origin": (["flights.origin"], ["airports.faa"]),
    "destination": (["flights.dest"], ["airports.faa"]),
    "weather": (["flights.origin", "flights.time_hour"], ["weather.origin", "weather.time_hour"]),
    "station": (["weather.origin"], ["airports.faa"]),
}
"""What points at what, by the relation's name."""

log = logging.getLogger(__name__)


def fill(store: Store, job: Job) -> None:
    """Import the tables that `store` still lacks; after a break the next call goes on. Blocking."""
    for table in resources.SAMPLE_TABLES:
        if table not in store:
            import_file(resources.sample(table), store, table, job)
    if not store.relations:
        _relate(store)


def _relate(store: Store) -> None:
    """The tables are the user's: a column may be gone by now."""
    for name, (one, other) in RELATIONS.items():
        try:
            store.relate(one, other, name)
        except UnknownName as gone:
            log.info("sample: %s is not declared: %s", name, gone)
