"""Sections of a report inside a page that a person writes: what stands between two marks is written anew.

<!-- report: claims -->
...
<!-- end of report -->
"""

from __future__ import annotations

import re

from rewind.errors import UsageError, unknown_name
from rewind.report.document import Document
from rewind.report.markdown import facts_text, section_text

BEGIN, END = "<!-- report: {} -->", "<!-- end of report -->"
MARKED = re.compile(BEGIN.format(r"(\w+)") + r".*?" + END, re.DOTALL)


def insert(document: Document, page: str) -> str:
    """The page with its marked parts as the document has them: `facts`, or a section by its name."""
    parts = {"facts": facts_text(document)} | {each.name: section_text(each) for each in document.sections}
    if not MARKED.search(page):
        raise UsageError(f"no place for the report: expected {BEGIN.format('NAME')} and {END}, NAME one of "
                         f"{', '.join(parts)}")  # fmt: skip

    def written(found: re.Match[str]) -> str:
        name = found[1]
        if name not in parts:
            raise unknown_name("section", name, parts)
        return f"{BEGIN.format(name)}\n\n{parts[name]}\n\n{END}"

    return MARKED.sub(written, page)
