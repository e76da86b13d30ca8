"""Plans as data: what a plan is, and reading and writing it as TOML."""
