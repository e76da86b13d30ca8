"""Every line that blame does not trace is claimed by the operation that it is part of."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import files
from verify.ancestry.explain import COPY, DERIVED, IMPORT, LAYOUT, RESIDUAL, SHORT, explainer
from verify.kernel import certify
from verify.kernel.verdict import Certificate

OLD = "import logging\n\nlog = logging.getLogger('shop')\n\n\ndef f():\n    log.info(1)\n\n\n"
G = "def g():\n    log.info(2)\n"
NEW = """\
import logging

# The log.
log = logging.getLogger('shop')


# Gives two.
def g():
    log.info(2)


x = 1
"""
BEFORE = {
    "shop/__init__.py": "",
    "shop/old.py": OLD.replace("log =", "# The log.\nlog =") + "# Gives two.\n" + G,
}
AFTER = {
    "shop/__init__.py": "",
    "shop/old.py": OLD.replace("log =", "# The log.\nlog =").rstrip("\n") + "\n",
    "shop/new.py": NEW,
}
ROWS = {
    "an import": (1, IMPORT),
    "a blank line": (2, LAYOUT),
    "the comment of a copy": (3, COPY),
    "a copy": (4, COPY),
    "the comment of what moved": (7, SHORT),
    "the last line of what moved": (9, SHORT),
    "what was not there": (12, RESIDUAL),
    "a line behind the end": (40, LAYOUT),
}


@pytest.mark.parametrize(("line", "operation"), ROWS.values(), ids=ROWS)
def test_a_line_is_explained(line: int, operation: str) -> None:
    explain = explainer({"shop/new.py": NEW.encode()}, lambda: certify(files(BEFORE), files(AFTER)))
    assert explain("shop/new.py", line) == operation


def test_derived_exports_are_no_residual() -> None:
    before = {"pkg/m.py": "def f():\n    pass\n\n\ndef g():\n    f()\n"}
    after = {
        "pkg/m/__init__.py": 'from .a import f, g\n\n__all__ = [\n    "f",\n    "g",\n]\n',
        "pkg/m/a.py": before["pkg/m.py"],
    }
    path = "pkg/m/__init__.py"
    explain = explainer({path: after[path].encode()}, lambda: certify(files(before), files(after)))
    assert [explain(path, line) for line in (1, 3, 4, 6)] == [IMPORT, DERIVED, DERIVED, DERIVED]


def test_the_certificate_is_asked_for_once_and_only_if_needed() -> None:
    asked = []

    def certificate() -> Certificate:
        asked.append(1)
        return certify(files(BEFORE), files(AFTER))

    explain = explainer({"shop/new.py": NEW.encode()}, certificate)
    explain("shop/new.py", 2)
    assert not asked
    explain("shop/new.py", 4)
    explain("shop/new.py", 7)
    assert asked == [1]


def test_a_file_that_does_not_parse_is_explained_line_by_line() -> None:
    explain = explainer({"a.py": b"def (:\n"}, lambda: certify({}, {}))
    assert explain("a.py", 1) == SHORT
