"""The steps on objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from lamella.core.bench.catalog import answers
from lamella.core.bench.catalog.data import SIZES, listed_objects, objects
from lamella.core.bench.catalog.sampling import Sampling
from lamella.core.bench.cycle import Sample
from lamella.core.bench.workloads.catalog import CALLS


class ObjectSteps(Sampling):
    def put(self, prefix: str) -> Iterator[Sample]:
        made = objects(prefix, SIZES[prefix])
        works = [partial(self.backend.put_object, key, body) for key, body in made.items()]
        yield self._sample(f"put_{prefix}", works, lambda _: answers.of_objects(self._objects(made)))

    def get(self, prefix: str) -> Iterator[Sample]:
        keys = list(objects(prefix, SIZES[prefix]))

        def told(found: list[bytes]) -> str:
            return answers.of_objects(dict(zip(keys, found, strict=True)))

        works = [partial(self.backend.get_object, key) for key in keys]
        yield self._sample(f"get_{prefix}", works, told, writing=False)

    def head(self) -> Iterator[Sample]:
        keys = list(objects("1kb", SIZES["1kb"]))

        def told(found: list[int]) -> str:
            return answers.of_sizes(dict(zip(keys, found, strict=True)))

        works = [partial(self.backend.head_object, key) for key in keys]
        yield self._sample("head", works, told, writing=False)

    def list_10(self) -> Iterator[Sample]:
        def told(found: list[Sequence[str]]) -> str:
            (keys,) = set(map(tuple, found))
            return answers.of_keys(keys)

        prefix = next(iter(listed_objects())).partition("/")[0]
        works = [partial(self.backend.list_objects, prefix)] * CALLS
        yield self._sample("list_10", works, told, writing=False)
