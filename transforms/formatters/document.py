"""Reads YAML as data with line numbers: bounded in size, depth and aliases, and never constructed.

PyYAML parses it to events; nothing is built from their tags. Its loaders also compose the events,
and the C one overflows the stack on deep nesting, so that is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from transforms.errors import Place
from transforms.formatters.refusals import bad_configuration

LIMIT = 1 << 20  # bytes
_ITEMS = 50_000  # an alias counts as all that it stands for
_DEPTH = 50
_STRING = "tag:yaml.org,2002:str"
_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar that is no text: a number, a boolean, null or a date, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """A value and where it stands."""

    value: str | Scalar | list[Item] | dict[str, Item]
    path: str
    line: int  # 1-based

    @property
    def place(self) -> Place:
        """The line of the file it stands on."""
        return Place(self.path, self.line)

    def text(self, name: str) -> str:
        """Give its text; refused if it is anything else."""
        if not isinstance(self.value, str):
            hint = ' Quote it, as in "23.1".' if isinstance(self.value, Scalar) else ""
            raise bad_configuration(f"`{name}` is no text.{hint}", self.place)
        return self.value

    def items(self, name: str) -> list[Item]:
        """Give the items of a list; refused if it is none."""
        if not isinstance(self.value, list):
            raise bad_configuration(f"`{name}` is no list.", self.place)
        return self.value

    def texts(self, name: str) -> list[str]:
        """Give a list of texts; refused if it is anything else."""
        return [item.text(f"{name} item") for item in self.items(name)]

    def table(self, name: str) -> dict[str, Item]:
        """Give its keys and values; refused if it is no mapping."""
        if not isinstance(self.value, dict):
            raise bad_configuration(f"`{name}` is no mapping.", self.place)
        return self.value

    def is_true(self) -> bool:
        """Tell whether it is YAML's true."""
        return isinstance(self.value, Scalar) and self.value.text.lower() in {"true", "yes", "on"}


def read_yaml(path: str, data: bytes) -> Item:
    """Parse the first document. Raises `Refusal("formatter-configuration")` with the line."""
    import yaml

    if len(data) > LIMIT:
        raise bad_configuration(
            f"The file has {len(data):,} bytes; configuration is read up to {LIMIT:,}.",
            Place(path),
        )
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Composer(path, yaml.parse(data.decode("utf-8-sig"), Loader=loader)).document()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad_configuration("The file is not UTF-8.", Place(path, line)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = mark.line + 1 if mark else None
        raise bad_configuration(f"This is not YAML: {error.problem}.", Place(path, at)) from None
    except yaml.YAMLError:
        raise bad_configuration("This is not YAML.", Place(path)) from None


class _Composer:
    """Makes items of events, counting each: an alias counts as all that it stands for."""

    def __init__(self, path: str, events: Iterator[Any]) -> None:
        from yaml.nodes import ScalarNode
        from yaml.resolver import Resolver

        resolver: Any = Resolver()
        self.path = path
        self.events = events
        self.left = _ITEMS
        self.anchors: dict[str, tuple[Item, int]] = {}  # the item, and how many it counts
        self._resolve: Callable[[str], Any] = lambda text: resolver.resolve(
            ScalarNode, text, (True, False)
        )

    def document(self) -> Item:
        """Compose the first document; an empty one is a mapping without keys."""
        for event in self.events:
            if event.__class__.__name__ in {"StreamStartEvent", "DocumentStartEvent"}:
                continue
            if event.__class__.__name__ == "StreamEndEvent":
                break
            return self._item(event, 0)
        return Item({}, self.path, 1)

    def _item(self, event: Any, depth: int) -> Item:
        line = event.start_mark.line + 1
        before = self.left
        self._count(1, depth, line)
        kind = event.__class__.__name__
        if kind == "AliasEvent":
            return self._alias(event, depth, line)
        value: str | Scalar | list[Item] | dict[str, Item]
        if kind == "ScalarEvent":
            value = self._scalar(event)
        elif kind == "SequenceStartEvent":
            value = [self._item(inner, depth + 1) for inner in self._until("SequenceEndEvent")]
        else:
            value = self._mapping(depth, line)
        item = Item(value, self.path, line)
        if event.anchor:
            self.anchors[event.anchor] = (item, before - self.left)
        return item

    def _until(self, end: str) -> Iterator[Any]:
        for event in self.events:
            if event.__class__.__name__ == end:
                return
            yield event

    def _scalar(self, event: Any) -> str | Scalar:
        text = str(event.value)
        if event.tag:
            return text if event.tag == _STRING else Scalar(text)
        plain = event.implicit[0]
        return text if not plain or self._resolve(text) == _STRING else Scalar(text)

    def _alias(self, event: Any, depth: int, line: int) -> Item:
        if event.anchor not in self.anchors:  # or it is still open: it would hold itself
            raise bad_configuration(
                f"`*{event.anchor}` stands for nothing.", Place(self.path, line)
            )
        item, size = self.anchors[event.anchor]
        self._count(size, depth, line)
        return Item(item.value, self.path, line)

    def _mapping(self, depth: int, line: int) -> dict[str, Item]:
        merged: dict[str, Item] = {}
        own: dict[str, Item] = {}
        for event in self._until("MappingEndEvent"):
            if event.__class__.__name__ != "ScalarEvent":
                raise bad_configuration("A key is no text.", Place(self.path, line))
            item = self._item(next(self.events), depth + 1)
            if event.value == _MERGE and event.implicit[0]:
                for part in item.value if isinstance(item.value, list) else [item]:
                    for name, value in part.table("<<").items():
                        merged.setdefault(name, value)
            else:
                own[str(event.value)] = item
        return {**merged, **own}

    def _count(self, items: int, depth: int, line: int) -> None:
        self.left -= items
        if self.left < 0 or depth > _DEPTH:
            raise bad_configuration(
                "This YAML is out of bounds: nested too deeply, or its aliases make it too large.",
                Place(self.path, line),
            )
