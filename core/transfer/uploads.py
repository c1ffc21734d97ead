"""Exports to servers: files are written locally, and uploaded once they are complete."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from lamella.core.datasets.locate import DELTA_LOG
from lamella.core.errors import Advice, Cancelled, FileProblem
from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import RemoteProblem
from lamella.core.remote.requests import answer
from lamella.core.remote.servers import servers

WHOLE_FOLDER = "_SUCCESS"
"""An empty marker file, which readers of folders ignore."""
ABORT_SECONDS = 0.3
"""How long a server gets to discard a canceled upload before the cancellation is passed on."""
OR_REPLACE = Advice(
    "Choose another name, or replace it: overwrite=True",
    "Choose another name, or replace it",
    "Choose another name, or replace it: --overwrite",
)
_endings: WeakValueDictionary[str, threading.Event] = WeakValueDictionary()
"""Events that end uploads in progress, or canceled ones that the server has not discarded yet."""


@contextmanager
def upload_draft(target: RemotePath, job: Job) -> Iterator[Path]:
    """Provide a local path for a file or folder, which is uploaded at the block's end. A file appears when it
    is complete; the files of a folder appear one by one, and are removed if one fails. Raises `FileProblem`
    and `Cancelled`."""
    folder = Path(tempfile.mkdtemp(prefix="lamella-upload-"))
    draft = folder / target.name
    is_new = not target.exists()
    try:
        yield draft
        if draft.is_dir():
            _send_folder(draft, target.address, job)
        else:
            send(draft, target.address, job, is_new)
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(
            draft, "could not be written", why, f"{target} is first written here: free some space"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def send(draft: Path, address: Address, job: Job, is_new: bool) -> None:
    """Upload a file, which appears when it is complete. A cancellation takes effect at once, even while the
    server is silent: its clean-up continues in the background, and the next upload to the same address waits
    for it. `is_new`: nothing exists there yet. Raises `FileProblem` and `Cancelled`."""
    before = _endings.get(str(address))
    if before is not None:
        answer(before.wait, job)
    server, ended = servers.server(address), threading.Event()

    def upload() -> None:
        try:
            server.upload(address, draft, job)
            if job.cancelled and is_new:  # too late to prevent the file from appearing
                server.delete(address)
        finally:
            ended.set()

    _endings[str(address)] = ended
    try:
        answer(upload, job)
    except Cancelled:
        ended.wait(ABORT_SECONDS)
        raise
    finally:
        files.forget(address)


def _send_folder(draft: Path, address: Address, job: Job) -> None:
    """Upload a folder. What marks it as complete comes last: the log of a Delta table, or else a marker file,
    as in Spark."""
    sent: list[Address] = []
    last = draft / DELTA_LOG
    if not last.is_dir():
        last = draft / WHOLE_FOLDER
        last.touch()
    parts = sorted(path for path in draft.rglob("*") if path.is_file())
    try:
        for file in sorted(parts, key=lambda path: path.is_relative_to(last)):
            part = address
            for name in file.relative_to(draft).parts:
                part = part.child(name)
            send(file, part, job, is_new=True)
            sent.append(part)
    except BaseException:
        with suppress(RemoteProblem):  # report the first problem; a server that is gone is tried once
            for part in reversed(sent):
                servers.server(part).delete(part)
        raise


def refuse_target(target: RemotePath, overwrite: bool, is_folder: bool) -> None:
    """Raise `FileProblem` if rows cannot be written, because something exists there or it is a web server."""
    address = target.address
    if address.kind.name == "http" or not address.key or address.is_pattern:
        raise FileProblem(
            target,
            "cannot be written",
            "Web servers can only be read" if address.kind.name == "http" else "It names no file",
            "Choose a file on this machine, or on s3://, gs://, az:// or webhdfs://",
        )
    files.forget(address)
    is_there = target.is_dir() if is_folder else target.exists()
    if is_there and (is_folder or target.is_dir()):
        raise FileProblem(target, "is a folder that is not empty", fix="Choose another name")
    if is_there and not overwrite:
        raise FileProblem(
            target,
            "is there already",
            fix=OR_REPLACE,
        )
