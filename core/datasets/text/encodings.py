"""Which of the encodings from before UTF-8 a text is in: what charset-normalizer makes of its bytes."""

from __future__ import annotations

import re

WESTERN = "cp1252"
CANDIDATES = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "cp437",
    "cp850", "mac_roman", "cp932", "gb18030", "big5", "cp949", "euc_jp",
)  # fmt: skip
_USUAL = frozenset("äöüÄÖÜßéèêëàâáãåæçîïíìñôóòõøœùûúÿÉÈÀÂÅÆÇÑÓØÚÍÁ€£§°²³µ½¼±×·«»“”„‘’‚–—…•®©™´`¡¿ºª\u00a0")
_MOST_LINES, _MOST_BYTES = 200, 16 << 10
_LEAST_WESTERN = 0.98
"""Of the characters beyond ASCII; a text of that many letters of Western Europe is not looked at further."""
_LIKE_WESTERN = (WESTERN, "cp1254")
_SIGN_IN_WORD = re.compile("(?<=[a-z\u00df-\u00f6])[\u00a1-\u00bf](?=[a-z\u00df-\u00f6])", re.IGNORECASE)
_MOST_ODD = 0.1
"""Of the characters beyond ASCII, as signs inside of words: those are letters in another encoding."""
_HIGH = re.compile(rb"[\x80-\xff]")


def find_legacy_encoding(sample: bytes) -> str:
    """The name of the encoding, as Python has it; cp1252 where nothing speaks for another one."""
    text = _telling_lines(sample)
    beyond = [sign for sign in text.decode(WESTERN, "replace") if sign > "\x7f"]
    usual = sum(sign in _USUAL for sign in beyond)
    if not beyond or usual >= _LEAST_WESTERN * len(beyond):
        return WESTERN
    from charset_normalizer import from_bytes

    odd = len(_SIGN_IN_WORD.findall(text.decode(WESTERN, "replace")))
    others = [name for name in CANDIDATES if odd < _MOST_ODD * len(beyond) or name not in _LIKE_WESTERN]
    best = from_bytes(text, cp_isolation=others).best()
    return WESTERN if best is None else best.encoding


def _telling_lines(sample: bytes) -> bytes:
    """Lines with bytes beyond ASCII, so many as tell."""
    lines = (line for line in sample.splitlines() if _HIGH.search(line))
    chosen, size = [], 0
    for line in lines:
        chosen.append(line)
        size += len(line)
        if len(chosen) == _MOST_LINES or size > _MOST_BYTES:
            break
    return b"\n".join(chosen)[:_MOST_BYTES]
