"""Whether a catalog's write-ahead log lost commits: SQLite stops at the first frame that is not what was
written, without a word, and takes the log to end there.

A crash leaves such a frame too, at the end of what was being written: behind it is at most the one commit
that nobody was told of. Two commits that follow from each other behind a bad frame prove damage. Where fewer
follow, damage cannot be told from a crash; so the loss of the very last commit is never seen.

The format is SQLite's (sqlite.org/fileformat2.html, "The Write-Ahead Log"). A frame's checksum continues that
of the frame before, so whether one follows from another can be told without those before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np

HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
MAGIC = 0x377F0682
"""The last bit is set where the words that are summed are big-endian."""
BLOCK_FRAMES, GUESSED_FRAMES = 1024, 16
PROOF = 2
"""So many commits behind a bad frame cannot be what a crash left."""
TRIES = 5
_PAGE_SIZES = [1 << power for power in range(9, 17)]

Words = np.ndarray
"""Of 32 bits, whose sums and products are cut to as many."""


def log_damage(catalog: Path) -> str | None:
    """What is wrong with the log beside a catalog, as a sentence; None where nothing is. Nothing is written.

    Others may write to it meanwhile: a frame that is bad is looked at again.
    """
    log, before = Path(f"{catalog}-wal"), None
    for _ in range(TRIES):
        try:
            found = _damage(log, catalog)
        except FileNotFoundError:
            return None
        if found is None or found == before:
            return found
        before = found
    return None


@dataclass(frozen=True)
class LogHeader:
    """`order` is the byte order of the words that are summed; `checksum` what the first frame continues."""

    page_size: int
    order: str
    salts: tuple[int, int]
    checksum: tuple[int, int]


def _damage(log: Path, catalog: Path) -> str | None:
    with log.open("rb") as file:
        content = file.read(HEADER_BYTES)
        header = _header(content) if len(content) == HEADER_BYTES else None
        if header is not None:
            bad, lost = _lost_commits(file, header)
            what = f"frame {bad + 1} is not what was written, so SQLite ends the log there"
        else:
            frames = file.read()
            guesses = _guesses(frames, catalog)
            lost = max((_lost_commits(BytesIO(frames), guess)[1] for guess in guesses), default=0)
            what = "its beginning is not what was written, so SQLite passes over all of it"
    return None if lost < PROOF else f"{log}: {what}; at least {lost} commits behind it are lost"


def _header(content: bytes) -> LogHeader | None:
    """None for one that is not whole."""
    words = np.frombuffer(content, ">u4")
    page_size = int(words[2])
    if int(words[0]) & ~1 != MAGIC or page_size not in _PAGE_SIZES:
        return None
    order = ">" if int(words[0]) & 1 else "<"
    summed = np.frombuffer(content[:24], f"{order}u4").reshape(1, -1).astype(np.uint32)
    told = (int(words[6]), int(words[7]))
    if tuple(_sums(summed)[0].tolist()) != told:
        return None
    return LogHeader(page_size, order, (int(words[4]), int(words[5])), told)


def _guesses(frames: bytes, catalog: Path) -> Iterator[LogHeader]:
    """What a header that is not whole may have said, by the catalog and the first frames."""
    try:
        with catalog.open("rb") as file:
            page_size = int.from_bytes(file.read(18)[16:18], "big")
    except FileNotFoundError:
        return
    page_size = 65_536 if page_size == 1 else page_size
    if page_size not in _PAGE_SIZES:
        return
    firsts = [frames[at + 8 : at + 16] for at in range(0, len(frames), FRAME_HEADER_BYTES + page_size)]
    for salts in dict.fromkeys(salts for salts in firsts[:GUESSED_FRAMES] if len(salts) == 8 and any(salts)):
        first, second = np.frombuffer(salts, ">u4").tolist()
        for order in "<>":
            yield LogHeader(page_size, order, (first, second), (0, 0))


def _lost_commits(log: BinaryIO, header: LogHeader) -> tuple[int, int]:
    """The number of the first bad frame from where the file stands, and of the most commits behind it that
    follow from each other; (-1, 0) where none is bad."""
    frame_bytes = FRAME_HEADER_BYTES + header.page_size
    before, number, bad, run, most = header.checksum, 0, -1, 0, 0
    while len(block := log.read(BLOCK_FRAMES * frame_bytes)) >= frame_bytes:
        count = len(block) // frame_bytes
        frames = np.frombuffer(block[: count * frame_bytes], np.uint8).reshape(count, frame_bytes)
        follows, commits, before = _frames(frames, header, before)
        for one, commit in zip(follows.tolist(), commits.tolist(), strict=True):
            if bad >= 0:
                run = run + commit if one else 0
                most = max(most, run)
            elif not one:
                bad = number
            number += 1
    return bad, most


def _frames(
    frames: np.ndarray, header: LogHeader, before: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """For each frame: whether it follows from the one before, and whether it ends a commit. And the last
    one's checksum."""
    told = np.ascontiguousarray(frames[:, :FRAME_HEADER_BYTES]).view(">u4").astype(np.uint32)
    summed = np.concatenate([frames[:, :8], frames[:, FRAME_HEADER_BYTES:]], axis=1)
    words = summed.view(f"{header.order}u4").astype(np.uint32)
    checksums = told[:, 4:6]
    earlier = np.concatenate([np.array([before], np.uint32), checksums[:-1]])
    own = (told[:, 2] == header.salts[0]) & (told[:, 3] == header.salts[1]) & (told[:, 0] != 0)
    follows = own & (_sums(words, earlier) == checksums).all(axis=1)
    last = checksums[-1].tolist()
    return follows, told[:, 1] != 0, (last[0], last[1])


def _sums(words: Words, earlier: Words | None = None) -> Words:
    """SQLite's checksum of each row, which continues `earlier`: both sums of each, by what every word of the
    row comes to in the end."""
    first, second, start = _weights(words.shape[1] // 2)
    sums = words @ np.stack([first, second], axis=1)
    if earlier is not None:
        sums = sums + earlier @ start.T
    made: Words = sums.astype(np.uint32)
    return made


@lru_cache(4)
def _weights(pairs: int) -> tuple[Words, Words, Words]:
    """How often each word is in the first and in the second sum, and how often the sums before are.

    For a pair of words x, y the sums s, t become s + t + x and s + 2t + x + y.
    """
    step = np.array([[1, 1], [1, 2]], np.uint32)
    weight = np.array([[1, 0], [1, 1]], np.uint32)
    weights = np.empty((pairs, 2, 2), np.uint32)
    power = np.eye(2, dtype=np.uint32)
    for at in range(pairs - 1, -1, -1):
        weights[at] = power @ weight
        power = power @ step
    return weights[:, 0, :].reshape(-1), weights[:, 1, :].reshape(-1), power
