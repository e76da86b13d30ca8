"""Which moved lines `git blame -C -C -C` still traces, and why not the others.

explain  why blame traces a line no further
measure  lines that `git blame -C -C -C` traces past a move
origins  the files that blame need not look at, since it could credit none of their lines
"""
