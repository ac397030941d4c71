"""For the reference of the site: arguments in docstrings, as `name: meaning`, become a list.

mkdocstrings reads Google's, NumPy's and Sphinx's docstrings. Ours say the same in fewer words, and Markdown would run
them together into one paragraph. This is an extension of Griffe, which collects the docstrings.
"""

import re
from typing import Any

from griffe import Extension, Object

ARGUMENT = re.compile(r"^(\*{0,2}\w+(?:, \w+)*): (?=\S)")


def with_lists(text: str) -> str:
    """The arguments of a docstring as items of a list; everything else as it is."""
    lines, inside = [], False
    for number, line in enumerate(text.splitlines()):
        if number and (match := ARGUMENT.match(line)):
            if not inside and lines and lines[-1]:
                lines.append("")
            names = ", ".join(f"`{name}`" for name in match[1].split(", "))
            lines.append(f"- {names}: {line[match.end() :]}")
            inside = True
            continue
        inside = inside and line.startswith(" ")
        lines.append(line)
    return "\n".join(lines)


class DocstringLists(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_lists(obj.docstring.value)
