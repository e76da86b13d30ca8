"""What is proved of one move: replay, certificate, ancestry, together.

adapter      which kernel judges; the first one's certificate in the words of the second
certify      two commits, as the certificate kernel takes them
definitions  which names statements define
gate         what `repot apply` is about to write, judged
moved_names  which files a change moved code between
naming       which of some words stand in which files
part         what of a large tree the second kernel looks at
prove        replay, certificate and ancestry of one move, at the same time
replay       a plan on its base against the target, every path and mode
"""
