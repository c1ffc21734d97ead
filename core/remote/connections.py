"""Connections: how servers are reached, saved by name in the user's configuration, without secrets."""

from __future__ import annotations

import configparser
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lamella.core.errors import BadData, FileProblem, LamellaError, UnknownName, short_text
from lamella.core.libraries import install_command
from lamella.core.remote.kinds import Kind, kind_named, kind_of_scheme

LONGEST_NAME = 100
_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|profile:[^\s:/][^:/]*|keyring:[^/]+/.+")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?")
REFERENCES = "env:NAME, profile:NAME or keyring:SERVICE/USER"


class BadConnection(BadData):
    """An invalid connection; `field` is the field at fault. No message contains a secret."""

    def __init__(self, what: str, why: str = "", fix: str = "", *, field: str) -> None:
        self.field = field
        super().__init__(what, why, fix)


class MissingSecret(LamellaError):
    """A reference to a secret that does not exist or cannot be read."""


class UnknownConnection(UnknownName):
    kind = "connection"


@dataclass(frozen=True)
class Connection:
    """How a server is reached, and which addresses it serves: `Connection("lab", "s3",
    endpoint="http://minio:9000", secrets={"access_key": "env:LAB_KEY", "secret_key": "env:LAB_SECRET"})`.

    `kind` is the name of one of `kinds.KINDS`, which also determines the fields it can have. `endpoint` is
    the server's URL; `profile` is the name of a section in AWS's profile files, or Google's key file;
    `account` is the storage account or the user. `places` are the buckets, containers or hosts that it
    serves; if empty, it serves all of its kind. `secrets` contains only references: `env:NAME`,
    `profile:NAME`, `keyring:SERVICE/USER`.

    Raises `BadConnection` for an invalid field, and `UnknownKind`.
    """

    name: str
    kind: str
    endpoint: str = ""
    region: str = ""
    profile: str = ""
    account: str = ""
    anonymous: bool = False
    places: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.places, (list, set, frozenset)):
            object.__setattr__(self, "places", tuple(self.places))
        if isinstance(self.secrets, Mapping):
            object.__setattr__(self, "secrets", dict(self.secrets))
        _refuse_odd(self)

    def __hash__(self) -> int:
        return hash((self.name, self.kind, self.endpoint, self.places))

    @property
    def of_kind(self) -> Kind:
        return kind_named(self.kind)

    def secret(self, name: str) -> str | None:
        """Return the secret that the connection refers to by `name`; None if it has no such reference. Reads
        the environment, a profile file or the keyring. Raises `MissingSecret` if the secret is missing."""
        reference = self.secrets.get(name)
        if reference is None:
            return None
        return _resolve(reference, self.of_kind.secret(name).profile_key, f"The connection '{self.name}'")

    def rank(self, address: str) -> int:
        """Return how specifically the connection serves an address: 3 if it names the bucket or host, 2 if
        its endpoint is the host, 1 if it serves all of the kind, 0 if it does not serve it. Raises
        `UnknownScheme`."""
        scheme, _, tail = address.partition("://")
        place = re.split(r"[/?#]", tail, maxsplit=1)[0].rpartition("@")[2]
        if kind_of_scheme(scheme).name != self.kind:
            return 0
        if self.places:
            return 3 if place.casefold() in (own.casefold() for own in self.places) else 0
        if self.of_kind.places == "hosts" and self.endpoint:
            of_hadoop = [
                address_scheme.casefold() == "hdfs"
                for address_scheme in (scheme, urlsplit(self.endpoint).scheme)
            ]
            return 2 if _is_at(place, self.endpoint, any_port=of_hadoop[0] != of_hadoop[1]) else 0
        return 1

    def to_json(self) -> dict[str, Any]:
        """Return the fields to save; empty ones are left out."""
        items = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        plain = {**items, "places": list(self.places), "secrets": dict(self.secrets)}
        return {name: value for name, value in plain.items() if value or name in ("name", "kind")}

    @classmethod
    def from_json(cls, item: Any) -> Connection:
        """Raises `BadConnection` and `UnknownKind`."""
        if not isinstance(item, dict):
            raise BadConnection(f"{short_text(item)} is not a connection", field="name")
        names = {attribute.name for attribute in fields(cls)}
        odd = sorted(set(item) - names)
        if odd or not {"name", "kind"} <= set(item):
            what = f"has an unknown field '{odd[0]}'" if odd else "has no name or no kind"
            raise BadConnection(f"A connection {what}", fix="Fix the file", field=odd[0] if odd else "name")
        return cls(**item)


_TYPES = {"anonymous": (bool, "true or false"), "places": (tuple, "a list"), "secrets": (dict, "an object")}


def _refuse_odd(connection: Connection) -> None:
    """Raise `BadConnection` for the first invalid field."""
    for attribute in fields(connection):
        expected, words = _TYPES.get(attribute.name, (str, "text"))
        if type(getattr(connection, attribute.name)) is not expected:
            raise BadConnection(f"The {attribute.name} of a connection is not {words}", field=attribute.name)
    _refuse_odd_name(connection.name)
    where, kind = f"The connection '{connection.name}'", kind_named(connection.kind)
    _refuse_odd_endpoint(connection, where, kind)
    _refuse_other_fields(connection, where, kind)
    for place in connection.places:
        if not isinstance(place, str) or not place or "/" in place or "@" in place:
            raise BadConnection(
                f"{where} cannot serve {short_text(place)}",
                f"These are names of {kind.places}",
                "Give them without a scheme or a path",
                field="places",
            )
    for secret, reference in connection.secrets.items():
        refuse_secret(reference, f"{where}: {kind.secret(secret).label.lower()}", kind)


def _refuse_odd_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        why = f"A name has 1 to {LONGEST_NAME} printable characters"
        raise BadConnection(f"A connection cannot be called {name[:60]!r}", why, field="name")


def _refuse_other_fields(connection: Connection, where: str, kind: Kind) -> None:
    for label in ("region", "profile", "account"):
        if getattr(connection, label) and not getattr(kind, label):
            raise BadConnection(f"{where} has a {label}", f"{kind.label} has none", field=label)
    if connection.anonymous and not kind.can_be_anonymous:
        raise BadConnection(
            f"{where} cannot be anonymous", f"{kind.label} has no anonymous access", field="anonymous"
        )
    if connection.anonymous and connection.secrets:
        why = "Anonymous access uses no secrets"
        raise BadConnection(f"{where} is anonymous and has secrets", why, "Choose one", field="anonymous")


def _refuse_odd_endpoint(connection: Connection, where: str, kind: Kind) -> None:
    endpoint = connection.endpoint
    if not endpoint:
        if kind.needs_endpoint:
            raise BadConnection(
                f"{where} has no endpoint", fix=f"Give one, such as {kind.endpoint}", field="endpoint"
            )
        return
    if not kind.endpoint:
        raise BadConnection(
            f"{where} has an endpoint",
            f"For a {kind.label.lower()}, the address determines it",
            "Leave it out",
            field="endpoint",
        )
    with suppress(ValueError):
        parts = urlsplit(endpoint)
        if parts.username or parts.password or "@" in parts.netloc:
            raise BadConnection(
                f"{where} has a user or password in its endpoint",
                "Endpoints are saved as they are, and secrets are never saved",
                f"Leave them out of the URL, and give secrets by reference: {REFERENCES}",
                field="endpoint",
            )
        is_host = _HOST.fullmatch(parts.netloc) and parts.port != 0  # ValueError for a port above 65535
        if parts.scheme in kind.endpoint_schemes and is_host and not (parts.query or parts.fragment):
            return
    raise BadConnection(
        f"{where}: the endpoint is not the URL of a server",
        fix=f"Give one such as {kind.endpoint}",
        field="endpoint",
    )


def refuse_secret(reference: Any, what: str, kind: Kind) -> None:
    """Raise `BadConnection` if `reference` is not a reference to a secret; the message does not quote it."""
    is_reference = isinstance(reference, str) and _REFERENCE.fullmatch(reference) is not None
    if is_reference and not (reference.startswith("profile:") and kind.name != "s3"):
        return
    fix = f"Give a reference: {REFERENCES}"
    if kind.name != "s3":
        fix = "Give a reference: env:NAME or keyring:SERVICE/USER"
    raise BadConnection(f"{what} is not a reference", "Secrets are never saved", fix, field="secrets")


def _resolve(reference: str, profile_key: str, what: str) -> str:
    where, _, name = reference.partition(":")
    if where == "env":
        value = os.environ.get(name, "")
        fix = f"Set the variable {name} before Lamella is started"
    elif where == "profile":
        value = profile_values(name).get(profile_key, "")
        fix = f"Add {profile_key} to the section [{name}] of {credentials_path()}"
    else:
        service, _, user = name.partition("/")
        value = _from_keyring(service, user, what)
        fix = f"Save it: keyring set {service} {user}"
    if not value:
        raise MissingSecret(f"{what} has no secret at {reference}", "It is missing or empty", fix)
    return value


def _from_keyring(service: str, user: str, what: str) -> str:
    try:
        import keyring
    except ImportError as error:
        raise MissingSecret(
            f"{what} has a secret in the keyring",
            "The keyring package, which is needed to read it, is not installed",
            f"Use env:NAME, or add the package. {install_command(['keyring'])}",
        ) from error
    try:
        return keyring.get_password(service, user) or ""
    except keyring.errors.KeyringError as error:
        why = str(error) or type(error).__name__
        raise MissingSecret(
            f"{what}: the keyring cannot be read", why, "Unlock it, or use env:NAME"
        ) from error


def credentials_path() -> Path:
    return Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")).expanduser()


def _config_path() -> Path:
    return Path(os.environ.get("AWS_CONFIG_FILE", "~/.aws/config")).expanduser()


def profile_values(name: str) -> dict[str, str]:
    """Return the values of a profile in AWS's two profile files, of which the credentials file takes
    precedence; empty for an unknown profile. Raises `FileProblem` for a file that cannot be parsed."""
    values: dict[str, str] = {}
    sections = {
        _config_path(): "default" if name == "default" else f"profile {name}",
        credentials_path(): name,
    }
    for path, section in sections.items():
        # No interpolation: keys may contain percent signs. The parser's errors quote lines, and so secrets.
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(path.read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except (configparser.Error, UnicodeDecodeError, OSError):
            why = "It does not consist of sections with names and values"
            raise FileProblem(
                path, "is not a profile file of AWS", why, "Fix the file or remove it"
            ) from None
        if parser.has_section(section):
            values.update(parser.items(section))
    return values


def _is_at(place: str, endpoint: str, any_port: bool) -> bool:
    """Whether `place`, which may have no port, is the host of the endpoint. `any_port` ignores the port: that
    of HDFS differs from that of WebHDFS."""
    server = urlsplit(endpoint)
    try:
        host = urlsplit(f"//{place}")
        port = host.port
    except ValueError:  # not a host, or not a port
        return False
    if any_port or port is None:
        return host.hostname == server.hostname
    return host.netloc.casefold() == server.netloc.casefold()


def default_path() -> Path:
    """Return the path of the file of saved connections, in the configuration folder or LAMELLA_HOME."""
    home = os.environ.get("LAMELLA_HOME")
    if home:
        return Path(home).absolute() / "config" / "connections.json"
    import platformdirs

    return platformdirs.user_config_path("Lamella", appauthor=False) / "connections.json"


class Connections(Mapping[str, Connection]):
    """The saved connections by name, in the order in which they were saved. Each call reads the file, so that
    all windows and commands agree; `problems` returns the errors of invalid entries."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()

    def __iter__(self) -> Iterator[str]:
        return iter(self._read_connections())

    def __len__(self) -> int:
        return len(self._read_connections())

    def __getitem__(self, name: str) -> Connection:
        """Raises `UnknownConnection`."""
        connections = self._read_connections()
        if name not in connections:
            raise UnknownConnection(name, "Lamella", connections)
        return connections[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._read_connections().get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._read_connections()

    def problems(self) -> list[LamellaError]:
        """Return the errors of invalid entries, such as a newer version's. Saving keeps these entries."""
        return [problem for _, problem in map(_read, self._entries()) if problem is not None]

    def serving(self, address: str) -> Connection | None:
        """Return the connection for an address, `s3://bucket/key`: preferably one that names its bucket or
        host, then one whose endpoint is its host, then one for all of the kind; the first if there are
        several. None if no connection serves it: the libraries then look for credentials themselves. Raises
        `UnknownScheme`."""
        ranked = [(connection.rank(address), connection) for connection in self._read_connections().values()]
        kind_of_scheme(address.partition("://")[0])
        rank, best = max(ranked, key=lambda pair: pair[0], default=(0, None))
        return best if rank else None

    def save(self, connection: Connection, replace: bool = False) -> None:
        """Save a connection. Raises `BadConnection` if the name is taken and `replace` is false, and
        `FileProblem` if the file cannot be written."""
        if connection.name in self._read_connections() and not replace:
            raise BadConnection(
                f"There is a connection '{connection.name}' already", fix="Choose another name", field="name"
            )
        self._put(connection.name, connection)

    def rename(self, old: str, new: str) -> None:
        """Rename a connection. Raises `UnknownConnection`, and `BadConnection` if the name is taken."""
        connection = self[old]
        if new != old and new in self._read_connections():
            raise BadConnection(f"There is a connection '{new}' already", fix="Choose another", field="name")
        self._put(old, replace(connection, name=new))

    def delete(self, name: str) -> None:
        """Raises `UnknownConnection`."""
        self._put(self[name].name, None)

    def _put(self, name: str, connection: Connection | None) -> None:
        """Replace the entry of this name, or append a new one; with None, delete the entry."""
        new = [] if connection is None else [connection.to_json()]
        entries: list[Any] = []
        for entry in self._entries():
            if isinstance(entry, dict) and entry.get("name") == name and _read(entry)[0] is not None:
                entries += new
                new = []
            else:
                entries.append(entry)
        self._write(entries + new)

    def _read_connections(self) -> dict[str, Connection]:
        connections: dict[str, Connection] = {}
        for connection, _ in map(_read, self._entries()):
            if connection is not None:
                connections.setdefault(connection.name, connection)
        return connections

    def _entries(self) -> list[Any]:
        try:
            item = json.loads(self.path.read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror or str(error) if isinstance(error, OSError) else "It is not JSON"
            raise FileProblem(
                self.path, "the saved connections cannot be read", why, "Fix the file or remove it"
            ) from error
        entries = item.get("connections") if isinstance(item, dict) else None
        if not isinstance(entries, list):
            raise FileProblem(self.path, "contains no saved connections", fix="Fix the file or remove it")
        return entries

    def _write(self, entries: Iterable[Any]) -> None:
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        text = json.dumps({"connections": list(entries)}, ensure_ascii=False, indent=2) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(text, "utf-8")
            draft.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise FileProblem(
                self.path,
                "cannot be written",
                error.strerror or str(error),
                "Free some space, allow writing, or set LAMELLA_HOME to another folder",
            ) from error


def _read(entry: Any) -> tuple[Connection | None, LamellaError | None]:
    try:
        return Connection.from_json(entry), None
    except (BadConnection, UnknownName) as problem:
        return None, problem
