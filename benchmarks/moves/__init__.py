"""The scoreboard: public commits that move definitions, what a reader says of each, and the tools.

commits.toml  the commits by repository and id, with two readings and what PyRef finds
readings      the same as values, and whether a verdict goes with a reading
splits        ten splits by hand: plans in splits/, how they went in splits.toml
one           one commit in a process of its own, as JSON, so that its CPU seconds are its own
pyref         PyRef on one commit, in a repository of two
__main__      the table
"""
