"""One whole judgement in a process of its own: replay, certificate and ancestry, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from transforms.reading.load import load_plan
from verify.history.memory import collect_less_often
from verify.history.ranges import open_range
from verify.proofs.prove import prove


def main(repo: str, plan: str, base: str, target: str) -> None:
    """Judge, and print the figures that must be right."""
    collect_less_often()
    before, after = open_range(Path(repo), base, target)
    proof = prove(load_plan(Path(plan)), before, after)
    found = {
        "reproduces": proof.replay.reproduces,
        "certificate": proof.certificate.verdict,
        "lines": proof.ancestry.lines,
        "traced": proof.ancestry.traced,
        "strict": proof.ancestry.strict,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
