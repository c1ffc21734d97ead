"""A profile counts like plain Python, for every type, filtered or not."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col, open_dataset
from lamella.core.errors import BadFilter, Cancelled, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query import column_figures
from lamella.core.query import profile as profiles
from lamella.core.query.column_figures import LONGEST_VALUE
from lamella.core.query.profile import ColumnProfile
from lamella.core.scan.cache import LruCache
from tests.slow_tests import examples


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    with Store.open(tmp_path_factory.mktemp("profile") / "s") as opened:
        yield opened


def profiled(store: Store, values: pa.Array) -> ColumnProfile:
    table = store.create_table(f"t{len(store.tables)}", pa.table({"v": values}))
    return table.profile("v")


numbers = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3).map(int), st.integers(-1000, 1000)
)


@settings(max_examples=examples(full=40))
@given(st.lists(numbers, max_size=60))
def test_whole_numbers(store: Store, values: list[int | None]) -> None:
    profile, present = profiled(store, pa.array(values, pa.int64())), [v for v in values if v is not None]
    assert (profile.rows, profile.nulls, profile.distinct) == (
        len(values),
        len(values) - len(present),
        len(set(present)),
    )
    assert (profile.min, profile.max) == (min(present, default=None), max(present, default=None))
    assert_binned(profile, present)


floats = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0, math.nan, math.inf]))


@settings(max_examples=examples(full=40))
@given(st.lists(floats, max_size=60))
def test_floats(store: Store, values: list[float | None]) -> None:
    profile, present = profiled(store, pa.array(values, pa.float64())), [v for v in values if v is not None]
    ordered = [v for v in present if not math.isnan(v)]
    assert profile.nans == len(present) - len(ordered)
    assert (profile.min, profile.max) == (min(ordered, default=None), max(ordered, default=None))
    assert_binned(profile, [v for v in ordered if math.isfinite(v)])


def assert_binned(profile: ColumnProfile, values: list[Any]) -> None:
    """The quantiles, and the number of values between every two edges."""
    if not values:
        assert profile.histogram is None
        return
    ranked = sorted(values)
    expected = {q: ranked[max(0, math.ceil(q * len(ranked)) - 1)] for q in profiles.QUANTILES}
    assert profile.quantiles == expected
    edges, counts = profile.histogram.edges, profile.histogram.counts
    assert (edges[0], edges[-1]) == (ranked[0], ranked[-1])
    assert list(edges) == sorted(edges)
    below = [sum(v < edge for v in values) for edge in edges[1:-1]]
    assert list(counts) == [b - a for a, b in zip([0, *below], [*below, len(values)], strict=True)]


def test_the_mean_is_one_of_numbers(store: Store) -> None:
    profile = profiled(store, pa.array([1.5, None, math.nan, 4.5]))
    assert (profile.mean, profile.nans, profile.nulls) == (statistics.mean([1.5, 4.5]), 1, 1)
    assert profiled(store, pa.array(["a"])).mean is None


@settings(max_examples=examples(full=40))
@given(st.lists(st.one_of(st.none(), st.sampled_from("abcdefghijklmnop"), st.text(max_size=3)), max_size=80))
def test_texts_have_their_most_frequent_values(store: Store, values: list[str | None]) -> None:
    profile, present = profiled(store, pa.array(values, pa.string())), [v for v in values if v is not None]
    ranked = sorted(Counter(present).items(), key=lambda item: (-item[1], item[0].encode()))
    assert profile.top_values == tuple(ranked[: profiles.TOP_VALUES])
    assert (profile.min, profile.max) == (min(present, default=None), max(present, default=None))
    assert profile.histogram is None
    assert_lengths(profile, present)


def assert_lengths(profile: ColumnProfile, values: list[Any]) -> None:
    lengths = [len(value) for value in values]
    if not lengths:
        assert profile.lengths is None
        return
    assert (profile.lengths.min, profile.lengths.max) == (min(lengths), max(lengths))
    assert profile.lengths.mean == pytest.approx(statistics.mean(lengths))
    assert profile.lengths.empty == lengths.count(0)


@settings(max_examples=examples(full=20))
@given(st.lists(st.one_of(st.none(), st.binary(max_size=5)), max_size=20))
def test_bytes_have_lengths(store: Store, values: list[bytes | None]) -> None:
    assert_lengths(profiled(store, pa.array(values, pa.binary())), [v for v in values if v is not None])


def test_lists_have_lengths_and_numbers_have_none(store: Store) -> None:
    values = [[1, 2, 3], [], None, [None]]
    assert_lengths(profiled(store, pa.array(values, pa.list_(pa.int64()))), [[1, 2, 3], [], [None]])
    assert_lengths(profiled(store, pa.array(["ab", "", "ab"]).dictionary_encode()), ["ab", "", "ab"])
    assert profiled(store, pa.array([1, 2])).lengths is None


ID = UUID("12345678-1234-5678-1234-567812345678")
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)
TYPES: dict[str, tuple[pa.DataType, Any, Any]] = {
    "tiny": (pa.int8(), -128, 127),
    "unsigned": (pa.uint64(), 0, 2**64 - 1),
    "half": (pa.float16(), -1.5, 2.0),
    "float": (pa.float32(), -1.5, 2.0),
    "decimal": (pa.decimal128(20, 2), Decimal("-1.25"), Decimal("3.50")),
    "long decimal": (pa.decimal256(60, 2), Decimal("-1.25"), Decimal("1" + 50 * "0" + ".25")),
    "date": (pa.date32(), DAY, DAY + dt.timedelta(days=400)),
    "date64": (pa.date64(), DAY, DAY + dt.timedelta(days=400)),
    "seconds": (pa.timestamp("s"), MOMENT, MOMENT + dt.timedelta(days=9)),
    "nanoseconds": (pa.timestamp("ns"), MOMENT, MOMENT + dt.timedelta(days=9)),
    "zone": (pa.timestamp("us", "UTC"), MOMENT.replace(tzinfo=dt.UTC), MOMENT.replace(2028, tzinfo=dt.UTC)),
    "time": (pa.time64("us"), dt.time(0), dt.time(23, 59, 59, 999_999)),
    "short time": (pa.time32("s"), dt.time(0), dt.time(23, 59, 59)),
    "duration": (pa.duration("ms"), dt.timedelta(seconds=-5), dt.timedelta(days=9)),
    "boolean": (pa.bool_(), False, True),
    "text": (pa.large_string(), "", "z"),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), "a", "z"),
    "bytes": (pa.binary(), b"", b"\xff"),
    "fixed bytes": (pa.binary(2), b"ab", b"cd"),
    "list": (pa.list_(pa.int64()), [1], [1, 2]),
    "fixed list": (pa.list_(pa.float32(), 2), [1.0, 2.0], [3.0, 4.0]),
    "struct": (
        pa.struct([("a", pa.int64()), ("b", pa.duration("s"))]),
        {"a": 1, "b": None},
        {"a": 2, "b": None},
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [("a", 1)], [("b", 2)]),
    "null": (pa.null(), None, None),
}
NESTED = {"list", "fixed list", "struct", "map"}
FREQUENT = NESTED | {"long decimal", "boolean", "text", "dictionary", "bytes", "fixed bytes"}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_has_one(store: Store, kind: str, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    type_, least, greatest = TYPES[kind]
    monkeypatch.setattr(column_figures, "EXACT_ROWS", 100 if exact else 3)
    profile = profiled(store, pa.array([greatest, None, least, greatest, greatest], type_))
    if kind == "null":
        assert (profile.nulls, profile.distinct, profile.top_values, profile.histogram) == (5, 0, (), None)
        return
    assert (profile.nulls, profile.distinct, profile.approximate) == (1, 2, not exact)
    assert (profile.min, profile.max) == ((None, None) if kind in NESTED else (least, greatest))
    assert profile.top_values == ((greatest, 3), (least, 1))
    if kind in FREQUENT:
        assert profile.histogram is None
    else:
        assert (profile.histogram.edges[0], profile.histogram.edges[-1]) == (least, greatest)
        assert sum(profile.histogram.counts) == 4
        assert profile.quantiles[0.95] == greatest


def test_a_uuid_is_counted(store: Store) -> None:
    profile = profiled(store, pa.array([ID.bytes, None, ID.bytes], pa.uuid()))
    assert (profile.nulls, profile.distinct, profile.top_values) == (1, 1, ((ID, 2),))


def test_the_rows_that_meet_a_condition_are_counted_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as opened:
        table = opened.create_table("t", {"n": list(range(100)), "at": [{"x": n % 7} for n in range(100)]})
        table.maintenance.flush()
        table.update([{"_id": 5, "n": -5}])
        table.delete(ids=[6])
        table.insert([{"n": 1000, "at": {"x": 1}}])
        assert (table.profile("n").min, table.profile("n").max) == (-5, 1000)
        profile = table.profile("n", where=col("n").between(-5, 10))
        assert (profile.rows, profile.min, profile.max) == (10, -5, 10)
        assert table.profile("at.x", where="n > 90").rows == 10
        assert table.as_of(1).profile("n").min == 0


def test_what_was_profiled_is_kept_until_the_table_changes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = store.create_table("kept", [{"n": 1}])
    first = table.profile("n")
    with monkeypatch.context() as broken:
        broken.setattr(profiles, "cursor", None)
        assert table.profile("n") is first
    table.insert([{"n": 2}])
    assert table.profile("n").max == 2


def test_extremes_do_not_come_from_statistics(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, math.nan, 3.0]}), tmp_path / "x.parquet")
    profile = open_dataset(tmp_path / "x.parquet").profile("x")
    assert (profile.max, profile.nans, profile.distinct) == (3.0, 1, 3)


def test_it_is_cancelled(store: Store) -> None:
    job = Job()
    job.cancel()
    table = store.create_table("cancelled", [{"n": 1}])
    with pytest.raises(Cancelled):
        table.profile("n", job=job)


def test_a_column_that_is_not_there_is_told(store: Store) -> None:
    table = store.create_table("told", [{"price": 1}])
    with pytest.raises(UnknownColumn, match="Did you mean 'price'"):
        table.profile("prise")
    with pytest.raises(BadFilter):
        table.profile("price", where="price > 'dear'")


def test_numbers_have_frequent_values_where_they_are_few(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = profiled(store, pa.array([2.5, math.nan, 2.5, None, 1.5, math.nan, math.nan]))
    assert profile.top_values == ((2.5, 2), (1.5, 1)), "NaN is not a value"
    assert profiled(store, pa.array([3, 1, 2])).top_values == (), "each is there once"
    monkeypatch.setattr(column_figures, "MOST_DISTINCT_NUMBERS", 1)
    assert profiled(store, pa.array([3, 1, 1])).top_values == ()


def test_values_that_are_too_long_are_counted_and_not_among_the_frequent_ones(store: Store) -> None:
    longest, longer = LONGEST_VALUE * "x", (LONGEST_VALUE // 2) * "é" + "x"
    texts = profiled(store, pa.array([longer, longer, longest, "y", "y"]))
    assert texts.top_values == (("y", 2), (longest, 1)), "bytes count, not characters"
    assert (texts.rows, texts.distinct, texts.max, texts.lengths.max) == (5, 3, longer, LONGEST_VALUE)
    binary = profiled(store, pa.array([bytes(LONGEST_VALUE + 1), bytes(LONGEST_VALUE + 1), b"y"]))
    assert (binary.top_values, binary.distinct) == (((b"y", 1),), 2)


def test_a_column_of_a_wide_file_is_read_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{n}": [n, None, n + 2, n + 2] for n in range(20)}), path, row_group_size=2)
    snapshot = open_dataset(path).snapshot()
    where = col("c3") > 3
    usual = [profiles.profile(snapshot, "c7", condition) for condition in (None, where)]
    monkeypatch.setattr(profiles, "WIDE", 10)
    monkeypatch.setattr(profiles, "recent_profiles", LruCache(profiles.KEPT_BYTES))
    assert [profiles.profile(snapshot, "c7", condition) for condition in (None, where)] == usual
    assert usual[1].top_values == ((9, 2),)
    with pytest.raises(UnknownColumn):
        profiles.profile(snapshot, "nothing")
