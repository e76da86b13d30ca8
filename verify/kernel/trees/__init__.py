"""One of the two trees, as it lies there: files, statements, settings, and the lists of what acts.

The ground of the kernel. Nothing here knows that there are two of them.

commands  which tests the commands of a tree run
declared  which outside packages a project says it needs
effects   what acts and what does not: the lists, each with its reason
nodes     walks over syntax trees
settings  settings that tools read, pytest's among them
source    a file as statements, and the comments that stand at each
tree      one tree: what modules are called, where an import leads, who reaches a change
versions  for which Pythons a verdict holds
words     lists of words, as they are written down
"""
