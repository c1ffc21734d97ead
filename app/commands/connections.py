"""`lamella connections`: list, add, test and remove saved connections."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from lamella.app.command_options import names
from lamella.app.commands import OK, terminal
from lamella.core.errors import LamellaError
from lamella.core.remote.connections import REFERENCES, Connection, Connections
from lamella.core.remote.kinds import KINDS
from lamella.core.remote.trial import try_connection

FIELDS = ("endpoint", "region", "profile", "account")


def run(arguments: argparse.Namespace) -> int:
    """Run `list`, `add`, `remove` or `test`; `list` if none is given."""
    work = {None: _list, "list": _list, "add": _add, "remove": _remove, "test": _test}[arguments.act]
    work(arguments, Connections())
    return OK


def _list(arguments: argparse.Namespace, saved: Connections) -> None:
    for problem in saved.problems():
        print(f"lamella: {saved.path}: {problem}", file=sys.stderr)
    if arguments.json:
        for connection in saved.values():
            print(json.dumps(connection.to_json(), ensure_ascii=False))
        return
    if not saved:
        kinds = ", ".join(kind.name for kind in KINDS)
        print(f"There are no saved connections. Kinds that can be added: {kinds}")
        print("lamella connections add NAME --kind KIND")
    for connection in saved.values():
        print(f"{connection.name}  {connection.of_kind.label}{_details(connection)}")


def _details(connection: Connection) -> str:
    """Everything but the name and kind; secrets as their references."""
    parts = [getattr(connection, name) for name in FIELDS if getattr(connection, name)]
    parts += ["anonymous"] if connection.anonymous else []
    parts += [f"{connection.of_kind.places}: {', '.join(connection.places)}"] if connection.places else []
    parts += [f"{name} from {reference}" for name, reference in connection.secrets.items()]
    return "".join(f"  {part}" for part in parts)


def _add(arguments: argparse.Namespace, saved: Connections) -> None:
    name = _one_name(arguments)
    if arguments.kind is None:
        raise LamellaError("The kind of connection is not given", fix="Give --kind, such as s3")
    connection = Connection(
        name,
        arguments.kind,
        **{field: getattr(arguments, field) or "" for field in FIELDS},
        anonymous=arguments.anonymous,
        places=tuple(arguments.places or ()),
        secrets=_secrets(arguments.secret or ()),
    )
    saved.save(connection, arguments.replace)
    print(f"The connection '{name}' is saved in {saved.path}")


def _secrets(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=REFERENCE` words. Errors do not quote them: the user may have typed the secret itself."""
    secrets = {}
    for word in words:
        name, sign, reference = word.partition("=")
        if not sign:
            raise LamellaError("A secret has a name and a reference", fix="Write access_key=env:MY_KEY")
        secrets[name] = reference
    return secrets


def _remove(arguments: argparse.Namespace, saved: Connections) -> None:
    name = _one_name(arguments)
    saved.delete(name)
    print(f"The connection '{name}' is removed")


def _test(arguments: argparse.Namespace, saved: Connections) -> None:
    connection = saved[_one_name(arguments)]
    with terminal.job() as job:
        trial = try_connection(connection, arguments.address or "", job)
    print(trial.sentence)


def _one_name(arguments: argparse.Namespace) -> str:
    if arguments.name is None:
        raise LamellaError("The connection is not given", fix="Give its name")
    return str(arguments.name)


def add_options(parser: argparse.ArgumentParser) -> None:
    secrets = "; ".join(
        f"{kind.name}: {', '.join(secret.name for secret in kind.secrets)}" for kind in KINDS if kind.secrets
    )
    parser.add_argument("act", nargs="?", choices=("list", "add", "remove", "test"), help="list, if left out")
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the connection")
    parser.add_argument("address", nargs="?", metavar="ADDRESS", help="with test: what to open")
    parser.add_argument("--json", action="store_true", help="with list: as JSON, one object per line")
    added = parser.add_argument_group("with add")
    added.add_argument("--kind", metavar="KIND", help=", ".join(kind.name for kind in KINDS))
    added.add_argument("--endpoint", metavar="URL", help="of the server, unless it is the kind's default")
    added.add_argument("--region", metavar="NAME", help="of S3")
    added.add_argument("--profile", metavar="NAME", help="in the AWS profile files; for gs, the key file")
    added.add_argument("--account", metavar="NAME", help="the storage account of az, or the user")
    added.add_argument("--anonymous", action="store_true", help="read public data without credentials")
    added.add_argument(
        "--places",
        type=names,
        metavar="NAME,NAME,…",
        help="the buckets, containers or hosts it serves",
    )
    added.add_argument(
        "--secret",
        action="append",
        metavar="NAME=REFERENCE",
        help=f"where a secret is found: {REFERENCES}; may be repeated. Names of secrets: {secrets}",
    )
    added.add_argument("--replace", action="store_true", help="replace a connection of this name")
