"""A line of steps as it is worked on: steps that are off, unfinished or broken, and what it computes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store, agg, col
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.line import Line, LineAnswers, LineVisits, fitting_line
from lamella.core.query.steps import Compute, Group, Join, Limit, Pipeline, Sample, Select, Sort, Where
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table

LATE, AA = Where(col("delay") > 60), Where(col("carrier") == "AA")
BY_CARRIER = Group(("carrier",), (("n", agg.count()), ("mean", agg.mean("delay"))))
BY_N, BY_DELAY = Sort((SortKey("n", True),)), Sort((SortKey("delay"),))


@pytest.fixture
def flights(tmp_path: Path) -> Table:
    rows = pa.table({
        "delay": pa.array([None if n % 50 == 0 else n % 120 for n in range(600)], pa.int16()),
        "carrier": [["AA", "UA", None][n % 3] for n in range(600)],
    })  # fmt: skip
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("flights", rows)


@pytest.fixture
def answers() -> LineAnswers:
    return LineAnswers()


def kinds(line: Line) -> list[str]:
    return [step.kind.__name__ for step in line.steps]


def test_the_view_of_a_line_is_the_answer_of_its_steps(flights: Table, answers: LineAnswers) -> None:
    for steps in (
        (),
        (LATE,),
        (LATE, BY_DELAY, Limit(10, 5)),
        (LATE, BY_CARRIER, BY_N),
        (Compute((("double", col("delay") * 2),)), Where(col("double") > 100), Select(("double",))),
        (BY_CARRIER, Where(col("n") > 10), BY_N, Limit(2)),
        (Limit(100), LATE),
        (Sample(50, 3), BY_DELAY),
    ):
        actual = answers.view(Line.of(steps), flights, Job())
        expected = Query({"flights": flights}, Pipeline("flights", steps)).read()
        assert actual.runnable.problems == {}
        assert actual.view.page(0, 1000).drop_columns(
            ["_id"] if "_id" in actual.view.schema.names else []
        ) == (expected.drop_columns(["_id"] if "_id" in expected.column_names else []))
        assert actual.rows.read() == expected


def test_only_what_has_to_be_computed_is_and_once(
    flights: Table, answers: LineAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Query] = []
    read_query = Query.read
    monkeypatch.setattr(
        Query, "read", lambda query, job=None: (runs.append(query), read_query(query, job))[1]
    )
    line = Line.of((LATE, BY_CARRIER))
    for keys in ((), (SortKey("n"),), (SortKey("mean", True),)):
        assert answers.view(line.with_sort(keys), flights, Job()).is_computed
    assert len(runs) == 1
    assert not answers.view(Line.of((LATE, BY_DELAY)), flights, Job()).is_computed
    assert len(runs) == 1
    flights.update_where(col("carrier") == "UA", {"$set": {"carrier": "AA"}})
    again = answers.view(line, flights, Job())
    assert len(runs) == 2 and again.view.num_rows == 2


def test_steps_that_are_off_or_unfinished_are_passed_over(flights: Table, answers: LineAnswers) -> None:
    line = Line.of((LATE, AA, BY_CARRIER)).switch(1).insert(1, Compute, None)
    assert line.active == (LATE, BY_CARRIER)
    assert answers.view(line, flights, Job()).view.num_rows == 3
    assert line.switch(2).active == (LATE, AA, BY_CARRIER)


def test_a_step_that_cannot_run_says_why_and_the_others_do(flights: Table, answers: LineAnswers) -> None:
    gone = Where(col("distance") > 3)
    actual = answers.view(Line.of((gone, LATE, BY_CARRIER, BY_DELAY)), flights, Job())
    assert set(actual.runnable.problems) == {0, 3}
    assert "no column 'distance'" in actual.runnable.problems[0]
    assert actual.view.num_rows == 3 and actual.runnable.steps == (LATE, BY_CARRIER)
    assert [schema.names for schema in actual.runnable.schemas[2:4]] == [
        ["_id", "delay", "carrier"],
        ["carrier", "n", "mean"],
    ]


def test_new_steps_go_where_they_are_expected() -> None:
    line = Line.of((LATE,)).with_sort([SortKey("delay")])
    assert kinds(line.insert(line.place_of_new(Where), Where, AA)) == ["Where", "Where", "Sort"]
    assert line.place_of_new(Group) == 2
    grouped = Line.of((LATE, BY_CARRIER, BY_N))
    assert grouped.tail == 2 and grouped.last_of(Where) is None
    assert kinds(grouped.insert(grouped.place_of_new(Where), Where, Where(col("n") > 3))) == [
        "Where", "Group", "Where", "Sort",
    ]  # fmt: skip
    limited = Line.of((LATE, BY_DELAY, Limit(10)))
    assert limited.place_of_new(Where) == 3, "of the ten rows that are shown"


def test_rows_are_sorted_by_a_field_of_a_struct(tmp_path: Path, answers: LineAnswers) -> None:
    with Store.open(tmp_path / "store") as store:
        pairs = store.create_table("pairs", {"pair": [{"x": 3}, {"x": 1}, {"x": 2}]})
        rows = answers.view(Line.of([Sort((SortKey("pair.x"),))]), pairs, Job())
        assert rows.runnable.problems == {}
        assert rows.view.page(0, 3, ["pair"]).column(0).to_pylist() == [{"x": 1}, {"x": 2}, {"x": 3}]
        missing = answers.view(Line.of([Sort((SortKey("pair.y"),))]), pairs, Job())
        assert "no column 'pair.y'" in missing.runnable.problems[0]


def test_a_sort_is_added_changed_and_taken_away() -> None:
    line = Line.of((LATE, BY_CARRIER)).with_sort([SortKey("n", True)])
    assert kinds(line) == ["Where", "Group", "Sort"] and line.sort == (SortKey("n", True),)
    assert line.with_sort([SortKey("mean")]).sort == (SortKey("mean"),)
    assert line.with_sort([]) == Line.of((LATE, BY_CARRIER))
    assert Line.of((BY_DELAY, BY_CARRIER)).sort == (), "the answer of a grouping is not sorted by it"


def test_steps_move(flights: Table) -> None:
    line = Line.of((LATE, AA, BY_CARRIER))
    assert line.move(0, 2).active == (AA, LATE, BY_CARRIER) == line.move(1, 0).active
    assert line.move(0, 3).active == (AA, BY_CARRIER, LATE)


def test_a_group_opens_into_its_rows(flights: Table, answers: LineAnswers) -> None:
    line = Line.of((LATE, BY_CARRIER, BY_N))
    assert line.grouping == 1 and Line.of((LATE,)).grouping is None
    for carrier in ("AA", None):
        inside = line.inside_group({"carrier": carrier})
        counted = flights.count(LATE.condition & (col("carrier").is_null() if carrier is None else
                                                  col("carrier") == carrier))  # fmt: skip
        assert kinds(inside) == ["Where", "Where"]
        assert answers.view(inside, flights, Job()).view.num_rows == counted > 0


def test_a_joined_dataset_is_read_again_when_it_changes(flights: Table, answers: LineAnswers) -> None:
    names = flights.store.create_table("names", pa.table({"carrier": ["AA"], "name": ["American"]}))
    join = Join(Pipeline("names"), ("carrier",), ("carrier",), "left", "_names")
    line = Line.of((join, Group(("name",), (("n", agg.count()),)))).with_sources({"names": names})
    assert answers.view(line, flights, Job()).view.num_rows == 2
    names.insert([{"carrier": "UA", "name": "United"}])
    assert answers.view(line, flights, Job()).view.num_rows == 3


def test_conditions_and_keys_of_columns_that_are_gone_are_taken_out() -> None:
    both = Where((col("delay") > 60) & (col("carrier") == "AA"))
    line = Line.of((both, Sort((SortKey("carrier"), SortKey("delay")))))
    assert fitting_line(line, {"delay"}).active == (LATE, Sort((SortKey("delay"),)))
    assert fitting_line(line, {"other"}).active == ()
    assert fitting_line(Line.of((both, BY_CARRIER)), {"delay"}).active == (both, BY_CARRIER)


def test_lines_are_gone_back_to_and_forward_like_pages() -> None:
    visits, first, two = LineVisits(), Line.of((LATE,)), Line.of((LATE, AA))
    assert not visits.can_go_back
    visits.visit(first)
    visits.visit(two)
    assert visits.back() == first and visits.back() == Line() and not visits.can_go_back
    assert visits.forward() == first
    visits.visit(Line.of((AA,)))
    assert not visits.can_go_forward and visits.back() == first


def test_edits_in_one_form_are_one_visit() -> None:
    visits = LineVisits()
    for number in range(5):
        visits.visit(Line.of((Limit(number),)), session=1)
    visits.visit(Line.of((LATE,)), session=2)
    assert visits.back().active == (Limit(4),) and visits.back() == Line()


DOUBLE = Compute((("double", col("delay") * 2), ("half", col("delay") / 2)))


@pytest.mark.parametrize(
    "steps",
    [
        (DOUBLE,),
        (LATE, DOUBLE, BY_DELAY),
        (DOUBLE, AA, Limit(20, 3)),
        (BY_DELAY, DOUBLE, Compute((("four", col("double") * 2),)), Select(("four", "carrier"))),
        (Compute((("delay", col("delay") + 1),)), AA),
    ],
)
def test_columns_are_computed_page_by_page(
    flights: Table, answers: LineAnswers, monkeypatch: pytest.MonkeyPatch, steps: tuple[object, ...]
) -> None:
    monkeypatch.setattr(Query, "batches", None)
    actual = answers.view(Line.of(steps), flights, Job()).view
    assert isinstance(actual, ComputedView)
    expected = Query({"flights": flights}, Pipeline("flights", steps)).read()
    names = [name for name in expected.column_names if name != "_id"]
    for offset in (0, 7, actual.num_rows - 3):
        page = actual.page(offset, 5, names)
        assert page.equals(expected.select(names).slice(offset, 5)), (steps, offset)
    assert actual.num_rows == expected.num_rows and actual.schema.names == expected.schema.names


def test_fields_of_structs_in_structs_are_columns_on_every_page(tmp_path: Path, answers: LineAnswers) -> None:
    cars = [{"specs": {"hp": n}} for n in range(600)]
    line = Line.of((Compute((("hp", col("car.specs.hp") * 1),)),))
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("cars", pa.table({"car": cars}))
        view = answers.view(line, table, Job()).view
        for offset in (0, 7, 590):
            page = view.page(offset, 5, ["car", "hp"])
            assert page.column("car").to_pylist() == cars[offset : offset + 5]
            assert page.column("hp").to_pylist() == list(range(offset, offset + 5))
        view.close()


@pytest.mark.parametrize(
    "steps",
    [
        (DOUBLE, Where(col("double") > 100)),
        (DOUBLE, Sort((SortKey("double"),))),
        (Compute((("delay", col("delay") + 1),)), LATE),
        (DOUBLE, BY_CARRIER),
        (Select(("delay",)), DOUBLE),
    ],
)
def test_rows_that_depend_on_what_is_computed_are_computed_once(
    flights: Table, answers: LineAnswers, steps: tuple[object, ...]
) -> None:
    actual = answers.view(Line.of(steps), flights, Job()).view
    assert not isinstance(actual, ComputedView)
    assert actual.num_rows == Query({"flights": flights}, Pipeline("flights", steps)).count()
