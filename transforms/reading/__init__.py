"""Plans as data: what a plan is, and reading and writing it as TOML.

accepts what a plan accepts, used where it is needed
load    reading one from bytes, and writing it
model   what a plan is
reader  from TOML to a plan: every key, and what keys say of each other
schema  checked access to TOML: file, line, key and the nearest valid name in every complaint
writer  a plan as TOML again
"""
