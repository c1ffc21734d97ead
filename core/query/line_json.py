"""Lines of steps as JSON and back, including what a query does not have: steps that are off, and drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lamella.core.errors import BadQuery, LamellaError, short_text
from lamella.core.query.line import Line, LineStep
from lamella.core.query.pipeline_json import kind_name, kind_named, step_from_json, step_to_json
from lamella.core.query.source import Source

STEPS, SOURCES = "steps", "sources"
KIND, STEP, OFF, DRAFT = "kind", "step", "off", "draft"
Json = dict[str, Any]


def line_to_json(line: Line, address_of: Callable[[Source], Any]) -> Json:
    """`address_of` returns where a joined dataset can be reopened, as JSON; None if it cannot be."""
    addresses = {name: address_of(source) for name, source in line.sources.items()}
    saved_addresses = {name: address for name, address in addresses.items() if address is not None}
    item: Json = {STEPS: [_step_to_json(step) for step in line.steps]}
    return {**item, SOURCES: saved_addresses} if saved_addresses else item


def line_from_json(obj: Any, open_source: Callable[[Any], Source]) -> tuple[Line, list[LamellaError]]:
    """Return the line, and the errors of joined datasets that could not be opened; the steps that use them
    report these too. Blocks if `open_source` does. Raises `BadQuery` if `obj` is not what `line_to_json`
    writes."""
    if not isinstance(obj, Mapping) or not isinstance(obj.get(STEPS), list):
        raise BadQuery(f"{short_text(obj)} is not a line of steps")
    steps = tuple(_step_from_json(item) for item in obj[STEPS])
    addresses, problems = obj.get(SOURCES, {}), list[LamellaError]()
    if not isinstance(addresses, Mapping):
        raise BadQuery(f"{short_text(addresses)} are no datasets of a line of steps")
    sources: dict[str, Source] = {}
    for name, address in addresses.items():
        try:
            sources[name] = open_source(address)
        except LamellaError as error:
            problems.append(error)
    return Line(steps, sources), problems


def _step_to_json(step: LineStep) -> Json:
    item: Json = {KIND: kind_name(step.kind)}
    if step.step is not None:
        item[STEP] = step_to_json(step.step)[item[KIND]]
    if not step.on:
        item[OFF] = True
    if step.draft is not None:
        item[DRAFT] = step.draft
    return item


def _step_from_json(obj: Any) -> LineStep:
    if not isinstance(obj, Mapping):
        raise BadQuery(f"{short_text(obj)} is not a step")
    name = obj.get(KIND)
    kind = kind_named(name)
    step = step_from_json({name: obj[STEP]}) if STEP in obj else None
    return LineStep(kind, step, not obj.get(OFF, False), obj.get(DRAFT))
