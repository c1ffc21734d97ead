"""What a search text asks of one part, scored as if all parts were one.

A row's score is the sum over words and columns of BM25 (k1 1.2, b 0.75) times the column's weight. How rare a
word is, is counted over all parts. Of words that mean the same, the one that counts most counts. A word that
only begins so, or is only near, counts one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import log, prod

from tantivy import Occur, Query

from lamella.core.index.fulltext.analysis import meanings
from lamella.core.index.fulltext.part import Part
from lamella.core.index.fulltext.tree import Beginning, Leaf, Near, Node, Words
from lamella.core.index.fulltext.writing import field_of

MOST_PHRASES = 64
"""Where words that mean the same make more phrases, these are not told apart."""


def rarity(documents: int, frequency: float) -> float:
    """BM25's idf: of a word that `frequency` of the documents have."""
    return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, eq=False)
class Search:
    """One search over all parts of a table. `weights` are by column key, `keys` by the names of columns."""

    parts: Sequence[Part]
    language: str | None
    weights: Mapping[int, float]
    keys: Mapping[str, int]
    _rarities: dict[tuple[int, str], float] = field(default_factory=dict)
    _known: dict[tuple[Part, int, str], list[str]] = field(default_factory=dict)

    def query(self, node: Node, part: Part) -> Query:
        if isinstance(node, (Words, Beginning, Near)):
            return self._leaf(node, part)
        found = [(Occur.Must, self.query(child, part)) for child in node.required]
        optional = [(Occur.Should, self.query(child, part)) for child in node.wanted]
        excluded = [(Occur.MustNot, self.query(child, part)) for child in node.excluded]
        if not found and not optional:
            found = [(Occur.Must, Query.const_score_query(Query.all_query(), 0.0))]
        return Query.boolean_query([*found, *optional, *excluded])

    def _leaf(self, leaf: Leaf, part: Part) -> Query:
        keys = self.weights if leaf.column is None else [self.keys[leaf.column]]
        found = [_times(self._in_column(leaf, part, key), self.weights[key]) for key in keys]
        there = [(Occur.Should, query) for query in found if query is not None]
        if len(there) == 1:
            return there[0][1]
        return Query.boolean_query(there) if there else Query.empty_query()

    def _in_column(self, leaf: Leaf, part: Part, key: int) -> Query | None:
        if isinstance(leaf, Words):
            return self._words(leaf.words, part, key)
        name = field_of(key)
        if isinstance(leaf, Beginning):
            patterns = [f"{beginning}.*" for beginning in part.vocabulary.beginnings(leaf.word)]
            alike = [Query.regex_query(part.schema, name, pattern) for pattern in patterns]
        else:
            alike = [Query.fuzzy_term_query(part.schema, name, leaf.word, leaf.edits)]
        found = [(Occur.Must, Query.const_score_query(_any(alike), 1.0))]
        itself = self._words((leaf.word,), part, key)
        return Query.boolean_query(found if itself is None else [*found, (Occur.Should, itself)])

    def _words(self, words: Sequence[str], part: Part, key: int) -> Query | None:
        """Words one behind the other, each in any form; None where the column of the part lacks one."""
        wanted = meanings(words, self.language)
        forms = [self._forms(part, key, meaning) for meaning in wanted]
        if not all(forms):
            return None
        rare = sum(self._rarity(key, meaning) for meaning in wanted)
        if prod(map(len, forms)) > MOST_PHRASES:
            patterns = ["|".join(words) for words in forms]
            phrase = Query.regex_phrase_query(part.schema, field_of(key), list(patterns))
            return Query.const_score_query(phrase, rare)
        return _any([self._scored(phrase, part, key, rare) for phrase in product(*forms)])

    def _scored(self, words: Sequence[str], part: Part, key: int, rare: float) -> Query:
        """tantivy counts how rare a word is in the part alone."""
        if len(words) == 1:
            query = Query.term_query(part.schema, field_of(key), words[0], "freq")
        else:
            query = Query.phrase_query(part.schema, field_of(key), list(words))
        own = sum(rarity(part.documents, part.frequency(key, word)) for word in words)
        return query if own == rare else Query.boost_query(query, rare / own)

    def _forms(self, part: Part, key: int, meaning: str) -> list[str]:
        """The words of this meaning that a column has, the commonest first."""
        at = (part, key, meaning)
        if at not in self._known:
            found = [word for word in part.vocabulary.of_meaning(meaning) if part.frequency(key, word)]
            self._known[at] = sorted(found, key=lambda word: -part.frequency(key, word))
        return self._known[at]

    def _rarity(self, key: int, meaning: str) -> float:
        if (key, meaning) not in self._rarities:
            documents = sum(part.rows for part in self.parts)
            frequency = sum(self._frequency(part, key, meaning) for part in self.parts)
            self._rarities[key, meaning] = rarity(documents, frequency)
        return self._rarities[key, meaning]

    def _frequency(self, part: Part, key: int, meaning: str) -> float:
        """About so many rows have a word of the meaning: as many as if its forms had no rows in common by
        more than chance."""
        forms = self._forms(part, key, meaning)
        if len(forms) == 1:
            return part.frequency(key, forms[0])
        without = 1.0
        for word in forms:
            without *= 1 - part.frequency(key, word) / part.rows
        return part.rows * (1 - without)


def _any(queries: Sequence[Query]) -> Query:
    """The best of them counts."""
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def _times(query: Query | None, weight: float) -> Query | None:
    return query if query is None or weight == 1 else Query.boost_query(query, weight)
