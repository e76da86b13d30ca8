"""The subcommands of `repot`, one module each. Importing one loads only what its help needs.

apply    `repot apply`
blame    `repot blame`
bundle   `repot bundle`
carry    `repot carry`
certify  `repot certify`
chain    `repot chain`
infer    `repot infer`
mcp      `repot mcp`: its help; `repot.server` is what serves
options  options that all subcommands take
origin   `repot origin`
plan     `repot plan`
pythons  another Python on this machine, where syntax is newer than this one
review   `repot review`
series   `repot series`
verify   `repot verify`
"""
