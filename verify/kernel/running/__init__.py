"""Runs of the machine from every entry, on both sides, and their comparison.

entries   from what a program can start
given     what a module's `__getattr__` gives, name by name
links     which units of the two sides belong together
observed  what one statement reads at import and another changes, over several entries
runs      runs of one entry on both sides
traces    two runs compared: events, bindings, how they end
"""
