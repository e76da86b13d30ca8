"""What this repository's own series came to: a record, so that not every run judges every step."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tests.effort import FULL
from verify.chain.cache import VerdictCache
from verify.chain.links import PROVED, Judgement
from verify.kernel.verdict import CERTIFIED, RESIDUAL

# Symbols, modules, files, authored lines; lines, traced, strict, derived; the certificate.
_STEPS: dict[str, tuple[int, int, int, int, int, int, int, int, str]] = {
    "transforms/plans/01-base.toml": (60, 0, 27, 13, 1466, 1429, 1415, 0, RESIDUAL),
    "transforms/plans/02-mha.toml": (8, 0, 11, 1, 727, 719, 719, 0, RESIDUAL),
    "transforms/plans/03-mla.toml": (2, 0, 7, 0, 129, 124, 122, 0, RESIDUAL),
    "transforms/plans/04-mamba.toml": (3, 0, 5, 0, 117, 108, 107, 0, CERTIFIED),
    "transforms/plans/05-dsa.toml": (3, 0, 5, 0, 102, 101, 99, 0, RESIDUAL),
    "transforms/plans/06-deepseek-v4.toml": (7, 0, 6, 0, 216, 216, 213, 0, CERTIFIED),
    "transforms/plans/07-group.toml": (7, 0, 16, 26, 233, 233, 233, 0, RESIDUAL),
    "transforms/plans/08-ground.toml": (0, 44, 239, 4, 8848, 8839, 8839, 90, RESIDUAL),
    "transforms/plans/09-files.toml": (0, 56, 159, 3, 11444, 11434, 11434, 134, RESIDUAL),
    "transforms/plans/10-move.toml": (0, 44, 103, 2, 6917, 6914, 6914, 77, RESIDUAL),
    "transforms/plans/11-reports.toml": (0, 27, 101, 2, 4205, 4204, 4204, 80, RESIDUAL),
    "transforms/plans/12-proofs.toml": (0, 39, 130, 7, 4957, 4938, 4938, 54, RESIDUAL),
    "transforms/plans/13-kernel.toml": (0, 54, 144, 7, 10611, 10611, 10611, 281, RESIDUAL),
}
_DRAWN = ("transforms/plans/02-mha.toml", "transforms/plans/12-proofs.toml")


class Recorded(VerdictCache):
    """Knows the judgements of most steps from the record; CI, and REPOT_FULL=1, judge all anew.

    A step of symbols and one of whole modules are always judged, unless another test does that:
    `anew`. `judged` is what they came to, in the words of the record.
    """

    def __init__(self, *, anew: bool = True) -> None:
        drawn = () if not anew else _STEPS if FULL else _DRAWN
        self.known = {path: _STEPS[path] for path in _STEPS if path not in drawn}
        self.judged: dict[str, tuple[int | str, ...]] = {}

    def get(self, key: str) -> dict[str, Any] | None:
        """Give the record of the plan that a key ends with."""
        step = self.known.get(key.rpartition(" ")[2])
        if step is None:
            return None
        symbols, modules, files, authored, lines, traced, strict, derived, certificate = step
        judgement = Judgement(
            PROVED,
            "its plan reproduces it exactly",
            symbols=symbols,
            modules=modules,
            files=files,
            authored_lines=authored,
            lines=lines,
            traced=traced,
            strict=strict,
            derived=derived,
            certificate=certificate,
        )
        return asdict(judgement)

    def put(self, key: str, judgement: object) -> None:
        """Note what a step that was judged came to."""
        assert isinstance(judgement, Judgement)
        self.judged[key.rpartition(" ")[2]] = (
            judgement.symbols,
            judgement.modules,
            judgement.files,
            judgement.authored_lines,
            judgement.lines,
            judgement.traced,
            judgement.strict,
            judgement.derived,
            judgement.certificate,
        )

    @property
    def is_right(self) -> bool:
        """Whether every step that was judged came to what the record says, and none is missing."""
        here = {path: _STEPS.get(path) for path in self.judged}
        return self.judged == here and {*self.known, *self.judged} == {*_STEPS}
