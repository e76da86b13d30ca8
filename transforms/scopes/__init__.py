"""Which definition a name means within one module.

annotations  types in strings and comments
expressions  the walk over expressions
resolve      name resolution for one module
statements   the walk over statements
types        scopes, bindings and references
"""
