"""`make transform`: the proof of a release, on real input."""
