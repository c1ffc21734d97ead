"""How the figures of a tab's chart are read: from a sample first, until something else is wanted."""

from __future__ import annotations

from lamella.core.jobs import Job
from lamella.core.query.charts import ChartSpec

BY_CARRIER = ChartSpec("bar", "carrier", measure="delay", aggregate="mean")
BY_DELAY = ChartSpec("histogram", "delay")


def test_a_chart_of_very_many_rows_is_drawn_of_a_sample_first(qtbot, chart, monkeypatch):
    """The chart says so, and can be neither exported nor copied before it is exact."""
    view, states = chart(BY_CARRIER), list[tuple[bool, bool, bool, str]]()
    monkeypatch.setattr("lamella.core.query.charts.preview.LARGE_ROWS", 100)

    def note() -> None:
        if view.data is not None and view.data.spec == BY_DELAY:
            enabled = view.export.isEnabled(), view.copy.isEnabled()
            states.append((view.data.sampled, *enabled, view.form.remarks.text()))

    view.changed.connect(note)
    exact = chart(BY_DELAY).data
    says = "An estimate from a sample of 1,000 rows; exact figures follow."
    assert list(dict.fromkeys(states)) == [(True, False, False, says), (False, True, True, "")]
    assert exact.used == 1_000


def test_a_chart_keeps_its_title_and_stays_in_the_window_while_the_next_is_read(
    qtbot, window, chart, monkeypatch
):
    """An export would have another picture than the panel says."""
    view = chart(BY_CARRIER)
    title = view.title.text()
    assert view.copy.isEnabled() and view.export.isEnabled()
    monkeypatch.setattr("lamella.ui.charts.view.read_chart", lambda _query, _spec, job: wait_for_stop(job))
    view.show_spec(BY_DELAY)
    qtbot.waitUntil(lambda: bool(window.tasks.running))
    assert view.data.spec == BY_CARRIER and view.title.text() == title
    assert not any(button.isEnabled() for button in (view.copy, view.figures, view.export))
    window.commands["stop"].trigger()
    qtbot.waitUntil(lambda: not view.running)


def test_reading_a_chart_is_stopped_with_everything_else(qtbot, window, chart, monkeypatch):
    view = chart(BY_CARRIER)
    monkeypatch.setattr("lamella.ui.charts.view.read_chart", lambda _query, _spec, job: wait_for_stop(job))
    view.show_spec(BY_DELAY)
    qtbot.waitUntil(lambda: bool(window.tasks.running))
    window.commands["stop"].trigger()
    qtbot.waitUntil(lambda: not view.running)
    assert "Stopped" in view.message.text()


def test_the_columns_of_a_drawn_chart_are_cached_until_another_is_wanted(qtbot, chart, monkeypatch):
    cached = list[tuple[ChartSpec, Job]]()

    def keep(_query, spec, job) -> None:
        cached.append((spec, job))
        if spec == BY_DELAY:
            wait_for_stop(job)

    monkeypatch.setattr("lamella.ui.charts.view.prepare_previews", keep)
    view = chart(BY_DELAY)
    qtbot.waitUntil(lambda: len(cached) == 1)
    assert not view.running
    assert not cached[0][1].cancelled
    chart(BY_CARRIER)
    qtbot.waitUntil(lambda: len(cached) == 2)
    assert [spec for spec, _ in cached] == [BY_DELAY, BY_CARRIER]
    assert cached[0][1].cancelled


def wait_for_stop(job) -> None:
    while True:
        job.check()
