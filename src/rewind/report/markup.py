"""HTML from Python, escaped where it is made."""

from __future__ import annotations

import html
import json
from typing import Any


class Html(str):
    """Text that is markup already; any other text is escaped on its way into an element."""


def element(name: str, *children: Any, **attributes: Any) -> Html:
    """`element("p", "1 < 2", class_="note")`; attributes of None or False are left out, children of None too."""
    inner = "".join(escaped(child) for child in children if child is not None)
    return Html(f"<{name}{_attributes(attributes)}>{inner}</{name}>")


def escaped(value: Any) -> str:
    return value if isinstance(value, Html) else html.escape(str(value))


def joined(*parts: Any) -> Html:
    return Html("".join(escaped(part) for part in parts if part is not None))


def _attributes(attributes: dict[str, Any]) -> str:
    told = ""
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        told += f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
    return told


def embedded_json(data: Any) -> Html:
    """JSON that can stand inside a script element whatever texts it holds."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
