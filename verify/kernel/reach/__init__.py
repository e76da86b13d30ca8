"""Who gets hold of what moved while a program runs, without importing it by name.

Lookups, writes, hooks and listeners: each module is one way.

computed     imports and code that are put together, in files which no run reaches
far          writes in files that no run reaches, to names whose readers are others now
getters      reads of an attribute of an object that nobody knows
heard        who hears what moved code logs and warns of, by the name of its module
held         modules that are used as values
lookups      lookups at run time: open, or assumed
setters      writes to an attribute of an object that nobody knows
standing     who asks where something stands
subclasses   whose subclasses somebody lists
whereabouts  who asks an object that nobody knows where it stands
writes       writes to a module from anywhere, and whom they reach
"""
