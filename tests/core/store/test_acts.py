"""Acts do what their preview announces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, open_dataset
from lamella.core.errors import BadData, Cancelled, LamellaError
from lamella.core.jobs import Job
from lamella.core.store import Table, acts, effects
from lamella.core.store.acts import (
    ASSIGNMENT_BY_ID,
    ASSIGNMENTS,
    CastColumn,
    Delete,
    DropDuplicates,
    Merge,
    Rename,
    Split,
    Update,
    Upsert,
    assignments_for,
    update_of,
)
from lamella.core.store.operators import OPERATORS
from lamella.core.store.operators.table import paths_of
from tests.slow_tests import examples

ROWS = 60


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def stock(store: Store) -> Table:
    rows = pa.table(
        {
            "code": [f"A{n % 40:02}" for n in range(ROWS)],
            "price": pa.array([None if n % 10 == 0 else n / 2 for n in range(ROWS)]),
            "n": pa.array([n % 5 for n in range(ROWS)], pa.int16()),
            "name": [None if n % 7 == 0 else f" item {n} " for n in range(ROWS)],
        }
    )
    return store.create_table("stock", rows)


CHANGES: list[tuple[Any, Any]] = [
    (Update({"$compute": {"price": "price * 1.19"}}), None),
    (Update({"$compute": {"n": "price * 2"}, "$trim": {"name": "both"}}), "n > 2"),
    (Update({"$fill": {"price": {"from": "above"}}}), None),
    (Update({"$set": {"n": 3}}), [3, 4, 5, 1]),
    (Update({"$compute": {"total": "price * n"}}), "price > 20"),
    (Split("name", ["a", "b"], by="m"), "n < 3"),
    (Merge(["code", "n"], "key", between="-"), None),
    (Delete(), "price > 20"),
    (Delete(), [1, 2]),
    (Delete(), None),
    (DropDuplicates(["code"], "last"), None),
    (DropDuplicates(["code"]), "n > 1"),
    (Rename({"n": "count", "code": "n"}), None),
    (CastColumn("price", "int32", lossy=True), None),
    (CastColumn("name", "int64", on_error="null"), None),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("act", "where"), CHANGES)
def test_an_effect_tells_what_the_commit_does(stock: Table, act: Any, where: Any) -> None:
    before = stock.read()
    version = stock.version
    effect = act.effect(stock, where)
    assert stock.version == version
    commit = act.apply(stock, where)
    assert commit.version == version + (len(effect.preview.kinds) > 0)
    assert (effect.inserted, effect.deleted) == (commit.inserted, commit.deleted)
    if not isinstance(act, Rename | CastColumn):
        assert effect.changed == commit.updated
        if where is None:
            assert effect.matching == ROWS
    ids = effect.preview.context.column("_id").to_pylist()
    rows = stock.read(ids=[row_id for row_id in ids if row_id is not None and effect.deleted == 0])
    for name in effect.preview.after.column_names:
        assert effect.preview.after.column(name).to_pylist() == rows.column(name).to_pylist()
    known = {row["_id"]: row for row in before.to_pylist()}
    for name in effect.preview.before.column_names:
        assert effect.preview.before.column(name).to_pylist() == [known[row_id][name] for row_id in ids]
    types = {name: stock.schema.field(name).type for name in effect.types}
    assert {name: after for name, (_, after) in effect.types.items()} == types


PEOPLE = [
    {"n": 1, "address": {"city": " Bern ", "zip": 3000, "geo": {"lat": 1.5}}},
    {"n": 2, "address": {"city": None, "zip": None, "geo": None}},
    {"n": 3, "address": None},
]


@pytest.mark.parametrize(
    ("operators", "before", "after", "counts"),
    [
        (
            {"$trim": {"address.city": "both"}},
            {"address.city": [" Bern "]},
            {"address.city": ["Bern"]},
            (1, 2),
        ),
        (
            {"$inc": {"address.geo.lat": 1}, "$set": {"n": 5}},
            {"address.geo.lat": [1.5, None, None], "n": [1, 2, 3]},
            {"address.geo.lat": [2.5, 1.0, 1.0], "n": [5, 5, 5]},
            (3, 0),
        ),
        ({"$set": {"address.town": "X"}}, {}, {"address.town": ["X"] * 3}, (3, 0)),
        (
            {"$rename": {"address.city": "town"}},
            {"address.city": [" Bern "]},
            {"town": [" Bern "], "address.city": [None]},
            (1, 2),
        ),
    ],
)
def test_the_effect_on_fields_inside_a_column_shows_them(
    store: Store,
    operators: dict[str, Any],
    before: dict[str, list[Any]],
    after: dict[str, list[Any]],
    counts: tuple[int, int],
) -> None:
    people = store.create_table("people", PEOPLE)
    act = Update(operators)
    effect = act.effect(people)
    assert effect.preview.before.to_pydict() == before
    assert effect.preview.after.to_pydict() == after
    assert "address" not in effect.preview.context.column_names
    assert (effect.changed, effect.nulls) == counts
    assert act.apply(people).updated == effect.changed


def test_paths_of_an_update_lead_to_the_fields_that_it_changes() -> None:
    address = pa.struct(
        [
            ("city", pa.string()),
            ("zip", pa.int64()),
            ("a.b", pa.int8()),
            ("geo", pa.struct([("lat", pa.float64())])),
        ]
    )
    twins = pa.struct([pa.field("x", pa.int64()), pa.field("x", pa.string())])
    types = {"address": address, "address.zip": pa.string(), "twins": twins, "n": pa.int64()}
    assert paths_of(types) == {
        "address": address,
        "address.city": pa.string(),
        "address.geo": pa.struct([("lat", pa.float64())]),
        "address.geo.lat": pa.float64(),
        "address.zip": pa.string(),
        "twins": twins,
        "n": pa.int64(),
    }
    assert "fill_from" not in [assignment.id for assignment in assignments_for(pa.int64(), inside=True)]


def test_the_first_rows_are_seen_before_all_are_counted(stock: Table) -> None:
    act = Update({"$compute": {"price": "price * 2"}})
    quick = act.effect(stock, "n > 2", most=5)
    whole = act.effect(stock, "n > 2")
    assert quick.preview.context.num_rows == 5
    assert quick.preview.context.column("_id").to_pylist() == [3, 4, 8, 9, 13]
    assert (whole.matching, whole.changed, whole.nulls) == (24, 24, 0)
    both = act.effect(stock)
    assert (both.matching, both.changed, both.nulls) == (60, 54, 6)
    assert whole.seconds > 0


def test_what_would_be_lost_comes_first_in_a_cast(stock: Table) -> None:
    stock.update([{"_id": 50, "name": "12"}])
    effect = CastColumn("name", "int64").effect(stock)
    assert effect.failures is not None
    assert effect.failures.count == effect.conflicting == ROWS - 9 - 1
    assert set(effect.preview.kinds) == {effects.CONFLICT}
    assert all("number" in reason for reason in effect.preview.reasons)
    with pytest.raises(BadData):
        CastColumn("name", "int64").apply(stock)


def coming() -> pa.Table:
    return pa.table(
        {
            "code": ["A39", "A01", "B01", "A02", "A02", "B02", "B02"],
            "price": [19.5, 7.0, 1.0, 2.0, 3.0, 4.0, 4.0],
        }
    )


def test_an_upsert_tells_new_changed_same_and_conflicting_rows(stock: Table) -> None:
    stock.drop_duplicates("code")
    effect = Upsert(coming(), ["code"]).effect(stock)
    assert (effect.matching, effect.conflicting) == (7, 2)
    assert effect.preview.context.column("code").to_pylist()[:4] == ["A02", "A02", "B01", "B02"]
    assert list(effect.preview.kinds[:4]) == ["conflict", "conflict", "new", "new"]
    with pytest.raises(BadData, match="two of the rows given"):
        Upsert(coming(), ["code"]).apply(stock)
    for keep, price in (("first", 2.0), ("last", 3.0)):
        act = Upsert(coming, ["code"], keep)  # type: ignore[arg-type]
        effect = act.effect(stock)
        assert (effect.inserted, effect.changed, effect.same, effect.conflicting) == (2, 2, 1, 0)
        assert effect.preview.before.column("price").to_pylist()[-2:] == [0.5, 1.0]
        assert effect.preview.after.column("price").to_pylist()[-2:] == [7.0, price]
        commit = act.apply(stock)
        assert (commit.inserted, commit.updated) == (2, 3)
        assert stock.read(["price"], where="code = 'A02'").column(0).to_pylist() == [price]
        stock.history.undo()


@pytest.mark.parametrize("rows", [[{"k": 1}, {"k": 1, "a": None}], [{"k": 1, "a": None}, {"k": 1}]])
def test_null_conflicts_with_what_is_left_out(store: Store, rows: list[dict[str, Any]]) -> None:
    """One row keeps the existing value, the other sets it to null."""
    table = store.create_table("t", [{"k": 1, "a": 5}])
    upsert = Upsert(rows, ["k"])
    assert upsert.effect(table).conflicting == 2
    with pytest.raises(LamellaError, match="two of the rows given"):
        upsert.apply(table)
    assert table.get(0) == {"_id": 0, "k": 1, "a": 5}


def test_an_upsert_takes_files_and_new_columns(stock: Table, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("code,price,colour\nA01,7,red\nZ99,1.5,blue\n")
    stock.drop_duplicates("code")
    act = Upsert(lambda: open_dataset(path), ["code"])
    effect = act.effect(stock)
    assert (effect.inserted, effect.changed) == (1, 1)
    assert effect.types == {"colour": (None, pa.string())}
    act.apply(stock)
    assert stock.read(["price", "colour"], where="code = 'Z99'").to_pylist() == [
        {"price": 1.5, "colour": "blue"}
    ]


def test_the_preview_of_an_upsert_shows_what_rows_will_hold(store: Store) -> None:
    """This includes defaults of columns missing from all or some rows, and cells that stay unchanged."""
    table = store.create_table(
        "t",
        [
            {"k": 1, "state": "paid", "n": 1.5, "size": {"w": 1, "h": 2}},
            {"k": 2, "state": "sent", "n": 2.5, "size": {"w": 3, "h": 4}},
        ],
    )
    table.columns.set_default("state", "new")
    table.columns.set_default("n", 0.5)
    for rows in (
        [{"k": 1, "n": 7}, {"k": 3, "n": 8}],
        [{"k": 1, "n": 7}, {"k": 2, "state": "lost"}, {"k": 3}],
        [{"k": 1, "size.h": 9}, {"k": 3, "size.h": 8}],
        [{"k": 3, "colour": "red"}],
        [{"k": 1, "colour": "red"}],
    ):
        act = Upsert(rows, ["k"])
        effect = act.effect(table)
        keys = effect.preview.context.column("k").to_pylist()
        had = {row["k"]: row for row in table.read().to_pylist()}
        act.apply(table)
        has = {row["k"]: row for row in table.read().to_pylist()}
        before, after = effect.preview.before.to_pydict(), effect.preview.after.to_pydict()
        assert after == {name: [has[key][name] for key in keys] for name in after}
        assert before == {name: [had[key][name] if key in had else None for key in keys] for name in before}
        assert set(after) - set(before) == set(effect.types) == set(has[1]) - set(had[1])
        table.history.undo()


def test_documents_leave_fields_as_they_are_in_an_upsert(store: Store) -> None:
    table = store.create_table("t", [{"k": 1, "s": {"a": 1, "b": 2}, "x": 5}])
    effect = Upsert([{"k": 1, "s": {"a": 9}}, {"k": 2, "x": 3}], ["k"]).effect(table)
    assert (effect.inserted, effect.changed) == (1, 1)
    same = Upsert([{"k": 1, "s": {"a": 1}}], ["k"]).effect(table)
    assert (same.changed, same.same) == (0, 1)


@pytest.mark.parametrize(
    ("act", "where", "reason"),
    [
        (CastColumn("n", "int64"), "n = 1", "a column has one type"),
        (Rename({"n": "m"}), [1], "a column has one name"),
        (Rename({"n": "name"}), None, "already has a column 'name'"),
        (Rename({"n": "m", "name": "m"}), None, "'m'"),
        (Upsert([{"n": 1}], ["n"]), "n = 1", "the keys say"),
        (Upsert([{"n": 1}], ["code"]), None, "no column 'code' to find them by"),
        (Upsert([{"n": 1}], ["n"], "any"), None, "keep is 'any'"),  # type: ignore[arg-type]
        (Update({"$inc": {"name": 1}}), None, "it is for numbers"),
        (Update({"$compute": {"n": "nn + 1"}}), None, "nn"),
        (Split("n", ["a", "b"]), None, "Only text can be split"),
        (Split("name", ["a", "b"], keep=False), [1], "would lose the values of the other rows"),
        (Merge(["n", "name"], "m", keep=False), "_id < 0", "would lose the values of the other rows"),
        (Delete(), [10_000], "10000"),
    ],
)
def test_what_does_not_fit_is_refused_beforehand(stock: Table, act: Any, where: Any, reason: str) -> None:
    for call in (act.effect, act.apply):
        with pytest.raises(LamellaError, match=f"(?i){reason}"):
            call(stock, where)


def test_counting_can_be_stopped(stock: Table) -> None:
    for act in (Delete(), Update({"$set": {"n": 1}}), Upsert([{"n": 1}], ["n"]), DropDuplicates()):
        job = Job()
        job.cancel()
        with pytest.raises(Cancelled):
            act.effect(stock, None, job)


def test_every_operator_can_be_chosen() -> None:
    assert {assignment.operator for assignment in ASSIGNMENTS} == OPERATORS.keys() - {"$setOnInsert"}
    assert len(ASSIGNMENT_BY_ID) == len(ASSIGNMENTS)
    labels = [assignment.label for assignment in assignments_for(pa.string())]
    assert "trim spaces" in labels and "+ add" not in labels
    assert {kind.id for kind in acts.KINDS} > {"update", "cast", "upsert"}


def test_lines_make_one_update() -> None:
    by = ASSIGNMENT_BY_ID
    lines = [("price", by["compute"], "price * 2"), ("n", by["fill_from"], "above"), ("l", by["pop"], "last")]
    act = update_of(lines)
    assert act == Update(
        {"$compute": {"price": "price * 2"}, "$fill": {"n": {"from": "above"}}, "$pop": {"l": 1}}
    )
    with pytest.raises(BadData, match="changed twice"):
        update_of([lines[0], lines[0]])


EXAMPLES: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "set": (pa.int64(), [1], 2),
    "compute": (pa.int64(), [1], "x + 1"),
    "clear": (pa.int64(), [1], None),
    "now": (pa.timestamp("us"), [None], None),
    "add": (pa.int64(), [1], 2),
    "multiply": (pa.int64(), [1], 2),
    "at_most": (pa.int64(), [5], 2),
    "at_least": (pa.int64(), [1], 2),
    "round": (pa.float64(), [1.26], 1),
    "replace": (pa.string(), ["a"], {"find": "a", "with": "b"}),
    "trim": (pa.string(), [" a"], "both"),
    "case": (pa.string(), ["a"], "upper"),
    "fill": (pa.int64(), [None], 2),
    "fill_from": (pa.int64(), [1, None], "above"),
    "bits": (pa.int64(), [7], {"and": 3}),
    "push": (pa.list_(pa.int64()), [[1]], 2),
    "add_to_set": (pa.list_(pa.int64()), [[1]], 2),
    "pull": (pa.list_(pa.int64()), [[1]], 1),
    "pull_all": (pa.list_(pa.int64()), [[1]], [1]),
    "pop": (pa.list_(pa.int64()), [[1]], "last"),
    "move": (pa.int64(), [1], "y"),
}


@pytest.mark.parametrize("name", ASSIGNMENT_BY_ID)
def test_each_assignment_changes_a_row(store: Store, name: str) -> None:
    kind, values, answer = EXAMPLES[name]
    table = store.create_table("t", pa.table({"x": pa.array(values, kind)}))
    assignment = ASSIGNMENT_BY_ID[name]
    assert assignment.fits(kind) and assignment in assignments_for(kind)
    act = update_of([("x", assignment, answer)])
    assert act.effect(table).changed == act.apply(table).updated == 1


KEYS = st.none() | st.integers(0, 4)
ROWS_OF_KEYS = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 2)), max_size=8)


@settings(max_examples=examples(full=30), deadline=None)
@given(pairs=ROWS_OF_KEYS, coming=ROWS_OF_KEYS, keep=st.sampled_from(["refuse", "first", "last"]))
def test_upserts_are_counted_as_plain_python_counts_them(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[int | None, int | None]],
    coming: list[tuple[int | None, int | None]],
    keep: Any,
) -> None:
    def arrow(rows: list[tuple[int | None, int | None]]) -> pa.Table:
        columns = list(zip(*rows, strict=True)) or [(), ()]
        return pa.table({"k": pa.array(columns[0], pa.int64()), "v": pa.array(columns[1], pa.int64())})

    values: dict[int | None, list[int | None]] = {}
    for key, value in coming:
        values.setdefault(key, []).append(value)
    values_wanted = {key: cells[-1 if keep == "last" else 0] for key, cells in values.items()}
    clashing = sum(len(cells) for cells in values.values() if len(set(cells)) > 1)
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", arrow(pairs))
        act = Upsert(arrow(coming), ["k"], keep)
        effect = act.effect(table)
        assert effect.conflicting == (clashing if keep == "refuse" else 0)
        assert effect.inserted == len(values_wanted.keys() - {key for key, _ in pairs})
        assert effect.changed == sum(
            key in values_wanted and values_wanted[key] != value for key, value in pairs
        )
        assert effect.same == sum(
            key in values_wanted and values_wanted[key] == value for key, value in pairs
        )
        if effect.conflicting:
            with pytest.raises(BadData):
                act.apply(table)
            return
        act.apply(table)
        after = table.read(["k", "v"]).to_pylist()
    expected = [{"k": key, "v": values_wanted.get(key, value)} for key, value in pairs]
    known = {key for key, _ in pairs}
    expected += [{"k": key, "v": value} for key, value in values_wanted.items() if key not in known]
    assert sorted(map(str, after)) == sorted(map(str, expected))
