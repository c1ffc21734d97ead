"""The part of docs/export.md that is generated from the table of formats: options and losses of each.

python -m tests.app.export_page    # write it again
"""

from __future__ import annotations

from pathlib import Path

from lamella.core.transfer.formats import FORMATS, Format
from lamella.core.transfer.writer import FINER_KINDS, KINDS, Option
from tests.bench.page import put_into

PAGE = Path(__file__).resolve().parents[2] / "docs" / "export.md"
PART = "formats"


def generated() -> str:
    return "\n\n".join([overview(), *map(section, FORMATS)])


def overview() -> str:
    lines = ["| format | id | suffixes |", "|---|---|---|"]
    for known in FORMATS:
        suffixes = ", ".join(f"`{suffix}`" for suffix in known.suffixes)
        lines.append(f"| [{known.label}](#{anchor(known)}) | `{known.id}` | {suffixes} |")
    return "\n".join(lines)


def anchor(known: Format) -> str:
    """The anchor that GitHub gives a heading."""
    return "".join(sign for sign in known.label.lower().replace(" ", "-") if sign.isalnum() or sign == "-")


def section(known: Format) -> str:
    parts = [f"### {known.label}"]
    if known.options:
        lines = ["| option | default | what it does |", "|---|---|---|"]
        lines += [f"| `{o.name}` | {shown(o.default)} | {sentence(o)} |" for o in known.options]
        parts.append("\n".join(lines))
    if known.always:
        parts.append(known.always)
    if known.losses:
        lines = ["| type | what is lost or changed |", "|---|---|"]
        lines += [f"| {(KINDS | FINER_KINDS)[kind]} | {text} |" for kind, text in known.losses.items()]
        parts.append("\n".join(lines))
    else:
        parts.append("Nothing is lost.")
    if known.refused_kinds:
        parts.append(f"Refused: {', '.join(KINDS[kind] for kind in known.refused_kinds)}.")
    return "\n\n".join(parts)


def shown(value: object) -> str:
    if value in ("", ()):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return {"\t": "tab"}.get(str(value), f"`{value}`") if isinstance(value, str) else f"{value:,}"


def sentence(option: Option) -> str:
    choices = [{"": "nothing"}.get(choice, choice) for choice in option.choices]
    ticked = (
        f"`{choice}`" if choice.replace("-", "").isalnum() or len(choice) < 3 else choice
        for choice in choices
    )
    listed = f": {', '.join(ticked)}" if choices else ""
    return f"{option.help}{listed}".replace("|", "\\|")


if __name__ == "__main__":
    put_into(PAGE, PART, generated())
