"""Text to words, and which words are the same to a search."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LANGUAGES = (
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
)  # fmt: skip
"""Those whose words can be brought to their stems. Tamil's cannot: a pulli ends a word here."""

ENGLISH = "english"
FROM_TEXT = "words"
"""What the analyzer of the texts is registered as."""


@dataclass(frozen=True)
class Token:
    """A word of a text, and where it stands there."""

    word: str
    start: int
    stop: int


def normal(text: str) -> str:
    """Letters with accents as one character each: a word would end at an accent of its own otherwise."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def indexed(text: str) -> str:
    """What is cut into words for a `normal` text, letter for letter. A dotted I in lower case would be an i
    with one more dot."""
    return text if text.isascii() else text.replace("İ", "I")


@lru_cache(1)
def analyzer() -> TextAnalyzer:
    """Runs of letters and digits, in lower case: what is indexed, whatever the language."""
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase()).build()


def words(text: str) -> list[str]:
    return list(analyzer().analyze(indexed(normal(text))))


def tokens(text: str) -> list[Token]:
    """The words of a text that is `normal` already."""
    found = analyzer().pre_tokenize(indexed(text)).tokens
    return [Token(t.text, t.char_offset_from, t.char_offset_to or t.char_offset_from) for t in found]


def folded(words: Sequence[str]) -> list[str]:
    """Each word without its accents."""
    return _each(words, None)


def meanings(words: Sequence[str], language: str | None) -> list[str]:
    """What is the same for words that a search does not tell apart: their stem, without accents."""
    return _each(words, language)


def _each(words: Sequence[str], language: str | None) -> list[str]:
    """One result for each word. Words hold no white space, so they can be looked at as one text."""
    found = list(_mapping(language).analyze(" ".join(words)))
    if len(found) == len(words):
        return found
    return ["".join(_mapping(language).analyze(word)) or word for word in words]


@lru_cache(64)
def _mapping(language: str | None) -> TextAnalyzer:
    """Stems of most languages depend on accents; English words have some from elsewhere alone."""
    filters = [] if language is None else [Filter.stemmer(language)]
    filters.insert(0 if language == ENGLISH else len(filters), Filter.ascii_fold())
    built = TextAnalyzerBuilder(Tokenizer.whitespace())
    for one in filters:
        built = built.filter(one)
    return built.build()
