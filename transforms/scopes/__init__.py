"""Which definition a name means within one module."""
