"""The bundles that a release publishes: this project's own series, and moves of public projects.

    python -m verify.bundle.releases fetch CLONE        make a repository with the public moves
    python -m verify.bundle.releases build DIR CLONE    write the bundles and their sums to DIR

For maintainers, and for the release workflow. The own series is read from the current directory. A
bundle that would not say PASS stops it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transforms import engine
from transforms.errors import Place, Refusal
from transforms.reading.load import decode_plan, parse_plan, plan_text
from transforms.tree import GitTree
from verify.bundle import VERSION
from verify.bundle.build import Subject, build
from verify.bundle.engine import engine_digest
from verify.history.commits import commits_that_say
from verify.history.made import make
from verify.history.ranges import open_range
from verify.history.trailers import read_trailer
from verify.proofs.prove import formatters_of
from verify.proofs.replay import replay
from verify.report.console import Output, print_text
from verify.report.report import refused

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PUBLISHED = Path(__file__).with_name("published.toml")
_PLANS = Path(engine.__file__).parent / "plans"


@dataclass(frozen=True, slots=True)
class Published:
    """A move of a public repository, and what to fetch of it."""

    plan: str
    url: str
    base: str
    target: str
    depth: int


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    try:
        match arguments:
            case "fetch", clone:
                fetch(published(), Path(clone))
            case "build", folder, clone:
                repositories = {"repot": Path(), "sglang": Path(clone)}
                publish([*own(Path()), *public()], repositories, Path(folder))
            case _:
                print_text(f"{__doc__}\n", sys.stderr)
                return 2
    except Refusal as refusal:
        report = refused("bundle", refusal)
        Output().show(report)
        return report.exit_code
    return 0


def published() -> list[Published]:
    """Read the list."""
    rows = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["bundle"]
    return [Published(**row) for row in rows]


def fetch(moves: Sequence[Published], clone: Path) -> None:
    """Make a bare repository that holds just these moves. Raises `Refusal`."""
    made = make(clone, bare=True)
    for item in moves:
        scheme = item.url.partition(":")[0]
        made.git.fetch(
            "--quiet", "--no-tags", f"--depth={item.depth}", item.url, item.target,
            env={"GIT_ALLOW_PROTOCOL": scheme},
        )  # fmt: skip


def public() -> Iterator[tuple[str, Subject]]:
    """Give each listed move by the name of its bundle, such as `sglang-27273`."""
    for item in published():
        project, _, number = item.plan.removesuffix(".toml").partition("/")
        text = plan_text(_PLANS / item.plan)
        yield f"{project}-{number}", Subject(text, item.base, item.target)


def own(repo: Path) -> Iterator[tuple[str, Subject]]:
    """Give each move that a history claims by a trailer, with the plan as its parent has it."""
    head = GitTree(repo, "HEAD")
    for commit in commits_that_say(head, lambda message: read_trailer(message).claims):
        path = read_trailer(commit.message).path
        if path is not None and len(commit.parents) == 1:
            parent = GitTree(repo, commit.parents[0])
            text = decode_plan(parent.read(path), path)
            yield f"repot-{Path(path).stem}", Subject(text, parent.commit, commit.id)


def publish(
    subjects: Sequence[tuple[str, Subject]], repositories: dict[str, Path], folder: Path
) -> None:
    """Write the bundles, their SHA256SUMS, and the digest of the engine in them.

    The first word of a bundle's name says which repository it is of. Raises `Refusal`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sums = []
    for name, subject in subjects:
        data = build(_passing(name, subject, repositories[name.partition("-")[0]]))
        (folder / f"{name}.py").write_bytes(data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}.py\n")
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii", newline="\n")
    line = f"{engine_digest()}  the engine of Repot {VERSION}, as `repot bundle --check` names it\n"
    (folder / "ENGINE").write_text(line, encoding="ascii", newline="\n")


def _passing(name: str, subject: Subject, repo: Path) -> Subject:
    """Replay a subject, and give it with the formatters that this took."""
    plan = parse_plan(subject.plan.encode(), name)
    base, target = open_range(repo, subject.base, subject.target)
    formatters = formatters_of(plan.formatters, base)
    if not replay(plan, base, target, formatters).reproduces:
        raise Refusal(
            "not-reproduced",
            "The plan does not reproduce its commit, so its bundle is not published.",
            next_step=f"See where: repot verify PLAN --base {base.commit} --target {target.commit}",
            place=Place(name),
        )
    return replace(subject, installs=formatters.installs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
