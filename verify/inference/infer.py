"""The whole inference: from two commits to a plan that replays, or to what keeps it from that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.reading.load import dump_plan, parse_plan
from transforms.reading.model import Plan
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from verify.history.ranges import differing, entries_at
from verify.inference.draft import Draft
from verify.inference.evidence import Evidence, gather
from verify.inference.relocated import relocated
from verify.inference.remainder import authored, named_paths, why_unsayable
from verify.inference.search import Search
from verify.inference.share import Share, share
from verify.inference.trials import Trial, Trials
from verify.proofs.replay import Replay, compared, replay


@dataclass(frozen=True, slots=True)
class Inferred:
    """A plan with its text, what it gives, and what a reader should know of how it was chosen.

    `left` are paths that no plan can give: deleted beside the move, binary, links, changed modes.
    `notes` are of what was ambiguous, `without` of formatters that could not be had.
    """

    plan: Plan
    text: str
    replay: Replay
    share: Share
    notes: tuple[str, ...]
    left: tuple[str, ...]
    without: str = ""

    @property
    def holds(self) -> bool:
        """Whether the plan gives the change exactly, and moves what moved."""
        return self.replay.reproduces and self.share.enough


def infer(base: GitTree, target: GitTree, title: str = "") -> Inferred:
    """Find the plan. Raises `Refusal` where nothing moved."""
    with parsed_once():
        return _infer(base, target, title)


def _infer(base: GitTree, target: GitTree, title: str) -> Inferred:
    evidence = gather(base, target)
    whole = relocated(base, target, evidence)
    trials = Trials(base, target, evidence.old)
    best = _best(base, target, title, evidence, whole, trials)
    if best is None:
        raise Refusal(
            "nothing-moved",
            "No top-level name left one Python file for another in this range.",
            next_step="Look at it with `repot certify`, or choose another range.",
        )
    if best.outcome is not None:
        best = trials.attempt(best.plan, cycles=True)
    if best.outcome is None:
        raise best.refusal or AssertionError("neither an outcome nor a refusal")
    plan, left = _completed(best, base, target)
    _require_sayable(plan)
    text = dump_plan(plan, _comments(plan))
    try:
        plan = parse_plan(text.encode(), "inferred plan")
        if plan == best.plan:
            done = compared(best.outcome, base, target)
        else:
            done = replay(plan, base, target, trials.formatters(plan.formatters), tree=trials.tree)
    except Refusal:  # literal text that no plan may have: all of it is left over
        plan, left, text = best.plan, tuple(sorted(best.off)), dump_plan(best.plan)
        done = compared(best.outcome, base, target)
    notes = evidence.notes if plan.sources else ()  # a module that moved whole leaves no doubt
    how_much = share(evidence, best.given)
    return Inferred(plan, text, done, how_much, notes, left, trials.without)


def _best(
    base: GitTree,
    target: GitTree,
    title: str,
    evidence: Evidence,
    whole: dict[str, str],
    trials: Trials,
) -> Trial | None:
    """Move modules whole where they went whole, and else symbol by symbol: what comes nearer.

    None where nothing moved but stubs, which go with their modules.
    """
    found: Trial | None = None
    whole = {old: new for old, new in whole.items() if not _opened(old, new, evidence)}
    if whole:
        pairs = {**whole, **{f"{old}i": f"{new}i" for old, new in whole.items()}}
        beside = tuple(m for m in evidence.moved if pairs.get(m.source) != m.destination)
        draft = Draft(base, target, replace(evidence, moved=beside), whole)
        found = Search(draft, trials).best(draft.plan(title))
        if found.outcome is not None and _is_near(found, evidence, whole):
            return found
    draft = Draft(base, target, evidence)
    if not draft.moves:
        return found
    symbols = Search(draft, trials).best(draft.plan(title))
    return symbols if found is None or symbols.cost < found.cost else found


def _opened(old: str, new: str, evidence: Evidence) -> bool:
    """Whether a module turned into a package of its name, and `new` has only what is left of it."""
    inside = f"{old[:-3]}/"
    goals = {m.destination for m in evidence.moved if m.source == old} - {new}
    return new.startswith(inside) and any(path.startswith(inside) for path in goals)


def _is_near(found: Trial, evidence: Evidence, whole: Collection[str]) -> bool:
    """Whether a plan gives nearly all: another one would hardly come nearer.

    Unless something is at the old path of a module that went whole: its symbols may have left.
    """
    if found.exact:
        return True
    moved = share(evidence, found.given)
    near = moved.enough and 10 * sum(found.off.values()) <= moved.lines
    return near and found.off.keys().isdisjoint(whole)


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
