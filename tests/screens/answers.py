"""Screens that answer questions: charts, the SQL console, finding, the diagram of relations."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from lamella.app.tour import Tour, dialog_of
from lamella.core.query.charts import ChartSpec
from lamella.core.query.expressions import col
from lamella.ui.charts.view import ChartView
from lamella.ui.editing.replace_dialog import ReplaceDialog
from lamella.ui.find.bar import FindBar
from lamella.ui.relations.relations_tab import RelationsTab
from lamella.ui.sql.console import SqlConsole
from tests.screens.stage import Screen, close_tab, go_to, plain, quiet, type_keys

# -------------------------------------------------------------------------- charts

CHARTS = {
    "line": ChartSpec("line", "hour", measure="arr_delay", aggregate="mean", color="carrier"),
    "time": ChartSpec("line", "time_hour", measure="dep_delay", aggregate="median", unit="month"),
    "bar": ChartSpec("bar", "carrier", measure="dep_delay", aggregate="mean"),
    "bar-colors": ChartSpec("bar", "carrier", color="origin"),
    "area": ChartSpec("area", "hour", color="origin"),
    "histogram": ChartSpec("histogram", "dep_delay", log_y=True),
    "histogram-colors": ChartSpec("histogram", "distance", color="origin"),
    "density": ChartSpec("scatter", "distance", "air_time"),
    "box": ChartSpec("box", "carrier", "arr_delay"),
    "heat": ChartSpec("heat_map", "hour", "carrier", measure="dep_delay", aggregate="mean"),
    "panels": ChartSpec("line", "hour", measure="dep_delay", aggregate="mean", panels="carrier"),
    "panels-histogram": ChartSpec("histogram", "air_time", panels="origin"),
    "many": ChartSpec("bar", "tailnum", measure="distance", aggregate="sum"),
}
OF_OTHER_TABLES = {
    "map": ("airports", ChartSpec("scatter", "lon", "lat", color="tzone", size="alt")),
    "sizes": ("planes", ChartSpec("scatter", "year", "seats", color="engine", size="engines")),
    "log": ("planes", ChartSpec("scatter", "engines", "seats", log_x=True, log_y=True)),
}


def draw(tour: Tour, spec: ChartSpec, table: str = "flights") -> None:
    tab = plain(tour, table)
    tab.charting.show()
    assert tab.charting.view is not None
    tab.charting.view.show_spec(spec)
    tour.wait("the chart is drawn", lambda: tab.charting.is_drawn(spec))
    quiet(tour)


def chart_screen(name: str, spec: ChartSpec, table: str = "flights") -> Screen:
    return Screen(f"chart-{name}", lambda tour: draw(tour, spec, table), hide_chart(table))


def hide_chart(table: str) -> Callable[[Tour], None]:
    return lambda tour: plain(tour, table).charting.hide()


def chart_figures(tour: Tour) -> None:
    draw(tour, CHARTS["bar"])
    view = front_chart(tour)
    view.figures.click()
    quiet(tour)


def leave_figures(tour: Tour) -> None:
    front_chart(tour).figures.click()
    hide_chart("flights")(tour)


def front_chart(tour: Tour) -> ChartView:
    tab = tour.window.tabs.dataset_tab
    assert tab is not None and tab.charting.view is not None
    return tab.charting.view


def chart_with_brush(tour: Tour) -> None:
    """The third to the fifth bar are selected with the mouse."""
    draw(tour, CHARTS["bar"])
    canvas = front_chart(tour).canvas
    box, places = canvas.panels[0].plot.vb, front_chart(tour).data.x.places
    height = sum(box.viewRange()[1]) / 2
    start, end = (
        canvas.mapFromScene(box.mapViewToScene(QPointF(places[number].at, height))) for number in (2, 4)
    )
    QTest.mousePress(canvas.viewport(), Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseRelease(canvas.viewport(), Qt.MouseButton.LeftButton, pos=end)
    quiet(tour)


def chart_of_nothing(tour: Tour) -> None:
    """No row is left by the filter."""
    tab = plain(tour)
    tab.set_filter(col("dep_delay") > 100_000)
    quiet(tour)
    tab.charting.show()
    assert tab.charting.view is not None
    tab.charting.view.show_spec(CHARTS["bar"])
    quiet(tour)


# --------------------------------------------------------------------- SQL console

DELAYS = """with delays as (
  select f.carrier, a.name, f.origin, f.dep_delay, f.dep_delay > 60 as late
  from flights f join airlines a using (carrier)
  where f.dep_delay is not null
)
select name, origin, count(*) as n, avg(dep_delay) as mean_delay,
       avg(late::int) as late_share,
       rank() over (partition by origin order by avg(dep_delay)) as place
from delays
group by name, origin having count(*) > 1000
order by origin, place"""
STATEMENTS = {
    "result": DELAYS,
    "several": "select 1 as a;\nselect 2 as b;\nselect * from planes",
    "error": "select carrier, dep_delya from flights",
    "syntax": "select carrier from flights where",
    "disk": "select * from read_csv('/etc/passwd')",
    "parameters": "select * from flights where origin = $origin and dep_delay > :least",
    "change": "update planes set seats = 100 where seats < 10",
}


def console(tour: Tour, text: str = "", cursor: int = 0) -> SqlConsole:
    plain(tour)
    tour.window.commands["sql"].trigger()
    console_ = tour.window.consoles.current
    assert console_ is not None
    console_.restore({"text": text, "cursor": cursor})
    quiet(tour)
    return console_


def run(tour: Tour, text: str, kind: str = "run") -> SqlConsole:
    console_ = console(tour, text, text.find("from delays") + 1)
    console_.run(run_all=";" in text, kind=kind)
    tour.wait("the statement has run", lambda: not console_.runner.running)
    quiet(tour)
    return console_


def statement_screen(name: str, text: str) -> Screen:
    return Screen(f"sql-{name}", lambda tour: (run(tour, text), None)[1], close_tab)


def completion(tour: Tour) -> None:
    console_ = console(tour)
    console_.editor.setFocus()
    type_keys(
        tour, console_.editor, "select carrier, count(*) as n, avg(dep_delay) as delay from flights where mo"
    )


def plan(tour: Tour) -> None:
    run(tour, "select carrier, count(*) from flights join airlines using (carrier) group by 1", "measure")


def sql_history(tour: Tour) -> None:
    run(tour, "select count(*) from planes").bar.show_history()
    quiet(tour)


def snippets(tour: Tour) -> None:
    console(tour, DELAYS).bar.show_snippets()
    quiet(tour)


# ------------------------------------------------------------------------- finding


def find_bar(
    tour: Tour, text: str, table: str = "flights", regex: bool = False, words: bool = False
) -> FindBar:
    tab = plain(tour, table)
    tour.window.commands["find"].trigger()
    bar = tab.finding.bar
    bar.field.clear()
    if bar.regex.isChecked() is not regex:
        bar.regex.click()
    (bar.word_mode if words else bar.text_mode).click()
    bar.field.setText(text)
    quiet(tour)
    return bar


def find(tour: Tour) -> None:
    bar = find_bar(tour, "N1424")
    tour.wait("all rows are searched", lambda: " of " in bar.news.text())


def find_nothing(tour: Tour) -> None:
    find_bar(tour, "no such text")


def find_mistake(tour: Tour) -> None:
    find_bar(tour, "N1(2|3", regex=True)


def leave_mistake(tour: Tour) -> None:
    find_bar(tour, "", regex=False)


def find_words(tour: Tour) -> None:
    plain(tour)
    table = tour.window.library.stores[-1]["airports"]
    if not len(table.indexes):
        table.indexes.create("name", kind="fulltext")
    find_bar(tour, "international airport -municipal", "airports", words=True)


def leave_words(tour: Tour) -> None:
    find_bar(tour, "", "airports")


def find_words_without_index(tour: Tour) -> None:
    find_bar(tour, "boeing", "planes", words=True)


def leave_words_of_planes(tour: Tour) -> None:
    find_bar(tour, "", "planes")


def replace_preview(tour: Tour) -> None:
    tab = plain(tour, "planes")
    go_to(tab, "manufacturer")
    tour.window.commands["replace"].trigger()
    dialog = dialog_of(tour, ReplaceDialog)
    dialog.begin("INDUSTRIE", False, False, False, ("manufacturer",))
    quiet(tour)


def find_everywhere(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["find_everywhere"].trigger()
    panel = tour.window.searches.current
    assert panel is not None
    panel.field.setText("JFK")
    tour.wait("every table is searched", lambda: "found in" in panel.status and tour.is_idle)


# ----------------------------------------------------------------------- relations


def diagram(tour: Tour) -> RelationsTab:
    plain(tour)
    tour.window.commands["relations"].trigger()
    tour.wait("the diagram is there", lambda: tour.window.diagrams.current is not None)
    current = tour.window.diagrams.current
    assert current is not None
    tour.wait("the relations are checked", lambda: len(current.checks.results) == 6 and not current.is_busy)
    return current


def relations(tour: Tour) -> None:
    diagram(tour).bar.fit_all.click()


def relation(tour: Tour) -> None:
    diagram(tour).panel.chosen.emit("plane")


def new_relation(tour: Tour) -> None:
    QTest.mouseClick(diagram(tour).bar.new, Qt.MouseButton.LeftButton)


def suggested_relations(tour: Tour) -> None:
    QTest.mouseClick(diagram(tour).bar.suggest, Qt.MouseButton.LeftButton)
    quiet(tour)


def neighbourhood(tour: Tour) -> None:
    """A flight, its plane, and the other flights of that plane."""
    tab = plain(tour)
    tab.inspector.show_page("row")
    go_to(tab, "tailnum", 4)
    quiet(tour)
    tree = tab.inspector.row_page.related_tree
    tour.wait("the related rows are listed", lambda: tree.topLevelItemCount() > 1)
    quiet(tour)
    for number in range(tree.topLevelItemCount()):
        link = tree.topLevelItem(number)
        if link.childCount() == 1:
            link.setExpanded(True)
            link.child(0).setExpanded(True)
            quiet(tour)
    tree.scrollToItem(tree.topLevelItem(0))


SCREENS = (
    *(chart_screen(name, spec) for name, spec in CHARTS.items()),
    *(chart_screen(name, spec, table) for name, (table, spec) in OF_OTHER_TABLES.items()),
    Screen("chart-figures", chart_figures, leave_figures),
    Screen("chart-brush", chart_with_brush, hide_chart("flights")),
    Screen("chart-empty", chart_of_nothing, hide_chart("flights")),
    Screen("sql-empty", lambda tour: (console(tour), None)[1], close_tab),
    Screen("sql-completion", completion, close_tab),
    *(statement_screen(name, text) for name, text in STATEMENTS.items()),
    Screen("sql-plan", plan, close_tab),
    Screen("sql-history", sql_history, close_tab),
    Screen("sql-snippets", snippets, close_tab),
    Screen("find", find),
    Screen("find-nothing", find_nothing),
    Screen("find-mistake", find_mistake, leave_mistake),
    Screen("find-words", find_words, leave_words),
    Screen("find-words-no-index", find_words_without_index, leave_words_of_planes),
    Screen("find-replace", replace_preview),
    Screen("find-everywhere", find_everywhere, close_tab),
    Screen("relations", relations),
    Screen("relations-one", relation),
    Screen("relations-new", new_relation),
    Screen("relations-suggested", suggested_relations, close_tab),
    Screen("neighbourhood", neighbourhood),
)
