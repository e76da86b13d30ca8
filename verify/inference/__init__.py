"""Inference: the plan behind a change that nobody wrote a plan for.

`evidence` reads from the two trees what moved where; `draft` makes a first plan of it; `search`
tries what a plan can say against the target and keeps what comes nearer; `remainder` turns what no
operation explains into authored text. The mover itself is the judge of every step.

infer       from two commits to a plan that replays
modules     the modules and packages that went elsewhere whole, as tables of a plan
remembered  a commit that is searched once for each question
"""
