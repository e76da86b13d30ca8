"""The subcommands of `repot`, one module each. Importing one loads only what its help needs."""
