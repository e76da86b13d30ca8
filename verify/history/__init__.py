"""Commits, ranges, trailers and merges, and the work that is shared over them.

commits   commit objects, read raw
made      repositories that Repot makes, and writes to through GitPython
memory    how a process of ours keeps its memory
merges    whether a merge adds anything to its parents
own       the repository of the user, where a branch is moved
scratch   a repository of our own over somebody else's objects
workers   processes that share the work
"""
