"""The words of a part are found by what they mean, however many mean the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella.core.index.fulltext.part import BLOCK, Vocabulary, meanings

ALIKE = [f"{'e' * i}{'é' * (BLOCK - i)}" for i in range(BLOCK)]
"""One word, but for its accents."""


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fox"],
        [f"w{i}" for i in range(3 * BLOCK)],
        [f"w{i}" for i in range(BLOCK)],
        ["a", *ALIKE, "z"],
        [*(f"a{i}" for i in range(BLOCK // 2)), *ALIKE, *(f"z{i}" for i in range(BLOCK))],
        [*ALIKE, *(word + "e" for word in ALIKE)],
    ],
)
def test_words_are_found_by_their_meaning(words: list[str], tmp_path: Path) -> None:
    written_words = Vocabulary.of(words, None)
    written_words.write(tmp_path / "words")
    right: dict[str, list[str]] = {}
    for word, meaning in zip(words, meanings(words, None), strict=True):
        right.setdefault(meaning, []).append(word)
    for vocabulary in (written_words, Vocabulary.read(tmp_path / "words")):
        assert {meaning: vocabulary.of_meaning(meaning) for meaning in right} == {
            meaning: sorted(words_found) for meaning, words_found in right.items()
        }
        assert not any(map(vocabulary.of_meaning, ("", "0", "fo", "w1x", "zzz", "\U0010ffff")))
