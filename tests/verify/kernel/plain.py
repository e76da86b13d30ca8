"""`python -m tests.verify.kernel.plain`: the case tables, for a Python that has no pytest.

The kernel and its cases need the standard library alone. `.ci/run` runs this on CPython
3.14, which comes as one package for Node.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.verify.kernel.trees import Case, cases, explain, judge
from verify.kernel import CERTIFIED

MOST_ASSUMED = 2  # of an honest move


def faults(case: Case) -> Iterator[str]:
    """Say what is wrong with the verdicts of a case."""
    found = judge(case.base, case.target)
    if (found.verdict == CERTIFIED) != case.certified:
        yield explain(found)
    if case.certified and len(found.assumptions) > MOST_ASSUMED:
        yield f"on more than {MOST_ASSUMED} assumptions: {explain(found)}"
    same = judge(case.base, case.base)
    if same.findings:
        yield f"a tree that does not change: {explain(same)}"


def main() -> int:
    """Judge all cases; exit 1 if any verdict is wrong."""
    wrong = [(case.name, fault) for case in cases() for fault in faults(case)]
    for name, fault in wrong:
        sys.stdout.write(f"{name}\n{fault}\n\n")
    count = sum(1 for _ in cases())
    sys.stdout.write(f"Python {sys.version.split()[0]}: {count} cases, {len(wrong)} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
