"""Every case file of `tests/cases` holds: before, plan, after, and refused the second time."""

from __future__ import annotations

import pytest

from tests.transforms.case import Case, check_case, load_cases


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.id)
def test_case_file_holds(case: Case) -> None:
    check_case(case)


def test_every_case_says_what_it_shows() -> None:
    assert [case.id for case in load_cases() if not case.title] == []
