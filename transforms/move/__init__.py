"""What leaves, what it needs where it lands, and what is left behind.

arrival      symbols put into a module that exists
authored     the plan's literal text
causes       why modules of a move would import each other, and what ends it
claims       which statements leave, in which order; what would be torn is refused
copies       which helpers may stand in two modules
cut          the source: statements and orphaned imports out, names imported back
cycles       import cycles, on what modules import before and after
definitions  where a name is defined, through re-exports
deleted      files that the plan deletes
destination  new modules composed
examples     examples in docstrings, which run among the names of their module
exports      what a package's `__init__` exports
gaps         blank lines between moved statements
intent       what a plan says of files that the move does not touch: each must be there
landing      where a new module may be created
needs        the names that moved code looks up, and who reads an annotation
old_names    names that left a module and are still given there, with a warning
orphans      imports that only moved code needed
pieces       imports and guards put into one
preamble     the imports, guards and helpers that it needs
registries   classes that somebody knows once their module is imported
remarks      what moved code may do differently in its new module
resolve      from a plan and a tree to the move
scans        code that lists a folder, and so finds a new module
soundness    whether what comes out binds every name before it reads it
state        a move under way: sources, groups of symbols, homes and routes
"""
