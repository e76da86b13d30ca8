"""One claimed move as one Python file that anybody can run, and the check of such a file.

script      the file itself, before the plan and the engine are put into it; it is never imported
inside      what the file runs once its environment is there
engine      which of Repot's own sources the file carries
installed   whether that engine is the one that was installed
quoting     text as literals that a reader can read and that hide nothing
build       the file, put together
check       whether a file is what `build` makes of its plan
reports     what `repot bundle` says of both
lock        writes `lock.txt`, the dependencies of the engine with the hash of every wheel
releases    the bundles that a release publishes, listed in `published.toml`

proving    its report
standing   whether its commits are here, and concern the reader
"""

from __future__ import annotations

VERSION = "0.1.0"  # the release that writes these files; a test holds it against pyproject.toml
