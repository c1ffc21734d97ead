"""Numbers, sizes and spans of time read like English, also where they are one or round up."""

from __future__ import annotations

import pytest

from lamella.core.phrases import duration_text, quantity, sentence_case, size_text


def test_one_is_singular_and_all_else_plural() -> None:
    assert [quantity(n, "row") for n in (0, 1, 2, 12_345)] == ["0 rows", "1 row", "2 rows", "12,345 rows"]
    assert [quantity(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1 KB"),
        (1_540_000, "1.54 MB"),
        (21_345_678, "21.3 MB"),
        (999_499, "999 KB"),
        (999_500, "1 MB"),
        (999_999_999, "1 GB"),
        (5 * 10**18, "5,000 PB"),
    ],
)
def test_sizes_have_three_digits(size: int, text: str) -> None:
    assert size_text(size) == text


def test_spans_of_time_have_the_unit_that_fits() -> None:
    texts = [duration_text(seconds) for seconds in (0, 0.0004, 0.0126, 0.9, 1, 61.25)]
    assert texts == ["under 1 ms", "under 1 ms", "13 ms", "900 ms", "1.0 s", "61.2 s"]


def test_the_first_letter_alone_becomes_a_capital() -> None:
    assert [sentence_case(text) for text in ("", "an iPad", "Über")] == ["", "An iPad", "Über"]
