"""A query with its datasets as JSON: each by its name, and its version where it is not the newest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lamella.core.errors import BadQuery
from lamella.core.query.asking import Asking
from lamella.core.query.pipeline_json import from_json, to_json

if TYPE_CHECKING:
    from lamella.core.dataset import Dataset

Json = dict[str, Any]
DATASETS, NAME, AS_OF = "datasets", "name", "as_of"


def saved(asking: Asking) -> Json:
    """With what the pipeline does not tell: that a dataset is called otherwise in it, or an old version."""
    told = {called: _told(called, dataset) for called, dataset in asking.sources.items()}
    made, others = to_json(asking.pipeline), {called: one for called, one in told.items() if one}
    return {**made, DATASETS: others} if others else made


def opened(obj: Any, find: Callable[[str], Dataset]) -> Asking:
    """Raises `BadQuery` for what `saved` does not make, and like `as_of` for a version that is gone."""
    pipeline = from_json(obj)
    told = obj.get(DATASETS, {})
    if not isinstance(told, Mapping) or not all(isinstance(one, Mapping) for one in told.values()):
        raise BadQuery("the saved query cannot be read", f"its {DATASETS} are {told!r}")
    return Asking({name: _found(name, told.get(name, {}), find) for name in pipeline.sources()}, pipeline)


def _told(called: str, dataset: Dataset) -> Json:
    from lamella.core.store.old_version import OldVersion

    told: Json = {} if dataset.name == called else {NAME: dataset.name}
    return {**told, AS_OF: dataset.version} if isinstance(dataset, OldVersion) else told


def _found(called: str, told: Mapping[str, Any], find: Callable[[str], Dataset]) -> Dataset:
    from lamella.core.store.table_history import TableHistory

    name, version = told.get(NAME, called), told.get(AS_OF)
    if not isinstance(name, str) or not isinstance(version, int | None) or isinstance(version, bool):
        raise BadQuery("the saved query cannot be read", f"it names {name!r} as of {version!r}")
    dataset = find(name)
    if version is None:
        return dataset
    if not isinstance(dataset, TableHistory):
        raise BadQuery(
            f"the saved query is of version {version} of '{name}'",
            "What was found by that name has no versions",
            "Open it with the store that has the table",
        )
    return dataset.as_of(version)
