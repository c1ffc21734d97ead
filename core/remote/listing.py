"""Lists remote folders page by page, also by pattern, with progress and cancellation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lamella.core.jobs import Job, current_job
from lamella.core.remote.addresses import GLOB_SIGNS, Address
from lamella.core.remote.problems import MissingFile, RemoteProblem, with_guesses
from lamella.core.remote.requests import answer
from lamella.core.remote.server import Entry
from lamella.core.remote.servers import servers

MOST_SIBLINGS = 5000
"""At most this many names are compared with that of a missing file."""
_SIGNS = re.compile(r"\*+|\[!?\]?[^\]]*\]|.", re.DOTALL)


def pages(folder: Address, recursive: bool = False, job: Job | None = None) -> Iterator[list[Entry]]:
    """Yield the entries of a folder: its files and folders or, with `recursive`, all files below it. Only one
    page is in memory at a time. Cancelling the job ends the listing. Raises `FileProblem` and `Cancelled`."""
    job = job or current_job() or Job()
    count = 0
    following = servers.server(folder).entries(folder, recursive)
    while (page := answer(lambda: next(following, None), job, patient=False)) is not None:
        count += len(page)
        job.report(count, text=f"Listing {folder}: {count:,}")
        yield page


def matches(pattern: Address, job: Job | None = None) -> Iterator[list[Entry]]:
    """Yield the files that match a pattern: `*` matches any name, `**` any folders. Lists the folder before
    the first wildcard."""
    parts = pattern.key.split("/")
    plain = next(at for at, part in enumerate(parts) if GLOB_SIGNS & set(part))
    expression = _expression(parts)
    deep = len(parts) - plain > 1 or "**" in parts
    for page in pages(pattern.at("/".join(parts[:plain])), deep, job):
        yield [entry for entry in page if not entry.is_folder and expression.fullmatch(entry.address.key)]


def _expression(parts: Sequence[str]) -> re.Pattern[str]:
    text = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            text += ".*" if last else "(?:.*/)?"
        else:
            text += "".join(map(_sign, _SIGNS.findall(part))) + ("" if last else "/")
    return re.compile(text, re.DOTALL)


def _sign(sign: str) -> str:
    """Return a regular expression for one element of a pattern, which never matches a slash."""
    if sign[0] == "*":
        return "[^/]*"
    if sign == "?":
        return "[^/]"
    if len(sign) > 1:
        import fnmatch

        return f"(?!/){fnmatch.translate(sign)[:-2]}"  # without the end anchor
    return re.escape(sign)


def is_folder(address: Address) -> bool:
    """Whether there are entries below the address. Web servers have no folders."""
    if address.kind.name == "http" or address.is_pattern:
        return False
    try:
        return any(page for page in pages(address))
    except MissingFile:
        return False


def missing(problem: MissingFile, address: Address) -> MissingFile:
    """Return the problem, with suggestions from the names in the same folder."""
    if address.kind.name == "http" or not address.key or address.is_pattern:
        return problem
    names: list[str] = []
    try:
        for page in pages(address.parent):
            names += [entry.address.name for entry in page]
            if len(names) >= MOST_SIBLINGS:
                break
    except RemoteProblem:
        return problem
    if not names and not problem.why and address.parent.key:
        return MissingFile(
            address, problem.problem, f"{address.parent} is empty or missing, too", "Check the address"
        )
    return with_guesses(problem, address, names)
