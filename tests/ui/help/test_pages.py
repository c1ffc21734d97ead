"""The contents of the help: every page of the documentation, every key, and valid links."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from lamella import resources
from lamella.ui.actions import ACTIONS
from lamella.ui.help.pages import LINK, SHORTCUTS, Page, keys_of, read_pages, search
from lamella.ui.window.help import PAGES


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return read_pages(resources.docs())


def test_every_page_of_the_documentation_is_there_the_guide_first(pages):
    names = {path.name for path in resources.docs().glob("*.md")} - {"README.md"}
    assert set(pages) == names | {SHORTCUTS} and next(iter(pages)) == "guide.md"
    assert all(page.title and not page.title.startswith("#") for page in pages.values())


def test_links_lead_to_pages_and_headings_that_there_are(pages):
    broken = []
    for page in pages.values():
        for picture, _, target in LINK.findall(re.sub(r"```.*?```", "", page.text, flags=re.DOTALL)):
            name, _, anchor = target.partition("#")
            if target.startswith(("http://", "https://")):
                continue
            if picture:
                broken += [] if (resources.docs() / target).is_file() else [(page.name, target)]
                continue
            linked = pages.get(name or page.name)
            known = linked is not None and (not anchor or anchor in {s.anchor for s in linked.sections})
            broken += [] if known else [(page.name, target)]
    assert broken == []


def test_pages_named_for_widgets_and_the_widgets_are_there(pages):
    for path, address in PAGES.items():
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name)
        page, _, anchor = address.partition("#")
        assert not anchor or anchor in {section.anchor for section in pages[page].sections}


def test_shortcuts_page_lists_every_key(pages):
    text = re.sub(r"\\(.)", r"\1", pages[SHORTCUTS].text)
    assert all(keys_of(action) in text and action.text in text for action in ACTIONS if action.keys)


def test_search_puts_sections_whose_title_has_the_words_first(pages):
    hits = search(pages, "settings")
    assert hits[0].section.title.casefold().count("settings") == 1
    assert all("settings" in f"{hit.section.title} {hit.section.text}".casefold() for hit in hits)


def test_search_takes_all_words_in_any_order(pages):
    hits = search(pages, "crash restart") + search(pages, "nothing-has-this-word")
    texts = [f"{hit.section.title} {hit.section.text}".casefold() for hit in hits]
    assert all("crash" in text and "restart" in text for text in texts)
    assert search(pages, "  ") == []


def test_headings_in_code_are_no_sections(tmp_path: Path):
    (tmp_path / "a.md").write_text("# Title\n\ntext\n\n```\n# a comment\n```\n\n## Part *two*\nmore\n")
    page = read_pages(tmp_path)["a.md"]
    assert [(s.title, s.anchor) for s in page.sections] == [
        ("Title", "title"),
        ("Part two", "part-two"),
    ]


def test_link_to_a_file_that_does_not_travel_along_is_left_as_its_words(tmp_path: Path):
    (tmp_path / "a.md").write_text("# A\n[code](../ARCHITECTURE.md), [b](b.md#x), [web](https://example.com)")
    (tmp_path / "b.md").write_text("# B")
    assert "code, [b](b.md#x), [web](https://example.com)" in read_pages(tmp_path)["a.md"].text
