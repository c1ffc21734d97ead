"""Errors of servers, with messages that say what to do."""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.errors import CHANGED_ON_DISK, FileProblem, nearest
from lamella.core.remote.addresses import Address, without_secrets


class RemoteProblem(FileProblem):
    """A remote file that cannot be read or written."""

    def __init__(self, address: Address | str, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(str(address), what, without_secrets(why), fix)


class MissingFile(RemoteProblem):
    """The file, or its bucket, does not exist."""


class AlreadyThere(RemoteProblem):
    """The file was to be created, but exists: another program created it first."""

    def __init__(self, address: Address | str) -> None:
        super().__init__(address, "is there already", "Another program wrote it first", "Write again")


class AccessDenied(RemoteProblem):
    """Credentials are missing, wrong or insufficient."""


class Unreachable(RemoteProblem):
    """The server does not answer, or stopped answering."""


class Throttled(RemoteProblem):
    """The server asks for fewer requests. `seconds` is how long to wait, if it says so."""

    def __init__(self, address: Address | str, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.server = address.place if isinstance(address, Address) else address
        super().__init__(
            address,
            "could not be read for now",
            "The server asks for fewer requests"
            + (f", and to wait {seconds:,.0f} s" if seconds else ", even after several tries"),
            "Wait a while, and try again",
        )


class OtherRegion(RemoteProblem):
    """An S3 bucket was requested from the wrong region."""

    def __init__(self, address: Address, why: str) -> None:
        super().__init__(address, "is in another region", why, "Set the region of the connection")


WAY_TO_CREDENTIALS = "Add a connection with references to the right ones, or set them in the environment"
_MESSAGES = {
    "InvalidAccessKeyId": "The server does not know the access key",
    "SignatureDoesNotMatch": "The secret key does not match the access key",
    "ExpiredToken": "The session has ended",
    "InvalidToken": "The session token is not the right one",
    "RequestTimeTooSkewed": "The clock of this machine is wrong",
    "AuthenticationFailed": "The account key or token is wrong",
}
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName")


def of_status(address: Address, status: int, code: str = "", seconds: float | None = None) -> RemoteProblem:
    """Return the problem for an HTTP status; `code` is the error code in the response of S3 and its like."""
    if code in _NO_BUCKET:
        place = address.kind.places.removesuffix("s")
        return MissingFile(
            address,
            "is not there",
            f"There is no {place} '{address.place}'",
            "Check its name and the endpoint",
        )
    why = _MESSAGES.get(code, "")
    if status in (401, 403) or why:  # Amazon answers 400 to a session that has ended
        if status == 401 or why:
            what = "cannot be opened with these credentials"
            return AccessDenied(address, what, why or "The server requires credentials", WAY_TO_CREDENTIALS)
        why = "The server denies access with these credentials, or without any"
        return AccessDenied(address, "may not be read", why, WAY_TO_CREDENTIALS)
    if status in (404, 410):
        return MissingFile(address, "is not there", fix="Check the address")
    if status == 412:
        return file_change_problem(address)
    if status in (429, 503) or code == "SlowDown":
        return Throttled(address, seconds)
    why = f"The server answered {status}{f' ({code})' if code else ''}"
    if status == 301 or code in (
        "PermanentRedirect",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraint",
    ):
        return OtherRegion(address, why)
    fix = (
        "Try again later, or ask who runs the server"
        if status >= 500
        else "Check the address and the connection"
    )
    return RemoteProblem(address, "could not be read", why, fix)


def file_change_problem(address: Address) -> RemoteProblem:
    return RemoteProblem(address, CHANGED_ON_DISK, fix="Reload it to see its new content")


def unreachable(address: Address | str, why: str) -> Unreachable:
    return Unreachable(
        address,
        "could not be reached",
        why,
        "Check the network and the connection's endpoint, and try again",
    )


def no_credentials(address: Address, where: str) -> AccessDenied:
    return AccessDenied(
        address, "cannot be opened without credentials", f"There are none in {where}", WAY_TO_CREDENTIALS
    )


def with_guesses(problem: MissingFile, address: Address, siblings: Sequence[str]) -> MissingFile:
    """Return the problem, with similar names in the same folder as suggestions."""
    near = nearest(address.name, siblings, least=0.7)
    if not near:
        return problem
    guesses = " or ".join(f"'{address.parent.child(name)}'" for name in near)
    return MissingFile(address, problem.problem, problem.why, f"Did you mean {guesses}?")
