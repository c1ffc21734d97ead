"""The only table of the kinds of servers that Lamella connects to, with the schemes of their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lamella.core.errors import LamellaError, UnknownName, nearest


class UnknownKind(UnknownName):
    kind = "kind of connection"


class UnknownScheme(LamellaError):
    """An address with a scheme that no kind of server has."""


@dataclass(frozen=True)
class Secret:
    """A secret that a server asks for. `profile_key` is its key in AWS's profile files."""

    name: str
    label: str
    profile_key: str = ""


@dataclass(frozen=True)
class Kind:
    """The fields of connections of one kind. An empty label means that the kind does not have the field.

    `endpoint` is an example of an endpoint, and `endpoint_note` explains it if there are several sorts; with
    `needs_endpoint`, every connection has one. `places` is what addresses start with: buckets, containers or
    hosts. `reads_files` is false for Spark, which has tables instead of files.
    """

    name: str
    label: str
    schemes: tuple[str, ...]
    places: str
    endpoint: str = ""
    endpoint_schemes: tuple[str, ...] = ("http", "https")
    endpoint_note: str = ""
    needs_endpoint: bool = False
    region: str = ""
    profile: str = ""
    account: str = ""
    can_be_anonymous: bool = False
    secrets: tuple[Secret, ...] = ()
    reads_files: bool = True

    def secret(self, name: str) -> Secret:
        """Raises `UnknownName`."""
        for secret in self.secrets:
            if secret.name == name:
                return secret
        raise UnknownSecret(name, f"A connection to {self.label}", [secret.name for secret in self.secrets])


class UnknownSecret(UnknownName):
    kind = "secret"


KINDS = (
    Kind("s3", "S3 or compatible storage", ("s3", "s3a"), "buckets",
         endpoint="https://minio.example.org:9000", region="Region", profile="Profile", can_be_anonymous=True,
         secrets=(
             Secret("access_key", "Access key", "aws_access_key_id"),
             Secret("secret_key", "Secret key", "aws_secret_access_key"),
             Secret("session_token", "Session token", "aws_session_token"),
         )),
    Kind("gs", "Google Cloud Storage", ("gs", "gcs"), "buckets",
         endpoint="https://storage.example.org", profile="Key file", can_be_anonymous=True,
         secrets=(Secret("token", "Access token"),)),
    Kind("az", "Azure Blob Storage", ("az", "abfs", "abfss"), "containers",
         endpoint="https://account.blob.core.windows.net", account="Storage account", can_be_anonymous=True,
         secrets=(
             Secret("account_key", "Account key"),
             Secret("sas_token", "SAS token"),
             Secret("token", "Access token"),
         )),
    Kind("hdfs", "HDFS", ("hdfs", "webhdfs", "swebhdfs"), "hosts",
         endpoint="http://namenode.example.org:9870", endpoint_schemes=("http", "https", "hdfs"),
         endpoint_note="A web address for WebHDFS, or hdfs://host:8020 for libhdfs, if installed.",
         account="User name",
         secrets=(Secret("token", "Delegation token"),)),
    Kind("http", "Web server", ("http", "https"), "hosts", account="User name",
         secrets=(Secret("password", "Password"), Secret("token", "Bearer token"))),
    Kind("spark", "Spark Connect", ("sc",), "hosts",
         endpoint="sc://spark.example.org:15002", endpoint_schemes=("sc",), needs_endpoint=True,
         account="User name",
         secrets=(Secret("token", "Token"),), reads_files=False),
)  # fmt: skip
BY_NAME = {kind.name: kind for kind in KINDS}
BY_SCHEME = {scheme: kind for kind in KINDS for scheme in kind.schemes}


def kind_named(name: str) -> Kind:
    """Raises `UnknownKind`."""
    if name not in BY_NAME:
        raise UnknownKind(name, "Lamella", BY_NAME)
    return BY_NAME[name]


def kind_of_scheme(scheme: str) -> Kind:
    """Return the kind of server for addresses of a scheme. Raises `UnknownScheme`."""
    kind = BY_SCHEME.get(scheme.casefold())
    if kind is None:
        schemes = list(file_schemes())
        near = [f"{scheme_near}://" for scheme_near in nearest(scheme, schemes, least=0.5)]
        raise UnknownScheme(
            f"An address that begins with {scheme}:// cannot be opened",
            "This scheme is unknown",
            f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(schemes)}",
        )
    return kind


def file_schemes() -> Iterator[str]:
    """Yield the schemes of addresses at which files are opened."""
    return (scheme for kind in KINDS if kind.reads_files for scheme in kind.schemes)
