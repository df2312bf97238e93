"""A chart's specification as SVG that a page may hold: no id, no style, no script, no address.

Vega draws. What comes of it is read again, and only what is named here is kept: shapes and text,
with what places and colours them. A mark that says what it is becomes one that a reader can be
led to; a link keeps the part that leads into the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree as Xml

from markupsafe import Markup

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.report.html.theme import CONFIG, SCHEMA
from pytest_ctxguard.report.printable import printable

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
PLACES = frozenset(("d", "transform", "x", "x2", "y", "y2", "width", "height", "text-anchor"))
INHERITED = ("fill", "stroke", "stroke-width", "text-anchor", "font-size", "font-weight")
KEPT = PLACES.union(
    INHERITED,
    ("aria-hidden", "aria-label"),
    ("fill-opacity", "opacity", "stroke-dasharray", "stroke-opacity"),
)
LONGEST = 300  # characters of one text
TAGS = frozenset(("g", "path", "line", "rect", "text"))
LONG = re.compile(r"(\d\.\d)\d+")
FRAGMENT = re.compile(r"#([A-Za-z][A-Za-z0-9-]*)$")


def require_drawing() -> None:
    """Make sure that charts can be drawn.

    Raises:
        UsageError: the library is not installed.
    """
    if find_spec("vl_convert") is None:
        raise UsageError(
            "an HTML report needs the package vl-convert-python, which draws its charts: "
            "pip install 'pytest-ctxguard[html]'; or write .json or .md"
        )


def draw(spec: Mapping[str, Any], *, title: str) -> Markup:
    """Return a chart as an ``svg`` element.

    Args:
        spec: Vega-Lite, without what all charts have in common.
        title: what it is called.
    """
    import vl_convert

    whole = _clean({"$schema": SCHEMA, "config": CONFIG, **spec})
    drawn = Xml.fromstring(  # noqa: S314 - what the library just wrote, with every text escaped
        vl_convert.vegalite_to_svg(whole, allowed_base_urls=[])
    )
    width, height = drawn.attrib["width"], drawn.attrib["height"]
    made = Xml.Element(
        "svg",
        {
            "viewBox": f"0 0 {width} {height}",
            "width": width,
            "height": height,
            "role": "graphics-document",
            "aria-roledescription": "chart",
            "aria-label": printable(title),
        },
    )
    for child in drawn:
        _keep(child, made, marks=False)
    return Markup(Xml.tostring(made, encoding="unicode"))  # noqa: S704 - rebuilt by the table above


def _clean(value: Any) -> Any:
    """Spell out control characters and cut what is long.

    The library's measuring of text ends the process at characters that XML does not have.
    """
    if isinstance(value, str):
        return printable(value if len(value) <= LONGEST else f"{value[:LONGEST]}…")
    if isinstance(value, Mapping):
        return {key: _clean(each) for key, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list | tuple) else value


def _keep(drawn: Xml.Element, parent: Xml.Element, *, marks: bool) -> None:
    tag = drawn.tag.removeprefix(SVG)
    if tag == "a":
        found = FRAGMENT.search(drawn.get(f"{XLINK}href", ""))
        if found is not None:
            label = "".join(child.get("aria-label", "") for child in drawn)
            link = {"href": f"#{found.group(1)}", "aria-label": label}
            parent = Xml.SubElement(parent, "a", link)
        for child in drawn:
            _keep(child, parent, marks=marks and found is None)
        return
    kinds = drawn.get("class", "").split()
    unseen = "background" in kinds and not {"fill", "stroke"} & drawn.attrib.keys()
    if tag not in TAGS or unseen or drawn.get("display") == "none":
        return
    marks = marks or "role-mark" in kinds
    kept = {k: _short(k, v) for k, v in drawn.attrib.items() if k in KEPT}
    if kept.get("opacity") == "1":
        del kept["opacity"]
    if marks and tag != "g" and kept.get("aria-label"):
        kept["role"] = "graphics-symbol"
    else:
        kept.pop("aria-label", None)
    made = Xml.SubElement(parent, tag, kept)
    made.text = drawn.text
    for child in drawn:
        _keep(child, made, marks=marks)
    if tag != "g":
        return
    if not len(made):
        parent.remove(made)
    for name in INHERITED:
        values = {child.get(name) for child in made}
        if len(made) > 1 and len(values) == 1 and None not in values:
            made.set(name, values.pop() or "")
            for child in made:
                del child.attrib[name]


def _short(name: str, value: str) -> str:
    return LONG.sub(r"\1", value) if name in PLACES else value
