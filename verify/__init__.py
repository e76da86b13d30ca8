"""The judge: the command line, the report, and the proofs about a move."""
