"""Git's blame seen through moves: the commit and place that each line of a file comes from.

asked   what a person names: a file or lines of it, in a commit
blame   `git blame` of one file, read
claims  whether a commit that claims a move is one
moves   where the lines that a move brought to a file stood before it
sealed  somebody else's objects under a configuration of ours, without a process
shown   the table and the porcelain, as git prints them
steps   where the lines that are new in a commit come from: through a proved move, or by `-C`
trace   the walk back from a commit, and its answer
"""
