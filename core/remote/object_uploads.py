"""Uploads to object storage: in parts if they are large, and patient with a slow network but not with a
server that no longer answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from lamella.core.errors import Cancelled
from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.server import CONNECT_SECONDS, UPLOAD_SILENT_SECONDS
from lamella.core.remote.watchdog import Silent, Watchdog

UPLOAD_PART_BYTES, PIECE_BYTES = 8 << 20, 1 << 20
MOST_PARTS = 10_000
"""The limit of Amazon and Google for one upload; Azure's is higher."""
QUICK_UPLOAD_BYTES = 256 << 10
"""Up to this size, an upload takes less than `SILENT_SECONDS` even on a slow network."""
ABORT_SECONDS = 0.3
"""How long a silent server has to discard the parts that it received."""
RETRIES: dict[str, Any] = {
    "max_retries": 2,
    "retry_timeout": timedelta(seconds=CONNECT_SECONDS),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=1), "base": 2},
}
UPLOAD_RETRIES = RETRIES | {"max_retries": 5, "retry_timeout": timedelta(seconds=UPLOAD_SILENT_SECONDS)}
"""Retries of one part: if it failed, all parts would have to be sent again."""

T = TypeVar("T")


def patient_store(store: Any) -> Any:
    """Return a store for the same bucket with separate connections, and with timeouts for large uploads."""
    return type(store)(
        config=store.config,
        client_options=store.client_options | {"read_timeout": timedelta(seconds=UPLOAD_SILENT_SECONDS)},
        retry_config=UPLOAD_RETRIES,
        credential_provider=store.credential_provider,
    )


async def put_file(store: Any, address: Address, source: Path, job: Job, watchdog: Watchdog) -> None:
    """Upload a file. Raises what `obstore` raises, and `Cancelled`."""
    total, text = source.stat().st_size, f"Writing {address.name}"
    job.report(0, total, text)
    if total <= UPLOAD_PART_BYTES:
        with _breakable(job):
            await store.put_async(address.key, source.read_bytes(), use_multipart=False)
        return
    import obstore

    part_bytes = max(UPLOAD_PART_BYTES, -(-total // MOST_PARTS))
    writer = obstore.open_writer_async(store, address.key, buffer_size=part_bytes, max_concurrency=4)
    with source.open("rb") as file:
        async with writer:  # it aborts the upload if the block raises
            await writer.write(file.read(part_bytes + 1))  # not cancelled: the upload's ID would be lost
            with _breakable(job):
                while piece := file.read(PIECE_BYTES):
                    await writer.write(piece)
                    watchdog.note_progress()
                    job.report(file.tell(), total, text)


def run_upload(
    address: Address, ask: Callable[[], object], upload: Callable[[Watchdog], Coroutine[Any, Any, T]]
) -> T:
    """Run an upload and return its result. Blocks. `ask` is passed to the `Watchdog`. Raises `Silent` if the
    server no longer answers."""

    async def run() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def give_up() -> None:
            task.cancel()
            loop.call_later(ABORT_SECONDS, task.cancel)  # a silent server does not answer an abort either

        def give_up_soon() -> None:
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(give_up)

        with Watchdog(ask, give_up_soon) as watchdog:
            try:
                return await upload(watchdog)
            except asyncio.CancelledError:
                if not watchdog.has_given_up:
                    raise
                raise Silent(address) from None

    return asyncio.run(run())


@contextmanager
def _breakable(job: Job) -> Iterator[None]:
    """Let cancelling the job interrupt what the block awaits, and raise `Cancelled`."""
    task, loop, is_open = asyncio.current_task(), asyncio.get_running_loop(), True
    assert task is not None

    def cancel() -> None:
        if is_open:
            task.cancel()

    def interrupt() -> None:
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(cancel)

    try:
        with job.interrupted_by(interrupt):
            yield
    except asyncio.CancelledError:
        if not job.cancelled:
            raise
        raise Cancelled from None
    finally:
        is_open = False
