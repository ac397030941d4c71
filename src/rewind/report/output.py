"""Where a document goes: an HTML page, Markdown, and sections inside a page that a person writes.

In such a page, what stands between two marks is written anew:

<!-- report: claims -->
...
<!-- end of report -->
"""

import re
from collections.abc import Sequence
from pathlib import Path

from rewind.errors import UsageError, unknown_name
from rewind.files import whole_file
from rewind.report.document import Document
from rewind.report.markdown import facts_text, section_text, to_markdown
from rewind.report.page import render

BEGIN, END = "<!-- report: {} -->", "<!-- end of report -->"
MARKED = re.compile(BEGIN.format(r"(\w+)") + r".*?" + END, re.DOTALL)


def write_document(document: Document, page: Path, markdown: Path | None = None, into: Sequence[Path] = ()) -> None:
    """Write all of them, or none where one of them cannot be made."""
    texts = {page: render(document)}
    if markdown is not None:
        texts[markdown] = to_markdown(document)
    for path in into:
        if path in texts:
            raise UsageError(f"{path} would be written twice; give --into another page than --out and --markdown")
        texts[path] = insert(document, _read(path))
    for path, text in texts.items():
        _write(path, text)


def write_into(document: Document, page: Path) -> None:
    """Write the marked parts of one page anew."""
    _write(page, insert(document, _read(page)))


def _write(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"wrote {path}")


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{page} cannot be read: {error.strerror}; --into takes an existing page") from error


def insert(document: Document, page: str) -> str:
    """The page with its marked parts as the document has them: `facts`, a section or an extract by its name."""
    sections = (*document.sections, *document.extracts)
    parts = {"facts": facts_text(document)} | {section.name: section_text(section) for section in sections}
    if not MARKED.search(page):
        raise UsageError(f"no place for the report: expected {BEGIN.format('NAME')} and {END}, NAME one of "
                         f"{', '.join(parts)}")  # fmt: skip

    def written(mark: re.Match[str]) -> str:
        name = mark[1]
        if name not in parts:
            raise unknown_name("section", name, parts)
        return f"{BEGIN.format(name)}\n\n{parts[name]}\n\n{END}"

    return MARKED.sub(written, page)
