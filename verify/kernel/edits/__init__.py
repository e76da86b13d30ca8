"""Statements: conserved one to one, or edited as a move entails.

What a move entails is derived again from the two trees; an edit that nothing entails is a finding.

bodies    what function bodies refer to, and what they do
comments  comments are conserved, each at its place
conserve  statements are conserved one to one
copies    what may stand twice
doctests  examples in docstrings
explain   edits that a move entails, derived again
exports   what `__all__` comes to where it is put together
grasps    modules that a body gets hold of, and whether they are the same on both sides
lazily    imports inside functions and classes
needs     imports that a move entails
spelled   where a name leads by what stands in the files
worlds    worlds without an outside package, in which only the target fails
"""
