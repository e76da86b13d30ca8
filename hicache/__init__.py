"""HiCache in small: key and value pages on a device, in host memory and in files.

A request finds the pages of its prefix in the radix tree, loads what lies on the host or in files,
computes the rest, and leaves its own pages behind. Modules, from the bottom up: `pages`,
`transfers`, `workers`, `statistics`, `device_pools`, `host_pools`, `storage`, `cache_controller`,
`nodes`, `unstored`, `room`, `radix_tree`, `summary`, `metrics`, `decoder`, `engine`, `machine`,
`workload`, `demo`, `cli`. Importing the package loads none of them, so `hicache --help` needs no
torch.
"""
