"""The filter as it is being edited: with unfinished text, and conditions that are switched off but not
lost."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested_values import place_of
from lamella.core.arrow.types import type_text
from lamella.core.errors import BadData, BadFilter, BadSearch, UnknownColumn
from lamella.core.filters import OPERATORS, And, Filter, Not, Or, Predicate, Reference
from lamella.core.filters.binding import BoundPredicate, bind_predicate, is_whole
from lamella.core.filters.kinds import COUNTED_KINDS, NUMBERS, Kind, kind_of
from lamella.core.filters.operators import WORDS, Arity, Takes, offered_operators
from lamella.core.filters.sentence import sentence

_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)')
_SIGNS = {">=": "gte", "<=": "lte", "<>": "ne", "!=": "ne", ">": "gt", "<": "lt", "=": "eq"}


def split_list(text: str) -> list[str]:
    """The values of `AA, UA, "Paris, France"`; only a quoted value can be empty or end in spaces."""
    values = []
    for item in _ITEM.finditer(text):
        quoted, bare = item.group(1), item.group(2)
        if quoted is not None:
            values.append(quoted.replace('""', '"'))
        elif bare.strip():
            values.append(bare.strip())
    return values


def join_list(values: Sequence[str]) -> str:
    return ", ".join(_quote(value) for value in values)


def text_of(value: Any) -> str:
    """The text that is read back as `value`."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Reference):
        return value.name
    if isinstance(value, Filter):
        return sentence(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return str(value.date()) if value.timetz() == dt.time() else value.isoformat(sep=" ")
    return str(value)


NAN_MAY_MEET = frozenset({"gt", "gte", "ne", "not_between", "nin"})
"""Operators that NaN can meet, since it is greater than every number."""


def nans_in(condition: Condition, filter: Filter, types: Types) -> Filter | None:
    """The rows that meet a condition because they are NaN; None if it is not on floats, or is about NaN
    itself."""
    type_ = type_of(condition.column, types)
    if type_ is None or kind_of(type_) is not Kind.FLOAT or condition.operator not in NAN_MAY_MEET:
        return None
    values = filter.values if isinstance(filter, Predicate) else ()
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        return None
    return And((filter, Predicate(condition.column, "eq", (math.nan,))))


def quick(text: str, type_: pa.DataType) -> tuple[str, list[str]] | None:
    """The operator and values of a short form such as `>5`, `1~9`, `<>x` or `=NULL`; None for other text."""
    text = text.strip()
    if null := re.fullmatch(r"(=|<>|!=)\s*null", text, re.IGNORECASE):
        return ("is_null" if null.group(1) == "=" else "not_null"), []
    if kind_of(type_) not in NUMBERS | COUNTED_KINDS:
        return None
    sign = split_operator(text)
    if sign is not None and sign[1]:
        return sign[0], [sign[1]]
    low, tilde, high = text.partition("~")
    return ("between", [low.strip(), high.strip()]) if tilde and low.strip() and high.strip() else None


def split_operator(text: str) -> tuple[str, str] | None:
    """The operator at the beginning of a text, and the rest of the text."""
    match = re.fullmatch(r"(>=|<=|<>|!=|>|<|=)\s*(.*)", text.strip(), re.DOTALL)
    return None if match is None else (_SIGNS[match[1]], match[2])


def _quote(value: str) -> str:
    if value and value == value.strip() and not set(value) & set(',"\n'):
        return value
    return '"' + value.replace('"', '""') + '"'


_COMPLEMENTS = (
    ("eq", "ne"),
    ("in", "nin"),
    ("between", "not_between"),
    ("contains", "not_contains"),
    ("is_null", "not_null"),
)
SEVERAL = {"eq": "in", "ne": "nin"}
CHOICE_OPERATORS = frozenset({"eq", "ne", "in", "nin"})
"""Operators whose values can be chosen from a list of the column's values."""
OPPOSITES = dict(_COMPLEMENTS) | {negative: positive for positive, negative in _COMPLEMENTS}
EMPTY_TEXT = '""'
Types = Mapping[str, pa.DataType]


@dataclass(frozen=True)
class Problem:
    """Why a condition is not part of the filter, and the field responsible: column, operator or value."""

    place: str
    reason: str
    is_unfinished: bool = False


def type_of(name: str, types: Types) -> pa.DataType | None:
    """The type of a column, or of a field inside one, given by a path such as `address.street`."""
    try:
        place = place_of(name, types)
    except BadData:
        return None
    return None if place is None else place.type


@dataclass(eq=False)
class Condition:
    """A condition. `texts` holds one text per value field: a list is one text with commas, `""` is empty
    text.

    `exact_values` are those that `texts` were written from, until the user types. `columns` are the indexes
    of fields that name a column to compare with.
    """

    column: str = ""
    operator: str = "eq"
    texts: list[str] = field(default_factory=list)
    ignore_case: bool = False
    on: bool = True
    exact_values: tuple[Any, ...] | None = None
    columns: frozenset[int] = frozenset()

    @property
    def takes_columns(self) -> bool:
        """Whether its values can be other columns."""
        return OPERATORS[self.operator].takes is Takes.COLUMNS

    def switch(self, place: int) -> None:
        """Switch a field between a value and a column to compare with."""
        self.columns ^= {place}
        arity = OPERATORS[self.operator].arity.value
        self.type_in([*self.texts, "", ""][:arity])
        self.texts[place] = ""

    def type_in(self, texts: list[str]) -> None:
        self.texts, self.exact_values = texts, None

    def choose(self, values: Sequence[Any]) -> None:
        """Compare with exactly these values; if there are several, "is" becomes "is one of"."""
        if len(values) > 1:
            self.operator = SEVERAL.get(self.operator, self.operator)
        self.texts = texts_of(self.operator, values) if values else [""]
        self.exact_values, self.columns = tuple(values) or None, frozenset()

    def values(self) -> tuple[Any, ...] | None:
        """The values; None while a field is empty."""
        arity = OPERATORS[self.operator].arity
        if self.exact_values is not None and (arity is Arity.MANY or arity.value == len(self.exact_values)):
            return self.exact_values
        if arity is Arity.MANY:
            return tuple(split_list(self.texts[0] if self.texts else "")) or None
        texts = (self.texts + [""] * arity.value)[: arity.value]
        return None if "" in texts else tuple(self._value(*item) for item in enumerate(texts))

    def _value(self, place: int, text: str) -> Any:
        if place in self.columns and self.takes_columns:
            return Reference(text)
        return "" if text == EMPTY_TEXT else text

    def bind(self, types: Types) -> BoundPredicate | Problem:
        if not self.column:
            return Problem("column", "choose a column", is_unfinished=True)
        type_, operator = type_of(self.column, types), OPERATORS[self.operator]
        whole = any(map(is_whole, self.exact_values or ()))
        if type_ is not None and not whole and not operator.fits(type_):
            kind = kind_of(type_)
            what = f"{kind.value} ({type_text(type_)})"
            return Problem("operator", f"'{operator.wording(kind)}' does not apply to {what}")
        values = self.values()
        if values is None:
            return Problem("value", "needs a value", is_unfinished=True)
        predicate = Predicate(self.column, self.operator, values, self.ignore_case)
        try:
            if self.operator == WORDS:
                _read_words(predicate)
            return bind_predicate(predicate, types, "this table")
        except BadSearch as error:
            return Problem("value", error.why or error.what)
        except (UnknownColumn, BadData) as error:
            referred = isinstance(error, UnknownColumn) and Reference(error.name) in values
            return Problem("value" if referred else "column", error.args[0])
        except BadFilter as error:
            return Problem("value", error.why or error.what)

    def filter(self, types: Types) -> Filter | None:
        bound = self.bind(types)
        if not self.on or isinstance(bound, Problem):
            return None
        return Predicate(bound.column, bound.operator, bound.values, bound.ignore_case)


def _read_words(predicate: Predicate) -> None:
    """Raises `BadSearch` for words that cannot be read."""
    from lamella.core.index.fulltext.conditions import read_words  # it needs tantivy

    try:
        read_words(str(predicate.values[0]), predicate.column)
    except UnknownColumn as error:
        raise BadSearch(str(error)) from error


@dataclass(eq=False)
class Group:
    """A group of conditions. They are joined with AND in a conjunction, otherwise with OR; with
    `is_negated`, the whole group is negated."""

    children: list[Condition | Group] = field(default_factory=list)
    is_conjunction: bool = True
    is_negated: bool = False
    on: bool = True

    def filter(self, types: Types) -> Filter | None:
        """The filter of the group; None if it has no complete condition."""
        filters = [own_filter for child in self.children if (own_filter := child.filter(types)) is not None]
        if not self.on or not filters:
            return None
        joined = filters[0] if len(filters) == 1 else (And if self.is_conjunction else Or)(tuple(filters))
        return Not(joined) if self.is_negated else joined

    def conditions(self) -> Iterator[Condition]:
        for child in self.children:
            if isinstance(child, Condition):
                yield child
            else:
                yield from child.conditions()

    def parent_of(self, node: Node) -> Group | None:
        for child in self.children:
            if child is node:
                return self
            if isinstance(child, Group) and (parent := child.parent_of(node)):
                return parent
        return None

    def beside(self, node: Node, types: Types) -> list[Filter]:
        """The other conditions that rows of this node must meet: those of the groups around it, from the
        outside in, as long as the groups are joined with AND."""
        inside = next((child for child in self.children if child is node or _holds(child, node)), None)
        if self.is_negated or inside is None:
            return []
        siblings = [child for child in self.children if self.is_conjunction and child is not inside]
        filters = [filter for sibling in siblings if (filter := sibling.filter(types)) is not None]
        return filters + inside.beside(node, types) if isinstance(inside, Group) else filters

    def exclude_nan(self, condition: Condition) -> None:
        """Exclude NaN from a condition, by another condition joined with AND."""
        parent = self.parent_of(condition)
        if parent is None:
            return
        nan_condition = Condition(condition.column, "ne", ["nan"])
        place = parent.children.index(condition)
        if parent.is_conjunction:
            parent.children.insert(place + 1, nan_condition)
        else:
            parent.children[place] = Group([condition, nan_condition])

    def remove(self, node: Node) -> None:
        """Remove a node, and groups that become empty."""
        parent = self.parent_of(node)
        if parent is None:
            return
        parent.children.remove(node)
        if not parent.children and parent is not self:
            self.remove(parent)

    def wrap(self, node: Node) -> None:
        """Replace a node by a new group that contains it."""
        parent = self.parent_of(node)
        if parent is not None:
            place = parent.children.index(node)
            parent.children[place] = Group([node], is_conjunction=not parent.is_conjunction)

    def unwrap(self, node: Node) -> None:
        """Move a node out of its group, to the position after the group."""
        parent = self.parent_of(node)
        above = self.parent_of(parent) if parent is not None else None
        if parent is None or above is None:
            return
        above.children.insert(above.children.index(parent) + 1, node)
        parent.children.remove(node)
        if not parent.children:
            self.remove(parent)

    def move(self, node: Node, step: int) -> None:
        parent = self.parent_of(node)
        if parent is not None:
            place = parent.children.index(node)
            parent.children.remove(node)
            parent.children.insert(max(0, place + step), node)


Node = Condition | Group


def _holds(around: Node, node: Node) -> bool:
    return isinstance(around, Group) and around.parent_of(node) is not None


def from_filter(filter: Filter | None) -> Group:
    """The tree of a filter; its root is a group joined with AND."""
    if filter is None:
        return Group()
    node = _node(filter)
    return node if isinstance(node, Group) and not node.is_negated else Group([node])


def as_conjunction(tree: Group) -> Group:
    """An equivalent group joined with AND: the tree itself, or a group that contains it."""
    return tree if tree.is_conjunction and not tree.is_negated else Group([tree] if tree.children else [])


def _node(filter: Filter) -> Node:
    if isinstance(filter, Predicate):
        return _condition(filter)
    if isinstance(filter, Not):
        inside = _node(filter.child)
        if isinstance(inside, Condition) and inside.operator in OPPOSITES:
            inside.operator = OPPOSITES[inside.operator]
            return inside
        if isinstance(inside, Group) and not inside.is_negated:
            inside.is_negated = True
            return inside
        return Group([inside], is_negated=True)
    if isinstance(filter, And | Or):
        return Group([_node(child) for child in filter.children], is_conjunction=isinstance(filter, And))
    raise TypeError(f"{filter!r} is not a filter")


def _condition(predicate: Predicate) -> Condition:
    texts = texts_of(predicate.operator, predicate.values)
    columns = frozenset(n for n, value in enumerate(predicate.values) if isinstance(value, Reference))
    return Condition(
        predicate.column,
        predicate.operator,
        texts,
        predicate.ignore_case,
        exact_values=predicate.values,
        columns=columns,
    )


def texts_of(operator: str, values: Sequence[Any]) -> list[str]:
    """The texts in the fields of a condition with these values."""
    texts = [text_of(value) for value in values]
    many = OPERATORS[operator].arity is Arity.MANY
    return [join_list(texts)] if many else [text or EMPTY_TEXT for text in texts]


def first_condition(types: Types) -> Condition:
    """A new condition on the first column that can be compared."""
    for name, type_ in types.items():
        if name != "_id" and len(offered_operators(type_)) > 2:
            return Condition(name, offered_operators(type_)[0].id)
    return Condition()


def to_json(node: Node) -> dict[str, Any]:
    """The whole tree, including what is switched off or unfinished."""
    if isinstance(node, Condition):
        return {"column": node.column, "operator": node.operator, "texts": node.texts} | _marks(node)
    obj: dict[str, Any] = {
        "every" if node.is_conjunction else "any": [to_json(child) for child in node.children]
    }
    return obj | ({"negated": True} if node.is_negated else {}) | _marks(node)


def from_json(obj: Any) -> Group:
    """The group that `to_json` wrote. Raises `BadFilter` if `obj` is not one."""
    try:
        node = _read(obj)
        if isinstance(node, Condition):
            raise ValueError("it is a single condition")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFilter("The saved filter cannot be read", f"{type(error).__name__}: {error}") from error
    return node


def _marks(node: Node) -> dict[str, Any]:
    off: dict[str, Any] = {} if node.on else {"on": False}
    if isinstance(node, Condition) and node.columns:
        off["columns"] = sorted(node.columns)
    return off | ({"ignore_case": True} if isinstance(node, Condition) and node.ignore_case else {})


def _read(obj: dict[str, Any]) -> Node:
    on = bool(obj.get("on", True))
    if "column" in obj:
        if obj["operator"] not in OPERATORS:
            raise ValueError(f"unknown operator {obj['operator']!r}")
        texts = [str(text) for text in obj["texts"]]
        columns = frozenset(int(place) for place in obj.get("columns", ()))
        ignored = bool(obj.get("ignore_case"))
        return Condition(str(obj["column"]), obj["operator"], texts, ignored, on, columns=columns)
    is_conjunction = "every" in obj
    children = [_read(child) for child in obj["every" if is_conjunction else "any"]]
    return Group(children, is_conjunction, bool(obj.get("negated", False)), on)
