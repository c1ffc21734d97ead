"""S3, Google Cloud Storage and Azure Blob Storage, through `obstore`."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, profile_values
from lamella.core.remote.problems import (
    AccessDenied,
    MissingFile,
    RemoteProblem,
    changed,
    no_credentials,
    of_status,
    unreachable,
)
from lamella.core.remote.requests import patiently
from lamella.core.remote.server import CONNECT_SECONDS, SILENT_SECONDS, Data, Entry, Status

ENTRIES_A_PAGE = 1000
KEYS_BEFORE_SKIP = 2 * ENTRIES_A_PAGE
"""Of one folder, before the listing goes on behind it: to ask again costs as much as a page."""
UPLOAD_PART_BYTES = 8 << 20
LAST_CHARACTER = "\U0010ffff"
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REASONS = (
    ("dns error", "Its name is not known"),
    ("certificate", "Its certificate is not trusted here"),
    ("kind: timeout", "It did not answer in time"),
    ("tcp connect error", "Nothing listens there"),
    ("kind: connect", "No secure connection to it could be made"),
    ("incompletemessage", "It closed the connection"),
    ("kind: request", "It closed the connection"),
    ("kind: decode", "It broke off in the middle of its answer"),
    ("body", "It broke off in the middle of its answer"),
)
"""By what `obstore` says of the error of the library below it."""
_RETRIES: dict[str, Any] = {
    "max_retries": 2,
    "retry_timeout": timedelta(seconds=CONNECT_SECONDS),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=1), "base": 2},
}


class ObjectStore:
    """A bucket or container as a `Server`."""

    def __init__(self, address: Address, connection: Connection | None) -> None:
        make = _MAKERS[address.kind.name]
        self._store, self._is_anonymous = make(address, connection)

    def status(self, address: Address) -> Status:
        with self._problems(address):
            try:
                return _status(self._store.head(address.key))
            except Exception as error:
                if _STATUS.search(str(error)) and "403" in str(error):
                    self._store.get_range(address.key, start=0, length=1)  # an answer to HEAD has no reason
                raise

    def read(self, address: Address, start: int, stop: int, status: Status) -> Data:
        options: Any = {"range": (start, stop)}
        if status.etag:
            options["if_match"] = status.etag
        with self._problems(address):
            return memoryview(self._store.get(address.key, options=options).bytes())

    def confirm(self, address: Address, status: Status) -> None:
        """Each read says which content it wants."""

    def stream(self, address: Address, status: Status) -> Iterator[bytes]:
        options: Any = {"if_match": status.etag} if status.etag else {}
        with self._problems(address):
            for piece in self._store.get(address.key, options=options).stream(min_chunk_size=1 << 20):
                yield bytes(piece)

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        prefix = folder.key.strip("/")
        offset, seen = "", 0
        while True:
            inside, same = "", 0
            for page in self._pages(folder, prefix, offset):
                entries = []
                for item in page:
                    key = str(item["path"])
                    name, slash, _ = key[len(prefix) + 1 if prefix else 0 :].partition("/")
                    if recursive or not slash:
                        entries.append(Entry(folder.at(key), _status(item)))
                    elif name == inside:
                        same += 1
                    else:
                        inside, same = name, 0
                        entries.append(Entry(folder.child(name), None))
                seen += len(entries)
                yield entries
                if same >= KEYS_BEFORE_SKIP:
                    break
            else:
                return
            offset = f"{prefix}/{inside}/{LAST_CHARACTER}" if prefix else f"{inside}/{LAST_CHARACTER}"

    def _pages(self, folder: Address, prefix: str, offset: str) -> Iterator[list[Any]]:
        """A listing that the server throttles goes on behind the last key that came."""
        listing: Iterator[list[Any]] | None = None

        def following() -> list[Any] | None:
            nonlocal listing
            with self._problems(folder):
                if listing is None:
                    listing = self._store.list(
                        prefix or None, offset=offset or None, chunk_size=ENTRIES_A_PAGE
                    )
                try:
                    return next(listing, None)
                except Exception:
                    listing = None
                    raise

        while (page := patiently(following)) is not None:
            yield page
            offset = page[-1]["path"] if page else offset

    def upload(self, address: Address, source: Path, job: Job) -> None:
        total = source.stat().st_size

        def parts() -> Iterator[bytes]:
            done = 0
            with source.open("rb") as file:
                while part := file.read(UPLOAD_PART_BYTES):
                    job.report(done, total, f"Writing {address.name}")
                    yield part
                    done += len(part)
            job.report(done, total, f"Writing {address.name}")

        with self._problems(address, "written"):
            if total <= UPLOAD_PART_BYTES:
                job.report(0, total, f"Writing {address.name}")
                self._store.put(address.key, source.read_bytes(), use_multipart=False)
            else:
                self._store.put(address.key, parts(), chunk_size=UPLOAD_PART_BYTES, max_concurrency=4)

    def delete(self, address: Address) -> None:
        with self._problems(address):
            self._store.delete(address.key)

    @contextmanager
    def _problems(self, address: Address, act: str = "read") -> Iterator[None]:
        """What `obstore` raises, in words; its own hold whole answers and addresses."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            problem = self._problem(address, error)
            if act == "written" and isinstance(problem, AccessDenied):
                problem = AccessDenied(address, "may not be written", problem.why, problem.fix)
            raise problem from None

    def _problem(self, address: Address, error: Exception) -> RemoteProblem:
        text = str(error)
        status, code = _STATUS.search(text), _CODE.search(text)
        if status is not None:
            number, word = int(status[1]), code[1] if code else ""
            if number in (401, 403) and self._is_anonymous and not word.startswith("NoSuch"):
                return no_credentials(address, _PLACES[address.kind.name])
            return of_status(address, number, word)
        from obstore.exceptions import InvalidPathError, PreconditionError

        if isinstance(error, PreconditionError):
            return changed(address)
        if isinstance(error, FileNotFoundError):
            return MissingFile(address, "is not there", fix="Check the address")
        if isinstance(error, InvalidPathError):
            return RemoteProblem(address, "cannot be opened", "Parts of its key are empty, '.' or '..'")
        lower = text.casefold()
        why = next((reason for sign, reason in _REASONS if sign in lower), "It does not answer as expected")
        return unreachable(address, why)


def _status(item: Any) -> Status:
    modified = round(item["last_modified"].timestamp() * 1000) * 1_000_000
    return Status(int(item["size"]), modified, item.get("e_tag") or "")


def _options(endpoint: str) -> dict[str, Any]:
    return {
        "client_options": {
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "read_timeout": timedelta(seconds=SILENT_SECONDS),
            "timeout": timedelta(days=1),
        },
        "retry_config": _RETRIES,
    }


_PLACES = {
    "s3": "the environment (AWS_ACCESS_KEY_ID) and in AWS's profile files, and no connection has some",
    "gs": "the environment (GOOGLE_APPLICATION_CREDENTIALS), and no connection has some",
    "az": "the environment (AZURE_STORAGE_ACCOUNT_KEY), and no connection has some",
}


def _s3(address: Address, connection: Connection | None) -> tuple[Any, bool]:
    """The connection's own credentials, or else those of its profile, or of the environment, the default
    profile and the machine, as AWS's tools look for them; without any, what everybody may read."""
    from obstore.store import S3Store

    profile = (connection and connection.profile) or os.environ.get("AWS_PROFILE", "")
    named = profile_values(profile or "default")
    if connection is not None and connection.profile and not named:
        raise no_credentials(address, f"a profile '{profile}' of AWS's profile files")
    endpoint = (
        (connection and connection.endpoint)
        or named.get("endpoint_url")
        or _variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    )
    region = (connection and connection.region) or _variable("AWS_REGION", "AWS_DEFAULT_REGION")
    options = _options(endpoint) | {"region": region or named.get("region") or "us-east-1"}
    if endpoint:
        options |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
    keys = ("access_key", "secret_key", "session_token")
    if connection is not None and connection.secrets:
        values = [connection.secret(key) for key in keys]
    elif profile:
        values = _of_profile(named)
    else:
        variables = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        values = [os.environ.get(variable) for variable in variables]
        values = values if values[0] and values[1] else _of_profile(named)
    anonymous = connection is not None and connection.anonymous
    if not anonymous and values[0] and values[1]:
        given = zip(("access_key_id", "secret_access_key", "session_token"), values, strict=True)
        options |= {name: value for name, value in given if value}
        return S3Store(address.place, **options), False
    if not anonymous and not endpoint and _is_in_aws():
        return S3Store(address.place, **options), False
    return S3Store(address.place, **options, skip_signature=True), True


def _of_profile(values: dict[str, str]) -> list[str | None]:
    return [values.get(f"aws_{key}") for key in ("access_key_id", "secret_access_key", "session_token")]


def _variable(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


@cache
def _is_in_aws() -> bool:
    """Whether this machine has credentials of its own, which `obstore` then asks for."""
    if _variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                 "AWS_WEB_IDENTITY_TOKEN_FILE"):  # fmt: skip
        return True
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").casefold() == "true":
        return False
    with suppress(OSError), socket.create_connection(("169.254.169.254", 80), timeout=0.3):
        return True
    return False


def _gs(address: Address, connection: Connection | None) -> tuple[Any, bool]:
    from obstore.store import GCSStore

    endpoint = connection.endpoint if connection else ""
    options = _options(endpoint)
    if endpoint:
        options["base_url"] = endpoint
    if connection is not None and connection.anonymous:
        return GCSStore(address.place, **options, skip_signature=True), True
    if connection is not None and "token" in connection.secrets:
        token = connection.secret("token")
        options["credential_provider"] = lambda: {"token": token, "expires_at": None}
        return GCSStore(address.place, **options), False
    key_file = (connection and connection.profile) or _variable("GOOGLE_APPLICATION_CREDENTIALS")
    usual = Path("~/.config/gcloud/application_default_credentials.json").expanduser()
    if key_file or usual.exists():
        return GCSStore(address.place, **options, application_credentials=key_file or str(usual)), False
    return GCSStore(address.place, **options, skip_signature=True), True


def _az(address: Address, connection: Connection | None) -> tuple[Any, bool]:
    from obstore.store import AzureStore

    account = address.user if connection is None or address.user != connection.name else ""
    account = account or (connection.account if connection else "") or _variable("AZURE_STORAGE_ACCOUNT_NAME")
    if not account:
        raise RemoteProblem(
            address,
            "names no storage account",
            "An address az://container/file says the container alone",
            "Add a connection with the account, or set AZURE_STORAGE_ACCOUNT_NAME",
        )
    endpoint = connection.endpoint if connection else ""
    options = _options(endpoint) | {"account_name": account}
    if endpoint:
        options["endpoint"] = endpoint
    if connection is not None and connection.anonymous:
        return AzureStore(address.place, **options, skip_signature=True), True
    for name, option, variables in (
        ("account_key", "account_key", ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY")),
        ("sas_token", "sas_key", ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY")),
        ("token", "token", ("AZURE_STORAGE_TOKEN",)),
    ):
        own = connection.secret(name) if connection is not None else None
        value = own or ("" if connection is not None and connection.secrets else _variable(*variables))
        if value:
            return AzureStore(address.place, **options | {option: value}), False
    if _variable("AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT"):
        return AzureStore(address.place, **options), False
    return AzureStore(address.place, **options, skip_signature=True), True


_MAKERS: dict[str, Callable[[Address, Connection | None], tuple[Any, bool]]] = {
    "s3": _s3,
    "gs": _gs,
    "az": _az,
}
