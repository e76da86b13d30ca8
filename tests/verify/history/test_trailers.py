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
    "another trailer": "Split\n\nMechanical-Movement: plans/01.toml\n",
    "a subject of these words": "Mechanical move: take Money out of the orders\n",
    "a sentence that begins with it": "Split\n\nMechanical-Move trailers name a plan.\n",
    "a sentence about moves": "Mechanical moves of the pool's classes\n",
    "the word alone": "Split\n\nMechanical-Move\n",
    "another word of its length": "Split\n\nCo-developed-by: A <a@b.invalid>\n",
}
FAULTS = {
    "two trailers": ("S\n\nMechanical-Move: a.toml\nMechanical-Move: a.toml\n", "has 2"),
    "no plan": ("S\n\nMechanical-Move:\n", "names no plan"),
    "an absolute path": ("S\n\nMechanical-Move: /etc/plan.toml\n", "absolute"),
    "a path out of the tree": ("S\n\nMechanical-Move: ../plan.toml\n", "`..`"),
    "a path into the repository": ("S\n\nMechanical-Move: .git/plan.toml\n", ".git"),
    "a backslash": ("S\n\nMechanical-Move: plans\\01.toml\n", "backslash"),
    "a character that reverses text": ("S\n\nMechanical-Move: a\u202elmot\n", "U+202E"),
    "a lone carriage return after it": ("S\n\nMechanical-Move: a.toml\rb", "U+000D"),
}
NEAR = {
    "a letter too many": "Mechanical-Moves: plans/01.toml",
    "a letter too few": "Mechanical-Mve: plans/01.toml",
    "two letters that changed places": "Mechanical-Mvoe: plans/01.toml",
    "two other letters": "Mechanikal-Mowe: plans/01.toml",
    "no hyphen": "MechanicalMove: plans/01.toml",
    "a blank for the hyphen": "Mechanical Move: plans/01.toml",
    "an underscore for the hyphen": "mechanical_move: plans/01.toml",
    "no colon": "Mechanical-Move plans/01.toml",
    "no colon, and no plan": "Mechanical-Move none",
    "another sign for the colon": "Mechanical-Move = plans/01.toml",
    "a colon of another width": "Mechanical-Move\uff1a plans/01.toml",
    "a dash for the hyphen": "Mechanical\u2013Move: plans/01.toml",
    "a hyphen that does not break": "Mechanical\u2011Move: plans/01.toml",
    "a minus for the hyphen": "Mechanical\u2212Move: plans/01.toml",
    "a letter that looks like another": "\u041cechanical-\u041cove: plans/01.toml",
    "letters that look like others": "M\u0435\u0441h\u0430ni\u0441al-M\u043ev\u0435: plans/01.toml",
    "a hidden character in it": "Mechanical-\u200bMove: plans/01.toml",
    "a hidden character before it": "\ufeffMechanical-Move: plans/01.toml",
    "a blank that is none before it": "\u00a0Mechanical-Move: plans/01.toml",
    "an accent": "Mechanical-M\u00f3ve: plans/01.toml",
    "a lone carriage return before it": "Reviewed\rMechanical-Move: plans/01.toml",
    "a line separator before it": "Reviewed\u2028Mechanical-Move: plans/01.toml",
    "a good one beside it": "Mechanical-Move: a.toml\nMechanical-Moves: b.toml",
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


@pytest.mark.parametrize("line", NEAR.values(), ids=NEAR)
def test_what_a_reader_takes_for_a_trailer_is_faulty_and_not_silent(line: str) -> None:
    trailer = read_trailer(f"Split\n\n{line}\n")
    assert trailer.claims
    assert trailer.path is None
    assert trailer.fault is not None
    assert "Mechanical-Move" in trailer.fault


@pytest.mark.parametrize("word", ["none", "None", " NONE \t"])
def test_none_claims_nothing_and_declares_it(word: str) -> None:
    trailer = read_trailer(f"Fix\n\nMechanical-Move:{word}\n")
    assert (trailer.claims, trailer.declares) == (False, True)
    assert not read_trailer("Fix\n").declares


def test_a_plan_file_may_be_called_none() -> None:
    assert read_trailer("Move\n\nMechanical-Move: ./none\n") == Trailer(path="none")


def test_none_beside_a_plan_is_faulty() -> None:
    message = "Move\n\nMechanical-Move: none\nMechanical-Move: a.toml\n"
    assert read_trailer(message).fault == "it has 2 Mechanical-Move trailers; a commit is one move"


def test_long_messages_are_read_in_time() -> None:
    message = "Mechanical-Mo" * 20_000 + "\n" + "mechanical move, of a kind\n" * 2_000
    assert not read_trailer(message).claims
