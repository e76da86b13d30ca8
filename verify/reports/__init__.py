"""What each command reports, in words: one module a command.

apply     what `apply` reports
authored  authored text, shown whole
blame     the report of `repot blame`
gated     the verdict on what `apply` is about to write
carry    a branch that was carried, that stopped, and many that were checked
certify   the report of `repot certify`
chain     the report of `repot chain`
decide    the one decision of a review, in words
infer     the report of `repot infer`
origin    the report of `repot origin`
plan      the report of `repot plan`
ranged    how a typed range was read, and what was left out
reading   what is left to read of a change, and why
review    the report of `repot review`
series    the report of `repot series`
verify    the report of `repot verify`
written   what comes after a move is written, and that it was undone
"""
