"""Restructures SELECTs for Spark: lists as rows, and aggregates that depend on the order of rows."""

from __future__ import annotations

from lamella.core.libraries import exp

NUMBER = "__lamella_number"
"""The column with the numbers of rows in their order, within each group."""


def lift_unnests(tree: exp.Expr) -> None:
    """Replace lists that DuckDB unnests side by side among the columns by a LATERAL VIEW of one of them; the
    others are accessed by index. All have the same length, and a list of indexes becomes that of the view."""
    for select in list(tree.find_all(exp.Select)):
        lists = [
            expression
            for expression in select.expressions
            if isinstance(expression, exp.Alias) and isinstance(expression.this, exp.Explode)
        ]
        if not lists:
            continue
        main = next((item for item in lists if not _is_places(item.this.this)), lists[0])
        place = next((item.alias for item in lists if _is_places(item.this.this)), f"{main.alias}_place")
        value_lists = [item for item in lists if item is not main and item.alias != place]
        columns = [expression for expression in select.expressions if expression not in lists]
        values = main.this.this
        if _is_places(values):
            values, main_name = _list_of_length(values), f"{main.alias}_item"
        else:
            main_name = main.alias
        items = [exp.alias_(_item(item.this.this, place), item.alias, quoted=True) for item in value_lists]
        select.set("expressions", [*columns, *items])
        view = exp.Lateral(
            this=exp.Anonymous(this="posexplode", expressions=[values]),
            view=True,
            alias=exp.TableAlias(
                this=exp.to_identifier(f"{main.alias}_view", quoted=True),
                columns=[exp.to_identifier(name, quoted=True) for name in (place, main_name)],
            ),
        )
        select.append("laterals", view)


def _item(values: exp.Expr, place: str) -> exp.Expr:
    return exp.Anonymous(this="get", expressions=[values, exp.column(exp.to_identifier(place, quoted=True))])


def _is_places(values: exp.Expr) -> bool:
    """Whether a list is 0, 1, 2 and so on."""
    if isinstance(values, exp.GenerateSeries):
        return True
    if not isinstance(values, exp.Array):
        return False
    return [expression.sql() for expression in values.expressions] == [
        str(n) for n in range(len(values.expressions))
    ]


def _list_of_length(values: exp.Expr) -> exp.Expr:
    """A list of the same length with any items."""
    if isinstance(values, exp.Array):
        return values
    count = values.args["end"]
    return exp.Anonymous(this="array_repeat", expressions=[exp.Literal.number(1), count])


def name_keys(tree: exp.Expr) -> None:
    """Replace GROUP BY ALL, which Sail 0.7 does not accept, by the expressions that are not aggregates."""
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        if group is None or not group.args.get("all"):
            continue
        keys = [
            expression.unalias()
            for expression in select.expressions
            if not expression.find(exp.AggFunc, exp.Filter)
        ]
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)


def number_rows(tree: exp.Expr) -> None:
    """Number the rows in their order, within each group, below aggregates that depend on it."""
    for select in list(tree.find_all(exp.Select)):
        ordered = _own_orders(select)
        if not ordered:
            continue
        keys = select.args["group"].expressions if select.args.get("group") else []
        window = exp.Window(
            this=exp.RowNumber(),
            partition_by=[key.copy() for key in keys],
            order=exp.Order(expressions=[expression.copy() for expression in ordered[0].expressions]),
        )
        source = select.args["from_"].pop()  # not a copy, whose SELECTs would not be processed
        inner = exp.select("*", exp.alias_(window, NUMBER, quoted=True))
        inner.set("from_", source)
        select.set("from_", exp.From(this=inner.subquery("t", copy=False)))
        number = exp.column(exp.to_identifier(NUMBER, quoted=True))
        for ranking in ordered:
            ranking.set("expressions", [exp.Ordered(this=number.copy())])


def _own_orders(select: exp.Select) -> list[exp.Order]:
    """The row orders in the SELECT's own aggregates."""
    orders = []
    for expression in select.expressions:
        for node in expression.find_all(exp.ArrayAgg, exp.First, exp.Last):
            order = node.this
            if (
                isinstance(order, exp.Order)
                and not isinstance(order.this, exp.Distinct)
                and node.parent_select is select
            ):
                orders.append(order)
    return orders
