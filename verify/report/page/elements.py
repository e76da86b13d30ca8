"""Elements of a page: a tree, so that text can never turn into markup.

The standard library writes the tree out and escapes what is in it. What a browser would not show as
it is, such as a bidirectional control, is made visible here, in every text and attribute, and what
nobody would read whole is cut.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring  # written, never parsed

from verify.report.escape import visible, visible_code
from verify.report.report import shortened

_END = 500  # characters at each end of a text that is cut

Child = Element | str | None


def element(tag: str, *children: Child, **attributes: str | int | None) -> Element:
    """Make an element; what is `None` is left out.

    Attributes are written with `_` for `-`; one that ends in `_` stands for its name without it,
    such as `class_`.
    """
    given = {
        name.rstrip("_").replace("_", "-"): _shown(str(value))
        for name, value in attributes.items()
        if value is not None
    }
    made = Element(tag, given)
    last: Element | None = None
    for child in children:
        if isinstance(child, str):
            text = _shown(child)
            if last is None:
                made.text = (made.text or "") + text
            else:
                last.tail = (last.tail or "") + text
        elif child is not None:
            made.append(child)
            last = child
    return made


def one_line(text: str) -> str:
    """Show text that has no lines of its own, such as a path: a line break in it is seen."""
    return visible(shortened(text, _END))


def _shown(text: str) -> str:
    return shortened(visible_code(shortened(text, _END)), _END)


def written(root: Element) -> str:
    """Write a whole page: ASCII alone, the same bytes for the same tree."""
    text = "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")
