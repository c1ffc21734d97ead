"""Which columns a statement can ask for, so that no more of a wide table is bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_WHOLE_ROWS = frozenset({"STAR", "POSITIONAL_REFERENCE", "PIVOT", "SHOW_REF"})
"""Classes and types of nodes that mean columns without naming them."""


def named_columns(root: Mapping[str, Any]) -> frozenset[str] | None:
    """Case-folded names, of other things too; None where columns may be meant that are not named, as by the
    name of a table, which is a whole row."""
    columns, alone, tables = set[str](), set[str](), set[str]()
    for node in _nodes(root):
        if _means_others(node):
            return None
        tables.update(node[key].casefold() for key in ("alias", "table_name") if _names_rows(node, key))
        named = [name.casefold() for key in ("column_names", "using_columns") for name in node.get(key, ())]
        columns.update(named)
        alone.update(named if len(named) == 1 else ())
    return None if alone & tables else frozenset(columns)


def groups_one_table(root: Mapping[str, Any]) -> bool:
    """Whether it groups the rows of one table, and nothing else reads any."""
    read = [node for node in _nodes(root) if node.get("type") in ("BASE_TABLE", "TABLE_FUNCTION", "JOIN")]
    return root.get("from_table") in read and len(read) == 1 and bool(root.get("group_expressions"))


def filters(root: Mapping[str, Any]) -> bool:
    return any(node.get("where_clause") for node in _nodes(root))


def _means_others(node: Mapping[str, Any]) -> bool:
    kinds = (node.get("class"), node.get("type"), node.get("show_type") and "SHOW_REF")
    natural = node.get("type") == "JOIN" and node.get("ref_type") == "NATURAL"
    return natural or bool(node.get("column_name_alias")) or not _WHOLE_ROWS.isdisjoint(kinds)


def _names_rows(node: Mapping[str, Any], key: str) -> bool:
    return isinstance(node.get(key), str) and bool(node[key]) and ("table_name" in node or "subquery" in node)


def _nodes(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, dict):
        yield node
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        yield from _nodes(_of_order(node, part) if key == "modifiers" else part)


def _of_order(select: Mapping[str, Any], modifiers: Any) -> list[Any]:
    """What ORDER BY and its like name, but for what the question itself gives a name."""
    given = {item["alias"].casefold() for item in select.get("select_list", ())}
    orders = [order["expression"] for modifier in modifiers for order in modifier.get("orders", ())]
    others = [modifier for modifier in modifiers if "orders" not in modifier]
    return others + [one for one in orders if not _is_one_of(given, one)]


def _is_one_of(names: set[str], node: Mapping[str, Any]) -> bool:
    written = node.get("column_names", ())
    return len(written) == 1 and written[0].casefold() in names
