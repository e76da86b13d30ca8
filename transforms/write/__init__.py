"""Writing a change set to disk, all or nothing.

journal  writing, all or nothing
settle   bringing files from one side to the other, from any mixture of both
store    the journal on disk
undo     taking back the last move that was written
"""
