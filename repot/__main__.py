"""`python -m repot` is `repot`, for an environment without console scripts."""

from repot.launcher import COMMAND, start

if __name__ == "__main__":
    start(COMMAND, by_name=True)
