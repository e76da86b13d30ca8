"""`python -m benchmarks.pool_host`: see `host_churn`."""

import sys
from importlib.util import find_spec

if __name__ == "__main__":
    if find_spec("torch") is None:
        print("left out: the pools need the extra `pool`, which brings torch")
        sys.exit(0)
    from benchmarks.pool_host.host_churn import main

    sys.exit(main())
