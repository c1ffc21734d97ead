"""Exports to servers: written on this machine, and sent when they are whole."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from lamella.core.datasets.locate import DELTA_LOG
from lamella.core.errors import Cancelled, FileProblem
from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import RemoteProblem
from lamella.core.remote.requests import answer
from lamella.core.remote.servers import servers

WHOLE_FOLDER = "_SUCCESS"
"""An empty file, which readers of folders pass over."""
ABORT_SECONDS = 0.3
"""A server is given so long to forget a canceled upload before the cancel is passed on."""
_endings: WeakValueDictionary[str, threading.Event] = WeakValueDictionary()
"""Of uploads that are under way, or canceled and not forgotten by the server yet."""


@contextmanager
def uploaded(target: RemotePath, job: Job) -> Iterator[Path]:
    """A path of this machine to write a file or folder at, which is sent at the block's end. A file appears
    when it is whole; of a folder each file does, and none is left where that fails. Raises `FileProblem` and
    `Cancelled`."""
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
            draft, "could not be written", why, f"{target} is written here first: make room there"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def send(draft: Path, address: Address, job: Job, is_new: bool) -> None:
    """A file appears when it is whole. A cancel is heard at once, also while the server is silent: what
    is left to do there goes on meanwhile, and the next upload to the same address waits for it. `is_new`:
    nothing is there yet. Raises `FileProblem` and `Cancelled`."""
    before = _endings.get(str(address))
    if before is not None:
        answer(before.wait, job)
    server, ended = servers.server(address), threading.Event()

    def upload() -> None:
        try:
            server.upload(address, draft, job)
            if job.cancelled and is_new:  # it came too late to keep the file from appearing
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
    """What says that all is there comes last: the log of a Delta table, or else a marker, as Spark has it."""
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
        with suppress(RemoteProblem):  # the first problem is the one to tell; who is gone is asked once
            for part in reversed(sent):
                servers.server(part).delete(part)
        raise


def refuse_target(target: RemotePath, overwrite: bool, is_folder: bool) -> None:
    """Raise `FileProblem` where rows cannot be written: something is there already, or it is a web server."""
    address = target.address
    if address.kind.name == "http" or not address.key or address.is_pattern:
        raise FileProblem(
            target,
            "cannot be written",
            "Web servers are read alone" if address.kind.name == "http" else "It names no file",
            "Choose a file of this machine, or of s3://, gs://, az:// or webhdfs://",
        )
    files.forget(address)
    is_there = target.is_dir() if is_folder else target.exists()
    if is_there and (is_folder or target.is_dir()):
        raise FileProblem(target, "is a folder that holds something already", fix="Choose another name")
    if is_there and not overwrite:
        raise FileProblem(
            target,
            "is there already",
            fix="Choose another name, or replace it: overwrite=True, or --overwrite",
        )
