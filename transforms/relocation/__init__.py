"""Whole modules and packages that go elsewhere, with everything in them.

`targets` says which file goes where, and what every module is called afterwards; `python` rewrites
one Python file, moved or not; `strings` what it says in strings and comments; `texts` files of
other kinds; `shims` what stays at an old path; `entry` is the run as a whole.

around    what the rewriting of one file knows
cycles    import cycles that a new place makes
left      files under `leave`: what they import and patch
mentions  where a text names what moves
notes     what a person should look at
"""

from transforms.relocation.entry import refuse_applied, relocate

__all__ = ["refuse_applied", "relocate"]
