"""Commits to local and remote Delta tables: writes the data files first, then a log file that must not exist
yet."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lamella.core.datasets.delta import DeltaDataset
from lamella.core.datasets.delta_log import Log, deltalake
from lamella.core.datasets.locate import DELTA_LOG
from lamella.core.errors import FileProblem, LamellaError
from lamella.core.jobs import Job
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AlreadyThere, RemoteProblem
from lamella.core.remote.requests import answer, answers
from lamella.core.remote.servers import servers
from lamella.core.transfer.uploads import send
from lamella.core.transfer.writer import put_on_disk, sync_folder

if TYPE_CHECKING:
    from deltalake import DeltaTable

MOST_TRIES = 20
"""Attempts at a commit whose number other writers keep taking."""
CHECKPOINT_INTERVAL = 100
"""Commits between checkpoints of the log, if the table does not say."""


class CommitTaken(FileProblem):
    """Another program committed this version first."""

    def __init__(self, root: Path, version: int) -> None:
        self.version = version
        super().__init__(
            root,
            "was changed by another program meanwhile",
            f"It committed version {version:,} first",
            "Export again: nothing was added",
        )


@dataclass(frozen=True)
class DraftFile:
    """A data file that is written but not part of the table yet. `name` is its path relative to the table;
    `add` is the action of the log that adds it."""

    source: Path
    name: str
    add: Mapping[str, Any]


def log_file(root: Path, version: int) -> Path:
    return root / DELTA_LOG / f"{version:020}.json"


def put_commit(root: Path, version: int, content: bytes, job: Job) -> None:
    """Make a version of the table, as a whole or not at all. Raises `CommitTaken` if that version already
    exists, and `FileProblem` if the server lets two writers replace each other's files."""
    path = log_file(root, version)
    try:
        if isinstance(path, RemotePath):
            answer(partial(servers.server(path.address).create, path.address, content), job)
        else:
            _create(path, content)
    except (AlreadyThere, FileExistsError):
        if isinstance(path, RemotePath):
            files.forget(path.address)
        if path.read_bytes() != content:  # otherwise only the response to this request was lost
            raise CommitTaken(root, version) from None


def _create(path: Path, content: bytes) -> None:
    """Create a file durably, unless one exists."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        draft.write_bytes(content)
        put_on_disk(draft)
        try:
            os.link(draft, path)  # unlike a rename, this never replaces a file
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with path.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def drafts_in(draft: Path) -> Iterator[DraftFile]:
    """Yield the data files of a table that was written as a draft."""
    for commit in sorted((draft / DELTA_LOG).glob("*.json")):
        for line in commit.read_text("utf-8").splitlines():
            if "add" in (action := json.loads(line)):
                name = unquote(action["add"]["path"])
                yield DraftFile(draft / name, name, action["add"])


@contextmanager
def put_data_files(root: Path, drafts: Sequence[DraftFile], job: Job) -> Iterator[None]:
    """Put the data files into the table's folder for the block, which commits them. If it raises, they are
    removed again, unless they are part of the table by then."""
    targets = [root.joinpath(*draft.name.split("/")) for draft in drafts]
    try:
        for draft, target in zip(drafts, targets, strict=True):
            if isinstance(target, RemotePath):
                send(draft.source, target.address, job, is_new=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                draft.source.replace(target)
        yield
    except BaseException:
        if not _are_committed(root, targets):  # something after the commit may fail, such as its checkpoint
            _remove(targets)
        raise


def _are_committed(root: Path, targets: Sequence[Path]) -> bool:
    """Whether the table may contain these files; True if that cannot be read, so that they stay."""
    try:
        return bool(set(targets) & DeltaDataset(root).files)
    except LamellaError:
        return True


def _remove(targets: Sequence[Path]) -> None:
    remote_targets = [target for target in targets if isinstance(target, RemotePath)]
    with suppress(RemoteProblem):  # the first problem is the one to report
        answers(
            [partial(servers.server(path.address).delete, path.address) for path in remote_targets], Job()
        )
    for target in targets:
        if not isinstance(target, RemotePath):
            target.unlink(missing_ok=True)


def commit_elsewhere(
    root: RemotePath, drafts: Sequence[DraftFile], table: DeltaTable, mode: str, schema: Any, job: Job
) -> None:
    """Add the files to a table on a server, or replace its own. `table` is the version that was read.
    Concurrent commits are kept: rows are added after theirs, as long as the table has the same columns and
    rules; replacing rows that were not read is refused."""
    with put_data_files(root, drafts, job):
        for _ in range(MOST_TRIES):
            log = Log.of(root)
            version = log.checked_version(None)
            with log.table(version) as now:
                if _rules(now) != _rules(table) or (mode == "overwrite" and version != table.version()):
                    raise CommitTaken(root, version)
                content = _commit(now, drafts, mode, schema)
                try:
                    put_commit(root, version + 1, content, job)
                except CommitTaken:
                    job.check()
                    continue
                interval = table.metadata().configuration.get("delta.checkpointInterval")
                if not (version + 1) % max(1, int(interval or CHECKPOINT_INTERVAL)):
                    with suppress(RemoteProblem):  # the commit is valid without it
                        put_checkpoint(root, now, version + 1, job)
                return
    raise CommitTaken(root, version + 1)


def _rules(table: DeltaTable) -> tuple[object, ...]:
    metadata, protocol = table.metadata(), table.protocol()
    return (
        metadata.id, table.schema().to_json(), tuple(metadata.partition_columns), metadata.configuration,
        protocol.min_writer_version, protocol.writer_features, protocol.reader_features,
    )  # fmt: skip


def actions_of(drafts: Sequence[DraftFile]) -> list[Any]:
    """The actions in the library's form; it escapes their paths itself."""
    add_action = deltalake().transaction.AddAction
    return [
        add_action(
            draft.name,
            draft.add["size"],
            draft.add["partitionValues"],
            draft.add["modificationTime"],
            True,
            draft.add["stats"],
        )
        for draft in drafts
    ]


def _folder(table: DeltaTable) -> Path:
    """The folder with the copy of the log."""
    return Path(unquote(table.table_uri.removeprefix("file://")))


def _commit(table: DeltaTable, drafts: Sequence[DraftFile], mode: str, schema: Any) -> bytes:
    """The content of the next commit, which the library writes in its copy of the log."""
    following = log_file(_folder(table), table.version() + 1)
    hooks = deltalake().PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    table.create_write_transaction(
        actions_of(drafts),
        mode,
        schema,
        table.metadata().partition_columns,
        post_commithook_properties=hooks,
    )
    return following.read_bytes()


def put_checkpoint(root: Path, table: DeltaTable, version: int, job: Job) -> None:
    """Write a checkpoint, so that readers need not read each commit. `table` is the local table, or the copy
    of its log that has this version."""
    deltalake().DeltaTable(_folder(table), version=version).create_checkpoint()
    if not isinstance(root, RemotePath):
        return
    folder = _folder(table) / DELTA_LOG
    for name in (*(path.name for path in folder.glob(f"{version:020}.checkpoint*")), "_last_checkpoint"):
        send(folder / name, (root / DELTA_LOG / name).address, job, is_new=False)
