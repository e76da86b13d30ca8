"""Every commit of a range, each with its judgement."""
