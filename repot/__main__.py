"""`python -m repot` is `repot`, for an environment without console scripts."""

import sys

from repot.launcher import start, wanted

if __name__ == "__main__":
    start(wanted(sys.argv[1:]), by_name=True)
