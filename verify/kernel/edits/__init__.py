"""Statements: conserved one to one, or edited as a move entails."""
