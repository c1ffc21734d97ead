"""S3, Google Cloud Storage and Azure Blob Storage, through `obstore`."""

from __future__ import annotations

import logging
import os
import re
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, profile_values
from lamella.core.remote.http import HttpClient
from lamella.core.remote.object_uploads import (
    QUICK_UPLOAD_BYTES,
    RETRIES,
    UPLOAD_PART_BYTES,
    patient_store,
    put_file,
    run_upload,
)
from lamella.core.remote.problems import (
    AccessDenied,
    AlreadyThere,
    MissingFile,
    OtherRegion,
    RemoteProblem,
    file_change_problem,
    no_credentials,
    of_status,
    unreachable,
)
from lamella.core.remote.requests import patiently
from lamella.core.remote.server import CONNECT_SECONDS, SILENT_SECONDS, Data, Entry, Status
from lamella.core.remote.watchdog import Silent, Watchdog

ENTRIES_A_PAGE = 1000
KEYS_BEFORE_SKIP = 2 * ENTRIES_A_PAGE
"""Keys of one folder before the listing restarts after it: a new request costs as much as a page."""
LAST_CHARACTER = "\U0010ffff"
_STATUS = re.compile(r"status code: (\d{3})")
_ODD_KEY = re.compile(r'ath "(.*)"(?: contained|: Encountered)')
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REASONS = (
    ("dns error", "The host name is unknown"),
    ("certificate", "Its certificate is not trusted on this machine"),
    ("kind: timeout", "It did not answer in time"),
    ("tcp connect error", "No server is listening there"),
    ("kind: connect", "A secure connection to it could not be established"),
    ("incompletemessage", "It closed the connection"),
    ("kind: request", "It closed the connection"),
    ("error sending request", "It closed the connection, or did not answer in time"),
    ("kind: decode", "It broke off in the middle of its answer"),
    ("body", "It broke off in the middle of its answer"),
)
"""Reasons, by the text in which `obstore` describes an error of the HTTP library."""

log = logging.getLogger(__name__)
T = TypeVar("T")


class OddKey(RemoteProblem):
    """A key that `obstore` does not accept: the file's own, or that of another file in its folder."""

    def __init__(self, address: Address, text: str) -> None:
        match = _ODD_KEY.search(text)
        key = match[1] if match else address.key
        super().__init__(
            address,
            "cannot be opened" if key == address.key else "contains a file that cannot be listed",
            f"Parts of the key {key!r} are empty, '.' or '..', or contain control characters",
            "Rename that file" if key == address.key else "Open its files or folders separately",
        )


class ObjectStore:
    """A bucket or container as a `Server`."""

    def __init__(self, address: Address, connection: Connection | None) -> None:
        self._connection = connection
        self._region = ""
        self._store, self._is_anonymous = self._new_store(address)
        self._upload_store: Any = None
        self._heeds_offset = True
        self._has_conditions: bool | None = None

    def _new_store(self, address: Address) -> tuple[Any, bool]:
        """Return a store with the current credentials, and whether it is anonymous."""
        if address.kind.name == "s3":
            return _s3(address, self._connection, self._region)
        return (_gs if address.kind.name == "gs" else _az)(address, self._connection)

    def status(self, address: Address) -> Status:
        def ask() -> Status:
            try:
                return _status(self._store.head(address.key))
            except Exception as error:
                if (match := _STATUS.search(str(error))) and match[1] in ("400", "403"):
                    self._store.get_range(address.key, start=0, length=1)  # a HEAD response has no reason
                raise

        return self._ask(address, ask)

    def read(self, address: Address, start: int, stop: int, status: Status) -> Data:
        options: Any = {"range": (start, stop)}
        if status.etag:
            options["if_match"] = status.etag
        return self._ask(address, lambda: memoryview(self._store.get(address.key, options=options).bytes()))

    def confirm(self, address: Address, status: Status) -> None:
        """Does nothing: each read is conditional on the etag."""

    def stream(self, address: Address, status: Status) -> Iterator[bytes]:
        options: Any = {"if_match": status.etag} if status.etag else {}
        content = self._ask(address, lambda: self._store.get(address.key, options=options))
        with self._problems(address):
            for piece in content.stream(min_chunk_size=1 << 20):
                yield bytes(piece)

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        last = ""
        try:
            for page in self._entries(folder, recursive):
                yield page
                last = max([last, *map(_place, page)])
        except OddKey:
            if recursive:
                raise
            yield [entry for entry in self._level(folder) if _place(entry) > last]

    def _level(self, folder: Address) -> list[Entry]:
        """Return the entries of a folder at once, for a folder with a key below it that `obstore` cannot
        read."""
        with self._problems(folder):
            listing = self._store.list_with_delimiter(folder.key.strip("/") or None)
        files = [Entry(folder.at(str(item["path"])), _status(item)) for item in listing["objects"]]
        folders = [Entry(folder.at(str(path)), None) for path in listing["common_prefixes"]]
        markers = {entry.address.key for entry in folders} | {folder.key.strip("/")}
        files = [entry for entry in files if not (_is_empty(entry) and entry.address.key in markers)]
        return sorted([*files, *folders], key=_place)

    def _entries(self, folder: Address, recursive: bool) -> Iterator[list[Entry]]:
        prefix = folder.key.strip("/")
        offset = ""
        while True:
            inside, same = "", 0
            for page in self._pages(folder, prefix, offset):
                entries: list[Entry] = []
                for item in page:
                    key = str(item["path"])
                    if key == prefix and not item["size"]:
                        continue  # the marker of the folder itself
                    name, slash, _ = key[len(prefix) + 1 if prefix else 0 :].partition("/")
                    if recursive or not slash:
                        entries.append(Entry(folder.at(key), _status(item)))
                    elif name == inside:
                        same += 1
                    else:
                        inside, same = name, 0
                        if entries and _is_empty(entries[-1]) and entries[-1].address.name == name:
                            entries.pop()  # the marker of this folder
                        entries.append(Entry(folder.child(name), None))
                yield entries
                if self._heeds_offset and same >= KEYS_BEFORE_SKIP:
                    break
            else:
                return
            offset = f"{prefix}/{inside}/{LAST_CHARACTER}" if prefix else f"{inside}/{LAST_CHARACTER}"

    def _pages(self, folder: Address, prefix: str, offset: str) -> Iterator[list[Any]]:
        """Yield the keys after an offset. A throttled listing continues after the last key received."""
        listing: Iterator[list[Any]] | None = None

        def following() -> list[Any] | None:
            nonlocal listing
            if listing is None:
                listing = self._store.list(prefix or None, offset=offset or None, chunk_size=ENTRIES_A_PAGE)
            try:
                return next(listing, None)
            except Exception:
                listing = None
                raise

        while (page := patiently(lambda: self._ask(folder, following))) is not None:
            behind = [item for item in page if item["path"] > offset]
            self._heeds_offset = self._heeds_offset and len(behind) == len(page)
            yield behind
            offset = max([offset, *(item["path"] for item in page[-1:])])

    def upload(self, address: Address, source: Path, job: Job) -> None:
        """Upload a file, in parts if it is large. Cancelling aborts the upload, and the server discards the
        parts; while the server joins the parts, it is too late to cancel."""
        size = source.stat().st_size
        has_parts = size > UPLOAD_PART_BYTES
        before = self._status_if_any(address) if has_parts else None
        try:
            self._ask(address, lambda: self._send(address, source, job), "written")
        except Silent:
            raise
        except RemoteProblem:
            if not has_parts or not self._has_arrived(address, size, before):
                raise
            log.info("%s is complete: the response to the end of its upload was lost", address)

    def _send(self, address: Address, source: Path, job: Job) -> None:
        store = self._store_for(source.stat().st_size)
        run_upload(address, partial(self._probe, address), partial(put_file, store, address, source, job))

    def _probe(self, address: Address) -> None:
        """Raise `Unreachable` if the server does not answer, and other problems according to its answer."""
        with self._problems(address):
            self._store.head(address.key)

    def _status_if_any(self, address: Address) -> Status | None:
        """Return the status, or None if the file is missing; some servers then deny access."""
        try:
            return self.status(address)
        except (MissingFile, AccessDenied):
            return None

    def _has_arrived(self, address: Address, size: int, before: Status | None) -> bool:
        """Whether an upload that ended with an error has left a file of this size. The parts may have been
        joined all the same: if that response is lost, the request is repeated, and refused because the
        upload is over."""
        with suppress(RemoteProblem):
            now = self._status_if_any(address)
            return now is not None and now != before and now.size == size
        return False

    def _store_for(self, total: int) -> Any:
        """Return the store, with longer timeouts if an upload of `total` bytes needs them."""
        if total <= QUICK_UPLOAD_BYTES:
            return self._store
        if self._upload_store is None:
            self._upload_store = patient_store(self._store)
        return self._upload_store

    def create(self, address: Address, data: bytes) -> None:
        if self._has_conditions is None:
            self._has_conditions = self._heeds_conditions(address)
        if not self._has_conditions:
            raise RemoteProblem(
                address,
                "cannot be written",
                "The server ignores If-None-Match: if two programs wrote at the same time, one would"
                " overwrite the other",
                "Write a new table, or use a server that supports conditional writes",
            )
        if not self._put_new(address, data):
            raise AlreadyThere(address)

    def _put_new(self, address: Address, data: bytes) -> bool:
        """Write data if the key does not exist yet; return whether that worked."""
        from obstore.exceptions import AlreadyExistsError

        async def put_now(_: Watchdog) -> None:
            store = self._store_for(len(data))
            await store.put_async(address.key, data, mode="create", use_multipart=False)

        def put() -> bool:
            try:
                run_upload(address, partial(self._probe, address), put_now)
            except AlreadyExistsError:
                return False
            return True

        return self._ask(address, put, "written")

    def _heeds_conditions(self, address: Address) -> bool:
        """Whether conditional writes work. They do on Amazon's, Google's and Azure's servers. Another server
        with S3's protocol may ignore a condition that it does not know, so this tries it."""
        if address.kind.name != "s3" or self._connection is None or not self._connection.endpoint:
            return True
        probe = address.parent.child(f".lamella-{uuid.uuid4().hex}")
        try:
            return self._put_new(probe, b"") and not self._put_new(probe, b"")
        except RemoteProblem as problem:
            if problem.why.endswith("501 (NotImplemented)"):
                return False
            raise
        finally:
            with suppress(RemoteProblem):
                self.delete(probe)

    def delete(self, address: Address) -> None:
        with self._problems(address):
            self._store.delete(address.key)

    def _ask(self, address: Address, ask: Callable[[], T], act: str = "read") -> T:
        """Make a request, and repeat it if an S3 server answers that the bucket is in another region, or if
        the credentials are refused and have changed since: sign-in tools renew profile files."""
        store = self._store
        try:
            with self._problems(address, act):
                return ask()
        except OtherRegion as problem:
            region = region_of_bucket(address, self._connection)
            if not region:
                raise
            log.info("%s is in the region %s", problem.path, region)
            self._region = region
            renewal = self._new_store(address)
        except AccessDenied:
            renewal = self._new_store(address)
            if renewal[0].config == store.config:
                raise
            log.info("Retrying %s with new credentials", address)
        (self._store, self._is_anonymous), self._upload_store = renewal, None
        with self._problems(address, act):
            return ask()

    @contextmanager
    def _problems(self, address: Address, act: str = "read") -> Iterator[None]:
        """Translate what `obstore` raises: its messages contain whole responses and addresses."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # about a file on this machine
            if isinstance(error, ValueError) and not _ODD_KEY.search(str(error)):
                raise
            problem = self._problem(address, error)
            if act == "written" and isinstance(problem, AccessDenied):
                problem = AccessDenied(address, "may not be written", problem.why, problem.fix)
            if act == "written" and isinstance(problem, MissingFile) and not problem.why:
                why = "The server no longer knows the upload: it was aborted there"
                problem = RemoteProblem(address, "could not be written", why, "Write it again")
            raise problem from None

    def _problem(self, address: Address, error: Exception) -> RemoteProblem:
        text = str(error)
        if "token request" in text and "169.254.169.254" in text:  # exists only on Google's machines
            return no_credentials(address, _PLACES[address.kind.name])
        status, code = _STATUS.search(text), _CODE.search(text)
        if status is not None:
            number, word = int(status[1]), code[1] if code else ""
            if number in (401, 403) and self._is_anonymous and not word.startswith("NoSuch"):
                return no_credentials(address, _PLACES[address.kind.name])
            return of_status(address, number, word)
        if "redirect without LOCATION" in text:
            return OtherRegion(address, "The server redirects to another region")
        from obstore.exceptions import InvalidPathError, PreconditionError

        if isinstance(error, PreconditionError):
            return file_change_problem(address)
        if isinstance(error, FileNotFoundError):
            return MissingFile(address, "is not there", fix="Check the address")
        if isinstance(error, (InvalidPathError, ValueError)):
            return OddKey(address, text)
        lower = text.casefold()
        why = next((reason for sign, reason in _REASONS if sign in lower), "It does not answer as expected")
        return unreachable(address, why)


def _place(entry: Entry) -> str:
    """Return the key by which listings are ordered."""
    return f"{entry.address.key}/" if entry.is_folder else entry.address.key


def _is_empty(entry: Entry) -> bool:
    return entry.status is not None and not entry.status.size


def _status(item: Any) -> Status:
    seconds = int(item["last_modified"].timestamp())  # listings have fractions, responses for a file do not
    etag = item.get("e_tag") or ""
    if etag and not etag.endswith('"'):
        etag = f'"{etag}"'  # Azure's listings leave the quotes out
    return Status(int(item["size"]), seconds * 1_000_000_000, etag)


def _options(endpoint: str) -> dict[str, Any]:
    return {
        "client_options": {
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "read_timeout": timedelta(seconds=SILENT_SECONDS),
            "timeout": timedelta(days=1),
        },
        "retry_config": RETRIES,
    }


_PLACES = {
    "s3": "the environment (AWS_ACCESS_KEY_ID), in AWS's profile files or in a connection",
    "gs": "the environment (GOOGLE_APPLICATION_CREDENTIALS) or in a connection",
    "az": "the environment (AZURE_STORAGE_ACCOUNT_KEY) or in a connection",
}


def _s3(address: Address, connection: Connection | None, region: str = "") -> tuple[Any, bool]:
    """Return a store and whether it is anonymous. It uses the connection's own credentials or those of its
    profile; otherwise those of the environment, the default profile or the machine, as AWS's tools do.
    Without any, only public data can be read."""
    from obstore.store import S3Store

    profile = (connection and connection.profile) or os.environ.get("AWS_PROFILE", "")
    profile_settings = profile_values(profile or "default")
    if connection is not None and connection.profile and not profile_settings:
        raise no_credentials(address, f"the profile '{profile}' of AWS's profile files")
    endpoint = _s3_endpoint(connection, profile_settings)
    region = region or (connection and connection.region) or _variable("AWS_REGION", "AWS_DEFAULT_REGION")
    options = _options(endpoint) | {"region": region or profile_settings.get("region") or "us-east-1"}
    if endpoint:
        options |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
    keys = ("access_key", "secret_key", "session_token")
    if connection is not None and connection.secrets:
        values = [connection.secret(key) for key in keys]
    elif profile:
        values = _of_profile(profile_settings)
        if not values[0] and (
            way := next((_SIGN_INS[key] for key in _SIGN_INS if key in profile_settings), None)
        ):
            raise AccessDenied(
                address,
                "cannot be opened with this profile",
                f"The profile '{profile}' {way}",
                WAY_OUT_OF_SSO,
            )
    else:
        variables = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        values = [os.environ.get(variable) for variable in variables]
        values = values if values[0] and values[1] else _of_profile(profile_settings)
    anonymous = connection is not None and connection.anonymous
    if not anonymous and values[0] and values[1]:
        secrets = zip(("access_key_id", "secret_access_key", "session_token"), values, strict=True)
        options |= {name: value for name, value in secrets if value}
        return S3Store(address.place, **options), False
    if not anonymous and not endpoint and _is_in_aws():
        return S3Store(address.place, **options), False
    return S3Store(address.place, **options, skip_signature=True), True


_SIGN_INS = {
    "sso_session": "signs in by browser (SSO), which Lamella does not support",
    "sso_start_url": "signs in by browser (SSO), which Lamella does not support",
    "credential_process": "gets its keys from a program, which Lamella does not run",
    "role_arn": "assumes a role, which Lamella does not support",
}
WAY_OUT_OF_SSO = (
    "Sign in with AWS's tool, and start Lamella with the variables that "
    "`aws configure export-credentials --format env` prints"
)


def _s3_endpoint(connection: Connection | None, profile: Mapping[str, str]) -> str:
    own = connection.endpoint if connection is not None else ""
    return own or profile.get("endpoint_url") or _variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def region_of_bucket(address: Address, connection: Connection | None) -> str:
    """Return the region of an S3 bucket; empty if the server does not tell. Servers tell it also to users
    without access to the bucket. Blocks; raises `Unreachable`."""
    profile = (connection and connection.profile) or os.environ.get("AWS_PROFILE", "") or "default"
    endpoint = _s3_endpoint(connection, profile_values(profile))
    url = (
        f"{endpoint.rstrip('/')}/{address.place}"
        if endpoint
        else f"https://{address.place}.s3.amazonaws.com/"
    )
    client = HttpClient({}, uses_proxies=True)
    return client.ask("HEAD", url, address, redirect=False).headers.get("x-amz-bucket-region", "")


def _of_profile(values: dict[str, str]) -> list[str | None]:
    return [values.get(f"aws_{key}") for key in ("access_key_id", "secret_access_key", "session_token")]


def _variable(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


@cache
def _is_in_aws() -> bool:
    """Whether this machine runs in AWS and has its own credentials, which `obstore` then requests."""
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
            "An address az://container/file names only the container",
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
