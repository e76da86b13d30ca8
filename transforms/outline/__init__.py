"""A first plan for a module that nobody has parted yet: what is in it, and what hangs together.

graph   the definitions of a module, their sizes, and who uses whom
groups  what hangs together, and what cycle each cut would make
text    all of it as a plan in TOML, destinations as comments: the author decides
"""
