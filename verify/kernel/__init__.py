"""The kernel: judges without a plan whether a change is a move and nothing else.

Both trees are imported on an abstract machine, and what happens is compared. `certify` takes the
files that differ, from both trees, and looks into the others as needed. It stands on the standard
library alone and shares no code with the mover: it is a second opinion.

asked     what a module's `__getattr__` is for: its tables, and old names that it keeps
behaviour what is behaviour and what is not: what the generator's judge blanks
bodies    what function bodies refer to, and what they do
both      the pair of trees, with what everyone asks of it
commands  which tests the commands of a tree run
comments  comments are conserved, each at its place
computed  imports and code that are put together, in files which no run reaches
conserve  statements are conserved one to one
copies    what may stand twice
declared  which outside packages a project says it needs
doctests  examples in docstrings
door      the door: from the files of two trees to a certificate
effects   what acts and what does not: the lists, each with its reason
entries   from what a program can start
examples  examples in the docstrings of modules
explain   edits that a move entails, derived again
exports   what `__all__` comes to where it is put together
far       writes in files that no run reaches, to names whose readers are others now
files     files as such: what is run, what hides what, packages that come and go
flow      what an expression may be made of, within one file
given     what a module's `__getattr__` gives, name by name
getters   reads of an attribute of an object that nobody knows
grasps    modules that a body gets hold of, and whether they are the same on both sides
heard     who hears what moved code logs and warns of, by the name of its module
held      modules that are used as values
judging   the order of judgement
lazily    imports inside functions and classes
links     which units of the two sides belong together
lookups   lookups at run time: open, or assumed
near      which files a change can be reached from
needs     imports that a move entails
nodes     walks over syntax trees
observed  what one statement reads at import and another changes, over several entries
packaging what is installed: whether lists of packages and sources take what is new
pairing   which statement of the target is which of the base
paths     files that code reads or runs by their path, and folders that it lists
renames   what moved, by the names that texts give it
runs      runs of one entry on both sides
setters   writes to an attribute of an object that nobody knows
settings  settings that tools read, pytest's among them
shown     texts that show where something stood
source    a file as statements, and the comments that stand at each
spelled   where a name leads by what stands in the files
standing  who asks where something stands
strings   names that stand in texts
subclasses  whose subclasses somebody lists
symlinks  symbolic links, which the machine does not follow
tables    a module and one of its names, said together, for somebody who looks them up
tests     tests: which are collected, and what pytest brings to each
traces    two runs compared: events, bindings, how they end
tree      one tree: what modules are called, where an import leads, who reaches a change
verdict   the kinds of findings, and the verdict that follows from them
versions  for which Pythons a verdict holds
whereabouts  who asks an object that nobody knows where it stands
whole     which modules moved whole, and what went along with them
words     lists of words, as they are written down
worlds    worlds without an outside package, in which only the target fails
writes    writes to a module from anywhere, and whom they reach
machine   the abstract import machine
"""

from __future__ import annotations

from verify.kernel.door import Files, Rest, certify
from verify.kernel.verdict import CERTIFIED, RESIDUAL, UNKNOWN, Certificate, Finding

__all__ = [
    "CERTIFIED",
    "RESIDUAL",
    "UNKNOWN",
    "Certificate",
    "Files",
    "Finding",
    "Rest",
    "certify",
]
