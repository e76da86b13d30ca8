"""A module as the mover sees it: statements as spans, what they bind, use and change."""
