"""Values that are written down, and what makes a value of its own of such alone."""

from __future__ import annotations

import ast

from verify.kernel.trees.nodes import walk
from verify.kernel.trees.words import words

# What makes a value of its own of the literals that it is given.
OF_LITERALS = words(
    """itertools.product itertools.chain itertools.combinations itertools.permutations pytest.param
    numpy.array numpy.asarray numpy.zeros numpy.ones numpy.arange numpy.linspace"""
)
LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.expr_context)


def is_literal(node: ast.AST) -> bool:
    """Tell whether a statement gives a name a literal without names in it."""
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return value is not None and all(isinstance(part, LITERALS) for part in walk(value))
