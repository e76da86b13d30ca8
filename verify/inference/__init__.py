"""Inference: the plan behind a change that nobody wrote a plan for.

`evidence` reads from the two trees what moved where, `relocated` which files went whole; `draft`
makes a first plan of it; `search` tries what a plan can say against the target and keeps what comes
nearer; `remainder` turns what no operation explains into authored text. The mover itself is the
judge of every step.

infer       from two commits to a plan that replays
evidence    which names left which file, and where they stand now
relocated   which files of Python went elsewhere whole
modules     the modules and packages that went whole, as tables of a plan
draft       a first plan from what the trees show
search      the best plan near a draft
settings    what a plan can say otherwise, for the files that are off
trials      what one plan gives, and how far off it is
mending     what a plan says otherwise where it is refused
remainder   what no operation explains, as authored text
share       how much of what moved the plan moves
remembered  a commit that is searched and read once for each question
"""
