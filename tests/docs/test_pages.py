"""README and docs: links lead somewhere, and there are not too many words."""

import re

import pytest

from tests.docs.blocks import ROOT, pages

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
GENERATED = re.compile(r"<!-- (report: \w+|chaos|house|[\w ]+: generated) -->.*?<!-- end of \w+ -->", re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
# Written by commands, or made of docstrings
NOT_COUNTED = ("reference/", "data_cards/", "tables.md", "scores_v1.md", "rebuilt_scores.md")
MADE = ("notebooks/", "changelog.md", "contributing.md")  # by lab/tools/site_pages.py
MOST_WORDS, MOST_WORDS_OF_README = 15_000, 600


def words(page):
    return words_in(GENERATED.sub("", page.read_text(encoding="utf-8")))


def words_in(text):
    return sum(any(map(str.isalnum, word)) for word in FENCED.sub("", text).split())


def counted():
    docs = ROOT / "docs"
    return [
        page for page in pages() if docs in page.parents and not str(page.relative_to(docs)).startswith(NOT_COUNTED)
    ]


def exists(file):
    notebook = ROOT / "examples" / f"{file.stem}.ipynb"  # whose page `make docs` makes
    return file.exists() or (file.parent.name == "notebooks" and notebook.exists())


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_links_to_exist(page):
    links = LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    files = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith(("#", "mailto:"))]
    assert [file for file in files if not exists(page.parent / file)] == []
    if ROOT / "docs" in page.parents:  # the site has nothing else
        assert [file for file in files if ROOT / "docs" not in (page.parent / file).resolve().parents] == []


def test_the_readme_is_short():
    # An interval, whose parts no line may break, is one number.
    words = re.split(r"[ \n]+", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert sum(any(map(str.isalnum, word)) for word in words) < MOST_WORDS_OF_README


def test_the_docs_have_no_more_words_than_people_read():
    assert sum(map(words, counted())) <= MOST_WORDS


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = [str(page.relative_to(ROOT / "docs")) for page in pages() if ROOT / "docs" in page.parents]
    assert [name for name in named if name not in navigation and not name.startswith("data_cards/")] == []
    inside = re.findall(r": ([\w/]+\.md)$", navigation, flags=re.MULTILINE)
    assert len(inside) > 30
    assert [name for name in inside if not name.startswith(MADE) and not (ROOT / "docs" / name).exists()] == []
