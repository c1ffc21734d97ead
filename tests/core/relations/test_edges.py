"""Tables whose rows are edges: neighbours, degrees, and graphs of networkx there and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import (
    BadData,
    LamellaError,
    StoreProblem,
    TypeConflict,
    UnknownColumn,
    UnknownRelation,
    UnknownRow,
)
from tests.slow_tests import examples

KNOWS = [
    ("ada", "ben", 3),
    ("ben", "ada", 5),
    ("ada", "cleo", 1),
    ("cleo", "cleo", 2),
    ("dan", None, 9),
    ("ada", "ben", 7),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table(
            "people", {"name": ["ada", "ben", "cleo", "dan"], "born": [1815, None, 1970, 1980]}
        )
        opened.create_table("knows", [{"who": a, "whom": b, "years": n} for a, b, n in KNOWS])
        opened.relations.declare("knows.who", "people.name")
        opened.relations.declare("knows.whom", "people.name")
        yield opened


def names(rows: pa.Table) -> list[str]:
    return rows["name"].to_pylist()


def test_neighbours_are_the_rows_at_the_other_end_each_once(store: Store) -> None:
    knows = store.relations.edges("knows")
    assert names(knows.neighbours(0)) == ["ben", "cleo"]
    assert names(knows.neighbours(0, "in")) == ["ben"]
    assert names(knows.neighbours(2, "both")) == ["ada", "cleo"]
    assert knows.neighbours(3, "both").num_rows == 0
    assert names(knows.neighbours(0, where=col("years") < 3)) == ["cleo"]
    assert names(knows.neighbours(0, sort=["-name"], limit=1, columns=["name"])) == ["cleo"]


def test_neighbours_by_id_are_those_that_are_there(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("places", {"name": [f"place {n % 7}" for n in range(2_000)]})
        ends = {"source": [0] * 1_500 + [5, 5], "target": [*range(1_500), 5, None]}
        store.create_table("roads", ends)
        store.relations.declare("roads.source", "places._id")
        store.relations.declare("roads.target", "places._id")
        roads = store.relations.edges("roads")
        assert names(roads.neighbours(5)) == ["place 5"]
        assert roads.neighbours(0)["_id"].to_pylist() == list(range(1_500))
        assert roads.neighbours(0, sort=["-name", "-_id"], limit=2)["_id"].to_pylist() == [1_497, 1_490]
        assert roads.neighbours(0, where=col("target").is_in([3, 4]))["_id"].to_pylist() == [3, 4]
        assert roads.neighbours(5, "both")["_id"].to_pylist() == [0, 5]
        assert (roads.incident(5).num_rows, roads.degrees([5, 1_999], "both")["count"].to_pylist()) == (
            1,
            [3, 0],
        )
        store["places"].delete(ids=[3])
        assert roads.neighbours(0, where=col("target") < 5)["_id"].to_pylist() == [0, 1, 2, 4]


def test_edges_at_a_row_have_columns_of_their_own(store: Store) -> None:
    knows = store.relations.edges("knows", source="knows_who", target="knows_whom")
    assert knows.incident(0, columns=["years"], sort=["years"])["years"].to_pylist() == [1, 3, 7]
    assert knows.incident(0, "in")["years"].to_pylist() == [5]
    assert knows.incident(2, "both", where=col("years") > 1)["years"].to_pylist() == [2]
    assert knows.degrees([2, 0, 3])["count"].to_pylist() == [1, 3, 0]
    assert knows.degrees([2, 0, 3], "both").to_pylist() == [
        {"_id": 2, "count": 3},
        {"_id": 0, "count": 4},
        {"_id": 3, "count": 0},
    ]
    assert knows.degrees([0], where=col("years") > 2)["count"].to_pylist() == [2]


def test_a_row_that_lacks_one_of_its_ends_is_no_edge(store: Store) -> None:
    store["knows"].insert([{"whom": "ada", "years": 4}, {"years": 4}])
    knows = store.relations.edges("knows")
    assert knows.degrees([0, 3], "in")["count"].to_pylist() == [1, 0]
    assert knows.degrees([3], "both")["count"].to_pylist() == [0]
    assert (knows.incident(0, "in").num_rows, knows.incident(3).num_rows) == (1, 0)
    assert knows.to_networkx().in_degree("ada") == 1


def test_edges_may_lead_from_one_table_to_another(store: Store) -> None:
    store.create_table("clubs", {"title": ["chess", "choir"]})
    store.create_table("members", {"person": ["ada", "ben", "ada"], "club": [1, 1, 0]})
    store.relations.declare("members.person", "people.name")
    store.relations.declare("members.club", "clubs._id")
    members = store.relations.edges("members")
    assert members.neighbours(0)["title"].to_pylist() == ["chess", "choir"]
    assert names(members.neighbours(1, "in")) == ["ada", "ben"]
    with pytest.raises(BadData, match="lead from people to clubs"):
        members.neighbours(0, "both")
    graph = members.to_networkx()
    assert sorted(graph.edges()) == [
        (("people", "ada"), ("clubs", 0)),
        (("people", "ada"), ("clubs", 1)),
        (("people", "ben"), ("clubs", 1)),
    ]
    assert graph.nodes["clubs", 0] == {"title": "chess"}


def test_it_has_to_be_clear_where_edges_begin_and_end(store: Store) -> None:
    with pytest.raises(StoreProblem, match=r"not clear where the edges of people .*none leads from it"):
        store.relations.edges("people")
    with pytest.raises(UnknownRelation, match=r"'knows_hwo'. Did you mean 'knows_who"):
        store.relations.edges("knows", source="knows_hwo")
    with pytest.raises(StoreProblem, match="the table has 2"):
        store.relations.edges("knows", source="knows_who", target="knows_who")
    swapped = store.relations.edges("knows", source="knows_whom")
    assert names(swapped.neighbours(1)) == ["ada"] and swapped.target.name == "knows_who"
    store["knows"].columns.add("through", type="string")
    store.relations.declare("knows.through", "people.name")
    with pytest.raises(StoreProblem, match=r"the table has 3: knows_who: .*Name both"):
        store.relations.edges("knows")
    with pytest.raises(BadData, match="direction cannot be 'up'"):
        swapped.neighbours(0, "up")  # type: ignore[arg-type]
    with pytest.raises(UnknownRow, match="people has no row with _id 8"):
        swapped.neighbours(8)


def test_a_graph_has_all_nodes_and_the_edges_that_meet_a_condition(store: Store) -> None:
    graph = store.relations.edges("knows").to_networkx(where=col("years") < 6)
    assert dict(graph.nodes(data=True)) == {
        "ada": {"born": 1815},
        "ben": {},
        "cleo": {"born": 1970},
        "dan": {"born": 1980},
    }
    assert sorted((u, v, data["years"]) for u, v, data in graph.edges(data=True)) == [
        ("ada", "ben", 3),
        ("ada", "cleo", 1),
        ("ben", "ada", 5),
        ("cleo", "cleo", 2),
    ]
    assert networkx.shortest_path(graph, "ben", "cleo") == ["ben", "ada", "cleo"]
    flat = store.relations.edges("knows").to_networkx(directed=False, key="years")
    assert not flat.is_directed() and sorted(flat.get_edge_data("ada", "ben")) == [3, 5, 7]
    with pytest.raises(UnknownColumn, match=r"'yaers'. Did you mean 'years'"):
        store.relations.edges("knows").to_networkx(key="yaers")


def test_edges_that_lead_to_nothing_are_refused_kept_or_dropped(store: Store) -> None:
    store["knows"].insert(
        [{"who": "eve", "whom": "ada", "years": 1}, {"who": "eve", "whom": "fay", "years": 2}]
    )
    knows = store.relations.edges("knows")
    with pytest.raises(BadData, match=r"knows: 2 edges lead to nothing in people.*_id 6 to 'eve'"):
        knows.to_networkx()
    assert [check.dangling for check in knows.check()] == [2, 1]
    assert knows.to_networkx(missing="keep").number_of_edges() == 7
    assert {"eve", "fay"} <= set(knows.to_networkx(missing="keep"))
    assert knows.to_networkx(missing="drop").number_of_edges() == 5
    with pytest.raises(BadData, match="missing cannot be 'ignore'"):
        knows.to_networkx(missing="ignore")  # type: ignore[arg-type]


def test_a_node_is_one_row_with_a_key(store: Store) -> None:
    store["people"].insert([{"name": "ada"}])
    with pytest.raises(
        BadData, match=r"_id 4 cannot be a node. An earlier row has the same name. .*people._id"
    ):
        store.relations.edges("knows").to_networkx()
    store["people"].update([{"_id": 4, "name": None}])
    with pytest.raises(BadData, match=r"_id 4 cannot be a node. It has no name"):
        store.relations.edges("knows").to_networkx()


LABELS = st.sampled_from([st.integers(-3, 9), st.sampled_from(["", "a", "ß", "b c"])])
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "weight": st.floats(allow_nan=False),
        "tag": st.sampled_from("xyz"),
        "u_for_edge": st.integers(0, 3),
    },
)


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    graph = draw(st.sampled_from([networkx.MultiDiGraph, networkx.MultiGraph]))()
    nodes = draw(st.lists(draw(LABELS), min_size=1, max_size=6, unique=True))
    graph.add_nodes_from((node, draw(ATTRIBUTES)) for node in nodes)
    for start, stop in draw(st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=8)):
        graph.add_edges_from([(start, stop, draw(ATTRIBUTES))])
    return graph


@settings(max_examples=examples(full=25))
@given(graph=graphs())
def test_graphs_come_back_as_they_were(graph: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    with Store.open(tmp_path_factory.mktemp("graph") / "s") as store:
        edges = store.relations.from_networkx(graph, "points", "lines")
        back = edges.to_networkx(directed=graph.is_directed())
    assert dict(back.nodes(data=True)) == dict(graph.nodes(data=True))
    assert networkx.utils.edges_equal(
        list(back.edges(data=True)), list(graph.edges(data=True)), directed=graph.is_directed()
    )


def test_keys_of_parallel_edges_come_back_where_they_have_names(tmp_path: Path) -> None:
    graph = networkx.MultiDiGraph()
    graph.add_edge("a", "b", key="road", km=5)
    graph.add_edge("a", "b", key="rail", km=4)
    with Store.open(tmp_path / "s") as store:
        edges = store.relations.from_networkx(graph, "points", "lines")
        assert edges.table.schema.names == ["_id", "source", "target", "key", "km"]
        assert networkx.utils.graphs_equal(edges.to_networkx(key="key"), graph)
        assert edges.to_networkx().get_edge_data("a", "b")[0] == {"key": "road", "km": 5}
        simple = store.relations.from_networkx(networkx.path_graph(3), "p", "l", key="n", ends=("u", "v"))
        assert simple.neighbours(1, "both")["n"].to_pylist() == [0, 2]


ODD_GRAPHS = [
    (lambda g: g.remove_nodes_from(list(g)), BadData, "no nodes"),
    (lambda g: g.add_node((1, 2)), LamellaError, "node"),
    (lambda g: g.add_node("c", node=5), BadData, "an attribute of the graph is called 'node'"),
    (
        lambda g: g.add_edge("a", "b", source=5),
        BadData,
        "lines: an attribute of the graph is called 'source'",
    ),
    (lambda g: g.nodes["a"].update({5: 5}), BadData, "called 5. Columns are called by text"),
    (lambda g: g.add_node("c", _id=5), BadData, "_id"),
]


@pytest.mark.parametrize(("change", "kind", "reason"), ODD_GRAPHS, ids=range(len(ODD_GRAPHS)))
def test_graphs_that_are_no_tables_leave_nothing(
    tmp_path: Path, change: Any, kind: type[LamellaError], reason: str
) -> None:
    graph = networkx.DiGraph([("a", "b")])
    change(graph)
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(kind, match=reason):
            store.relations.from_networkx(graph, "points", "lines")
        assert (store.tables, list(store.relations)) == ([], [])


@pytest.mark.parametrize(
    ("graph", "ends", "reason"),
    [
        (5, ("u", "v"), "5 is not a networkx graph"),
        (networkx.path_graph(2), ("u", "u"), "both ends are called 'u'"),
        (networkx.path_graph(2), "uv", "ends takes two names, not 'uv'"),
        (networkx.path_graph(2), ("u",), "ends takes two names"),
        (networkx.path_graph(2), ("u", 5), "not 5"),
    ],
)
def test_what_is_no_graph_or_no_two_ends_is_refused(
    tmp_path: Path, graph: Any, ends: Any, reason: str
) -> None:
    with Store.open(tmp_path / "s") as store, pytest.raises(BadData, match=reason):
        store.relations.from_networkx(graph, "points", "lines", ends=ends)


def test_nested_names_of_nodes_are_refused(tmp_path: Path) -> None:
    graph = networkx.grid_graph((2, 2))
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(TypeConflict, match="nested values cannot be keys"):
            store.relations.from_networkx(graph, "points", "lines")
        assert (store.tables, list(store.relations)) == ([], [])


def test_without_networkx_the_way_out_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(LamellaError, match="pip install networkx"):
        store.relations.edges("knows").to_networkx()
