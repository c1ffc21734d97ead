"""The card of a column shows what plain Python counts, for every type, filtered or not."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col, open_dataset
from lamella.core.errors import BadFilter, Cancelled, UnknownColumn
from lamella.core.filters import Filter, bind, mask
from lamella.core.jobs import Job
from lamella.core.query import cards
from lamella.core.query.cards import ColumnCard, cached_card, card, know_count
from lamella.core.query.column_figures import LONGEST_EXTREME
from lamella.core.scan.snapshot import Column, MemorySegment, Snapshot
from tests.slow_tests import examples

_numbers = iter(range(10**9))


def in_memory(values: pa.Array | pa.ChunkedArray, **more_columns: Any) -> Snapshot:
    table = pa.table({"v": values, **more_columns})
    columns = tuple(Column(field.name, field.type, key) for key, field in enumerate(table.schema))
    segment = MemorySegment.of(table.rename_columns([str(key) for key in range(len(columns))]))
    return Snapshot("rows", columns, (segment,), ("memory", next(_numbers)))


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Treat the few rows of a test as very many."""
    monkeypatch.setattr(cards, "SMALL_ROWS", 10)
    monkeypatch.setattr(cards, "SAMPLE_BLOCKS", 2)
    monkeypatch.setattr(cards, "BLOCK_ROWS", 20)
    yield


def met_by(condition: Filter, values: pa.Array) -> int:
    return mask(bind(condition, pa.schema([("v", values.type)]), "rows"), pa.table({"v": values})).true_count


def assert_bars_filter_alike(column_card: ColumnCard, values: pa.Array, most: int) -> None:
    """Each bar has as many values as the filter that it stands for finds."""
    bars = column_card.bars(most)
    assert len(bars) <= most
    for place, count in enumerate(bars.counts):
        assert met_by(column_card.range_filter(bars, place, place), values) == count
    if len(bars) > 1:
        assert met_by(column_card.range_filter(bars, 1, len(bars) - 1), values) == sum(bars.counts[1:])


whole = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.integers(-1000, 1000))


@settings(max_examples=examples(full=25))
@given(st.lists(whole, max_size=60), st.integers(1, 40))
def test_card_of_whole_numbers(values: list[int | None], most: int) -> None:
    column, known = pa.array(values, pa.int64()), [v for v in values if v is not None]
    column_card = card(in_memory(column), "v")
    assert (column_card.figures.rows, column_card.figures.nulls) == (len(values), len(values) - len(known))
    assert (column_card.figures.min, column_card.figures.max) == (
        min(known, default=None),
        max(known, default=None),
    )
    assert sum(column_card.bars(most).counts) == len(known)
    if all(abs(v) < 2**40 for v in known):
        assert_bars_filter_alike(column_card, column, most)


floats = st.one_of(
    st.none(), st.floats(), st.sampled_from([0.0, 1.0, 0.1, 0.7, math.nan, math.inf, -math.inf])
)


@settings(max_examples=examples(full=25))
@given(st.lists(floats, max_size=60), st.integers(1, 40))
def test_card_of_floats(values: list[float | None], most: int) -> None:
    column_card = card(in_memory(pa.array(values, pa.float64())), "v")
    known = [v for v in values if v is not None]
    ordered = [v for v in known if not math.isnan(v)]
    assert (column_card.figures.nulls, column_card.figures.nans) == (
        len(values) - len(known),
        len(known) - len(ordered),
    )
    assert (column_card.figures.min, column_card.figures.max) == (
        min(ordered, default=None),
        max(ordered, default=None),
    )
    bars = column_card.bars(most)
    assert sum(bars.counts) == sum(map(math.isfinite, ordered))
    assert list(bars.edges) == sorted(bars.edges)
    for place in range(len(bars)):
        column_card.range_filter(bars, place, place)


def test_bars_of_prices_are_those_of_their_filters() -> None:
    values = pa.array([round(n * 0.25 - 0.01, 2) for n in range(2000)])
    assert_bars_filter_alike(card(in_memory(values), "v"), values, 28)
    tenths = pa.array([n / 10 for n in range(-300, 300)])
    assert_bars_filter_alike(card(in_memory(tenths), "v"), tenths, 28)


def test_bars_reach_from_the_first_to_the_last_percentile() -> None:
    """A few values far away do not squeeze the others into one bar."""
    column_card = card(in_memory(pa.array([*range(1000), 10**15, -(10**15)])), "v")
    bars = column_card.bars(20)
    assert len(bars) > 10 and max(bars.counts) < 150
    assert (column_card.figures.min, column_card.figures.max) == (-(10**15), 10**15)
    assert sum(bars.counts) == 1002


def test_bars_are_at_most_half_as_many_as_values() -> None:
    assert len(card(in_memory(pa.array([1.0, 5.0, 9.0, 20.0, 31.0, 44.0])), "v").bars(28)) <= 3
    assert len(card(in_memory(pa.array([7, 7, 7])), "v").bars(28)) == 1
    assert len(card(in_memory(pa.array(100 * list(range(1, 13)))), "v").bars(28)) == 12


def test_the_last_bar_may_be_narrower() -> None:
    bars = card(in_memory(pa.array(100 * list(range(1, 32)))), "v").bars(28)
    assert (bars.counts[0], bars.counts[-1], bars.last_width) == (200, 100, 0.5)


def test_the_axis_reaches_as_far_as_the_rows_that_meet_the_filter() -> None:
    values = [*(n % 100 for n in range(20_000)), *range(200, 260)]
    column_card = card(in_memory(pa.array(values)), "v", col("v") >= 200)
    assert column_card.matching_figures is not None and (
        column_card.matching_figures.rows,
        column_card.matching_figures.min,
        column_card.matching_figures.max,
    ) == (60, 200, 259)
    bars = column_card.bars(40)
    assert (
        bars.matching_counts is not None
        and sum(bars.matching_counts) == 60
        and len([n for n in bars.matching_counts if n]) > 5
    )
    assert sum(bars.counts) == len(values) and len(bars.counts) == len(bars.matching_counts)


@settings(max_examples=examples(full=20))
@given(st.lists(st.one_of(st.none(), st.sampled_from("abcdefghijklmnop"), st.text(max_size=3)), max_size=80))
def test_card_of_texts(values: list[str | None]) -> None:
    known = [v for v in values if v is not None]
    column_card = card(in_memory(pa.array(values, pa.string())), "v")
    ranked = sorted(Counter(known).items(), key=lambda item: (-item[1], item[0].encode()))
    assert [(value.value, value.count) for value in column_card.top] == ranked[: cards.TOP_VALUES]
    assert (column_card.figures.nulls, column_card.figures.distinct) == (
        len(values) - len(known),
        len(set(known)),
    )
    assert (column_card.figures.min, column_card.figures.max) == (
        min(known, default=None),
        max(known, default=None),
    )
    assert column_card.bars(10) == cards.Bars((), (), None)


def test_top_values_of_a_filter_have_counts_of_all_rows() -> None:
    texts = [*(50 * [f"v{n}" for n in range(20)]), "rare", "rare", "alone"]
    column_card = card(in_memory(pa.array(texts), n=pa.array(range(len(texts)))), "v", col("n") >= 998)
    assert [(value.value, value.total, value.matching_count) for value in column_card.top] == [
        ("rare", 2, 2), ("alone", 1, 1), ("v18", 50, 1), ("v19", 50, 1),
    ]  # fmt: skip
    assert column_card.matching_figures is not None and (
        column_card.matching_figures.distinct,
        column_card.figures.distinct,
    ) == (4, 22)


def test_a_filter_counts_nothing_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows that meet it, and how many of all rows have a value that it brings to the top."""
    texts = [*(50 * [f"v{n}" for n in range(20)]), "rare", "rare", "alone"]
    snapshot, where = in_memory(pa.array(texts), n=pa.array(range(len(texts)))), col("n") >= 998
    statements: list[str] = []
    run = cards._CardQuery._run

    def note(self, own, figures, *arguments, **options):
        statements.append(figures)
        return run(self, own, figures, *arguments, **options)

    monkeypatch.setattr(cards, "BLOCK_ROWS", 20)  # more rows than a sample has
    card(snapshot, "v")
    monkeypatch.setattr(cards._CardQuery, "_run", note)
    column_card = card(snapshot, "v", where)
    assert [(value.value, value.total) for value in column_card.top] == [
        ("rare", 2),
        ("alone", 1),
        ("v18", 50),
        ("v19", 50),
    ]
    assert len(statements) == 1
    know_count(snapshot, where, 5)
    card(snapshot, "n", where)
    assert not any(statement.startswith("SELECT count(*) AS n FROM") for statement in statements)


def test_values_that_are_too_long_are_counted_and_not_shown() -> None:
    column_card = card(in_memory(pa.array(["x" * 5000, "x" * 5000, "y"])), "v")
    assert (
        [value.value for value in column_card.top],
        column_card.figures.distinct,
        column_card.figures.rows,
    ) == (
        ["y"],
        2,
        3,
    )
    assert column_card.figures.max == "y" and len(column_card.figures.min) == LONGEST_EXTREME


MOMENT = dt.datetime(2024, 2, 29, 12, 30)
TYPES: dict[str, pa.Array] = {
    "tiny": pa.array([-128, None, 127, 127], pa.int8()),
    "unsigned": pa.array([0, None, 2**64 - 1, 5], pa.uint64()),
    "half": pa.array(np.array([-1.5, 2, 2, np.nan], np.float16)),
    "float": pa.array([0.1, None, math.nan, math.inf], pa.float32()),
    "decimal": pa.array([Decimal("-1.25"), None, Decimal("3.50"), Decimal("3.50")], pa.decimal128(20, 2)),
    "long decimal": pa.array([Decimal("1" + 50 * "0"), None, Decimal("-1")], pa.decimal256(60, 2)),
    "date": pa.array([MOMENT.date(), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "date64": pa.array([MOMENT.date(), None, dt.date(2025, 1, 1)], pa.date64()),
    "seconds": pa.array([MOMENT, None, MOMENT + dt.timedelta(days=9)], pa.timestamp("s")),
    "far seconds": pa.array([0, 10**11, -(10**11)], pa.timestamp("s")),
    "nanoseconds": pa.array([MOMENT, None, MOMENT], pa.timestamp("ns")),
    "widest nanoseconds": pa.array([-(2**63) + 1, 0, 2**63 - 2], pa.timestamp("ns")),
    "zone": pa.array([MOMENT, None, MOMENT + dt.timedelta(days=400)], pa.timestamp("us", "Europe/Berlin")),
    "time": pa.array([dt.time(0), None, dt.time(23, 59, 59, 999_999)], pa.time64("us")),
    "fine time": pa.array([0, None, 86_399_999_999_999], pa.time64("ns")),
    "short time": pa.array([dt.time(0), None, dt.time(23, 59, 59)], pa.time32("s")),
    "duration": pa.array([dt.timedelta(seconds=-5), None, dt.timedelta(days=9)], pa.duration("ms")),
    "widest duration": pa.array([-(2**63) + 1, None, 2**63 - 1], pa.duration("ns")),
    "boolean": pa.array([True, None, False, True]),
    "text": pa.array(["", None, "\0", "ä\U0001f600"], pa.large_string()),
    "view": pa.array(["a", None, "b"], pa.string_view()),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "dictionary of numbers": pa.array([5, None, 7, 5]).dictionary_encode(),
    "bytes": pa.array([b"", None, b"\xff\0"]),
    "fixed bytes": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "uuid": pa.array([b"0123456789abcdef", None, b"0123456789abcdef"], pa.uuid()),
    "list": pa.array([[1], None, [], [1, None]], pa.list_(pa.int64())),
    "fixed list": pa.array([[1.0, math.nan], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    "struct": pa.array([{"a": 1, "b": None}, None, {"a": 2, "b": dt.timedelta(1)}],
                       pa.struct([("a", pa.int64()), ("b", pa.duration("s"))])),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(3),
}  # fmt: skip


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_has_a_card(kind: str, many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    values = pa.chunked_array([TYPES[kind]] * (20 if many else 1))
    if many:
        monkeypatch.setattr(cards, "SMALL_ROWS", 10)
        monkeypatch.setattr(cards, "BLOCK_ROWS", 4)
    snapshot = in_memory(values, n=pa.array(range(len(values))))
    for where in (None, col("n") >= 1):
        for sampled in {False, many}:
            column_card = card(snapshot, "v", where, sampled=sampled)
            bars = column_card.bars(24)
            assert sum(bars.counts) + sum(n for _, n in column_card.figures.top) <= column_card.figures.rows
            assert column_card.shown_figures.rows - column_card.shown_figures.nulls >= sum(
                bars.matching_counts or ()
            )
            if column_card.is_comparable:
                conditions = [column_card.value_filter([value.value]) for value in column_card.top[:3]]
                conditions += [
                    column_card.range_filter(bars, 0, place) for place in range(len(bars)) if bars.can_filter
                ]
                for condition in conditions:
                    bind(condition, snapshot.schema, "rows")
    whole = card(snapshot, "v")
    assert (whole.figures.rows, whole.figures.nulls) == (len(values), values.null_count)
    assert whole.type == values.type


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_has_a_card_without_rows_and_of_nulls(kind: str) -> None:
    type_ = TYPES[kind].type
    none = card(in_memory(pa.array([], type_)), "v").figures
    assert (none.rows, none.nulls, none.distinct, none.min, none.top) == (0, 0, 0, None, ())
    nulls = card(in_memory(pa.nulls(5, type_)), "v")
    assert (nulls.figures.rows, nulls.figures.nulls, nulls.figures.distinct, nulls.top) == (5, 5, 0, ())
    assert len(nulls.bars(24)) == 0


def test_a_table_without_columns_has_no_card() -> None:
    empty = Snapshot("nothing", (), (MemorySegment.of(pa.table({})),), ("nothing",))
    with pytest.raises(UnknownColumn):
        card(empty, "v")


def test_card_of_pending_changes_and_deletions(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as opened:
        table = opened.create_table(
            "t", {"n": list(range(100)), "at": [{"x": str(n % 7)} for n in range(100)]}
        )
        table.maintenance.flush()
        before = card(table.snapshot(), "n")
        table.update([{"_id": 5, "n": -5}])
        table.delete(ids=[6])
        table.insert([{"n": 1000, "at": {"x": "1"}}])
        column_card = card(table.snapshot(), "n", col("n") > 90)
        assert (
            before.figures.min,
            column_card.figures.min,
            column_card.figures.max,
            column_card.figures.rows,
        ) == (
            0,
            -5,
            1000,
            100,
        )
        assert column_card.matching_figures is not None and column_card.matching_figures.rows == 10
        inside = card(table.snapshot(), "at.x")
        assert sum(value.count for value in inside.top) == 100 and inside.column == "at.x"


def test_a_sample_shows_what_all_rows_show(tmp_path: Path, small_samples: None) -> None:
    values = list(range(1000))
    pq.write_table(
        pa.table({"n": values, "t": [f"t{n % 3}" for n in values]}),
        tmp_path / "x.parquet",
        row_group_size=100,
    )
    snapshot = open_dataset(tmp_path / "x.parquet").snapshot()
    sampled = card(snapshot, "n", col("t") == "t1", sampled=True)
    assert sampled.is_sample and sampled.figures.rows == 40 and sampled.matching_figures is not None
    assert 10 <= sampled.matching_figures.rows <= 16
    exact = card(snapshot, "n", col("t") == "t1")
    assert not exact.is_sample and (exact.figures.rows, exact.figures.min, exact.figures.max) == (
        1000,
        0,
        999,
    )
    assert [value.value for value in card(snapshot, "t").top] == ["t0", "t1", "t2"]


def test_bars_are_found_anew_where_the_sample_was_not_like_the_rest(small_samples: None) -> None:
    values = [0.0] * 20 + [float(n) * 1e9 for n in range(1000)] + [1e-3 * n for n in range(20)]
    column_card = card(in_memory(pa.array(values)), "v")
    assert len([n for n in column_card.bars(20).counts if n]) > 10


def test_of_mostly_different_texts_the_frequent_ones_are_found(small_samples: None) -> None:
    texts = [f"u{n}" if n % 4 else "often" for n in range(2000)]
    column_card = card(in_memory(pa.array(texts)), "v")
    assert column_card.figures.approximate and [(value.value, value.count) for value in column_card.top] == [
        ("often", 500)
    ]
    assert column_card.figures.distinct == pytest.approx(1501, rel=0.2)
    some = card(in_memory(pa.array(texts), n=pa.array(range(2000))), "v", col("n") < 100)
    assert some.matching_figures is not None and some.top[0] == cards.TopValue("often", 500, 25)
    few = card(in_memory(pa.array(texts), n=pa.array(range(2000))), "v", col("n") < 3)
    assert [(value.value, value.total, value.matching_count) for value in few.top] == [
        ("often", 500, 1),
        ("u1", 1, 1),
        ("u2", 1, 1),
    ]


def test_value_filter_takes_several_values_and_null() -> None:
    column = pa.array(["a", "b", None, "c"])
    column_card = card(in_memory(column), "v")
    for values, count in ((["a"], 1), (["a", "c"], 2), ([None], 1), (["b", None], 2)):
        assert met_by(column_card.value_filter(values), column) == count
    flags = pa.array([True, False, None])
    assert met_by(card(in_memory(flags), "v").value_filter([False]), flags) == 1


def test_a_card_is_cached_until_the_rows_change(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, where = in_memory(pa.array([1, 2, 3])), col("v") > 1
    assert cached_card(snapshot, "v", where) is None
    column_card = card(snapshot, "v", where)
    monkeypatch.setattr(cards, "cursor", None)
    assert card(snapshot, "v", where) is column_card is cached_card(snapshot, "v", where)
    assert cached_card(snapshot, "v") is not None  # of all rows, which the other was made of
    assert cached_card(snapshot, "v", col("v") > 2) is None


def test_a_card_can_be_cancelled_and_says_what_is_wrong() -> None:
    snapshot, job = in_memory(pa.array([1, 2, 3])), Job()
    job.cancel()
    with pytest.raises(Cancelled):
        card(snapshot, "v", job=job)
    with pytest.raises(UnknownColumn):
        card(snapshot, "w")
    with pytest.raises(BadFilter):
        card(snapshot, "v", col("v").contains("x"))
