"""Git's blame seen through moves: the commit and place that each line of a file comes from.

asked   what a person names: a file or lines of it, in a commit
blame   `git blame` of one file, read
claims  which commits claim a move, and whether one is
details who made a commit and when, as blame says it
kept    the steps of a file's lines, folded to be kept
moves   where the lines that a move brought to a file stood before it
sealed  somebody else's objects under a configuration of ours, without a process
shown   the table and the porcelain, as git prints them
steps   one step back: up to the next claim, or past a proved one
trace   the walk back from a commit, and its answer
"""
