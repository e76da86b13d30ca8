"""Files as such: what is run, listed, installed or collected by its path.

files      files as such: what is run, what hides what, packages that come and go
packaging  what is installed: whether lists of packages and sources take what is new
paths      files that code reads or runs by their path, and folders that it lists
symlinks   symbolic links, which the machine does not follow
tables     a module and one of its names, said together, for somebody who looks them up
tests      tests: which are collected, and what pytest brings to each
"""
