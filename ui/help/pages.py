"""The pages of the help: the documentation, and the keys from the action table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lamella.ui.actions import ACTIONS, MENUS, Action, sequences

FIRST, SHORTCUTS = "guide.md", "shortcuts.md"
INDEX = "README.md"
GRID_KEYS = (
    ("Enter, Tab", "Next cell; with Shift the one before"),
    ("Ctrl+Home, Ctrl+End", "First and last cell"),
    ("Page Up, Page Down", "A screen up or down"),
    ("Shift and arrows", "Select"),
    ("Alt+Up", "To the column's card: arrows choose, Enter filters, Alt+Down goes back"),
    ("Any character", "Type into the cell"),
    ("Ctrl+Backspace", "NULL, while a cell is edited"),
    ("Esc", "Leave the cell as it was"),
)
SNIPPET = 110
MOST_HITS = 60
TITLE_WEIGHT = 20
HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*$", re.MULTILINE)
MARKS = re.compile(r"[*`|#>]+|!?\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Section:
    """A heading, and the text below it up to the next heading."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page; `text` is Markdown."""

    name: str
    text: str

    @property
    def title(self) -> str:
        return self.sections[0].title

    @cached_property
    def sections(self) -> Sequence[Section]:
        parts, in_code = [(self.name, list[str]())], False
        for line in self.text.splitlines():
            in_code ^= line.startswith("```")
            heading = None if in_code else HEADING.match(line)
            if heading is None:
                parts[-1][1].append(line)
            else:
                parts.append((MARKS.sub(r"\1", heading[2]), []))
        if len(parts) > 1 and not any(parts[0][1]):  # there is no text above the title
            del parts[0]
        return [Section(title, anchor_of(title), "\n".join(lines)) for title, lines in parts]


@dataclass(frozen=True)
class Hit:
    """A section that contains all the words, and one of its lines."""

    page: Page
    section: Section
    snippet: str


def anchor_of(title: str) -> str:
    """The anchor by which links refer to a heading."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).strip().replace(" ", "-")


def read_pages(folder: Path) -> dict[str, Page]:
    """The pages by file name, in the order of the index, then the page of keys. Blocks."""
    pages = {path.name: Page(path.name, path.read_text("utf-8")) for path in sorted(folder.glob("*.md"))}
    index = pages.pop(INDEX, None)
    order = [FIRST, *LINK_TARGETS.findall(index.text)] if index is not None else [FIRST]
    ordered_pages = {name: pages[name] for name in order if name in pages}
    listed = {**ordered_pages, **pages}
    names = {*listed, SHORTCUTS}
    linked = {name: Page(name, _with_known_links(page.text, names)) for name, page in listed.items()}
    return {**linked, SHORTCUTS: shortcuts_page()}


LINK_TARGETS = re.compile(r"\]\(([\w-]+\.md)")


def _with_known_links(text: str, names: set[str]) -> str:
    """Replace links to files that are not part of the program by their text."""

    def replace_link(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        page = target.partition("#")[0]
        is_known = picture or not page or page in names or target.startswith(("http://", "https://"))
        return link[0] if is_known else words

    return LINK.sub(replace_link, text)


def shortcuts_page() -> Page:
    """The page of all keys, by menu, as in the action table."""
    lines = ["# Keyboard shortcuts", ""]
    for menu in MENUS:
        lines += _table(
            menu,
            [(keys_of(action), action.text) for action in ACTIONS if action.menu == menu and action.keys],
        )
    return Page(SHORTCUTS, "\n".join(lines + _table("In the grid", GRID_KEYS)))


def _table(title: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    return [f"## {title}", "", "| Key | What it does |", "|---|---|",
            *(f"| {_cell(keys)} | {_cell(text)} |" for keys, text in rows), ""]  # fmt: skip


def _cell(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def keys_of(action: Action) -> str:
    """The keys as this operating system writes them."""
    return ", ".join(s.toString(s.SequenceFormat.NativeText) for s in sequences(action))


def search(pages: Mapping[str, Page], text: str) -> list[Hit]:
    """The sections that contain all the words: those with the words in the title first, then those with the
    most occurrences."""
    words = text.casefold().split()
    if not words:
        return []
    hits: list[tuple[int, Hit]] = []
    for page in pages.values():
        for section in page.sections:
            title, body = section.title.casefold(), section.text.casefold()
            if not all(word in title or word in body for word in words):
                continue
            score = sum(body.count(word) + TITLE_WEIGHT * (word in title) for word in words)
            score += TITLE_WEIGHT * any(word in page.title.casefold() for word in words)
            hits.append((score, Hit(page, section, _snippet(section.text, words))))
    hits.sort(key=lambda each: -each[0])
    return [hit for _, hit in hits[:MOST_HITS]]


def _snippet(text: str, words: Sequence[str]) -> str:
    plain = " ".join(MARKS.sub(r"\1", FENCE.sub("", text)).split())
    folded = plain.casefold()
    first = min((folded.find(word) for word in words if word in folded), default=0)
    start = max(0, plain.rfind(" ", 0, max(0, first - SNIPPET // 4)))
    cut = plain[start : start + SNIPPET].strip()
    return ("… " if start else "") + cut + (" …" if start + SNIPPET < len(plain) else "")
