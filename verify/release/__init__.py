"""`make transform`: the proof of a release, on real input.

linting    Ruff's opinion of files, for its checks
transform  `make transform`
wheels     the wheels that it fetches
"""
