"""A document as one HTML page that needs nothing else: style, script and figures are inside.

`report.html` is the page, `blocks.html` its tables and frames of charts, `pictures.html` its small pictures (SVG).
"""

from importlib import resources

from rewind.errors import require
from rewind.report.document import KINDS, Document


def render(document: Document) -> str:
    jinja2 = require("jinja2", "cli")
    pages = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    pages.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}  # not sorted
    pages.globals |= {"KINDS": KINDS, "text_of": _text, "zip": zip}
    pages.filters |= {"kind": lambda block: type(block).__name__, "scaled": _scaled}
    page: str = pages.get_template("report.html").render(document=document)
    return page


def _text(name: str) -> str:
    return (resources.files("rewind.report.page") / name).read_text(encoding="utf-8")


def _scaled(value: float, reach: float, middle: float, half: float) -> float:
    """Where `value` is drawn on a scale from -reach to reach that is 2 * half wide."""
    return round(middle + max(-1.0, min(1.0, value / reach)) * half, 1)
