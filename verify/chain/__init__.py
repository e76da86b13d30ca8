"""Every commit of a range, each with its judgement.

cache   judgements kept in the user's cache folder
links   every commit of a range, each with its judgement
series  every claimed move of a history
"""
