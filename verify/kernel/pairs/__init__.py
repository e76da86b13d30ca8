"""Both trees beside each other: which statement, which module, which name is which."""
