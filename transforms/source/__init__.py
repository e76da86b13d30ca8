"""A module as the mover sees it: statements as spans, what they bind, use and change.

edits      deletions, replacements and insertions, applied together
exports    what `__all__` lists
fixtures   pytest's fixtures, used by the name of a parameter
imports    every import of a module
literals   where the characters of a string stand
module     text, encoding, and top-level statements as spans
mutations  which names a statement changes in place
order      what a statement reads when its module is imported
symbols    what those statements bind and use
"""
