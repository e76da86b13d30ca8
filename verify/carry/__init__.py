"""An open branch carried over splits: its commits, made anew on what the splits left.

branch     the commits of a branch, and each of them written again on another parent
splits     the commits to carry over, each with its plan
fitting    a plan as it fits a tree of the branch: symbols that went, came and were named
replaying  what a plan makes of a tree of the branch
merging    three-way merges of trees, and what is left of one that conflicts
stages     one stretch of the way: onto a commit as git does, or over a split by its plan
job        the whole way, for one branch, up to its end or a stop
standing   a stop on disk: the linked worktree, and what `--continue` needs to know
moving     what is written to the user's repository: the stop, the end, the way back
checking   which of many branches would carry clean
"""
