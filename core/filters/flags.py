"""Flags of regular expressions, kept inside the pattern as RE2 and others read them: `(?s)a.b`."""

from __future__ import annotations

from lamella.core.errors import BadFilter, shown

KNOWN = "ims"


def flagged(pattern: str, flags: str) -> tuple[str, bool]:
    """The pattern with its flags, but for "i": second, whether case is ignored. Raises `BadFilter`."""
    if not isinstance(flags, str):
        raise BadFilter(f"Flags of a pattern are letters, not {shown(flags)}", fix="Give text: 'im'")
    odd = [flag for flag in flags if flag not in KNOWN]
    if odd:
        raise BadFilter(
            f"There is no flag '{odd[0]}' for the pattern '{pattern}'",
            fix="There are: i (ignores case), m (^ and $ at each line), s (the dot matches line ends)",
        )
    kept = "".join(flag for flag in KNOWN if flag in flags and flag != "i")
    return (f"(?{kept}){pattern}" if kept else pattern), "i" in flags
