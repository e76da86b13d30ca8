"""The JSON Schema of what every tool gives; `docs/schema/mcp.json` is the same, as a file."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_PLACE = {
    "type": ["object", "null"],
    "properties": {
        "path": _TEXT,
        "line": {"type": ["integer", "null"], "minimum": 1},
        "column": {"type": ["integer", "null"], "minimum": 1},
    },
    "required": ["path", "line", "column"],
}
_REFUSAL = {
    "description": "Why nothing was judged or written; `kind` is a stable id.",
    "type": ["object", "null"],
    "properties": {
        "kind": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
        "cause": _TEXT,
        "next_step": _TEXT,
        "place": _PLACE,
        "excerpt": {"type": ["string", "null"]},
    },
    "required": ["kind", "cause", "next_step", "place", "excerpt"],
}
_ACCEPTED = {
    "type": "object",
    "properties": {"kind": _TEXT, "module": _TEXT, "symbol": _TEXT, "reason": _TEXT},
    "required": ["kind", "module", "symbol", "reason"],
}
_ROW = {
    "description": "One row of a list of the report; a long one is given in parts.",
    "type": "object",
    "properties": {
        "list": _TEXT,
        "key": _TEXT,
        "value": True,
        "part": {"type": "integer", "minimum": 1},
        "parts": {"type": "integer", "minimum": 1},
        "text": _TEXT,
        "json": _TEXT,
    },
    "required": ["list"],
    "oneOf": [
        {"required": ["value"]},
        {"required": ["part", "parts", "text"]},
        {"required": ["part", "parts", "json"]},
    ],
}
RESULT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A page of what a tool of `repot mcp` gives",
    "type": "object",
    "properties": {
        "accepted": {
            "description": "What the plan accepts: nobody proves it, so it comes first.",
            "type": "array",
            "items": _ACCEPTED,
        },
        "command": _TEXT,
        "verdict": {"enum": ["holds", "differs", "unjudged", "fault"]},
        "headline": _TEXT,
        "summary": {"type": "array", "items": _TEXT},
        "refusal": _REFUSAL,
        "fault": {"type": ["object", "null"]},
        "head": {"type": "object"},
        "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "rows": {"type": "array", "items": _ROW},
        "page": {"type": "integer", "minimum": 1},
        "pages": {"type": "integer", "minimum": 1},
        "next": {"description": "What `page` takes.", "type": ["string", "null"]},
    },
    "required": ["command", "rows", "page", "pages", "next"],
}
