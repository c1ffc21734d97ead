"""Stop reaches a query whatever it is doing at the moment."""

from __future__ import annotations

import threading

import duckdb
import pytest

from lamella.core.errors import Cancelled, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.engine import Confinement, cursor

ENDLESS = "select a.range * b.range % 7 as x from range(10000000) a, range(10000000) b"


def test_a_cancel_before_the_statement_begins_still_stops_it() -> None:
    job = Job()
    with pytest.raises(Cancelled), cursor(job) as own:
        job.cancel()
        own.sql(f"select sum(x) from ({ENDLESS})").fetchall()


def test_a_cancel_between_two_statements_stops_the_second() -> None:
    job = Job()
    with pytest.raises(Cancelled), cursor(job) as own:
        assert own.sql("select 1").fetchall() == [(1,)]
        job.cancel()
        job.cancel()
        own.sql(f"select sum(x) from ({ENDLESS})").fetchall()


def test_a_cancel_amid_an_arrow_stream_stops_it() -> None:
    job = Job()
    with pytest.raises(Cancelled), cursor(job) as own:
        for number, _ in enumerate(own.sql(ENDLESS).to_arrow_reader(1 << 16)):
            if number == 2:
                job.cancel()


def test_a_cancel_while_the_cursor_closes_harms_nobody() -> None:
    for _ in range(50):
        job, ready, errors = Job(), threading.Barrier(2), []

        def cancel(job: Job = job, ready: threading.Barrier = ready, errors: list = errors) -> None:
            ready.wait()
            try:
                job.cancel()
            except duckdb.Error as error:
                errors.append(error)

        teller = threading.Thread(target=cancel)
        teller.start()
        try:
            with cursor(job):
                ready.wait()
        except Cancelled:
            pass
        teller.join()
        assert errors == []


def test_a_late_interrupt_finds_the_connection_closed_and_is_quiet() -> None:
    class Keeping(Job):
        def cancel_late(self) -> None:
            for interrupt in self.kept:
                interrupt()

        def interrupted_by(self, interrupt):  # type: ignore[no-untyped-def]
            self.kept = [interrupt]
            return super().interrupted_by(interrupt)

    job = Keeping()
    with cursor(job):
        pass
    job.cancel_late()


def test_what_the_engine_refuses_names_the_table_and_a_way_out() -> None:
    message = r"flights: the query cannot be computed.*Conversion Error.*cast it to text"
    with pytest.raises(LamellaError, match=message), cursor(Job(), "flights") as own:
        own.sql("select cast('x' as integer)").fetchall()


@pytest.mark.parametrize("confined", [None, Confinement()])
def test_after_a_fault_of_the_engine_others_are_asked_a_new_one(confined: Confinement | None) -> None:
    with (
        pytest.raises(LamellaError, match=r"an internal error.*restarted"),
        cursor(confined=confined) as own,
    ):
        own.execute("CREATE TABLE broken (x INTEGER)")
        raise duckdb.InternalException("INTERNAL Error: a null pointer")
    with cursor(confined=confined) as own, pytest.raises(duckdb.CatalogException):
        own.execute("SELECT x FROM broken")


def test_other_failures_keep_their_name() -> None:
    with pytest.raises(OSError, match="no such device"), cursor(Job()):
        raise OSError("no such device")
