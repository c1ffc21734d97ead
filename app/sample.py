"""The sample tables as a store of the user's own, ready to edit."""

from __future__ import annotations

import resources
from core import Store
from core.jobs import Job
from core.transfer import import_file

FIRST_SHOWN = "flights"


def fill(store: Store, job: Job) -> None:
    """Import the tables that `store` still lacks; after a break the next call goes on. Blocking."""
    for table in resources.SAMPLE_TABLES:
        if table not in store:
            import_file(resources.sample(table), store, table, job)
