"""Writes `lock.txt` anew: what the engine needs, each pinned, with the hash of every wheel.

    python -m verify.bundle.lock [--check]

For maintainers. Versions come from `constraints.txt` at the top of the project, file names and
hashes from the package index that pip is set up with. `--check` writes nothing and exits with 1
where the index and the committed lock disagree.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from transforms.errors import Refusal
from transforms.formatters.refresh import index_page
from verify.bundle.engine import LOCK, ROOT

# What the engine imports, or what that needs, and where. Rich is not among them: a bundle's report
# has no colour. Nor is Ruff, which only formats: formatters are installed when a plan needs them.
NEEDED = {
    "libcst": "",
    "PyYAML": "",
    "pyyaml-ft": "python_version == '3.13'",
    "tomli": "python_version < '3.11'",
    "GitPython": "",
    "gitdb": "",
    "smmap": "",
}
_HEAD = """\
# What Repot's engine needs, pinned, with the SHA-256 of every wheel for CPython 3.10 and newer.
# Written by `python -m verify.bundle.lock` from constraints.txt and the package index.
"""
# A wheel for CPython 3.10 or newer on any platform: neither PyPy's nor an older one's.
_TAGS = r"(?:cp31\d-(?:cp31\dt?|abi3)|cp3\d?-abi3|py3-none|py2\.py3-none)-[\w.]+"


def main(arguments: Sequence[str]) -> int:
    """Write or check the lock, and give an exit code."""
    text = "".join(locked())
    if "--check" not in arguments:
        LOCK.write_text(text, encoding="utf-8", newline="\n")
        return 0
    if text == LOCK.read_text(encoding="utf-8"):
        return 0
    sys.stderr.write("lock.txt is not what the package index gives for constraints.txt\n")
    return 1


def locked() -> Iterator[str]:
    """Give the lock in pieces. Raises `Refusal` where the index lacks a pinned version."""
    versions = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    yield _HEAD
    for project, marker in NEEDED.items():
        version = versions[project]
        hashes = sorted({sha for name, sha in index_page(project) if _is_wanted(name, version)})
        if not hashes:
            raise Refusal(
                "no-wheel",
                f"The package index has no wheel of {project} {version}.",
                next_step="Name another index to pip, or pin another version.",
            )
        condition = f" ; {marker}" if marker else ""
        rows = [f"{project}=={version}{condition}", *(f"    --hash=sha256:{h}" for h in hashes)]
        yield " \\\n".join(rows) + "\n"


def pins(constraints: str) -> dict[str, str]:
    """Read each project's one version."""
    return dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)$", constraints))


def _is_wanted(filename: str, version: str) -> bool:
    return re.fullmatch(rf"[\w.]+-{re.escape(version)}-{_TAGS}\.whl", filename) is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
