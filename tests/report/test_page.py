"""A document becomes one page; what stands in it stays text."""

import json
import re
import sys

import pytest

from rewind.errors import MissingExtra
from rewind.report.document import Bar, Bars, Cell, Chart, Document, Fold, Interval, Line, Section, Table
from rewind.report.markdown import to_markdown
from rewind.report.page import render

BAD = "</script><script>alert(1)</script> & \" ' {{ data }} {% raw %}"


def page(*blocks, data=None):
    return Document(BAD, BAD, [(BAD, BAD)], [Section("here", BAD, blocks)], data or {})


def test_texts_are_escaped_wherever_they_stand():
    pytest.importorskip("jinja2")
    cell = Cell(BAD, BAD, "lower", strong=True, picture=Interval(1, 0, 2, 1.5, reach=4))
    table = Table(BAD, [BAD, BAD], [Line(BAD, [cell], total=True)], note=BAD)
    bars = Bars(BAD, [Bar(BAD, 30.0, 1.0, 40.0, -2.0, "same"), Bar(BAD, None, None, None, None, "missing")], clip=20)
    chart = Chart("drawn", BAD, BAD, BAD, BAD, BAD)
    text = render(page(BAD, f"`{BAD}`", Fold(BAD, [table]), [bars], chart, data={"drawn": {BAD: BAD}, "a": 1}))
    assert text.count("<script") == 2 and "alert(1)</" not in text
    embedded = re.search(r'id="data">(.*?)</script>', text)[1]
    assert list(json.loads(embedded).items()) == [("drawn", {BAD: BAD}), ("a", 1)]  # as given, not sorted


def test_markdown_has_no_html_links_or_lines_of_a_name():
    name = "a](http://x) <img src=x> </p> |\n# b < 3"
    table = Table(name, [name, name], [Line(name, [Cell(name)])], note=name)
    text = to_markdown(Document(name, name, [(name, name)], [Section("s", name, [name, Fold(name, [table])])]))
    assert "](" not in text and "<img" not in text and "</p" not in text and text.count("b < 3") == 12
    assert [line for line in text.splitlines() if line.startswith("#")] == [f"{mark} {plain}" for mark, plain in
           zip(("#", "##"), 2 * [r"a]\(http://x) &lt;img src=x> &lt;/p> | # b < 3"], strict=True)]  # fmt: skip


def test_code_stands_between_backticks():
    pytest.importorskip("jinja2")
    assert "<p>Run <code>rewind &lt;x&gt;</code> now.</p>" in render(page("Run `rewind <x>` now."))


def test_a_table_has_a_cell_for_each_column():
    pytest.importorskip("jinja2")
    with pytest.raises(ValueError, match="zip"):
        render(page(Table("t", ["a", "b", "c"], [Line("x", [Cell("1")])])))


def test_without_jinja2_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[cli\]"):
        render(page())
