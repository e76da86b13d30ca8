from __future__ import annotations

from tests.documents import ROOT, fences

PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")


def test_the_example_for_engines_runs() -> None:
    example, *others = [fence.text for fence in fences(PAGE) if fence.language == "python"]
    found: dict[str, object] = {}
    exec(compile(example, "docs/engine.md", "exec"), found)  # noqa: S102 - our own page
    host, page = found["host"], found["page"]
    assert host.available_size() == 1024  # type: ignore[attr-defined]
    assert page.numel() == 2 * 3 * 16 * 2 * 8  # type: ignore[attr-defined]
    for other in others:  # these say themselves what must hold
        exec(compile(other, "docs/engine.md", "exec"), {})  # noqa: S102 - our own page
