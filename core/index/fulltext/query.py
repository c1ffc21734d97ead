"""Search texts: parsed into a tree, compiled for each part, and answered with the best rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import log, prod

import numpy as np
from tantivy import Occur, Query

from lamella.core.arrow.sorted_ids import among
from lamella.core.errors import BadSearch, UnknownColumn
from lamella.core.filters.text.lexer import pointing
from lamella.core.index.definition import Index
from lamella.core.index.fulltext.open_parts import OpenFulltext, PlacedPart, language_of
from lamella.core.index.fulltext.part import Part, field_of, meanings, words
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Snapshot


@dataclass(frozen=True)
class Words:
    """Consecutive words in one column: in `column`, or in any column of the index. They are in lower case."""

    words: tuple[str, ...]
    column: str | None = None


@dataclass(frozen=True)
class Beginning:
    """A word with this prefix."""

    word: str
    column: str | None = None


@dataclass(frozen=True)
class Near:
    """A word within this many edits: letters added, removed, changed, or swapped with the next one."""

    word: str
    edits: int
    column: str | None = None


@dataclass(frozen=True)
class Clauses:
    """All of `required_nodes`, none of `excluded_nodes`, and at least one of `optional_nodes` if nothing is
    required. Further optional nodes increase a row's score. With only excluded nodes, it matches every other
    row."""

    required_nodes: tuple[Node, ...] = ()
    optional_nodes: tuple[Node, ...] = ()
    excluded_nodes: tuple[Node, ...] = ()


Leaf = Words | Beginning | Near
Node = Leaf | Clauses


def leaves(node: Node) -> list[Leaf]:
    """The leaves that make a row match, in order; excluded ones are left out."""
    if not isinstance(node, Clauses):
        return [node]
    return [leaf for child in (*node.required_nodes, *node.optional_nodes) for leaf in leaves(child)]


DEEPEST = 50
MOST_EDITS = 2
MOST_LETTERS = 200

_TOKEN = re.compile(
    r"""(?P<space>\s+) | (?P<open>\() | (?P<close>\)) | (?P<sign>(?<![^\s(])[+-])
    | (?P<column>[^\s()":+*~-][^\s()":*~]*|(?<![^\s(:+-])"(?:[^"]|"")+"):(?=[^\s)])
    | "(?P<phrase>[^"]*)" | (?P<quote>") | (?P<word>[^\s()"]+)""",
    re.VERBOSE,
)
_SUFFIX = re.compile(r"(?P<star>\*)$|~(?P<edits>\d*)$")
_OPERATORS = {"and", "or", "not"}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    stop: int


def read(text: str, name: str, columns: Collection[str]) -> Node:
    """Parse a search text; `columns` are those that it may refer to, in an index that messages call `name`.

    Raises `BadSearch` and `UnknownColumn`, with the position.
    """
    reader = _Reader(text, name, columns)
    node = reader.search()
    if reader.kind == "close":
        raise reader.error("')' has no matching '('", "Remove it, or add '(' before it")
    if node == Clauses():
        raise BadSearch("A search text needs a word", fix="Enter one with at least one letter or digit")
    return node


class _Reader:
    def __init__(self, text: str, name: str, columns: Collection[str]) -> None:
        self._text, self._name, self._columns = text, name, columns
        self._tokens = [
            _Token(_kind(match), match.group(), *match.span())
            for match in _TOKEN.finditer(text)
            if match.lastgroup != "space"
        ]
        self._tokens.append(_Token("end", "", len(text), len(text)))
        self._at = self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._at].kind

    def error(self, why: str, fix: str, at: _Token | None = None) -> BadSearch:
        token = at or self._tokens[self._at]
        what = f"The search text cannot be read at character {token.start + 1}"
        return pointing(BadSearch(what, why, fix), self._text, token.start, max(token.stop, token.start + 1))

    def search(self, column: str | None = None) -> Node:
        required, optional, excluded = list[Node](), list[Node](), list[Node]()
        while self.kind not in ("close", "end"):
            if self.kind == "sign" and self._tokens[self._at].text == "+":
                required += self._factor(column)
                continue
            for node in self._either(column):
                negated = _negated_node(node)
                (optional if negated is None else excluded).append(node if negated is None else negated)
        if len(optional) == 1 and not required and not excluded:
            return optional[0]
        return Clauses(tuple(required), tuple(optional), tuple(excluded))

    def _either(self, column: str | None) -> list[Node]:
        """No node or one, like the following methods: punctuation alone matches nothing."""
        node = self._read_operands("or", self._read_conjunction, column)
        return node if len(node) < 2 else [Clauses(optional_nodes=tuple(node))]

    def _read_conjunction(self, column: str | None) -> list[Node]:
        operands = self._read_operands("and", self._factor, column)
        if len(operands) < 2:
            return operands
        negated = [_negated_node(node) for node in operands]
        required = (node for node, negation in zip(operands, negated, strict=True) if negation is None)
        return [
            Clauses(required_nodes=tuple(required), excluded_nodes=tuple(n for n in negated if n is not None))
        ]

    def _read_operands(
        self, operator: str, part: Callable[[str | None], list[Node]], column: str | None
    ) -> list[Node]:
        node = part(column)
        while self.kind == operator:
            self._at += 1
            node += part(column)
        return node

    def _factor(self, column: str | None) -> list[Node]:
        negations = 0
        while self.kind in ("not", "sign"):
            token = self._tokens[self._at]
            negations += token.text != "+"
            self._at += 1
            self._refuse_far(token)
            self._refuse_second(token)
        operand = self._operand(column)
        if negations % 2 == 0:
            return operand
        return [Clauses(excluded_nodes=(node,)) for node in operand]

    def _refuse_far(self, sign: _Token) -> None:
        if sign.kind == "sign" and self._tokens[self._at].start != sign.stop:
            raise self.error(
                f"'{sign.text}' is followed by a space",
                f'Write it directly before a word, or in quotes to ignore it: "{sign.text}"',
                sign,
            )

    def _refuse_second(self, before: _Token) -> None:
        """Refuse a sign directly after a sign or a column; it would become part of the word."""
        token = self._tokens[self._at]
        if (
            token.kind == "word"
            and token.start == before.stop
            and token.text[0] in "+-"
            and before.kind != "not"
        ):
            what = f"'{token.text[0]}' follows '{before.text}'"
            fix = f"Write one sign, at the start: {token.text[0]}{_column_name(before)}{token.text[1:]}"
            raise self.error(what, fix, token)

    def _operand(self, column: str | None) -> list[Node]:
        token = self._tokens[self._at]
        if token.kind in ("and", "or", "not", "close", "end"):
            raise self._missing(token)
        self._at += 1
        if token.kind == "column":
            self._refuse_second(token)
            return self._operand(self._known_column(token))
        if token.kind == "open":
            return self._group(token, column)
        if token.kind == "phrase":
            return _leaf(token.text, column)
        if token.kind == "quote":
            raise self.error("The quotation mark is not closed", 'Add another: "…"', token)
        return self._word(token, column)

    def _missing(self, token: _Token) -> BadSearch:
        if token.kind in _OPERATORS:
            what = f"'{token.text}' needs a word before it"
            return self.error(what, f'To find the word itself, put it in quotes: "{token.text}"')
        before = self._tokens[self._at - 1] if self._at else token
        if before.kind in _OPERATORS:
            what = f"'{before.text}' needs a word after it"
            return self.error(what, f'To find the word itself, put it in quotes: "{before.text}"', before)
        return self.error("A word is missing here", "Add a word")

    def _known_column(self, token: _Token) -> str:
        name = token.text[:-1]
        if name.startswith('"'):
            name = name[1:-1].replace('""', '"')
        if name not in self._columns:
            unknown = UnknownColumn(name, self._name, self._columns)
            typed = self._text[token.start :].split(None, 1)[0].rstrip('()"').replace('"', "")
            unknown.args = (f'{unknown} To find text that contains a colon, put it in quotes: "{typed}".',)
            raise pointing(unknown, self._text, token.start, token.stop)
        return name

    def _group(self, opened: _Token, column: str | None) -> list[Node]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.error(f"More than {DEEPEST} parentheses are open", "Use fewer", opened)
        node = self.search(column)
        if self.kind != "close":
            raise self.error("The parenthesis is not closed", "Add ')'", opened)
        self._at += 1
        self._depth -= 1
        return [] if node == Clauses() else [node]

    def _word(self, token: _Token, column: str | None) -> list[Node]:
        suffix = _SUFFIX.search(token.text)
        stem = token.text[: suffix.start()] if suffix else token.text
        if "*" in stem:
            raise self.error(
                "'*' is allowed only at the end of a word", "Write the beginning of the word: wor*", token
            )
        if suffix is None:
            return _leaf(stem, column)
        node = words(stem)
        if len(node) != 1:
            what = f"'{suffix.group()}' applies to one word, and '{stem}' has {len(node) or 'none'}"
            raise self.error(what, "Write it directly after a word", token)
        if len(node[0]) > MOST_LETTERS:
            what = f"'{suffix.group()}' applies to words of at most {MOST_LETTERS} letters"
            raise self.error(what, "Shorten the word, or remove the sign", token)
        if suffix["star"]:
            return [Beginning(node[0], column)]
        edits = int(suffix["edits"] or 1)
        if not 1 <= edits <= MOST_EDITS:
            raise self.error(
                f"A word may differ by 1 or {MOST_EDITS} letters, not by {edits}",
                f"Write ~1 or ~{MOST_EDITS}",
                token,
            )
        return [Near(node[0], edits, column)]


def _kind(match: re.Match[str]) -> str:
    word = match.group().lower()
    return word if word in _OPERATORS else str(match.lastgroup)


def _leaf(text: str, column: str | None) -> list[Node]:
    leaf = words(text)
    return [Words(tuple(leaf), column)] if leaf else []


def _column_name(before: _Token) -> str:
    return before.text if before.kind == "column" else ""


def _negated_node(node: Node) -> Node | None:
    """The node that a node excludes, if it does nothing else."""
    alone = isinstance(node, Clauses) and not node.required_nodes and not node.optional_nodes
    return node.excluded_nodes[0] if alone and len(node.excluded_nodes) == 1 else None  # type: ignore[union-attr]


MOST_PHRASES = 64
"""If forms of words make more phrases than this, they are scored as one."""


def rarity(documents: int, frequency: float) -> float:
    """BM25's inverse document frequency of a word in `frequency` documents."""
    return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, eq=False)
class Search:
    """A search over all parts of a table. `weights` are by column key, `keys` by column name."""

    parts: Sequence[Part]
    language: str | None
    weights: Mapping[int, float]
    keys: Mapping[str, int]
    _rarities: dict[tuple[int, str], float] = field(default_factory=dict)
    _expansions: dict[tuple[Part, int, str], list[str]] = field(default_factory=dict)

    def query(self, node: Node, part: Part) -> Query:
        if isinstance(node, (Words, Beginning, Near)):
            return self._leaf(node, part)
        clauses = [(Occur.Must, self.query(child, part)) for child in node.required_nodes]
        optional = [(Occur.Should, self.query(child, part)) for child in node.optional_nodes]
        excluded = [(Occur.MustNot, self.query(child, part)) for child in node.excluded_nodes]
        if not clauses and not optional:
            clauses = [(Occur.Must, Query.const_score_query(Query.all_query(), 0.0))]
        return Query.boolean_query([*clauses, *optional, *excluded])

    def _leaf(self, leaf: Leaf, part: Part) -> Query:
        keys = self.weights if leaf.column is None else [self.keys[leaf.column]]
        clauses = [_times(self._in_column(leaf, part, key), self.weights[key]) for key in keys]
        present = [(Occur.Should, query) for query in clauses if query is not None]
        if len(present) == 1:
            return present[0][1]
        return Query.boolean_query(present) if present else Query.empty_query()

    def _in_column(self, leaf: Leaf, part: Part, key: int) -> Query | None:
        if isinstance(leaf, Words):
            return self._words(leaf.words, part, key)
        name = field_of(key)
        if isinstance(leaf, Beginning):
            patterns = [f"{beginning}.*" for beginning in part.vocabulary.beginnings(leaf.word)]
            alike = [Query.regex_query(part.schema, name, pattern) for pattern in patterns]
        else:
            alike = [Query.fuzzy_term_query(part.schema, name, leaf.word, leaf.edits)]
        clauses = [(Occur.Must, Query.const_score_query(_any_query(alike), 1.0))]
        itself = self._words((leaf.word,), part, key)
        return Query.boolean_query(clauses if itself is None else [*clauses, (Occur.Should, itself)])

    def _words(self, words: Sequence[str], part: Part, key: int) -> Query | None:
        """Consecutive words, each in any form; None if the column of the part lacks one."""
        words_to_find = meanings(words, self.language)
        forms = [self._forms(part, key, meaning) for meaning in words_to_find]
        if not all(forms):
            return None
        rare = sum(self._rarity(key, meaning) for meaning in words_to_find)
        if prod(map(len, forms)) > MOST_PHRASES:
            patterns = ["|".join(words) for words in forms]
            phrase = Query.regex_phrase_query(part.schema, field_of(key), list(patterns))
            return Query.const_score_query(phrase, rare)
        return _any_query([self._score_query(phrase, part, key, rare) for phrase in product(*forms)])

    def _score_query(self, words: Sequence[str], part: Part, key: int, rare: float) -> Query:
        """Score words. tantivy's own rarity covers only the part, so it is corrected for the whole table."""
        if len(words) == 1:
            query = Query.term_query(part.schema, field_of(key), words[0], "freq")
        else:
            query = Query.phrase_query(part.schema, field_of(key), list(words))
        own = sum(rarity(part.documents, part.frequency(key, word)) for word in words)
        return query if own == rare else Query.boost_query(query, rare / own)

    def _forms(self, part: Part, key: int, meaning: str) -> list[str]:
        """The words with this meaning in a column, the most frequent first."""
        at = (part, key, meaning)
        if at not in self._expansions:
            words = [word for word in part.vocabulary.of_meaning(meaning) if part.frequency(key, word)]
            self._expansions[at] = sorted(words, key=lambda word: -part.frequency(key, word))
        return self._expansions[at]

    def _rarity(self, key: int, meaning: str) -> float:
        if (key, meaning) not in self._rarities:
            documents = sum(part.rows for part in self.parts)
            frequency = sum(self._frequency(part, key, meaning) for part in self.parts)
            self._rarities[key, meaning] = rarity(documents, frequency)
        return self._rarities[key, meaning]

    def _frequency(self, part: Part, key: int, meaning: str) -> float:
        """The approximate number of rows with a word of this meaning, assuming that its forms occur
        independently."""
        forms = self._forms(part, key, meaning)
        if len(forms) == 1:
            return part.frequency(key, forms[0])
        without = 1.0
        for word in forms:
            without *= 1 - part.frequency(key, word) / part.rows
        return part.rows * (1 - without)


def _any_query(queries: Sequence[Query]) -> Query:
    """Any of the queries; the best score counts."""
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def _times(query: Query | None, weight: float) -> Query | None:
    return query if query is None or weight == 1 else Query.boost_query(query, weight)


FEWEST_HITS = 64
LIMIT_FACTOR = 8
"""The factor by which the number of requested rows grows if too many of the best were dropped."""


@dataclass(frozen=True, eq=False)
class Hits:
    """Positions of rows, the best first, and their scores. Ties are in the order of rows."""

    positions: np.ndarray
    scores: np.ndarray


def search_of(index: Index, snapshot: Snapshot, placed: list[PlacedPart]) -> Search:
    """A search in those columns of the index that the snapshot has."""
    listed_weights = index.options.get("weights") or [1.0] * len(index.keys)
    by_column = dict(zip(index.keys, listed_weights, strict=True))
    keys = {column.name: column.key for column in snapshot.columns if column.key in index.keys}
    weights = {key: by_column[key] for key in keys.values()}
    return Search([place.part for place in placed], language_of(index), weights, keys)


def search(
    snapshot: Snapshot,
    index: Index,
    opened: OpenFulltext,
    node: Node,
    count: int,
    within: np.ndarray | None,
    job: Job,
) -> Hits:
    """Find the `count` best rows; `within` restricts the search to these ascending positions."""
    placed = opened.parts(index, snapshot, job)
    text_search = search_of(index, snapshot, placed)
    few = within if within is not None and len(within) <= FEWEST_HITS and _is_exact(node) else None
    best = []
    for place in placed:
        job.check()
        query = text_search.query(node, place.part)
        best.append(_best(place, query, count, within) if few is None else _among(place, query, few))
    if len(best) == 1 and few is None:
        return best[0]
    positions = np.concatenate([hits.positions for hits in best] or [np.empty(0, np.int64)])
    scores = np.concatenate([hits.scores for hits in best] or [np.empty(0)])
    order = np.lexsort((positions, -scores))[:count]
    return Hits(positions[order], scores[order])


def _is_exact(node: Node) -> bool:
    """Whether rows can be scored one by one. Expanding a prefix for each row takes long, and when only
    exclusions are given, tantivy cannot score rows before the first match."""
    if isinstance(node, Clauses):
        return bool(node.required_nodes or node.optional_nodes) and all(
            map(_is_exact, (*node.required_nodes, *node.optional_nodes, *node.excluded_nodes))
        )
    return isinstance(node, Words)


def _among(placed: PlacedPart, query: Query, positions: np.ndarray) -> Hits:
    """All hits at these positions."""
    rows = placed.rows_at(positions)
    scores = [placed.part.score(query, row) for row in rows.tolist()]
    hit = np.array([score is not None for score in scores], np.bool_)
    return Hits(placed.at(rows[hit]), np.array([score for score in scores if score is not None], np.float64))


def _best(placed: PlacedPart, query: Query, count: int, within: np.ndarray | None) -> Hits:
    if within is None and not placed.num_stale:
        rows, scores = placed.part.best(query, count)
        return Hits(placed.at(rows), scores)
    enough = None if within is not None else count + placed.num_stale
    for most in _growing(count, placed.part.documents, enough):
        rows, scores = placed.part.best(query, most)
        positions = placed.at(rows)
        valid = positions >= 0
        if within is not None:
            valid &= among(positions, within)
        if int(valid.sum()) >= count:
            break
    return Hits(positions[valid][:count], scores[valid][:count])


def _growing(count: int, most: int, enough: int | None) -> Iterator[int]:
    """The numbers of hits to request until `count` of them are wanted rows; `enough` hits always contain as
    many. tantivy need not score more than requested."""
    limit = max(FEWEST_HITS, 2 * count)
    limit = limit if enough is None else min(limit, enough)
    while limit < most:
        yield limit
        limit *= LIMIT_FACTOR
    yield most
