"""What a commit message claims, and which claims are faulty."""

from __future__ import annotations

import pytest

from verify.history.trailers import Trailer, read_trailer

CLAIMS = {
    "the last paragraph": "Split it\n\nMechanical-Move: plans/01.toml\n",
    "other trailers beside it": "Split it\n\nMechanical-Move: plans/01.toml\nSigned-off-by: A\n",
    "a paragraph that a squash put below it": (
        "Split it\n\nMechanical-Move: plans/01.toml\n\nCo-authored-by: A <a@b.invalid>\n"
    ),
    "another case, as git allows": "Split it\n\nmechanical-move:plans/01.toml",
    "Windows line ends": "Split it\r\n\r\nMechanical-Move: plans/01.toml\r\n",
    "the only line": "Mechanical-Move: plans/01.toml",
}
NONE = {
    "an empty message": "",
    "a word in a sentence": "Explain that Mechanical-Move: plans/01.toml names a plan\n",
    "a quotation": "Revert\n\n> Mechanical-Move: plans/01.toml\n",
    "an indented line": "Revert\n\n    Mechanical-Move: plans/01.toml\n",
    "another trailer": "Split\n\nMechanical-Moves: plans/01.toml\n",
}
FAULTS = {
    "two trailers": ("S\n\nMechanical-Move: a.toml\nMechanical-Move: a.toml\n", "has 2"),
    "no plan": ("S\n\nMechanical-Move:\n", "names no plan"),
    "an absolute path": ("S\n\nMechanical-Move: /etc/plan.toml\n", "absolute"),
    "a path out of the tree": ("S\n\nMechanical-Move: ../plan.toml\n", "`..`"),
    "a path into the repository": ("S\n\nMechanical-Move: .git/plan.toml\n", ".git"),
    "a backslash": ("S\n\nMechanical-Move: plans\\01.toml\n", "backslash"),
    "a character that reverses text": ("S\n\nMechanical-Move: a\u202elmot\n", "U+202E"),
}


@pytest.mark.parametrize("message", CLAIMS.values(), ids=CLAIMS)
def test_a_trailer_is_found(message: str) -> None:
    assert read_trailer(message) == Trailer(path="plans/01.toml")


def test_a_long_line_is_read_in_time() -> None:
    blanks = " " * 300_000
    trailer = read_trailer(f"S\n\nMechanical-Move{blanks}: a{blanks}b\nMechanical-Move{blanks}x")
    assert trailer == Trailer(path=f"a{blanks}b")


@pytest.mark.parametrize("message", NONE.values(), ids=NONE)
def test_what_is_no_trailer_claims_nothing(message: str) -> None:
    assert not read_trailer(message).claims


@pytest.mark.parametrize(("message", "why"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_trailer_says_why(message: str, why: str) -> None:
    trailer = read_trailer(message)
    assert trailer.path is None
    assert trailer.fault is not None
    assert why in trailer.fault
