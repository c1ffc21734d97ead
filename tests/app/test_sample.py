"""The sample store: imported once, related, and the user's own from then on."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella import Store, col
from lamella.app import cli
from lamella.app import program as sample
from lamella.core.jobs import Job


def test_the_sample_tables_come_related(tmp_path: Path) -> None:
    with Store.open(tmp_path / "sample") as store:
        sample.fill(store, Job())
        flights, airports = store["flights"], store["airports"]
        assert flights.relations.rows(5, "airlines")["name"].to_pylist() == ["United Air Lines Inc."]
        assert flights.relations.rows(5, "planes", columns=["manufacturer"])["manufacturer"].to_pylist() == [
            "BOEING"
        ]
        assert flights.relations.rows(5, "airports", through="destination")["faa"].to_pylist() == ["ORD"]
        assert flights.relations.rows(5, "weather", columns=["temp"])["temp"].to_pylist() == [39.02]
        (kennedy,) = airports.read(columns=["_id"], where=col("faa") == "JFK")["_id"].to_pylist()
        counts = airports.relations.counts([kennedy], "flights", through="origin")
        assert counts["count"].to_pylist() == [store.sql("select 1 from flights where origin='JFK'").num_rows]
        assert [r.problem for r in store.relations] == [""] * len(sample.RELATIONS)


def test_what_the_user_changed_stays_as_it_is(tmp_path: Path) -> None:
    with Store.open(tmp_path / "sample") as store:
        sample.fill(store, Job())
        store.relations.drop("weather")
        before = tuple(store.relations)
        sample.fill(store, Job())
        assert tuple(store.relations) == before
        for relation in before:
            store.relations.drop(relation.name)
        store["flights"].columns.drop("tailnum")
        sample.fill(store, Job())
        assert {relation.name for relation in store.relations} == sample.RELATIONS.keys() - {"plane"}


def test_what_a_query_of_the_sample_skips_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "sample") as store:
        sample.fill(store, Job())
    words = ["query", str(tmp_path / "sample"), "--table", "flights", "--where", "month = 1", "--explain"]
    grouped = ["--group-by", "carrier", "--agg", "late=mean(dep_delay)"]
    for more, columns in (["--columns", "carrier"], 2), (grouped, 3):
        assert cli.main([*words, *more]) == 0
        output = " ".join(capsys.readouterr().out.split())
        assert "row groups 1 of 4 read, 3 skipped" in output
        assert f"columns {columns} of 20 read" in output
