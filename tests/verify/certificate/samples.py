"""A module that is split: what a move touches, in one small package."""

from __future__ import annotations

MONO = '''\
"""The monolith."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Optional

from pkg import flags
from pkg.flags import fast
from pkg.helpers import assist

if TYPE_CHECKING:
    from pkg.types import Shape

logger = logging.getLogger(__name__)

LIMIT = 10

_fast = fast()

if _fast:
    from pkg.quick import sprint

# How long to wait.
TIMEOUT: int = 3 * (60**2)


def near(shape: Shape, size: Optional[int] = None) -> int:
    """Measure."""
    if _fast:
        return sprint(size)
    logger.info("near %s", os.getpid())
    return assist(size or LIMIT)


class Base:
    """A base."""

    lock = threading.Lock()

    def run(self, count: int = 2, *, name: str = "x") -> str:
        # Counted from one.
        value = near(count) + TIMEOUT  # noqa: E501
        try:
            return f"{value!r}: {name}"
        except KeyError:
            return ""
        except ValueError:
            raise


class Child(Base):
    def stop(self) -> None:
        flags.reset(LIMIT)
'''
CORE = '''\
from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Optional

from pkg.flags import fast
from pkg.helpers import assist

if TYPE_CHECKING:
    from pkg.types import Shape

logger = logging.getLogger(__name__)

LIMIT = 10

_fast = fast()

if _fast:
    from pkg.quick import sprint

# How long to wait.
TIMEOUT: int = 3 * (60**2)


def near(shape: Shape, size: Optional[int] = None) -> int:
    """Measure."""
    if _fast:
        return sprint(size)
    logger.info("near %s", os.getpid())
    return assist(size or LIMIT)


class Base:
    """A base."""

    lock = threading.Lock()

    def run(self, count: int = 2, *, name: str = "x") -> str:
        # Counted from one.
        value = near(count) + TIMEOUT  # noqa: E501
        try:
            return f"{value!r}: {name}"
        except KeyError:
            return ""
        except ValueError:
            raise
'''
REST = '''\
"""The monolith."""

from __future__ import annotations

import logging

from pkg import flags
from pkg.core import Base

logger = logging.getLogger(__name__)

LIMIT = 10


class Child(Base):
    def stop(self) -> None:
        flags.reset(LIMIT)
'''
USER = """\
from pkg.mono import Base, Child, near


def main() -> None:
    print(Base(), Child(), near(1))
"""
USES = """\
from pkg.core import Base, near
from pkg.mono import Child


def main() -> None:
    print(Base(), Child(), near(1))
"""
HELPERS = """\
LIMIT = 11


def assist(size):
    return size


def near(size):
    return size + 1


class Base:
    pass
"""
SHARED = {
    "pkg/__init__.py": "",
    "pkg/flags.py": "def fast():\n    return False\n\n\ndef reset(n):\n    return n\n",
    "pkg/helpers.py": HELPERS,
    "pkg/quick.py": "def sprint(n):\n    return n\n",
    "pkg/types.py": "class Shape:\n    pass\n",
    "pkg/plugin.py": "print('loaded')\n",
}
BEFORE = {**SHARED, "pkg/mono.py": MONO, "pkg/user.py": USER}
AFTER = {**SHARED, "pkg/mono.py": REST, "pkg/core.py": CORE, "pkg/user.py": USES}
