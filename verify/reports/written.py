"""What is said once a move is written: how to commit it, how to take it back; and that it was."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transforms.errors import Place
from verify.report.report import Finding, Report, Section, Verdict, counted


@dataclass(frozen=True, slots=True)
class Written:
    """A move that was written: its plan by a path from the top of the tree, if it lies in it.

    `committed` tells whether git has that plan as it is now; None outside git.
    """

    plan: str
    inside: bool
    committed: bool | None


def next_steps(done: Written) -> Iterator[str]:
    """Say what comes next."""
    command = f"`repot apply --undo {shlex.quote(done.plan)}`"
    undo = f"To undo it: {command}, while no file that was written has changed."
    if done.committed is None:
        yield undo
        return
    if not done.inside:
        yield "Next: put the plan into the repository and commit it, so that a commit can name it."
    elif not done.committed:
        plan = shlex.quote(done.plan)
        yield (
            "Next: commit the plan first, by itself, since it is read from the parent: "
            f"`git add {plan} && git commit -m 'Plan of the move' -- {plan}`."
        )
    else:
        yield "The plan is committed: the move can follow."
    path = done.plan if done.inside else "PATH/OF/THE/PLAN"
    yield f"Then commit the move, with this trailer: `Mechanical-Move: {path}`"
    yield undo


def undone(plan: str, paths: Sequence[str]) -> Report:
    """Report that a move was taken back."""
    findings = tuple(Finding("restored", Place(path), "") for path in paths)
    return Report(
        command="apply",
        verdict=Verdict.HOLDS,
        headline=f"{plan}: undone",
        sections=(Section("As before the move", findings),),
        summary=(f"Undone: {counted(len(paths), 'file')} as before the move.",),
        data={"plan": plan, "mode": "undo", "undone": list(paths)},
    )
