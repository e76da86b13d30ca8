"""Import statements: how they are written, where they go, and files under edit.

comments   comments above imports that go
document   a file under edit
editor     edits of a module's imports that fit together
edits      names out with their comments, names in
guards     guards of imports, pruned
layouts    filled rows, one line, several lines
looks      what one shows to who only looks at it, without LibCST
names      names, comments, layouts and styles
order      in which order names and statements stand, and where a name goes
placement  where an import goes: at the head of a module, or beside another
rebased    the text of statements as another module gets it
rows       one statement as rows of cells
runs       the runs and groups that statements form
statement  edits of one statement: text in, text out
style      the import style that a file shows
tokens     one statement as LibCST reads and prints it
"""
