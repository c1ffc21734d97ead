"""Exports to servers: written on this machine, and sent when they are whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lamella.core.datasets.locate import DELTA_LOG
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job, on_behalf_of
from lamella.core.remote.addresses import Address
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import RemoteProblem
from lamella.core.remote.requests import patiently
from lamella.core.remote.servers import servers

WHOLE_FOLDER = "_SUCCESS"
"""An empty file, which readers of folders pass over."""


@contextmanager
def uploaded(target: RemotePath, job: Job) -> Iterator[Path]:
    """A path of this machine to write a file or folder at, which is sent at the block's end. A file appears
    when it is whole; of a folder each file does, and none is left where that fails. Raises `FileProblem` and
    `Cancelled`."""
    folder = Path(tempfile.mkdtemp(prefix="lamella-upload-"))
    draft = folder / target.name
    try:
        yield draft
        if draft.is_dir():
            _send_folder(draft, target.address, job)
        else:
            _send(draft, target.address, job)
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(
            draft, "could not be written", why, f"{target} is written here first: make room there"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _send(draft: Path, address: Address, job: Job) -> None:
    server = servers.server(address)
    try:
        with on_behalf_of(job):
            patiently(lambda: server.upload(address, draft, job))
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
            _send(file, part, job)
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
