"""Both trees beside each other: which statement, which module, which name is which.

What everyone asks of the pair is `both`.

asked    what a module's `__getattr__` is for: its tables, and old names that it keeps
both     the pair of trees, with what everyone asks of it
flow     what an expression may be made of, within one file
near     which files a change can be reached from
pairing  which statement of the target is which of the base
renames  what moved, by the names that texts give it
whole    which modules moved whole, and what went along with them
"""
