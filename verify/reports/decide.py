"""The one decision of a review, in words: what is to be read, and what the verdict rests on."""

from __future__ import annotations

from verify.kernel.verdict import RESIDUALS, UNJUDGED
from verify.report.decision import About, Decision, Level
from verify.report.report import counted
from verify.reports.authored import authored_words
from verify.reports.certify import breaking, certified_words, verdict_line
from verify.reports.reading import Reading
from verify.review.gather import Conclusion, Review, Source


def decided(done: Review, reading: Reading, about: About) -> Decision:
    """Decide what a reader has to do."""
    level = Level.GREEN if done.conclusion is Conclusion.CERTIFIED else Level.AMBER
    if reading.findings:
        level = Level.AMBER
    # Of a change that is no move and claims none, other behaviour may be the very point.
    if done.false_claim or (reading.breaking and done.conclusion is not Conclusion.NO_MOVE):
        level = Level.RED
    return Decision(
        level,
        about,
        _sentence(done, reading),
        reading.places,
        reading.lines,
        reading.breaking,
        done.size.changed,
        done.size.uncoloured,
    )


def _sentence(done: Review, reading: Reading) -> str:
    """Say in one sentence what is left to do."""
    if done.conclusion is Conclusion.NO_MOVE:
        return f"No move. Read all of it: {counted(done.size.changed, 'changed line')}."
    if reading.findings:
        return _ratio(done, reading)
    number = len(done.certificate.assumptions)
    taken = f", on {counted(number, 'assumption')}" if number else ""
    if done.conclusion is Conclusion.CERTIFIED:
        return f"Pure move{taken}. Nothing to read."
    if done.conclusion is Conclusion.NO_PLAN:
        return f"Pure move{taken}, by the certificate alone: no plan gives these bytes."
    return verdict_line(done.certificate)


def _ratio(done: Review, reading: Reading) -> str:
    words = f"Read {counted(reading.places, 'place')}"
    if not done.size.changed:
        return f"{words}."
    changed = counted(done.size.changed, "changed line")
    if not reading.lines:
        return f"{words}, where no line changed; there are {changed} elsewhere."
    return f"{words}: {reading.lines:,} of {changed}."


def beside_words(made: Decision) -> tuple[str, ...]:
    """Say beside it how much another tool leaves to read, where git tells."""
    if made.uncoloured is None or not made.changed:
        return ()
    changed = f"{made.uncoloured:,} of {counted(made.changed, 'changed line')}"
    return (f"`git diff --color-moved` leaves {changed} uncoloured.",)


def verdict_words(done: Review) -> str:
    """The verdict in one sentence; its first word is enough."""
    if done.conclusion is Conclusion.RESIDUAL:
        return _residual_words(done)
    word = certified_words(done.certificate)
    words = {
        Conclusion.CERTIFIED: f"{word}: nothing but the move, and a plan gives every byte of it.",
        Conclusion.NO_MOVE: "NO MOVE: nothing left one file for another; read it as any change.",
        Conclusion.OTHER_FILES: f"{word} in Python; "
        f"{counted(len(done.other_files), 'other file')} changed, for which nothing vouches.",
        Conclusion.NO_PLAN: f"{word}: nothing but the move; but no plan, so no replay.",
        Conclusion.NOT_REPLAYED: f"{word}: no statement changed; but its plan leaves bytes over.",
    }
    return words.get(done.conclusion) or verdict_line(done.certificate)


def _residual_words(done: Review) -> str:
    """Count what is not part of the move. That all else is can be said only if all was judged."""
    causes = len(done.certificate.of(*RESIDUALS))
    words = f"RESIDUAL: {counted(causes, 'finding')} not part of the move"
    words += breaking(done.certificate)
    unknown, others = len(done.certificate.of(*UNJUDGED)), len(done.other_files)
    if unknown:
        words += f", {unknown:,} not judged"
    if others:
        words += f", {counted(others, 'file')} no Python"
    return f"{words}." if unknown or others else f"{words}; all else is."


_PLANS = {
    Source.NAMED: "the plan that the commit names",
    Source.GIVEN: "the given plan",
    Source.INFERRED: "the plan found",
}


def replay_words(done: Review) -> str:
    """Say which plan was replayed, and whether it gives every byte."""
    if done.replay is None:
        return f"No plan: {done.no_plan.cause if done.no_plan else ''}"
    outcome = done.replay.outcome
    which = _PLANS[done.source]
    if done.replay.reproduces:
        files = counted(len(outcome.changes), "file")
        return f"Replay: {which} gives {files} byte for byte; {authored_words(outcome)}."
    left = counted(len(done.replay.hunks), "hunk")
    return f"Replay: {which} leaves over {left} of {counted(done.replay.changed, 'file')}."
