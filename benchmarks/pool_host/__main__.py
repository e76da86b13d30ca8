"""`python -m benchmarks.pool_host`: see `host_churn`."""

import sys

from benchmarks.pool_host.host_churn import main

sys.exit(main())
