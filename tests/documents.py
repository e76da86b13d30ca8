"""Reads the project's Markdown: its fenced blocks, tables, headings and links, and its examples.

An example is a plan in a `toml` block, with the files before it and what is shown after it:

    ```python       its first line is `# PATH`: a file of the tree before the move;
                    `# PATH, after`: a file as the move leaves it
    ```toml         the plan; see `whole_plan` for what `# ...` at its top stands for
    ```diff         parts of the move's diff, without git's `diff` and `index` lines
    ```console      commands after `$ `, and what they print; a line `...` stands for any lines

A plan without files before it is about the files of the first example of its page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    path for found in ("*.md", "docs/*.md", "skills/*/*.md") for path in sorted(ROOT.glob(found))
]

_FENCE = re.compile(r"(?ms)^```([\w-]*)\n(.*?)^```$")
_FILE = re.compile(r"# ([\w./-]+)(, after)?\n")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"(?m)^#{1,6} (.+)$")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Fence:
    """One fenced block: its language, its text and the line that it starts on."""

    language: str
    text: str
    line: int


@dataclass
class Example:
    """A plan, the tree that it is about, and the blocks that show what it does."""

    page: Path
    line: int
    plan: str
    tree: dict[str, str]
    shown: list[Fence] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def fences(text: str) -> list[Fence]:
    """List the fenced blocks of a page."""
    return [
        Fence(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def prose(text: str) -> str:
    """Give a page without its fenced blocks and code spans, which hold no links."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def links(text: str) -> list[str]:
    """List where a page's links lead."""
    return _LINK.findall(prose(text))


def anchors(text: str) -> set[str]:
    """Give the anchors of a page's headings as GitHub makes them."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings}


def sections(text: str) -> dict[str, str]:
    """Give the text below each heading, down to the next one, by the heading's words."""
    parts = re.split(r"(?m)^#{1,6} (.+)$", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> Iterator[list[str]]:
    """Give the cells of all table rows of a text, heads and rules left out."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and lines[number + 1].startswith("|---")
        if line.startswith("|") and not line.startswith("|---") and not is_head:
            yield [cell.strip() for cell in _CELL.split(line)[1:-1]]


def coded(cell: str) -> str:
    """Give the text of a cell that is one code span; the cell itself if it is not."""
    return cell[1:-1] if re.fullmatch(r"`[^`]+`", cell) else cell


def examples(page: Path) -> list[Example]:
    """List the examples of a page, in order."""
    found: list[Example] = []
    tree: dict[str, str] = {}
    for fence in fences(page.read_text(encoding="utf-8")):
        if fence.language == "toml":
            files = tree or (found[0].tree if found else {})
            plan = whole_plan(fence.text)
            found.append(Example(page, fence.line, plan, files))
            tree = {}
        elif fence.language == "python" and (head := _FILE.match(fence.text)):
            if head[2]:
                found[-1].shown.append(fence)
            else:
                tree[head[1]] = fence.text[head.end() :]
        elif fence.language in ("diff", "console") and found:
            found[-1].shown.append(fence)
    return found


def whole_plan(text: str) -> str:
    """Complete a plan that `# ...` marks as a part: its format, and the source it is about."""
    if not text.startswith("# ...\n"):
        return text
    source = "" if "[[source]]" in text else '\n[[source]]\nmodule = "shop.orders"\n'
    return "format = 1\n" + text.removeprefix("# ...\n") + source


def file_shown(fence: Fence) -> tuple[str, str]:
    """Give the path and text of a `python` block."""
    head = _FILE.match(fence.text)
    assert head, f"line {fence.line}: the block does not begin with `# PATH`"
    return head[1], fence.text[head.end() :]


def diff_sections(text: str) -> dict[str, str]:
    """Part a diff by file, without git's own lines."""
    lines = [
        line
        for line in text.splitlines(keepends=True)
        if not re.match(r"(diff --git|index|new file mode|deleted file mode) ", line)
    ]
    parts = re.split(r"(?m)^(?=--- )", "".join(lines))
    return {part.split("\n")[0]: part for part in parts if part}


def commands(text: str) -> list[tuple[str, str]]:
    """List the commands of a `console` block, each with what it prints."""
    parts = re.split(r"(?m)^\$ (.*)\n", text)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def is_printed(wanted: str, found: str) -> bool:
    """Whether a command printed what a page shows; a line `...` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line)
        for line in wanted.splitlines(keepends=True)
    )
    return re.fullmatch(pattern, found) is not None
