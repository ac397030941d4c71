"""Small pictures as SVG: an interval on a scale, bars beside the paper's. They need no script, and print."""

from __future__ import annotations

from rewind.report.document import KINDS, Bar, Bars, Interval
from rewind.report.markup import Html, element, joined

WIDTH, HEIGHT, EDGE = 144.0, 22.0, 5.0
LABELS, PLOT, ROW, TOP = 146.0, 150.0, 21.0, 18.0


def interval(picture: Interval) -> Html:
    """A line from low to high, a dot for ours, a ring for the paper's, a mark at zero."""

    def x(value: float) -> float:
        cut = max(-picture.reach, min(picture.reach, value))
        return round(WIDTH / 2 + cut / picture.reach * (WIDTH / 2 - EDGE), 1)

    middle = HEIGHT / 2
    parts = [element("line", x1=x(0), x2=x(0), y1=2, y2=HEIGHT - 2, class_="zero")]
    if picture.low is not None and picture.high is not None:
        parts.append(element("line", x1=x(picture.low), x2=x(picture.high), y1=middle, y2=middle, class_="range"))
    if picture.paper is not None:
        parts.append(element("circle", cx=x(picture.paper), cy=middle, r=4, class_="theirs"))
    parts.append(element("circle", cx=x(picture.value), cy=middle, r=3, class_="value"))
    return element("svg", *parts, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", class_="interval", aria_hidden="true")


def bars(panel: Bars) -> Html:
    """A panel of figure 3: a row for each data set, ours filled, the paper's outlined, cut at the clip."""
    height = TOP + ROW * len(panel.rows) + 4
    zero = LABELS + PLOT / 2
    parts = [
        element("text", f"{value:+g}" if value else "0", x=_x(value, panel.clip), y=11, text_anchor="middle")
        for value in (-panel.clip, 0, panel.clip)
    ]
    parts.append(element("line", x1=zero, x2=zero, y1=TOP - 3, y2=height, class_="zero"))
    parts += [_row(bar, TOP + ROW * place, panel.clip) for place, bar in enumerate(panel.rows)]
    told = "; ".join(_told(bar) for bar in panel.rows)
    drawn = element(
        "svg", *parts, viewBox=f"0 0 {LABELS + PLOT + 24:g} {height:g}", class_="bars", role="img",
        aria_label=f"{panel.title}, difference to the baseline. {told}",
    )  # fmt: skip
    return element("figure", element("figcaption", panel.title), drawn)


def _x(value: float, clip: float) -> float:
    cut = max(-clip, min(clip, value))
    return round(LABELS + PLOT / 2 * (1 + cut / clip), 1)


def _row(bar: Bar, top: float, clip: float) -> Html:
    parts = [element("text", bar.name, x=LABELS - 6, y=top + 12, text_anchor="end")]
    if bar.ours is not None:
        parts.append(_bar(bar.ours, top + 2, clip, "ours"))
        if bar.low is not None and bar.high is not None:
            low, high = _x(bar.low, clip), _x(bar.high, clip)
            parts.append(element("line", x1=low, x2=high, y1=top + 5.5, y2=top + 5.5, class_="whisker"))
    if bar.paper is not None:
        parts.append(_bar(bar.paper, top + 10, clip, "theirs"))
    parts.append(
        element("text", KINDS[bar.kind][0], x=LABELS + PLOT + 14, y=top + 12, text_anchor="middle", class_=bar.kind)
    )
    return joined(*parts)


def _bar(value: float, top: float, clip: float, kind: str) -> Html:
    """A bar from zero; a small arrow where it goes on."""
    ends = sorted((_x(0, clip), _x(value, clip)))
    drawn = element("rect", x=ends[0], y=top, width=max(round(ends[1] - ends[0], 1), 0.8), height=7, class_=kind)
    if abs(value) <= clip:
        return drawn
    tip, way = _x(value, clip), 1 if value > 0 else -1
    arrow = f"{tip},{top} {tip + 5 * way},{top + 3.5} {tip},{top + 7}"
    return joined(drawn, element("polygon", points=arrow, class_="cut"))


def _told(bar: Bar) -> str:
    ours = "no runs yet" if bar.ours is None else f"ours {bar.ours:+.1f}"
    theirs = "" if bar.paper is None else f", paper {bar.paper:+.1f}"
    return f"{bar.name}: {ours}{theirs}"
