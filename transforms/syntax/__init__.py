"""Files before any name in them is resolved: parsing, depth, comments, calls.

called    what a call or a decorator is called
comments  whose a comment is: the file's, a section's, a tool's, a statement's
depth     how deep a file nests, told before and after parsing
fstrings  places inside f-strings, where older interpreters get them wrong
kinds     what kind of statement one is
parsing   parsing that ends in a tree or a refusal, never in a crash
"""
