"""Whole modules and packages that go elsewhere, with everything in them.

`targets` says which file goes where, and what every module is called afterwards; `python` rewrites
one Python file, moved or not; `strings` what it says in strings and comments; `texts` files of
other kinds; `shims` what stays at an old path; `entry` is the run as a whole.
"""

from transforms.relocation.entry import refuse_applied, relocate

__all__ = ["refuse_applied", "relocate"]
