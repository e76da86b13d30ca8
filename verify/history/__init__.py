"""Commits, ranges, trailers and merges, and the work that is shared over them.

claims    whether the plan that a commit names is one
clean     whether anything is uncommitted
commits   commit objects, read raw
made      repositories that Repot makes, and writes to through GitPython
memory    how a process of ours keeps its memory
merges    whether a merge adds anything to its parents
lineends  what git would store of a text, by attributes
own       the repository of the user, where a branch is moved
patience  work that is given up after some seconds
ranges    two commits, the first an ancestor of the second, and what differs between them
revisions what people type for a change: two revisions, one, or none
scratch   a repository of our own over somebody else's objects
snapshot  the working tree or the index, as a tree of git's
trailers  `Mechanical-Move` trailers: what a commit claims
workers   processes that share the work
"""
