"""On the Python files of a release of SGLang, parse and splice without an edit is the identity.

Every 16th file is read, in CI or with REPOT_FULL=1 all of them.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

import pytest

from tests.registry import sample
from transforms.source.edits import Edits
from transforms.source.module import Module
from transforms.tree import WheelTree
from verify.release.wheels import BEFORE, fetch_wheel

pytestmark = pytest.mark.registry

FILES = 2_409
_NO_STATEMENT = re.compile(r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)|[ \t\f]*\\(?:\r\n|\r|\n))*")


@pytest.fixture(scope="module")
def release() -> Iterator[WheelTree]:
    with WheelTree(fetch_wheel(BEFORE), BEFORE.sha256) as wheel:
        yield wheel


def python_files(wheel: WheelTree) -> dict[str, bytes]:
    return wheel.read_many(path for path in wheel.entries() if path.endswith(".py"))


def check_statements(module: Module) -> None:
    """Statements stand in order and apart; between them are comments and blank lines only."""
    position = 0
    for statement in module.statements:
        where = f"{module.path}:{statement.line}"
        assert statement.block_start <= statement.start < statement.end, where
        if statement.shared:  # a semicolon: the line belongs to both
            position = max(position, statement.end)
            continue
        assert position <= statement.block_start, where
        assert _NO_STATEMENT.fullmatch(module.text, position, statement.block_start), where
        piece = module.text[statement.block_start : statement.end]
        assert [type(node) for node in ast.parse(piece).body] == [type(statement.node)], where
        position = statement.end
    assert _NO_STATEMENT.fullmatch(module.text, position), module.path


def test_parse_and_splice_is_the_identity(release: WheelTree) -> None:
    files = list(python_files(release).items())
    assert len(files) == FILES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        for path, data in sample(files, 16, in_ci=1):
            module = Module(path, data)
            assert module.encode(module.text) == data, path
            assert module.encode(Edits(module.text, module.newline).apply()) == data, path
            same = Edits(module.text, module.newline)
            for statement in module.statements:
                text = module.text[statement.start : statement.end]
                same.replace(statement.start, statement.end, text)
            assert not same, path
            check_statements(module)


def test_every_statement_taken_out_alone_leaves_the_others_as_they_were(
    release: WheelTree,
) -> None:
    """The bytes above and below a deletion stay, but for blank lines at the seam."""
    for path, data in list(python_files(release).items())[::40]:
        module = Module(path, data)
        for statement in module.statements:
            if statement.shared:
                continue
            edits = Edits(module.text, module.newline)
            start, end = statement.block_start, module.after_line(statement.end)
            edits.delete_lines(start, end)
            result = edits.apply()
            above, below = module.text[:start].rstrip(), module.text[end:].lstrip("\r\n")
            assert result.startswith(above), f"{path}:{statement.line}"
            assert result.endswith(below), f"{path}:{statement.line}"
            seam = result[len(above) : len(result) - len(below)]
            assert not seam.strip(), f"{path}:{statement.line}"
