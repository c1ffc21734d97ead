"""Connections are saved by name, with references instead of secrets, and found by the addresses they
serve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamella.app import paths
from lamella.core.errors import FileProblem
from lamella.core.remote.connections import (
    BadConnection,
    Connection,
    Connections,
    MissingSecret,
    UnknownConnection,
    default_path,
)
from lamella.core.remote.kinds import KINDS, UnknownKind, UnknownScheme

LAB = Connection(
    "lab",
    "s3",
    endpoint="http://minio.example.org:9000",
    region="eu-west-1",
    places=("logs", "trips"),
    secrets={"access_key": "env:LAB_KEY", "secret_key": "profile:lab"},
)
SECRET = "wJalrXUtnFEMI"


@pytest.fixture
def connections() -> Connections:
    return Connections()


def test_connections_lie_where_the_program_keeps_its_configuration():
    assert default_path() == paths.config_folder() / "connections.json"


def test_save_and_read_again(connections: Connections):
    connections.save(LAB)
    connections.save(Connection("web", "http"))
    assert dict(Connections()) == {"lab": LAB, "web": Connection("web", "http")}
    assert list(connections) == ["lab", "web"]


def test_save_over_another_needs_replace(connections: Connections):
    connections.save(LAB)
    connections.save(Connection("web", "http"))
    with pytest.raises(BadConnection, match="already"):
        connections.save(Connection("lab", "gs"))
    connections.save(Connection("lab", "gs"), replace=True)
    assert [connections[name].kind for name in connections] == ["gs", "http"]


def test_rename_and_delete(connections: Connections):
    connections.save(LAB)
    connections.save(Connection("web", "http"))
    connections.rename("lab", "laboratory")
    assert list(connections) == ["laboratory", "web"]
    with pytest.raises(BadConnection, match="already"):
        connections.rename("laboratory", "web")
    connections.delete("web")
    assert list(connections) == ["laboratory"]
    with pytest.raises(UnknownConnection, match="Did you mean 'laboratory'"):
        connections.delete("labratory")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("s3://trips/2024/*.parquet", "lab"),
        ("s3a://trips/2024", "lab"),
        ("s3://elsewhere/x", "all"),
        ("gs://trips/x", None),
        ("hdfs://namenode:8020/data", "cluster"),
        ("webhdfs://namenode:9870/data", "cluster"),
        ("webhdfs://namenode:1234/data", None),
        ("webhdfs://other/data", None),
        ("hdfs://backup/data", "backup"),
        ("hdfs://backup:8021/data", None),
        ("webhdfs://backup:9870/data", "backup"),
        ("https://data.example.org/x.csv?token=1", "site"),
        ("http://example.org/x.csv", None),
        ("sc://spark:15002/trips", "spark"),
        ("sc://spark/trips", "spark"),
        ("sc://other/trips", None),
    ],
)
def test_serving_prefers_what_names_the_bucket_or_host(
    connections: Connections, address: str, name: str | None
):
    connections.save(Connection("all", "s3"))
    connections.save(LAB)
    connections.save(Connection("cluster", "hdfs", endpoint="http://namenode:9870"))
    connections.save(Connection("backup", "hdfs", endpoint="hdfs://backup:8020"))
    connections.save(Connection("site", "http", places=("data.example.org",)))
    connections.save(Connection("spark", "spark", endpoint="sc://spark:15002"))
    connection = connections.serving(address)
    assert (connection.name if connection else None) == name


def test_serving_refuses_schemes_that_mean_nothing(connections: Connections):
    with pytest.raises(UnknownScheme, match="Did you mean s3://"):
        connections.serving("s4://bucket/x")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "a\nb"}),
        ("name", {"name": "n" * 101}),
        ("endpoint", {"endpoint": "minio:9000"}),
        ("endpoint", {"endpoint": "ftp://minio:9000"}),
        ("endpoint", {"endpoint": f"http://key:{SECRET}@minio:9000"}),
        ("endpoint", {"endpoint": "http://minio:9000/?x=1"}),
        ("endpoint", {"kind": "spark", "endpoint": ""}),
        ("endpoint", {"kind": "http", "endpoint": "http://example.org"}),
        ("region", {"kind": "gs", "region": "eu"}),
        ("account", {"account": "me"}),
        ("anonymous", {"kind": "hdfs", "anonymous": True}),
        ("anonymous", {"anonymous": True, "secrets": {"access_key": "env:KEY"}}),
        ("anonymous", {"anonymous": "yes"}),
        ("places", {"places": ["s3://bucket"]}),
        ("places", {"places": "bucket"}),
        ("secrets", {"secrets": {"secret_key": SECRET}}),
        ("secrets", {"secrets": {"secret_key": f"env:{SECRET}+/"}}),
        ("secrets", {"secrets": {"secret_key": 5}}),
        ("secrets", {"kind": "gs", "secrets": {"token": "profile:work"}}),
    ],
)
def test_a_field_that_does_not_fit_is_named_and_no_secret_quoted(field: str, values: dict[str, object]):
    with pytest.raises(BadConnection) as caught:
        Connection(**{"name": "lab", "kind": "s3", **values})
    assert caught.value.field == field
    assert SECRET not in str(caught.value)


def test_unknown_kinds_and_secrets_suggest_what_there_is():
    with pytest.raises(UnknownKind, match="Did you mean 'hdfs'"):
        Connection("x", "hdsf")
    with pytest.raises(Exception, match="Did you mean 'secret_key'"):
        Connection("x", "s3", secrets={"secretkey": "env:X"})


def test_secrets_come_from_environment_profile_and_keyring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import keyring
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return "from keyring" if (service, username) == ("lab", "ann") else None

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        monkeypatch.setenv("LAB_KEY", "from environment")
        credentials = tmp_path / "credentials"
        credentials.write_text("[lab]\naws_secret_access_key = 50%/of = it\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        connection = Connection("lab", "s3", secrets={**LAB.secrets, "session_token": "keyring:lab/ann"})
        assert connection.secret("access_key") == "from environment"
        assert connection.secret("secret_key") == "50%/of = it"
        assert connection.secret("session_token") == "from keyring"
        assert Connection("x", "s3").secret("access_key") is None
        with pytest.raises(MissingSecret, match="keyring set lab bob"):
            Connection("x", "s3", secrets={"access_key": "keyring:lab/bob"}).secret("access_key")
        with pytest.raises(MissingSecret, match=r"section \[work\]"):
            Connection("x", "s3", secrets={"access_key": "profile:work"}).secret("access_key")
        monkeypatch.delenv("LAB_KEY")
        with pytest.raises(MissingSecret, match="Set the variable LAB_KEY"):
            connection.secret("access_key")
    finally:
        keyring.set_keyring(before)


def test_what_a_newer_program_saved_is_kept(connections: Connections):
    newer = {"name": "moon", "kind": "lunar", "orbit": 3}
    connections.path.parent.mkdir(parents=True)
    connections.path.write_text(json.dumps({"connections": [newer, LAB.to_json()]}))
    assert list(connections) == ["lab"]
    assert len(connections.problems()) == 1
    connections.save(Connection("web", "http"))
    assert json.loads(connections.path.read_text())["connections"][0] == newer


@pytest.mark.parametrize("text", ["", "[]", '{"connections": 3}', "{"])
def test_a_file_of_something_else_is_refused_and_left(connections: Connections, text: str):
    connections.path.parent.mkdir(parents=True)
    connections.path.write_text(text)
    with pytest.raises(FileProblem, match="saved connections"):
        list(connections)
    with pytest.raises(FileProblem):
        connections.save(LAB)
    assert connections.path.read_text() == text


def test_each_kind_has_schemes_of_its_own_and_an_example_that_fits():
    schemes = [scheme for kind in KINDS for scheme in kind.schemes]
    assert len(schemes) == len(set(schemes))
    for kind in KINDS:
        Connection("x", kind.name, endpoint=kind.endpoint)


@pytest.mark.parametrize("place", ["nn:abc", "nn:99999", "[bad"])
def test_a_place_that_is_no_host_is_served_by_no_endpoint(place: str) -> None:
    assert Connection("lab", "hdfs", endpoint="http://nn:9870").rank(f"webhdfs://{place}/file") == 0


def test_an_endpoint_has_a_port_that_there_can_be() -> None:
    with pytest.raises(BadConnection, match="is not the URL of a server"):
        Connection("lab", "s3", endpoint="http://minio:99999")
