"""One commit of the scoreboard in a process of its own: inferred, certified or split, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from transforms import engine
from transforms.errors import Refusal
from transforms.formatters import repository_formatters
from transforms.reading.load import load_plan
from transforms.tree import GitTree
from verify.history.memory import collect_less_often
from verify.inference.infer import infer
from verify.proofs.certify import certify_commits
from verify.proofs.gate import gate
from verify.review.change import size_of

_JOBS = ("infer", "certify", "split")


def main(job: str, repo: str, commit: str, plan: str = "") -> None:
    """Do one job, and print what came of it. `plan` is what a split is made by."""
    collect_less_often()
    if job == "split":
        print(json.dumps(_split(GitTree(Path(repo), commit), Path(plan))))
        return
    base, target = GitTree(Path(repo), f"{commit}^"), GitTree(Path(repo), commit)
    found = _inferred(base, target) if job == "infer" else _certified(base, target)
    print(json.dumps(found))


def _inferred(base: GitTree, target: GitTree) -> dict[str, object]:
    try:
        found = infer(base, target)
    except Refusal as refusal:
        return {"inferred": False, "authored": None, "refused": refusal.kind}
    return {"inferred": found.inferred, "authored": found.plan.authored_lines, "refused": ""}


def _certified(base: GitTree, target: GitTree) -> dict[str, object]:
    size = size_of(base, target)
    coloured = None if size.uncoloured is None else size.changed - size.uncoloured
    try:
        verdict = certify_commits(base, target).verdict
    except Refusal as refusal:  # such as of a partial clone, which lacks a file that is asked for
        verdict = f"refused ({refusal.kind})"
    return {"verdict": verdict, "changed": size.changed, "coloured": coloured}


def _split(tree: GitTree, path: Path) -> dict[str, object]:
    plan = load_plan(path)
    try:
        outcome = engine.apply(plan, tree, formatters=repository_formatters(tree))
        judged = gate(plan, tree, outcome)
    except Refusal as refusal:
        return {"said": f"refused ({refusal.kind})"}
    if judged is None:
        return {"said": "moved, too large to be judged"}
    return {"said": f"moved, {len(judged.stops)} findings stop it"}


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in _JOBS:
        sys.exit(f"usage: python -m benchmarks.moves.one {'|'.join(_JOBS)} REPO COMMIT [PLAN]")
    main(*sys.argv[1:])
