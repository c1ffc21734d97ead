"""Addresses of remote files: `s3://bucket/key`, `https://host/path`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote, unquote

from lamella.core.errors import BadData, FileProblem
from lamella.core.remote.kinds import Kind, kind_of_scheme

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_AZURE_HOST = re.compile(r"([a-z0-9]+)\.(?:dfs|blob)\.core\.windows\.net")
_SECRET_PARAMETERS = re.compile(
    r"(?i)(?:(?<=[?&])|(?<!.))(x-(?:amz|goog)-(?:signature|credential|security-token)|signature|sig|policy|auth"
    r"|awsaccesskeyid|key-pair-id|jwt|delegation|(?:[a-z]+[-_]?)?(?:token|secret|key|password|passwd|pwd))"
    r"=([^&#\s]+)"
)
_USER = re.compile(
    r"(?i)(https?://|://(?=[^/@\s:]*:))[^/@\s]+@|((?:s3a?|gs|gcs|az|abfss?)://)[^/@\s:]+:[^@\s]+@"
)
"""The user part of a URL: for a web server it may be a token; for others it includes a password, which may
contain slashes in an S3 address."""
MASK = "…"
_ALIASES = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az"}
GLOB_SIGNS = frozenset("*?[")
_PLAIN_ESCAPES = re.compile(r"(?i)(?:%(?!2[13-9A-CF]|3[ABDF]|40|5[BD]|7F|[01])[0-9A-F]{2})+")
_SAFE_IN_URL = "/~%!$&'()*+,;=:@"
"""Reserved characters: escaping one changes the meaning of a URL (RFC 3986, section 2.2)."""

_urls: dict[str, str] = {}
"""Query strings that contain secrets, by the address as it is shown; kept in memory only."""


def is_address(value: object) -> bool:
    """Whether text is the address of something on a server. A drive, `C:/data`, and `file://` are not."""
    match = _SCHEME.match(value) if isinstance(value, str) else None
    return match is not None and match[1].casefold() != "file"


def is_file_address(value: object) -> bool:
    """Whether text is an address at which files are opened. True for unknown schemes, too, which
    `Address.parse` refuses."""
    return is_address(value) and not str(value).casefold().startswith("sc://")


@dataclass(frozen=True)
class Address:
    """The address of a remote file or folder.

    `place` is the bucket, the container, or the host with its port. `key` is the rest without its first
    slash, decoded as the server knows it; reserved characters of web addresses stay escaped, as in `a%2Fb`.
    `user` is the connection or account named before an `@`."""

    scheme: str
    place: str
    key: str = ""
    user: str = ""
    query: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Raises `UnknownScheme`, `BadData` for text that is not an address, and `FileProblem` for an address
        without a bucket or host, or with a secret that would be shown: a password, a token before the `@` of
        a web server, a signature in a key."""
        match = _SCHEME.match(text)
        if match is None or "\0" in text or "\n" in text:
            raise BadData(
                f"{without_secrets(text)[:200]!r} is not an address",
                fix="Give one such as s3://bucket/folder/file.parquet",
            )
        scheme = match[1].casefold()
        kind = kind_of_scheme(scheme)
        place, slash, key = text[match.end() :].partition("/")
        user, at, place = place.rpartition("@")
        _refuse_secrets(kind, user, key, without_secrets(f"{scheme}://{place}{slash}{key}"))
        query = ""
        if kind.name == "http":
            key, _, query = key.partition("#")[0].partition("?")
            key = _without_plain_escapes(key)
        if kind.name == "az" and at and (account := _AZURE_HOST.fullmatch(place)):
            user, place = account[1], user
        if ":" in place and kind.places != "hosts":
            raise FileProblem(
                f"{scheme}://{MASK}",
                f"is not the name of a {kind.places.removesuffix('s')}: it contains a colon",
                "A password in an address would be shown and remembered",
                "Leave it out, and add a connection that names where the secret is",
            )
        if not place and kind.name != "hdfs":
            fix = f"Give one such as {scheme}://{_EXAMPLES[kind.places]}/file.parquet"
            raise FileProblem(without_secrets(text), f"names no {kind.places.removesuffix('s')}", fix=fix)
        address = cls(_ALIASES.get(scheme, scheme), place, key, user, _SECRET_PARAMETERS.sub(_hide, query))
        if MASK in address.query and query != address.query:
            _urls[str(address)] = query
        return address

    @cached_property
    def kind(self) -> Kind:
        return kind_of_scheme(self.scheme)

    @cached_property
    def url(self) -> str:
        """The URL to request from a web server, including its secrets. Raises `FileProblem` for an address
        that was saved without them."""
        query = _urls.get(str(self), self.query)
        if MASK in query:
            raise FileProblem(
                str(self),
                "cannot be opened again",
                "Its address contained a secret, which was not saved",
                "Open it with the complete address",
            )
        path = quote(self.key, safe=_SAFE_IN_URL)
        return f"{self.scheme}://{self.place}/{path}{'?' if query else ''}{query}"

    def __str__(self) -> str:
        at = "@" if self.user else ""
        key = quote(self.key, safe=f"{_SAFE_IN_URL}[] ") if self.kind.name == "http" else self.key
        slash = "/" if key or self.kind.name in ("http", "hdfs") else ""
        text = f"{self.scheme}://{self.user}{at}{self.place}{slash}{key}"
        return f"{text}?{self.query}" if self.query else text

    @property
    def name(self) -> str:
        """The last part of the key, or the name of the bucket if there is no key."""
        last = self.key.rstrip("/").rpartition("/")[2]
        if self.kind.name == "http":
            last = unquote(last).rpartition("/")[2]
        if not self.kind.reads_files:
            last = last.partition(";")[0]
        return last or self.place

    @property
    def parent(self) -> Address:
        return self.at(self.key.rstrip("/").rpartition("/")[0])

    @property
    def is_pattern(self) -> bool:
        """Whether the key contains wildcards. For web servers, which cannot be listed, these are ordinary
        characters."""
        return self.kind.name != "http" and bool(GLOB_SIGNS & set(self.key))

    def at(self, key: str) -> Address:
        """Return the address of another file in the same bucket or on the same host."""
        return replace(self, key=key, query="")

    def child(self, name: str) -> Address:
        folder = self.key.rstrip("/")
        return self.at(f"{folder}/{name}" if folder else name)


def _refuse_secrets(kind: Kind, user: str, key: str, address: str) -> None:
    """Raise `FileProblem` for an address with a secret in its user part or its key; `address` is the address
    without them."""
    if ":" in user or (kind.name == "http" and user and not _is_connection(user)):
        raise FileProblem(
            address,
            f"cannot be opened with a {'password' if ':' in user else 'user or token'} in its address",
            "Addresses are shown and remembered",
            "Leave it out, and add a connection that names where the secret is",
        )
    if kind.name != "http" and "?" in key and _SECRET_PARAMETERS.search(key.partition("?")[2]):
        raise FileProblem(
            address,
            "cannot be opened with a secret in its address",
            "Addresses are shown and remembered",
            "Add a connection that names where the secret is, or open the signed https:// address",
        )


_EXAMPLES = {"buckets": "bucket", "containers": "container", "hosts": "example.org"}


def _is_connection(name: str) -> bool:
    from lamella.core.remote.connections import Connections

    return name in Connections()


def _without_plain_escapes(key: str) -> str:
    """Return the key of a web address as people read it: only reserved characters stay escaped."""

    def character(escapes: re.Match[str]) -> str:
        try:
            return unquote(escapes[0], errors="strict")
        except UnicodeDecodeError:
            return escapes[0]

    return _PLAIN_ESCAPES.sub(character, re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", key))


def _hide(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}={MASK}"


def without_secrets(text: str) -> str:
    """Return text of a server or library with the secrets in its addresses removed."""
    return _USER.sub(rf"\1\2{MASK}@", _SECRET_PARAMETERS.sub(_hide, text))
