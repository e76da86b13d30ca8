"""The whole inference: from two commits to a plan that replays, or to what keeps it from that."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.reading.load import dump_plan, parse_plan
from transforms.reading.model import Plan
from transforms.reading.schema import locate_keys
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from verify.history.ranges import differing, entries_at
from verify.inference.draft import Draft
from verify.inference.evidence import Evidence, gather
from verify.inference.relocated import relocated
from verify.inference.remainder import Lack, authored, named_paths, why_unsayable
from verify.inference.search import Search
from verify.inference.share import Share, share
from verify.inference.trials import Trial, Trials
from verify.proofs.replay import Replay, compared, replay

_PLAN = "inferred plan"
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_MOST_UNFIT = 8  # files whose literal text no plan may have, each found by one replay


@dataclass(frozen=True, slots=True)
class Inferred:
    """A plan with its text, what it gives, and what a reader should know of how it was chosen.

    `left` are paths that no plan can give: binary, links, what machines run by themselves.
    `notes` are of what was ambiguous, `without` of formatters that could not be had.
    """

    plan: Plan
    text: str
    replay: Replay
    share: Share
    notes: tuple[str, ...]
    left: tuple[str, ...]
    without: Refusal | None = None

    @property
    def holds(self) -> bool:
        """Whether the plan gives the change exactly, and moves what moved."""
        return self.replay.reproduces and self.share.enough

    @property
    def inferred(self) -> bool:
        """Whether all but what no plan can say is found: that is left over, and shown."""
        apart = {hunk.path for hunk in self.replay.hunks}
        return apart.issubset(self.left) and self.share.enough


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
        raise _nothing(evidence)
    if best.outcome is not None:
        best = trials.attempt(best.plan, cycles=True)
    if best.outcome is None:
        raise best.refusal or AssertionError("neither an outcome nor a refusal")
    plan, left, text, done = _completed(best, base, target, trials)
    notes = evidence.notes if plan.sources else ()  # a module that moved whole leaves no doubt
    how_much = share(evidence, best.given)
    return Inferred(plan, text, done, how_much, notes, left, trials.without)


def _nothing(evidence: Evidence) -> Refusal:
    cause = "No top-level name left one Python file for another in this range."
    step = "Look at it with `repot certify`, or choose another range."
    if evidence.unread:
        count = len(evidence.unread)
        files = f"{count} changed Python files do" if count > 1 else "A changed Python file does"
        cause = f"{cause[:-1]}, as far as it can be read: {files} not parse on Python {_PYTHON}."
        step = "Run Repot on a Python that reads them; what none reads has no plan."
    return Refusal(
        "nothing-moved",
        cause,
        next_step=step,
        place=evidence.unread[0] if evidence.unread else None,
    )


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


def _completed(
    best: Trial, base: GitTree, target: GitTree, trials: Trials
) -> tuple[Plan, tuple[str, ...], str, Replay]:
    """Write out what a plan lacks, and replay it: with the paths that no plan can give."""
    paths = sorted({*best.off, *differing(base, target)})
    had, wanted = entries_at(base, paths), entries_at(target, paths)
    unfit: set[str] = set()
    while True:
        lacks = [
            Lack(path, had.get(path), best.given.get(path, had.get(path)), wanted.get(path))
            for path in sorted(best.off.keys() - unfit)
        ]
        plan, left = authored(best.plan, lacks)
        _require_sayable(plan)
        text = dump_plan(plan, _comments(plan))
        left = tuple(sorted({*left, *unfit}))
        try:
            plan = parse_plan(text.encode(), _PLAN)
            if plan == best.plan and best.outcome is not None:
                return plan, left, text, compared(best.outcome, base, target)
            formatters = trials.formatters(plan.formatters)
            done = replay(plan, base, target, formatters, tree=trials.tree)
            return plan, left, text, done
        except Refusal as refusal:  # literal text that no plan may have is left over
            names = _authored_paths(plan)
            bad = _unfit(names, text, refusal)
            unfit |= best.off.keys() if bad is None or len(unfit) > _MOST_UNFIT else {bad}
            if not names:
                raise


def _authored_paths(plan: Plan) -> list[str]:
    """Give the files of the authored tables, in the order in which a plan is written."""
    names = [item.file for item in plan.files] + [item.file for item in plan.edits]
    return [str(name) for name in (*names, *(item.file for item in plan.deletions))]


def _unfit(paths: Sequence[str], text: str, refusal: Refusal) -> str | None:
    """Give the authored file that a refusal is about."""
    place = refusal.place
    if place is None or place.path != _PLAN:
        return place.path if place is not None and place.path in paths else None
    lines = locate_keys(text)
    found = [
        path
        for number, path in enumerate(paths)
        if lines.get(("author", number), 0) <= (place.line or 0)
    ]
    return found[-1] if found else None


def _comments(plan: Plan) -> dict[str, str]:
    return dict.fromkeys(_authored_paths(plan), "Not derived by any rule: read these lines.")


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
