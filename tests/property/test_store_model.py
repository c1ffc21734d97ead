"""Random changes to a table, a copy of it and their histories, against models that are changed the same way.

LAMELLA_LONG_RUNS=5000 runs it longer.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from lamella import Store, agg, col
from lamella.core.errors import StoreProblem
from lamella.core.store.rows import OldVersion
from tests.property.store_machine import LIMITS, VALUES, Columns
from tests.property.table_model import Content, History, Row
from tests.slow_tests import examples

RUNS = examples(14)
STEPS = 50
TABLES = ["t", "u", "v"]
MOST_HELD = 3


@dataclass
class Other:
    """The table, of the original and its copy, that is not being changed at the moment."""

    name: str
    history: History


class Versions(Columns):
    other: Other | None = None
    transactions = 0

    @rule()
    def undo(self) -> None:
        self.step("undo")

    @rule()
    def redo(self) -> None:
        self.step("redo")

    def step(self, kind: str) -> None:
        """Changes made to both tables together are undone and redone on both, or not at all."""
        step, way = getattr(self.table.history, kind), self.history.way(kind)
        if getattr(self.table.history, f"{kind}able")() is None:
            assert self.history.expired or not way
            way.clear()
            with pytest.raises(StoreProblem, match=f"nothing to {kind}"):
                step()
        elif not way[-1].together:
            step()
            self.history.step(kind)
        else:
            self.step_together(kind)

    def step_together(self, kind: str) -> None:
        number, histories = self.history.way(kind)[-1].together, self.histories()
        possible = len(histories) == 2 and all(
            history.way(kind) and history.way(kind)[-1].together == number for history in histories
        )
        try:
            getattr(self.table.history, kind)()
        except StoreProblem:
            assert not possible or any(history.expired for history in histories)
        else:
            assert possible
            for history in histories:
                history.step(kind)

    def histories(self) -> list[History]:
        return [self.history] if self.other is None else [self.history, self.other.history]

    @rule(back=st.integers(1, 4), forth=st.integers(1, 4))
    def there_and_back(self, back: int, forth: int) -> None:
        for kind in back * ["undo"] + forth * ["redo"]:
            self.step(kind)
            self.reads_as_the_model_says()

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.history.versions)))
        commit = self.table.history.restore(version)
        self.committed(commit, self.history.versions[version])

    @rule(data=st.data())
    def read_an_earlier_version(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(1, self.history.version))
        content = self.history.versions.get(version)
        if content is None:
            with pytest.raises(StoreProblem, match=r"expired|no version"):
                self.table.read(as_of=version)
        else:
            assert self.table.read(as_of=version).to_pylist() == content.read()

    @rule(data=st.data())
    def read_what_was_newest_at_a_time(self, data: st.DataObject) -> None:
        commits = {commit.version: commit for commit in self.table.history.commits()}
        assert commits.keys() == self.history.versions.keys()
        version = data.draw(st.sampled_from(sorted(commits)))
        when = commits[version].time
        assert when is not None
        if version == self.history.version or version + 1 in commits:
            assert self.table.as_of(when).version == version

    @rule(data=st.data(), name=st.sampled_from(["one", "two"]))
    def name_a_version_or_take_the_name_away(self, data: st.DataObject, name: str) -> None:
        names = self.history.names
        if name in names:
            assert self.table.as_of(name).read().to_pylist() == self.history.versions[names[name]].read()
            self.table.history.unname_version(name)
            del names[name]
        elif nameless := sorted(self.history.versions.keys() - names.values()):
            names[name] = data.draw(st.sampled_from(nameless))
            self.table.history.name_version(name, names[name])

    @rule(keep=st.integers(1, 12))
    def expire(self, keep: int) -> None:
        assert list(self.table.maintenance.expire(keep_versions=keep).expired) == self.history.expire(keep)

    @rule(data=st.data())
    def differ(self, data: st.DataObject) -> None:
        versions = st.sampled_from(sorted(self.history.versions))
        before, after = data.draw(versions), data.draw(versions)
        old, new = (self.history.versions[version].rows.keys() for version in (before, after))
        actual = self.table.history.diff(before, after).summary()
        assert (actual.added, actual.removed) == (len(new - old), len(old - new))

    @rule(data=st.data(), fails=st.booleans())
    def together(self, data: st.DataObject, fails: bool) -> None:
        ids, name = self.ids(data, most=5), self.column(data, "int", "float")
        if not ids or name is None:
            return
        first = self.now.with_rows({i: {name: 7} for i in ids})
        second = first.without(ids[:1])
        try:
            with self.store.transaction():
                self.table.update([{"_id": i, name: 7} for i in ids])
                assert self.table.read().to_pylist() == first.read()
                self.table.delete(ids=ids[:1])
                if fails:
                    raise Failed
        except Failed:
            return
        self.history.changed(first, second)


class Copies(Versions):
    """The table may have a copy, itself copied again; the copies are changed in turn."""

    @precondition(lambda self: self.other is None)
    @rule()
    def copy(self) -> None:
        name = next(name for name in TABLES if name != self.name)
        self.store.copy_table(self.name, name)
        self.other = Other(name, self.history.of_copy())

    @precondition(lambda self: self.other)
    @rule()
    def turn_to_the_other(self) -> None:
        assert self.other is not None
        former = Other(self.name, self.history)
        self.name, self.history, self.other = self.other.name, self.other.history, former
        self.table = self.store[self.name]

    @precondition(lambda self: self.other)
    @rule()
    def drop_the_other(self) -> None:
        assert self.other is not None
        self.store.drop_table(self.other.name)
        self.other = None
        assert self.store.tables == [self.name]

    @rule()
    def rename(self) -> None:
        """Objects of the table stay valid, also in another open store."""
        names_in_use = {self.name, self.other.name if self.other else ""}
        new = next(name for name in TABLES if name not in names_in_use)
        self.store.rename_table(self.name, new)
        self.name = new
        assert self.table.name == new

    @precondition(lambda self: self.other)
    @rule(fails=st.booleans())
    def delete_of_both(self, fails: bool) -> None:
        assert self.other is not None
        history, table = self.other.history, self.store[self.other.name]
        own_id, second_id = min(self.now.rows, default=None), max(history.now.rows, default=None)
        if own_id is None or second_id is None:
            return
        try:
            with self.store.transaction():
                self.table.delete(ids=[own_id])
                table.delete(ids=[second_id])
                assert table.num_rows == len(history.now.rows) - 1
                if fails:
                    raise Failed
        except Failed:
            assert table.version == history.version
            return
        self.transactions += 1
        self.history.changed(self.now.without([own_id]), together=self.transactions)
        history.changed(history.now.without([second_id]), together=self.transactions)


class Upkeep(Copies):
    @rule()
    def flush(self) -> None:
        self.table.maintenance.flush()

    @rule()
    def flush_at_rest(self) -> None:
        self.store.maintenance.flush_idle()

    @rule(group=st.none() | st.integers(1, 7), times=st.integers(1, 3))
    def compact(self, group: int | None, times: int) -> None:
        self.table.maintenance.compact(group, None if group is None else times * group)

    @rule()
    def vacuum(self) -> None:
        self.store.maintenance.vacuum()

    @rule(data=st.data())
    def index_or_not(self, data: st.DataObject) -> None:
        name = self.column(data, "int", "float", "text")
        if name is None:
            return
        if any(index.columns == (name,) for index in self.table.indexes):
            self.table.indexes.drop(name)
        else:
            self.table.indexes.create(name)

    @rule()
    def reopen(self) -> None:
        self.held().clear()
        self.store.close()
        self.store = Store.open(self.folder / "s")
        self.table = self.store[self.name]

    @rule()
    def go_on_in_another_store(self) -> None:
        """Continue with a second open store, which may have cached an earlier state of the table."""
        self.second = self.second or Store.open(self.folder / "s")
        self.store, self.second = self.second, self.store
        self.table = self.store[self.name]

    def held(self) -> list[tuple[OldVersion, Content]]:
        """Versions that are open for reading, whatever happens to them meanwhile."""
        return self.__dict__.setdefault("_held", [])

    @rule(data=st.data())
    def hold(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.history.versions)))
        self.held().append((self.table.as_of(version), self.history.versions[version]))
        del self.held()[:-MOST_HELD]

    @rule()
    def read_what_is_held(self) -> None:
        for version, content in self.held():
            assert version.read().to_pylist() == content.read()


class Questions(Upkeep):
    @rule(data=st.data(), limit=LIMITS)
    def filtered(self, data: st.DataObject, limit: int) -> None:
        name = self.column(data, "int", "float")
        if name is not None:
            hit = self.now.ids_where(lambda row: row[name] is not None and row[name] > limit)
            assert self.table.read(where=col(name) > limit).to_pylist() == self.now.read(hit)
            assert self.table.count(col(name) > limit) == len(hit)
            ordered = sorted(hit, key=lambda i: self.now.rows[i][name])
            actual = self.table.read(where=col(name) > limit, sort=[name], limit=5, columns=["_id"])
            assert actual.column(0).to_pylist() == ordered[:5]

    @rule(data=st.data())
    def get(self, data: st.DataObject) -> None:
        row_id = data.draw(st.integers(-1, self.history.given_ids + 1))
        expected = self.now.read([row_id])[0] if row_id in self.now.rows else None
        assert self.table.get(row_id) == expected

    @rule(data=st.data())
    def listed(self, data: st.DataObject) -> None:
        ids = data.draw(st.permutations(self.ids(data)))
        assert self.table.read(ids=ids).to_pylist() == self.now.read(ids)

    @rule(data=st.data())
    def grouped(self, data: st.DataObject) -> None:
        """DuckDB reads the files and the pending changes."""
        key, value = self.column(data, *VALUES), self.column(data, "int", "float", "text")
        if key is None or value is None:
            return
        groups: dict[object, list[object]] = {}
        for row in self.now.rows.values():
            groups.setdefault(as_key(row[key]), []).append(row[value])
        actual = self.table.group_by(key=col(key)).agg(rows=agg.count(), most=agg.max(value)).read()
        assert {as_key(row["key"]): (row["rows"], row["most"]) for row in actual.to_pylist()} == {
            key: (len(values), max((v for v in values if v is not None), default=None))
            for key, values in groups.items()
        }

    @rule(size=st.integers(1, 12))
    def by_pages(self, size: int) -> None:
        rows: list[Row] = []
        page = self.table.page(size)
        while page.rows.num_rows:
            rows += page.rows.to_pylist()
            if page.next is None:
                break
            page = self.table.page(size, after=page.next)
        assert rows == self.now.read()


def as_key(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class Failed(Exception):
    """Raised to roll back a transaction."""


Questions.TestCase.settings = settings(
    max_examples=RUNS, stateful_step_count=STEPS, deadline=None, report_multiple_bugs=False
)
TestTable = Questions.TestCase
