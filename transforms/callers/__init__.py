"""Every other file that imports or names what moves.

attributes    `source.NAME`, where the module itself was imported
candidates    which files can matter, by a search of bytes
context       what the rewriting of one caller knows and gives
detours       uses that cannot be followed
free_names    whether a name is free where it is to be used
from_imports  `from source import NAME`
grammars      which other files name what, and what of it is rewritten
handles       the imports behind it
lookups       calls that name an attribute by a string
patches       which module a patch must name
prompts       imports and names of examples at a prompt
readers       which names other files read through a module
roles         references that documentation tools look up
run           all callers of a move
stars         `from source import *`
strings       names in strings
tables        tables of names that a package loads late, and `module:Name`
texts         entry points and documentation in other files
written       those files written anew, by their grammars
"""
