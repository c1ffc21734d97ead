"""The catalogs of a Spark server can be browsed like folders."""

from __future__ import annotations

import pytest

from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.remote.spark_catalog import CatalogEntry, CatalogFolder, look_into
from lamella.core.remote.spark_connect import ServerAddress, parse_address, server_at


@pytest.mark.parametrize(
    ("text", "parts", "plain"),
    [
        ("sc://spark", (), "sc://spark:15002/"),
        ("sc://spark:7/lake/", ("lake",), "sc://spark:7/lake/"),
        ("sc://spark:7/lake/a%2Fb.c/", ("lake", "a/b.c"), "sc://spark:7/lake/a%2Fb.c/"),
        ("sc://spark:443/lake/;use_ssl=true", ("lake",), "sc://spark:443/lake/;use_ssl=true"),
    ],
)
def test_parse_and_back(text: str, parts: tuple[str, ...], plain: str) -> None:
    folder = CatalogFolder.parse(text)
    assert folder is not None and folder.parts == parts and str(folder) == plain
    assert CatalogFolder.parse(str(folder)) == folder


@pytest.mark.parametrize("text", ["sc://spark/sales.trips", "sc://spark/parquet:/data/trips", "s3://bucket/"])
def test_tables_and_other_servers_are_no_folders(text: str) -> None:
    assert CatalogFolder.parse(text) is None


def test_parse_refuses_what_lies_too_deep() -> None:
    with pytest.raises(BadData, match="does not name a catalog or database"):
        CatalogFolder.parse("sc://spark/a/b/c/")


def test_holding() -> None:
    address = ServerAddress("spark")
    assert CatalogFolder.holding("sc://spark/lake.sales.trips") == CatalogFolder(address, ("lake", "sales"))
    assert CatalogFolder.holding("sc://spark/parquet:/data/trips") == CatalogFolder(address)


def test_look_into_goes_past_a_folder_that_is_alone(spark_address: str) -> None:
    server = server_at(parse_address(spark_address)[0])
    catalog = next(candidate for candidate in server.catalogs() if "default" in server.databases(candidate))
    folder = CatalogFolder(server.address, (catalog,))
    if server.databases(catalog) == ["default"]:
        assert look_into(folder, Job())[0].parts == (catalog, "default")
    entry = CatalogEntry("default", str(CatalogFolder(server.address, (catalog, "default"))), True)
    reached, entries = look_into(folder, Job(), past_single=False)
    assert reached == folder and entry in entries
