"""Every commit of a range, each with its judgement.

cache   judgements kept in the user's cache folder
how     what was asked for: processes, strictness, declarations
links   every commit of a range, each with its judgement
looking what a commit holds that claims no move
series  every claimed move of a history
"""
