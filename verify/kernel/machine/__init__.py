"""The abstract import machine: it runs the top level of modules on values that may be unknown.

`values` is what there is, `state` what a run has done and the paths it may take, `units` modules as
they load and `loads` how they are kept, `scopes` where names are looked up, `imports` how modules
come in, `objects` attributes and calls, `expressions`
and `statements` the language. `Machine` is all of them.

calls        calls of the tree's code and, by the lists, of the outside
cut          whether a call that is not followed leaves anything out
frames       who asks where something stands
patches      what patches replace
"""

from verify.kernel.machine.statements import Machine

__all__ = ["Machine"]
