"""The whole inference: from two commits to a plan that replays, or to what keeps it from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.reading.load import dump_plan, parse_plan
from transforms.reading.model import Plan
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from verify.history.ranges import differing, entries_at
from verify.inference.draft import Draft
from verify.inference.evidence import Evidence, gather
from verify.inference.modules import WholeMoves
from verify.inference.remainder import authored, named_paths, why_unsayable
from verify.inference.remembered import RememberedTree
from verify.inference.search import Search, Trial
from verify.kernel.verdict import Certificate
from verify.proofs.certify import certify_commits
from verify.proofs.prove import formatters_of
from verify.proofs.replay import Replay, replay


@dataclass(frozen=True, slots=True)
class Inferred:
    """A plan with its text, what it gives, and what a reader should know of how it was chosen.

    `left` are paths that no plan can give: deleted beside the move, binary, links, changed modes.
    """

    plan: Plan
    text: str
    replay: Replay
    certificate: Certificate
    notes: tuple[str, ...]
    left: tuple[str, ...]


def infer(
    base: GitTree,
    target: GitTree,
    title: str = "",
    certificate: Callable[[], Certificate] | None = None,
) -> Inferred:
    """Find the plan. Raises `Refusal` where nothing moved.

    `certificate` gives the change's certificate where somebody else makes one.
    """
    certify = certificate or partial(certify_commits, base, target)
    with parsed_once():
        return _infer(base, target, title, certify)


def _infer(
    base: GitTree, target: GitTree, title: str, certify: Callable[[], Certificate]
) -> Inferred:
    evidence = gather(base, target)
    if not evidence.moved and not _went(base, target):
        raise _nothing_moved()
    certificate = certify()
    if not evidence.moved and not certificate.relocated:
        raise _nothing_moved()
    formatters = cache(partial(formatters_of, base=base))  # the repository's are looked up once
    tree = RememberedTree(base)
    best = _best(
        base,
        target,
        title,
        evidence,
        certificate,
        partial(Search, formatters=formatters, tree=tree),
    )
    if best.refusal is not None:
        raise best.refusal
    plan, left = _completed(best, base, target)
    _require_sayable(plan)
    text = dump_plan(plan, _comments(plan))
    plan = parse_plan(text.encode(), "inferred plan")
    done = replay(plan, base, target, formatters(plan.formatters), tree)
    notes = evidence.notes if plan.sources else ()  # a module that moved whole leaves no doubt
    return Inferred(plan, text, done, certificate, notes, left)


def _went(base: GitTree, target: GitTree) -> bool:
    """Whether Python files left and others came, so that modules may have moved whole."""
    paths = [path for path in differing(base, target) if path.endswith(".py")]
    left = any(path not in target.entries() for path in paths)
    return left and any(path not in base.entries() for path in paths)


def _nothing_moved() -> Refusal:
    return Refusal(
        "nothing-moved",
        "No top-level name left one Python file for another in this range.",
        next_step="Look at it with `repot certify`, or choose another range.",
    )


def _best(
    base: GitTree,
    target: GitTree,
    title: str,
    evidence: Evidence,
    certificate: Certificate,
    search: Callable[[Draft, Evidence], Search],
) -> Trial:
    """Move modules whole where they went whole, and else symbol by symbol: what comes nearer."""
    found: Trial | None = None
    if certificate.relocated:
        gone, come = (_and_stubs(paths) for paths in zip(*certificate.relocated, strict=True))
        rest = tuple(m for m in evidence.moved if not {m.source} & gone | {m.destination} & come)
        beside = replace(evidence, moved=rest)
        draft = Draft(base, target, beside, certificate)
        whole = draft.with_modules(draft.plan(title), WholeMoves(base, target, certificate))
        found = search(draft, beside).best(whole)
        if found.exact or not evidence.moved:
            return found
    draft = Draft(base, target, evidence, certificate)
    symbols = search(draft, evidence).best(draft.plan(title))
    return symbols if found is None or symbols.cost < found.cost else found


def _and_stubs(paths: Iterable[str]) -> set[str]:
    return {found for path in paths for found in (path, f"{path}i")}


def _require_sayable(plan: Plan) -> None:
    for path in named_paths(plan):
        why = why_unsayable(path)
        if why:
            raise Refusal(
                "unsayable-path",
                f"Code moved from or to a file that no plan can name. {why}",
                next_step="Rename the file in a commit of its own, or judge the change without a "
                "plan: `repot certify`.",
                place=Place(path),
            )


def _completed(best: Trial, base: GitTree, target: GitTree) -> tuple[Plan, tuple[str, ...]]:
    paths = sorted({*best.off, *differing(base, target)})
    had = entries_at(base, paths)
    given = {path: best.given[path] if path in best.given else had.get(path) for path in paths}
    return authored(best.plan, given, entries_at(target, paths), best.off)


def _comments(plan: Plan) -> dict[str, str]:
    names = [str(file.file) for file in plan.files] + [str(edit.file) for edit in plan.edits]
    return dict.fromkeys(names, "Not derived by any rule: read these lines.")


def write_plan(text: str, path: Path) -> None:
    """Write a plan's text. Raises `Refusal` if that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Refusal(
            "unwritable-plan",
            f"The plan cannot be written to {path}: {error.strerror}.",
            next_step="Name a file in a folder that exists and that you may write to.",
        ) from None
