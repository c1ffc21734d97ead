"""`lamella relations`: how the tables of a store belong together, what points at nothing, what may belong."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from lamella.app.commands import DAMAGED, terminal
from lamella.core.errors import StoreProblem
from lamella.core.relations import Relation
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.suggesting import Suggestion
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store

Said = Relation | RelationCheck | Suggestion


def run(arguments: argparse.Namespace) -> int:
    """Lists what is declared, unless something else is asked for."""
    if not is_store(arguments.store):
        raise StoreProblem(f"{arguments.store}: there is no store here", fix="Check the path")
    problems = False
    with terminal.job() as job, Store.open(arguments.store, read_only=True) as store:
        if not (arguments.check or arguments.suggest):
            _say(store.relations, "no relations; --suggest looks for some", arguments.json)
        if arguments.check:
            checks = store.relations.check(job=job)
            problems = any(check.problems for check in checks)
            _say(checks, "no relations to check; --suggest looks for some", arguments.json)
        if arguments.suggest:
            _say(store.relations.suggest(job=job), "nothing to suggest", arguments.json)
    return DAMAGED if problems else 0


def _say(items: Sequence[Said], none: str, as_json: bool) -> None:
    lines: Iterable[str] = (json.dumps(_json_ready(each), ensure_ascii=False) for each in items)
    if not as_json:
        lines = map(str, items) if items else [none]
    for line in lines:
        print(line)


def _json_ready(said: Said) -> dict[str, Any]:
    """Keys may hold anything: what JSON lacks is told as it prints."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(said), default=str))
    return plain
