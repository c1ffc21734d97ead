"""Saved views: queries with names. Those of a store are in its catalog, those of files in a file of the
user's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from lamella.core.errors import (
    BadData,
    BadQuery,
    DamagedStore,
    FileProblem,
    StoreProblem,
    UnknownTable,
    UnknownView,
)
from lamella.core.query.builder import Query
from lamella.core.query.pipeline_json import DATASETS, NAME, from_json, to_json
from lamella.core.query.source import Source
from lamella.core.query.steps import rename_sources
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import Transaction
from lamella.core.validation import text_of

LONGEST_NAME = 200
LAYOUT = "layout"
Find = Callable[[str], Source]


class ViewedStore(Protocol):
    """What views need of their store."""

    @property
    def name(self) -> str: ...

    def __getitem__(self, name: str) -> Source: ...

    def __contains__(self, name: str) -> bool: ...


class StoreViews(Mapping[str, Query]):
    """The saved views of a store, by name: `store.views.save("late", flights.where("delay > 60"))`, and
    `store.views["late"].read()`.

    They belong to the store, not to a version, and read the tables as they are when the view is run. Views
    follow renames of tables. A view of a table or column that is gone raises an error that says so.
    """

    def __init__(self, catalog: Catalog, store: ViewedStore) -> None:
        self._catalog, self._store = catalog, store

    def __repr__(self) -> str:
        return f"<Views of '{self._store.name}'>"

    def __len__(self) -> int:
        return len(self._catalog.views.by_name())

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalog.views.by_name())

    def __contains__(self, name: object) -> bool:
        return name in self._catalog.views.by_name()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the view, or `default` if there is none."""
        if name not in self:
            return default
        return self[name]

    def __getitem__(self, name: str) -> Query:
        """Return the view; raise `UnknownView`, and `StoreProblem` if a table that it needs is gone."""
        definition = self.definition(name)
        try:
            return Query.of(definition, self._store.__getitem__)
        except UnknownTable as error:
            raise StoreProblem(
                f"{self._place}: the view '{name}' cannot be run",
                str(error),
                "Restore the table, or delete the view",
            ) from error

    def definition(self, name: str) -> dict[str, Any]:
        """The query in the form of `Query.to_json`, whether it can be run or not."""
        texts = self._catalog.views.by_name()
        if text_of(name, f"{self._place}: the view's name") not in texts:
            raise UnknownView(name, self._place, list(texts))
        try:
            saved = json.loads(texts[name])
            from_json(saved)
        except (ValueError, RecursionError, BadQuery) as error:
            raise DamagedStore(
                f"{self._catalog.path}: the view '{name}' cannot be read", str(error), "Delete it"
            ) from error
        return dict(saved)

    def of(self, table: str) -> list[str]:
        """The names of the views that begin with this table."""
        names = []
        for name in self:
            with suppress(DamagedStore):
                definition = self.definition(name)
                called = (
                    definition.get(DATASETS, {}).get(definition["source"], {}).get(NAME, definition["source"])
                )
                names += [name] if called == table else []
        return names

    def layout(self, name: str) -> dict[str, Any]:
        """How the columns of a view are shown, as saved with it; empty if nothing was saved. Raises
        `UnknownView`."""
        return _layout_of(self.definition(name))

    def save(
        self, name: str, query: Query, replace: bool = False, layout: Mapping[str, Any] | None = None
    ) -> None:
        """Save a query of this store's tables, with the `layout` of its columns as JSON. Raises `BadData` for
        a query of other datasets, and for a name that is taken unless `replace` is given."""
        _refuse_name(name, self._place)
        for source in query.query().sources.values():
            if getattr(source, "store", self._store) is not self._store or source.name not in self._store:
                raise BadData(
                    f"{self._place}: '{source.name}' is not one of its tables",
                    "A view of a store can only use the store's tables",
                    "Import it first, or save the view for the file",
                )
        definition = json.dumps(_with_layout(query.query().to_json(), layout))
        with self._catalog.transaction() as transaction:
            if not replace and name in transaction.views.by_name():
                raise self._name_conflict(name)
            transaction.views.save(name, definition)

    def delete(self, name: str) -> None:
        """Delete a view; raise `UnknownView`."""
        with self._catalog.transaction() as transaction:
            self._refuse_unknown(name, transaction)
            transaction.views.drop(name)

    def rename(self, old: str, new: str) -> None:
        """Rename a view; raise `UnknownView`, and `BadData` for a name that is taken."""
        _refuse_name(new, self._place)
        with self._catalog.transaction() as transaction:
            self._refuse_unknown(old, transaction)
            if new != old and new in transaction.views.by_name():
                raise self._name_conflict(new)
            transaction.views.rename(old, new)

    @property
    def _place(self) -> str:
        return f"store {self._store.name}"

    def _refuse_unknown(self, name: str, transaction: Transaction) -> None:
        views = transaction.views.by_name()
        if text_of(name, f"{self._place}: the view's name") not in views:
            raise UnknownView(name, self._place, list(views))

    def _name_conflict(self, name: str) -> BadData:
        return BadData(
            f"{self._place} already has a view '{name}'", fix="Choose another name, or give replace=True"
        )


def follow_rename(transaction: Transaction, old: str, new: str) -> None:
    """Apply the rename of a table to the views; views that cannot be read stay as they are."""
    for name, text in transaction.views.by_name().items():
        with suppress(ValueError, RecursionError, BadQuery):
            definition = json.loads(text)
            pipeline, datasets = from_json(definition), definition.get(DATASETS, {})
            for entry in datasets.values():
                if entry.get(NAME) == old:
                    entry[NAME] = new
            own = {source: new if source == old and NAME not in datasets.get(source, {}) else source
                   for source in pipeline.sources()}  # fmt: skip
            renamed = to_json(rename_sources(pipeline, own))
            sources = {own.get(source, source): entry for source, entry in datasets.items()}
            whole = {**renamed, DATASETS: sources} if sources else renamed
            transaction.views.save(name, json.dumps(_with_layout(whole, _layout_of(definition))))


class FileViews:
    """Saved views of files, in a JSON file of the user's, keyed by the paths of the files."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self, files: Sequence[Path]) -> list[str]:
        return sorted(self._of(files))

    def query(self, name: str, files: Sequence[Path], find: Find) -> Query:
        """Return a view; `find` returns the datasets that it names. Raises `UnknownView`."""
        views = self._of(files)
        if name not in views:
            raise UnknownView(name, _first(files), sorted(views))
        return Query.of(views[name], find)

    def layout(self, name: str, files: Sequence[Path]) -> dict[str, Any]:
        """How the columns of a view are shown; raises `UnknownView`."""
        views = self._of(files)
        if name not in views:
            raise UnknownView(name, _first(files), sorted(views))
        return _layout_of(views[name])

    def save(
        self,
        name: str,
        query: Query,
        files: Sequence[Path],
        replace: bool = False,
        layout: Mapping[str, Any] | None = None,
    ) -> None:
        """Save a view. Raises `BadData` for a query of several datasets, and for a name that is taken unless
        `replace` is given."""
        _refuse_name(name, _first(files))
        if len(query.sources) > 1:
            raise BadData(
                f"{_first(files)}: a view of a file can only use that file",
                f"The query uses {', '.join(query.sources)}",
                "Import the files into a store, and save the view there",
            )
        views = self._of(files)
        if name in views and not replace:
            raise BadData(f"{_first(files)} already has a view '{name}'", fix="Choose another name")
        self._write(files, {**views, name: _with_layout(query.to_json(), layout)})

    def delete(self, name: str, files: Sequence[Path]) -> None:
        views = self._of(files)
        if name not in views:
            raise UnknownView(name, _first(files), sorted(views))
        self._write(files, {view: definition for view, definition in views.items() if view != name})

    def rename(self, old: str, new: str, files: Sequence[Path]) -> None:
        _refuse_name(new, _first(files))
        views = self._of(files)
        if old not in views:
            raise UnknownView(old, _first(files), sorted(views))
        if new != old and new in views:
            raise BadData(f"{_first(files)} already has a view '{new}'", fix="Choose another name")
        self._write(files, {new if name == old else name: definition for name, definition in views.items()})

    def _of(self, files: Sequence[Path]) -> dict[str, Any]:
        return dict(self._read_entries().get(_key(files), {}))

    def _read_entries(self) -> dict[str, dict[str, Any]]:
        try:
            saved = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise FileProblem(
                self._path, "the saved views cannot be read", str(error), "Fix the file, or remove it"
            ) from error
        if not isinstance(saved, dict) or not all(isinstance(item, dict) for item in saved.values()):
            raise FileProblem(self._path, "holds no saved views", "", "Fix the file, or remove it")
        return saved

    def _write(self, files: Sequence[Path], views: Mapping[str, Any]) -> None:
        from lamella.core.transfer.exporting import draft_of

        groups = {**self._read_entries(), _key(files): dict(views)}
        nonempty = {key: group for key, group in groups.items() if group}
        with draft_of(self._path) as draft:
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(nonempty, ensure_ascii=False, indent=1), encoding="utf-8")


def _with_layout(saved: dict[str, Any], layout: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**saved, LAYOUT: dict(layout)} if layout else saved


def _layout_of(saved: Any) -> dict[str, Any]:
    layout = saved.get(LAYOUT) if isinstance(saved, Mapping) else None
    return dict(layout) if isinstance(layout, Mapping) else {}


def _key(files: Sequence[Path]) -> str:
    return "\n".join(str(Path(file).absolute()) for file in files)


def _first(files: Sequence[Path]) -> str:
    return str(files[0]) if files else "the files"


def _refuse_name(name: str, place: str) -> None:
    text_of(name, f"{place}: the view's name")
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadData(
            f"{place}: a view cannot have the name {name[:60]!r}",
            f"A name has 1 to {LONGEST_NAME} printable characters",
            "Choose another name",
        )
