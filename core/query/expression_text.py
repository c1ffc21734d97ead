"""Computed values as text, `round(dep_delay / 60, 1)`, and back. The text is parsed, never run as code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from lamella.core.arrow.types import type_named
from lamella.core.errors import BadQuery, LamellaError, UnknownColumn, instead_of
from lamella.core.filters.expr import And, Filter, Not, Or
from lamella.core.filters.text import to_text
from lamella.core.filters.text.lexer import (
    CONSTANTS,
    KEYWORDS,
    Part,
    Token,
    TokenCursor,
    expression_tokens,
    pointing,
    spelling_at,
)
from lamella.core.filters.text.parser import Reader, refuse_unfit
from lamella.core.filters.text.printer import literal
from lamella.core.filters.text.printer import name as column_text
from lamella.core.query.expressions import DEEPEST, Call, ColumnReference, Condition, Constant, Expression
from lamella.core.query.fields import Field, Fields
from lamella.core.query.functions.table import FUNCTIONS, Function, type_expression

LONGEST = 20_000
"""The maximum length in characters: far beyond what people type."""
ColumnTypes: TypeAlias = Mapping[str, pa.DataType] | pa.Schema

OR, AND, NOT, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 9)
"""The precedence of operators, from the loosest to the tightest."""
_BINARY = {
    "+": (SUM, "add"),
    "-": (SUM, "subtract"),
    "||": (SUM, "add"),
    "*": (PRODUCT, "multiply"),
    "/": (PRODUCT, "divide"),
    "//": (PRODUCT, "floor_divide"),
    "%": (PRODUCT, "modulo"),
    "**": (POWER, "power"),
    "^": (POWER, "power"),
}
_SIGN_OF = {function: (sign, binds) for sign, (binds, function) in _BINARY.items() if sign not in ("||", "^")}
_CASES = frozenset({"case", "when", "then", "else", "end"})
_RESERVED_WORDS = _CASES | KEYWORDS | CONSTANTS.keys()
_SYNONYMS = {
    "len": "length",
    "ceiling": "ceil",
    "pow": "power",
    "mod": "modulo",
    "ifnull": "coalesce",
    "nvl": "coalesce",
    "dayofyear": "day_of_year",
    "doy": "day_of_year",
    "isodow": "weekday",
    "substr": "substring",
    "ucase": "upper",
    "lcase": "lower",
    "if": "when",
    "iif": "when",
    "date_trunc": "truncate",
}
"""Names of functions in other languages."""
_SQL_TYPES = {
    "bigint": "int64",
    "integer": "int32",
    "smallint": "int16",
    "tinyint": "int8",
    "real": "float32",
    "varchar": "string",
    "boolean": "bool",
    "timestamp": "timestamp[us]",
    "date": "date32",
}


def parse_expression(text: str, types: ColumnTypes | None = None) -> Expression:
    """Parse an expression; a condition alone becomes a column of true and false.

    If the `types` of the columns are given, the expression is checked against them. Raises `BadQuery`,
    `BadFilter` or `UnknownColumn`, which point at the error.
    """
    if not isinstance(text, str):
        raise BadQuery("an expression is text", fix="Write it, such as: distance / air_time")
    if len(text) > LONGEST:
        raise BadQuery(
            f"The expression has more than {LONGEST:,} characters", fix="Compute parts of it as columns first"
        )
    parser = _Parser(text)
    try:
        expression = parser.whole()
        _refuse_deep(expression)
    except RecursionError:
        raise _too_deep() from None
    if types is not None:
        parser.refuse_unfit(expression, types)
    return expression


def expression_text(expression: Expression) -> str:
    """Text that `parse_expression` reads as the same expression. Raises `BadQuery` if there is none."""
    _refuse_deep(expression)
    try:
        return _print(expression)[0]
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> BadQuery:
    return BadQuery(
        f"The expression nests calls more than {DEEPEST} deep", fix="Compute parts of it as columns first"
    )


def _refuse_deep(expression: Expression) -> None:
    waiting = [(expression, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > DEEPEST:
            raise _too_deep()
        if isinstance(part, Call):
            waiting.extend((argument, depth + 1) for argument in part.arguments)


# ------------------------------------------------------------------------------------- reading

ExpressionOrFilter = Expression | Filter


class _Parser(TokenCursor):
    """Parses one text. `_calls` are the calls in it with their positions, inner ones first."""

    def __init__(self, text: str) -> None:
        super().__init__(expression_tokens(text))
        self._text = text
        self._reader = Reader(text, self._tokens)
        self._names: list[tuple[str, Token]] = []
        self._filters: list[Filter] = []
        self._calls: list[tuple[Expression, int, int]] = []
        self._text_joins: list[tuple[Expression, Token]] = []

    def whole(self) -> Expression:
        expression = self._expression(OR, 0)
        if self._next.part is not Part.END:
            raise self._token_error()
        return self._value(expression)

    def refuse_unfit(self, expression: Expression, types: ColumnTypes) -> None:
        by_name = dict(zip(types.names, types.types, strict=True)) if isinstance(types, pa.Schema) else types
        fields = Fields("the data", tuple(Field(name, kind, name) for name, kind in by_name.items()))
        for name, token in self._names:
            try:
                fields.at_path(name)
            except (UnknownColumn, BadQuery) as error:
                raise pointing(error, self._text, token.start, token.stop) from None
        for filter in self._filters:
            refuse_unfit(filter, self._reader, fields.schema, fields.place)
        try:
            type_expression(expression, fields)
        except LamellaError:
            for call, start, stop in self._calls:
                self._refuse_call(call, fields, start, stop)
            raise
        for call, token in self._text_joins:
            if not pa.types.is_string(type_expression(call, fields).value.type):
                raise self._wrong(token, "'||' joins texts", "Write + for a sum")

    def _refuse_call(self, call: Expression, fields: Fields, start: int, stop: int) -> None:
        try:
            type_expression(call, fields)
        except LamellaError as error:
            raise pointing(error, self._text, start, stop) from None

    # Tokens -------------------------------------------------------------------------------

    def _expect(self, word: str) -> Token:
        if self._word() != word:
            raise self._wrong(self._next, f"'{word}' is expected here, not {_token_text(self._next)}")
        return self._take()

    def _wrong(self, token: Token, why: str, fix: str = "") -> BadQuery:
        error = BadQuery(f"The expression cannot be read at character {token.start + 1}", why, fix)
        return pointing(error, self._text, token.start, token.stop)

    # Expressions --------------------------------------------------------------------------

    def _expression(self, least: int, depth: int) -> ExpressionOrFilter:
        """Parse operators as long as they bind at least as tightly as `least`."""
        if depth > DEEPEST:
            raise _too_deep()
        start = self._at
        operand = self._operand(depth)
        while True:
            self._part_sign()
            sign = self._word()
            if sign in ("and", "or"):
                binds = AND if sign == "and" else OR
                if binds < least:
                    return operand
                operand = self._connected_conditions(sign, binds, operand, start, depth)
            elif sign in _BINARY and _BINARY[sign][0] >= least:
                operand = self._binary(operand, start, depth)
            else:
                return operand

    def _part_sign(self) -> None:
        """Split a signed number after a value into operator and number: `a -1`."""
        token = self._next
        if token.part is Part.VALUE and token.text[:1] in ("+", "-"):
            plain = Token(Part.VALUE, token.text[1:], token.start + 1, _without_sign(token))
            self._tokens[self._at : self._at + 1] = [Token(Part.SIGN, token.text[0], token.start), plain]

    def _connected_conditions(
        self, word: str, binds: int, first: ExpressionOrFilter, start: int, depth: int
    ) -> Filter:
        conditions = [self._condition(first, start)]
        while self._word() == word:
            self._take()
            at = self._at
            conditions.append(self._condition(self._expression(binds + 1, depth + 1), at))
            self._part_sign()
        return And(tuple(conditions)) if word == "and" else Or(tuple(conditions))

    def _binary(self, left: ExpressionOrFilter, start: int, depth: int) -> Expression:
        sign = self._take()
        if isinstance(left, Filter) and self._tokens[self._at - 2].word != ")":
            fix = "Compute it as a column first; a condition compares a column with a value or a column"
            raise self._wrong(sign, f"'{sign.text}' does not go on a condition", fix)
        binds, function = _BINARY[sign.word]
        right = self._expression(binds if binds == POWER else binds + 1, depth + 1)
        call = self._call(function, (self._value(left), self._value(right)), start)
        if sign.word == "||":
            self._text_joins.append((call, sign))
        return call

    def _call(self, function: str, values: tuple[Expression, ...], start: int) -> Call:
        call = Call(function, values)
        self._calls.append((call, self._tokens[start].start, self._tokens[self._at - 1].stop))
        return call

    def _value(self, operand: ExpressionOrFilter) -> Expression:
        return Condition(operand) if isinstance(operand, Filter) else operand

    def _condition(self, operand: ExpressionOrFilter, start: int) -> Filter:
        if isinstance(operand, Condition):
            return operand.filter
        if isinstance(operand, Filter):
            return operand
        token = self._tokens[start]
        fix = (
            f"Compare it, or ask: {token.text} is true"
            if isinstance(operand, ColumnReference)
            else _ONLY_COLUMNS
        )
        raise self._wrong(token, "A condition is expected here", fix)

    def _operand(self, depth: int) -> ExpressionOrFilter:
        token, word = self._next, self._word()
        if word in ("all", "any") and self._word(1) == "(":
            return self._condition_here()
        if self._is_case(word):
            return self._cases(depth)
        if word == "(":
            self._take()
            expression = self._expression(OR, depth + 1)
            self._close(token)
            return expression
        if word in ("not", "-", "+"):
            return self._unary(depth)
        if token.part is Part.VALUE:
            return self._constant(depth)
        if token.part in (Part.WORD, Part.NAME) and word not in KEYWORDS:
            return self._name_operand(depth)
        raise self._missing()

    def _unary(self, depth: int) -> ExpressionOrFilter:
        start, token = self._at, self._take()
        if token.word == "not":
            at = self._at
            return Not(self._condition(self._expression(NOT, depth + 1), at))
        value = self._value(self._expression(SIGN, depth + 1))
        return self._call("negate", (value,), start) if token.word == "-" else value

    def _constant(self, depth: int) -> Expression:
        """A number, possibly signed. `-2 ** 2` is -4, as in other languages."""
        token = self._next
        if token.text[:1] in ("+", "-") and self._word(1) in ("**", "^"):
            self._part_sign()
            operand = self._unary(depth)
            return self._value(operand)
        return Constant(self._take().value)

    def _is_case(self, word: str) -> bool:
        return word == "when" or (word == "case" and self._word(1) == "when")

    def _is_compared(self) -> bool:
        """Whether the next name is the column of a condition."""
        first = self._word(1)
        if first == "%":
            return self._word(3) in ("=", "==") and self._tokens[self._at + 2].part is Part.VALUE
        ahead = 2 if first == "not" else 1
        return spelling_at(lambda place: self._word(ahead + place)) is not None or first == "is"

    def _name_operand(self, depth: int) -> ExpressionOrFilter:
        token = self._next
        if self._is_compared():
            return self._condition_here()
        if token.part is Part.WORD and self._word(1) == "(":
            return self._function(depth)
        if token.word in CONSTANTS:
            return Constant(CONSTANTS[self._take().word])
        if token.word in _CASES:
            raise self._missing()
        self._names.append((str(token.value), token))
        return ColumnReference(str(self._take().value))

    def _condition_here(self) -> Filter:
        predicate, self._at = self._reader.read_condition(self._at)
        self._filters.append(predicate)
        return predicate

    def _cases(self, depth: int) -> Expression:
        """Parse `when … then … when … then … else …`, optionally between `case` and `end`."""
        start, has_end = self._at, self._word() == "case"
        if has_end:
            self._take()
        cases: list[tuple[Expression, Expression]] = []
        while self._word() == "when":
            self._take()
            condition = self._value(self._expression(OR, depth + len(cases) + 1))
            self._expect("then")
            cases.append((condition, self._value(self._expression(OR, depth + len(cases) + 1))))
        answer: Expression = Constant(None)
        if self._word() == "else":
            self._take()
            answer = self._value(self._expression(OR, depth + len(cases) + 1))
        if has_end or self._word() == "end":
            self._expect("end")
        for condition, value in reversed(cases):
            answer = self._call("when", (condition, value, answer), start)
        return answer

    def _function(self, depth: int) -> Expression:
        start, name_token = self._at, self._take()
        opener = self._take()
        values: list[Expression] = []
        while self._word() != ")":
            values.append(self._value(self._expression(OR, depth + 1)))
            if self._word() == "as" and name_token.word == "cast":
                values.append(self._type())
            elif self._word() == ",":
                self._take()
                if self._word() == ")":
                    raise self._missing()
            elif self._word() != ")":
                break
        self._close(opener)
        return self._function_call(name_token, values, start)

    def _type(self) -> Expression:
        """Parse `as double`, up to the parenthesis that closes the cast."""
        first, depth = self._at + 1, 0
        self._take()
        while self._next.part is not Part.END and (depth or self._word() != ")"):
            depth += {"(": 1, ")": -1}.get(self._word(), 0)
            self._take()
        start, stop = self._tokens[first].start, self._tokens[self._at - 1].stop
        type_text = self._text[start:stop]
        try:
            kind = type_named(_SQL_TYPES.get(type_text.casefold(), type_text))
        except LamellaError as error:
            raise pointing(error, self._text, start, stop) from None
        return Constant("float32" if pa.types.is_float32(kind) else str(kind))

    def _function_call(self, name_token: Token, values: list[Expression], start: int) -> Expression:
        name = _SYNONYMS.get(name_token.word, name_token.word)
        if name == "concat" and values:
            return self._concat(name_token, values, start)
        function = FUNCTIONS.get(name)
        if function is None:
            names = [*FUNCTIONS, *_SYNONYMS]
            fix = instead_of(name_token.word, names) if name_token.word else ""
            raise self._wrong(name_token, f"There is no function '{name_token.text}'", fix)
        try:
            values = _in_our_order(name, name_token.word, values)
        except LamellaError as error:
            raise pointing(error, self._text, name_token.start, self._tokens[self._at - 1].stop) from None
        if not function.least <= len(values) <= function.most:
            raise self._wrong(
                name_token, f"'{name_token.text}' is given {_count(values)}", f"It takes {function.takes}"
            )
        return self._call(name, tuple(values), start)

    def _concat(self, name_token: Token, values: list[Expression], start: int) -> Expression:
        text = values[0]
        for value in values[1:]:
            text = self._call("add", (text, value), start)
            self._text_joins.append((text, name_token))
        return text

    def _close(self, opener: Token) -> None:
        if self._word() == ")":
            self._take()
        elif self._next.part is Part.END:
            raise self._wrong(opener, "The parenthesis that opens here is never closed")
        else:
            raise self._token_error()

    # Mistakes -----------------------------------------------------------------------------

    def _missing(self) -> BadQuery:
        token = self._next
        if token.part is Part.END:
            why = "A value is missing here" if self._text.strip() else "It is empty"
            return self._wrong(token, why, "Write one, such as: distance / air_time")
        fix = (
            f'Put a column of this name in double quotes: "{token.text}"'
            if token.word in _RESERVED_WORDS
            else ""
        )
        return self._wrong(token, f"A value is expected here, not {_token_text(token)}", fix)

    def _token_error(self) -> BadQuery:
        """The error for a token after a complete value."""
        token = self._next
        if token.word == ")":
            return self._wrong(token, "This closing parenthesis has no opening one")
        if spelling_at(self._word) is not None or token.word == "not":
            return self._wrong(token, f"{_token_text(token)} must follow a column", _ONLY_COLUMNS)
        fix = "Join values with + - * / // % ** or ||, and conditions with and, or"
        return self._wrong(token, f"{_token_text(token)} is not expected here", fix)


_ONLY_COLUMNS = "A condition begins with a column: compute the value as a column first"


def _without_sign(token: Token) -> Any:
    """The value of a signed number without its sign."""
    return -token.value if token.text[0] == "-" else token.value


def _in_our_order(function: str, spelling: str, values: list[Expression]) -> list[Expression]:
    """Reorder and complete the arguments for our function; in text, substrings start at 1, as in SQL."""
    if function == "round" and len(values) == 1:
        return [*values, Constant(0)]
    if spelling == "date_trunc" and len(values) == 2:
        return [values[1], values[0]]
    if function == "when" and len(values) == 2:
        return [*values, Constant(None)]
    if function == "substring":
        return _to_zero_based(values)
    return values


def _to_zero_based(values: list[Expression]) -> list[Expression]:
    start = values[1] if len(values) == 3 else None
    if isinstance(start, Constant) and type(start.value) is int and start.value >= 1:
        return [values[0], Constant(start.value - 1), values[2]]
    raise BadQuery(
        "substring takes a text, the position of its first character (from 1) and a number of characters",
        fix="Write it as substring(carrier, 1, 2)",
    )


def _count(values: Sequence[object]) -> str:
    return f"{len(values)} value{'' if len(values) == 1 else 's'}"


def _token_text(token: Token) -> str:
    return "the end" if token.part is Part.END else f"'{token.text}'"


# ------------------------------------------------------------------------------------- writing

Text = tuple[str, int]
"""A text, and how tightly its outermost operator binds."""


def _print(expression: Expression) -> Text:
    if isinstance(expression, ColumnReference):
        return _name(expression.name), ATOM
    if isinstance(expression, Constant):
        return _constant_text(expression.value)
    if isinstance(expression, Condition):
        return to_text(expression.filter), 0
    if not isinstance(expression, Call):
        raise BadQuery(f"{expression!r} cannot be written as text")
    writer = _WRITERS.get(expression.function)
    if writer is not None and len(expression.arguments) == writer[0]:
        return writer[1](expression)
    function = FUNCTIONS.get(expression.function)
    if function is None:
        raise BadQuery(
            f"there is no function '{expression.function}'",
            fix=instead_of(expression.function, list(FUNCTIONS)),
        )
    return _plain(function, expression), ATOM


def _plain(function: Function, expression: Call) -> str:
    if not function.least <= len(expression.arguments) <= function.most:
        raise BadQuery(
            f"'{function.id}' is given {_count(expression.arguments)}", f"It takes {function.takes}"
        )
    return f"{function.id}({', '.join(_print(argument)[0] for argument in expression.arguments)})"


def _name(column: str) -> str:
    return '"' + column + '"' if column.casefold() in _RESERVED_WORDS else column_text(column)


def _constant_text(value: Any) -> Text:
    if isinstance(value, float) and math.isnan(value):
        return "nan", ATOM
    try:
        text = literal(value)
    except LamellaError as error:
        raise BadQuery(f"{value!r} cannot be written in an expression", str(error)) from error
    return text, SIGN if text.startswith("-") else ATOM


def _within(expression: Expression, least: int) -> str:
    text, binds = _print(expression)
    return text if binds >= least else f"({text})"


def _binary_text(call: Call) -> Text:
    sign, binds = _SIGN_OF[call.function]
    left, right = call.arguments
    tighter = binds + 1
    to_the_left = binds == POWER
    text = f"{_within(left, tighter if to_the_left else binds)} {sign} "
    return text + _within(right, binds if to_the_left else tighter), binds


def _negated_text(call: Call) -> Text:
    """`-2` would be read as a constant, so the negation of a constant is written `-(2)`."""
    value = call.arguments[0]
    return f"-({_print(value)[0]})" if isinstance(value, Constant) else f"-{_within(value, SIGN)}", SIGN


def _when_text(call: Call) -> Text:
    parts: list[str] = []
    branch: Expression = call
    while isinstance(branch, Call) and branch.function == "when" and len(branch.arguments) == 3:
        condition, value, branch = branch.arguments
        parts.append(f"when {_of_case(condition)} then {_of_case(value)}")
    if not (isinstance(branch, Constant) and branch.value is None):
        parts.append(f"else {_of_case(branch)}")
    return " ".join(parts), 0


def _of_case(expression: Expression) -> str:
    text = _print(expression)[0]
    return f"({text})" if isinstance(expression, Call) and expression.function == "when" else text


def _substring_text(call: Call) -> Text:
    text, start, count = call.arguments
    if not isinstance(start, Constant) or type(start.value) is not int or start.value < 0:
        raise BadQuery("a substring whose start is not a constant whole number cannot be written as text")
    return f"substring({_print(text)[0]}, {start.value + 1}, {_print(count)[0]})", ATOM


_WRITERS: dict[str, tuple[int, Callable[[Call], Text]]] = {
    **dict.fromkeys(_SIGN_OF, (2, _binary_text)),
    "negate": (1, _negated_text),
    "when": (3, _when_text),
    "substring": (3, _substring_text),
}
