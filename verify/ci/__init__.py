"""Where other programs run the judge: GitHub's Action and the pre-push hook.

action  the Action: judges a range, and tells the runner
hook    the pre-push hook: judges what a push brings
start   the Action's first step: an environment with the pinned wheels
"""
