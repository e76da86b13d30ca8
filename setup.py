"""What is installed, as far as pyproject.toml cannot say it: the engine inside the package `repot`.

In the repository `transforms` and `verify` lie at the top. Installed, they lie in `repot/_engine`,
so that they never meet packages of the user's that have these names. In an editable install they
stay where they are, and `repot.launcher` finds them there.
"""

from __future__ import annotations

from setuptools import find_packages, setup

ENGINE = "repot._engine"

engine = find_packages(include=["transforms*", "verify*"])
setup(
    packages=[
        *find_packages(include=["repot*", "hicache*", "pool_host*"]),
        *(f"{ENGINE}.{package}" for package in engine),
    ],
    package_dir={f"{ENGINE}.{package}": package for package in engine if "." not in package},
)
