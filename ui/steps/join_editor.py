"""The form of a join: the other dataset, the columns, and which rows stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QStringListModel
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QToolButton, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.query.source import Source, StoreTable, related_keys
from lamella.core.query.steps import Join, Pipeline, Select
from lamella.core.relations import Link
from lamella.ui import theme
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.steps.editors import (
    OtherSource,
    StepContext,
    StepEditor,
    column,
    heading,
    line_of,
    word,
    yielding,
)
from lamella.ui.widgets.controls import FieldRow, FieldRows, FlowLayout

MOST_RELATIONS = 12
"""The maximum number of relations that are offered."""
HOW = {
    "inner": "rows that have a partner",
    "left": "all rows of this side",
    "right": "all rows of the other side",
    "full": "all rows of both sides",
    "semi": "rows that have a partner, without its columns",
    "anti": "rows that have no partner",
}


class PairRow(FieldRow):
    """A column of this side, and the column of the other side that must be equal."""

    def __init__(
        self,
        names: QStringListModel,
        other_names: QStringListModel,
        left: str = "",
        right: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Remove this pair", parent)
        self.boxes = ColumnBox(names, left), ColumnBox(other_names, right)
        for box in self.boxes:
            box.setFixedWidth(12 * theme.current().line_height())
            box.chosen.connect(self.changed)
        self.setLayout(line_of(self.boxes[0], word("="), self.boxes[1], self.remove))
        self.setFocusProxy(self.boxes[0])

    @property
    def texts(self) -> tuple[str, str]:
        return self.boxes[0].text(), self.boxes[1].text()


class JoinEditor(StepEditor):
    """The form of a join. The other dataset is opened off the GUI thread once it is chosen. The proposed keys
    are those of a relation, or columns of the same name."""

    def __init__(self, context: StepContext, step: Join | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._step = step
        self._other_source: Source | None = None
        self._openers = dict(context.other_sources())
        self._other_names = QStringListModel(self)
        self.other_box = QComboBox(accessibleName="Join with")
        self.other_box.setPlaceholderText("Choose a dataset")
        self.other_box.addItems([visible(name) for name in self._openers])
        self.other_box.setCurrentIndex(-1)
        self.how = QComboBox(accessibleName="Rows that stay")
        for how, title in HOW.items():
            self.how.addItem(f"{how}: {title}", how)
        self.how.setCurrentIndex(self.how.findData(step.how if step else "left"))
        self.suffix = QLineEdit(step.suffix if step else "", accessibleName="Suffix for equal names")
        add = QToolButton(text="+ Pair of columns")
        self.pairs = FieldRows(add, lambda: PairRow(self.names, self._other_names))
        self.pairs.changed.connect(self.tell)
        layout = column(self)
        for field in (self.other_box, self.how):
            yielding(field, 0)
        self.related_links = QWidget()
        self.related_links.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._related_line = FlowLayout(theme.XS, self.related_links)
        self._related_line.addWidget(word("Related:"))
        self.related_links.hide()
        layout.addWidget(self.related_links)
        layout.addLayout(
            line_of(word("Join with"), self.other_box, self.how, fields=(self.other_box, self.how))
        )
        yielding(self.suffix, 8 * theme.current().line_height())
        below = line_of(add, word("Suffix for equal names"), self.suffix, fields=(self.suffix,))
        self._keys_form = QWidget()
        keys = column(self._keys_form)
        keys.addWidget(heading("Where"))
        keys.addWidget(self.pairs)
        keys.addLayout(below)
        self._keys_form.hide()
        layout.addWidget(self._keys_form)
        layout.addWidget(self.reason)
        if step is not None:
            self._begin_with(step)
        self.other_box.activated.connect(self._choose)
        self.how.activated.connect(self.tell)
        self.suffix.textEdited.connect(self.tell)
        self._offer_relations()

    def _offer_relations(self) -> None:
        """Show a button for each relation of the table."""
        source = self.context.source
        if isinstance(source, StoreTable):
            self.context.tasks.read(
                lambda job: source.store.relations.links(source.name), self._show_links,
                lambda error: None, owner=self, quiet=True,
            )  # fmt: skip

    def _show_links(self, links: Sequence[Link]) -> None:
        usable = [link for link in links if not link.relation.problem]
        usable = [link for link in usable if all(name in self.types for name in link.columns)]
        for link in usable[:MOST_RELATIONS]:
            columns = link.columns if link.direction == "out" else link.other_columns
            whose = "their " if link.direction == "in" and link.other == link.table else ""
            button = QToolButton(text=visible(f"{link.other} by {whose}{', '.join(columns)}"))
            button.setToolTip(visible(str(link.relation)))
            theme.variant(button, "chip")
            button.clicked.connect(partial(self._take_link, link))
            self._related_line.addWidget(button)
        self.related_links.setVisible(bool(usable))

    def _take_link(self, link: Link) -> None:
        """Join with the other table of a relation, by its keys."""
        source = self.context.source
        assert isinstance(source, StoreTable)

        def use_source(dataset: Source) -> None:
            place = self.other_box.findText(visible(dataset.name))
            if place < 0:
                self.other_box.addItem(visible(dataset.name))
                place = self.other_box.count() - 1
                self._openers[dataset.name] = OtherSource(lambda job: dataset)
            self.other_box.setCurrentIndex(place)
            self._take_source(dataset)
            self.pairs.clear()
            for left, right in zip(link.columns, link.other_columns, strict=True):
                self._add(left, right)
            self.tell()

        self.context.tasks.read(
            lambda job: _load_columns(source.store[link.other], job), use_source,
            lambda error: self.say(str(error)), owner=self, quiet=True,
        )  # fmt: skip

    def step(self) -> Join | None:
        if self._other_source is None:
            return None
        pairs = [row.texts for row in self.pairs.rows if any(row.texts)]
        theirs = set(self._other_source.schema.names)
        unknown = [a for a, _ in pairs if a not in self.types] + [b for _, b in pairs if b not in theirs]
        if unknown:
            self.say(f"There is no column '{visible(unknown[0])}'." if unknown[0] else "")
            return None
        self.say("" if pairs else "Choose the columns that are equal.")
        if not pairs:
            return None
        left, right = zip(*pairs, strict=True)
        suffix = self.suffix.text().strip() or self._usual_suffix(self._other_source)
        return Join(
            Pipeline(self._name, self._columns(right)),
            tuple(left),
            tuple(right),
            self.how.currentData(),
            suffix,
        )

    def _usual_suffix(self, source: Source) -> str:
        """The name of the other dataset, with a number if an earlier join already uses that suffix."""
        suffix, number = f"_{source.name}", 2
        while any(name + suffix in self.types for name in source.schema.names):
            suffix, number = f"_{source.name}_{number}", number + 1
        return suffix

    def _columns(self, keys: Sequence[str]) -> tuple[Select, ...]:
        """The columns to take: all of a store's table but its ids, unless these are the key."""
        assert self._other_source is not None
        names = self._other_source.schema.names
        if ID not in names or ID in keys:
            return ()
        return (Select(tuple(name for name in names if name != ID)),)

    def sources(self) -> Mapping[str, Source]:
        return {} if self._other_source is None else {self._name: self._other_source}

    def focus_first(self) -> None:
        self.other_box.setFocus()

    @property
    def _name(self) -> str:
        """The name of the other dataset in the step, which must differ from this one's."""
        assert self._other_source is not None
        own = self.context.source
        return (
            self._other_source.name
            if self._other_source is own or self._other_source.name != own.name
            else f"{own.name}#2"
        )

    def _begin_with(self, step: Join) -> None:
        source = self.context.sources.get(step.other.source)
        if source is None and step.other.source == self.context.source.name:
            source = self.context.source
        if source is None:
            self.say(f"{step.other.source} is not open.")
            return
        place = self.other_box.findText(visible(source.name))
        if place < 0:
            self.other_box.addItem(visible(source.name))
            place = self.other_box.count() - 1
            self._openers[source.name] = OtherSource(lambda job: source)
        self.other_box.setCurrentIndex(place)
        self._take_source(source)
        for left, right in zip(step.left_on, step.right_on, strict=True):
            self._add(left, right)

    def _choose(self, place: int) -> None:
        other = list(self._openers.values())[place]

        def show_source(source: Source) -> None:
            if place != self.other_box.currentIndex():
                return  # another dataset was chosen meanwhile
            self._take_source(source)
            self.pairs.clear()
            for left, right in self._keys(source) or [("", "")]:
                self._add(left, right)
            self.tell()

        self.context.tasks.read(
            lambda job: _load_columns(other.open(job), job),
            show_source,
            lambda error: self.say(str(error)),
            owner=self,
            quiet=True,
        )

    def _take_source(self, source: Source) -> None:
        self._other_source = source
        self._keys_form.show()
        self.suffix.setPlaceholderText(visible(self._usual_suffix(source)))
        self._other_names.setStringList([name for name in source.schema.names if name != ID])

    def _keys(self, source: Source) -> list[tuple[str, str]]:
        try:
            keys = related_keys(self.context.source, source, None)
        except LamellaError:
            keys = None
        if keys is not None and all(name in self.types for name in keys[0]):
            return list(zip(*keys, strict=True))
        return [(name, name) for name in source.schema.names if name in self.types and name != ID][:1]

    def _add(self, left: str, right: str) -> None:
        self.pairs.append(PairRow(self.names, self._other_names, left, right))


def _load_columns(source: Source, job: Job) -> Source:
    """The source, with its columns loaded."""
    assert source.schema is not None
    job.check()
    return source
