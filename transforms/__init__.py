"""The mover: a plan and a tree in, a change set out. Nothing here judges, prints or commits."""
