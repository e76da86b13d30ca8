"""What a plain move looks like, and every fault that must not pass for one."""

from __future__ import annotations

import pytest

from tests.verify.certificate.samples import AFTER, BEFORE
from tests.verify.certificate.trees import edited, explain, judge
from verify.certificate import CERTIFIED, RESIDUAL


def test_a_plain_move_is_certified() -> None:
    found = judge(BEFORE, AFTER)
    assert found.residuals == ()
    assert found.unknowns == ()
    assert found.verdict == CERTIFIED
    assert [(m.symbol, m.source, m.source_line, m.destination) for m in found.moved] == [
        ("Base", "pkg/mono.py", 38, "pkg/core.py"),
        ("TIMEOUT", "pkg/mono.py", 27, "pkg/core.py"),
        ("_fast", "pkg/mono.py", 21, "pkg/core.py"),
        ("near", "pkg/mono.py", 30, "pkg/core.py"),
    ]
    assert [m.symbol for m in found.copies] == ["LIMIT", "logger"]


FAULTS = {
    "a comparison is negated": (
        "pkg/core.py",
        "if _fast:\n        return",
        "if not _fast:\n        return",
    ),
    "an operator changes": ("pkg/core.py", "near(count) + TIMEOUT", "near(count) - TIMEOUT"),
    "a constant changes": ("pkg/core.py", "3 * (60**2)", "3 * (61**2)"),
    "a number is spelled otherwise": ("pkg/core.py", "LIMIT = 10", "LIMIT = 0xA"),
    "a copied constant changes": ("pkg/core.py", "LIMIT = 10", "LIMIT = 11"),
    "a string changes": ("pkg/core.py", '"near %s"', '"near  %s"'),
    "an f-string changes": ("pkg/core.py", "{value!r}: {name}", "{value!s}: {name}"),
    "a docstring changes": ("pkg/core.py", '"""Measure."""', '"""Measures."""'),
    "an attribute changes": ("pkg/core.py", "os.getpid", "os.getppid"),
    "a default changes": ("pkg/core.py", "count: int = 2", "count: int = 3"),
    "two defaults are swapped": (
        "pkg/core.py",
        'count: int = 2, *, name: str = "x"',
        'count: int = "x", *, name: str = 2',
    ),
    "a keyword-only mark is lost": (
        "pkg/core.py",
        "count: int = 2, *, name",
        "count: int = 2, name",
    ),
    "a base is added": ("pkg/core.py", "class Base:", "class Base(Exception):"),
    "a decorator is added": ("pkg/core.py", "    def run", "    @staticmethod\n    def run"),
    "a function becomes async": ("pkg/core.py", "def near", "async def near"),
    "except clauses change places": (
        "pkg/core.py",
        'except KeyError:\n            return ""\n        except ValueError:\n            raise',
        'except ValueError:\n            raise\n        except KeyError:\n            return ""',
    ),
    "two statements change places": (
        "pkg/core.py",
        'logger.info("near %s", os.getpid())\n    return assist(size or LIMIT)',
        'return assist(size or LIMIT)\n    logger.info("near %s", os.getpid())',
    ),
    "a statement is dropped": ("pkg/core.py", '    logger.info("near %s", os.getpid())\n', ""),
    "a statement is added": (
        "pkg/core.py",
        '    """Measure."""\n',
        '    """Measure."""\n    size = 1\n',
    ),
    "a statement changes its branch": (
        "pkg/core.py",
        '        return sprint(size)\n    logger.info("near %s", os.getpid())',
        '        logger.info("near %s", os.getpid())\n        return sprint(size)',
    ),
    "a top-level statement is added": ("pkg/core.py", "LIMIT = 10", "LIMIT = 10\nprint(LIMIT)"),
    "a definition is shadowed below": (
        "pkg/core.py",
        "class Base:",
        "near = assist\n\n\nclass Base:",
    ),
    "a constant is rebound below": ("pkg/core.py", "class Base:", "LIMIT = 10\n\n\nclass Base:"),
    "a comment is lost": ("pkg/core.py", "        # Counted from one.\n", ""),
    "a comment above a symbol is lost": ("pkg/core.py", "# How long to wait.\n", ""),
    "a comment changes": ("pkg/core.py", "# How long to wait.", "# How long to wait!"),
    "a comment stands at another statement": (
        "pkg/core.py",
        "# How long to wait.\nTIMEOUT: int = 3 * (60**2)\n\n\n",
        "TIMEOUT: int = 3 * (60**2)\n\n\n# How long to wait.\n",
    ),
    "a suppression is lost": ("pkg/core.py", "  # noqa: E501", ""),
    "a suppression is added": ("pkg/core.py", "LIMIT = 10", "LIMIT = 10  # noqa"),
    "an import brings another definition": (
        "pkg/core.py",
        "from pkg.helpers import assist",
        "from pkg.flags import fast as assist",
    ),
    "an import is redirected to a name that is missing": (
        "pkg/core.py",
        "from pkg.helpers import assist",
        "from pkg.flags import assist",
    ),
    "an import is redirected outside": ("pkg/core.py", "import os\n", "import posixpath as os\n"),
    "an import is shadowed by a later one": (
        "pkg/core.py",
        "\nlogger =",
        "\nfrom pkg.flags import reset as assist\n\nlogger =",
    ),
    "an import is added for its effect": (
        "pkg/core.py",
        "import os\n",
        "import os\nimport pkg.plugin\n",
    ),
    "an unused name is imported": (
        "pkg/core.py",
        "from pkg.flags import fast",
        "from pkg.flags import fast, reset",
    ),
    "an import is there twice": ("pkg/core.py", "import os\n", "import os\nimport os\n"),
    "an import is missing": ("pkg/core.py", "import os\n", ""),
    "a guard is lost": (
        "pkg/core.py",
        "if _fast:\n    from pkg.quick import sprint",
        "from pkg.quick import sprint",
    ),
    "a guard is negated": ("pkg/core.py", "if _fast:\n    from", "if not _fast:\n    from"),
    "an else stands behind TYPE_CHECKING": (
        "pkg/core.py",
        "    from pkg.types import Shape\n",
        "    from pkg.types import Shape\nelse:\n    import pkg.plugin\n",
    ),
    "a type import runs": (
        "pkg/core.py",
        "if TYPE_CHECKING:\n    from pkg.types import Shape",
        "from pkg.types import Shape",
    ),
    "a run-time import is for types only": (
        "pkg/core.py",
        "from pkg.helpers import assist\n\nif TYPE_CHECKING:\n",
        "if TYPE_CHECKING:\n    from pkg.helpers import assist\n",
    ),
    "annotations come into force": ("pkg/core.py", "from __future__ import annotations\n", ""),
    "a star import is added": (
        "pkg/core.py",
        "import os\n",
        "import os\nfrom pkg.plugin import *\n",
    ),
    "an import that was used is dropped from the source": (
        "pkg/mono.py",
        "from pkg import flags\n",
        "",
    ),
    "an import is added to the source": (
        "pkg/mono.py",
        "import logging\n",
        "import logging\nimport sys\n",
    ),
    "a statement of the source changes": (
        "pkg/mono.py",
        "flags.reset(LIMIT)",
        "flags.reset(LIMIT + 1)",
    ),
    "a base class resolves elsewhere": (
        "pkg/mono.py",
        "from pkg.core import Base",
        "from pkg.helpers import Base",
    ),
    "a caller resolves elsewhere": (
        "pkg/user.py",
        "from pkg.core import Base, near",
        "from pkg.core import Base\nfrom pkg.helpers import near",
    ),
    "a caller finds nothing": (
        "pkg/user.py",
        "from pkg.core import Base, near",
        "from pkg.core import Base\nfrom pkg.mono import near",
    ),
    "a caller's import is aliased to a builtin": (
        "pkg/user.py",
        "import Base, near",
        "import Base, near\nfrom pkg.core import near as print",
    ),
    "an import comes after the call that needs it": (
        "pkg/core.py",
        "from pkg.flags import fast\nfrom pkg.helpers import assist\n",
        "from pkg.helpers import assist\n",
    ),
    "a look-alike letter": ("pkg/core.py", "def near", "def neаr"),
    "a bidirectional mark in a string": ("pkg/core.py", '"near %s"', '"near \u202e%s"'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_no_move(fault: str) -> None:
    path, old, new = FAULTS[fault]
    found = judge(BEFORE, edited(AFTER, path, old, new))
    assert found.verdict == RESIDUAL, explain(found)
    assert any(r.path in {path, "pkg/mono.py"} for r in found.residuals)
