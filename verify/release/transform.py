"""`make transform`: replay this project's own split, then split SGLang's real module from its plan.

The first needs nothing but the clone. The second takes a release from the package index, or a
commit of the reader's own clone of SGLang, and is left out, with a word, where the index cannot be
reached. What it splits is written under `build/transform/`: the split tree and the move as a patch.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from transforms import engine
from transforms.errors import Place, Refusal
from transforms.formatters import repository_formatters
from transforms.reading.load import load_plan
from transforms.reading.model import Plan
from transforms.result.changes import EXECUTABLE, REGULAR, Blob
from transforms.result.outcome import Outcome
from transforms.syntax.parsing import parse
from transforms.tree import OverlayTree, Tree, WheelTree, open_tree
from transforms.tree.names import resolve_import
from verify.chain.cache import VerdictCache
from verify.history.memory import collect_less_often
from verify.release.linting import Lint, lint
from verify.release.wheels import AFTER, BEFORE, fetch_wheel
from verify.report.console import Output, print_text
from verify.report.progress import working
from verify.report.report import Finding, Report, Row, Section, Style, Verdict, counted, refused
from verify.reports.apply import Applied, applied

PLAN = Path(engine.__file__).parent / "plans" / "sglang" / "27273.toml"
BUILD = Path("build/transform")

# A wheel holds no configuration. These are the settings of the repository that it was built from.
SETTINGS = {
    ".pre-commit-config.yaml": b"""\
repos:
  - repo: https://github.com/PyCQA/isort
    rev: 7.0.0
    hooks: [{id: isort}]
  - repo: https://github.com/astral-sh/ruff-pre-commit
    rev: v0.15.1
    hooks:
      - id: ruff
        args: ["--select=F401,F821", "--fix"]
        exclude: __init__\\.py$
  - repo: https://github.com/psf/black
    rev: 26.1.0
    hooks: [{id: black}]
""",
    ".isort.cfg": b"[settings]\nprofile=black\nknown_first_party=sglang\n",
}

# Files of the next release that differ from this one by nothing but the move.
SAME_AS_NEXT = (
    "sglang/srt/mem_cache/pool_host/__init__.py",
    "sglang/srt/mem_cache/pool_host/hisparse.py",
    "sglang/srt/mem_cache/storage/aibrix_kvcache/aibrix_kvcache_storage.py",
    "sglang/srt/mem_cache/storage/eic/eic_storage.py",
    "sglang/srt/mem_cache/storage/hf3fs/storage_hf3fs.py",
    "sglang/srt/mem_cache/storage/simm/hicache_simm.py",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold of the split tree. `faults` are places where it does not."""

    name: str
    holds: str
    faults: tuple[tuple[Place | None, str], ...] = ()


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit codes are those of `repot`."""
    parser = argparse.ArgumentParser(prog="make transform", description=__doc__)
    parser.add_argument("--repo", help="a clone of SGLang, instead of the release")
    parser.add_argument("--at", default="HEAD", help="the commit of that clone")
    options = parser.parse_args(arguments)
    collect_less_often()
    output = Output()
    if options.repo is not None:
        return _shown(output, lambda: split_commit(Path(options.repo), options.at))
    series = _shown(output, replay_series, left_out=("no-repository", "shallow-history"))
    print_text("\n", sys.stdout)
    return max(series, _shown(output, split_release, left_out=("no-wheel",)))


def _shown(output: Output, work: Callable[[], Report], left_out: Collection[str] = ()) -> int:
    """Do a part of the work, show its report, and give its exit code.

    A refusal of a kind in `left_out` says what is missing and fails nothing.
    """
    try:
        report = work()
    except Refusal as refusal:
        report = refused("transform", refusal)
        if refusal.kind in left_out:
            report = replace(report, headline=f"left out ({refusal.kind})")
            output.show(report)
            return 0
    output.show(report)
    return report.exit_code


def replay_series(known: VerdictCache | None = None) -> Report:
    """Replay the moves by which this project split its own module, but for those that are known."""
    from verify.chain.series import judge_series
    from verify.reports.series import in_series

    with working("replaying the split of pool_host"):
        links = judge_series(Path(), "HEAD", cache=known)
    return in_series("HEAD", links)


def split_release() -> Report:
    """Split the release, and hold it against the next one."""
    with working(f"fetching sglang {BEFORE.version} and {AFTER.version}"):
        before, after = fetch_wheel(BEFORE), fetch_wheel(AFTER)
    settings: Mapping[str, Blob | None] = {path: Blob(data) for path, data in SETTINGS.items()}
    with WheelTree(before, BEFORE.sha256) as wheel, WheelTree(after, AFTER.sha256) as following:
        return _split(OverlayTree(wheel, settings), f"sglang-{BEFORE.version}", following)


def split_commit(repo: Path, at: str) -> Report:
    """Split a commit of a clone."""
    tree = open_tree(repo, at)
    return _split(tree, "sglang-" + tree.label.replace(" ", "-"), None)


def _split(tree: Tree, name: str, following: Tree | None) -> Report:
    plan = load_plan(PLAN)
    with working(f"{name}: splitting"):
        outcome = engine.apply(plan, tree, formatters=repository_formatters(tree))
    with working(f"{name}: writing and checking"):
        folder = BUILD / name
        patch = BUILD / f"{name}.diff"
        own = SETTINGS if following is not None else ()  # a clone brings its own
        write_tree(tree, outcome, folder, patch, left_out=own)
        checks = list(run_checks(plan, tree, outcome, following))
    done = Applied(plan=PLAN.name, title=plan.title, tree=name, mode="preview", outcome=outcome)
    report = applied(done)
    broken = sum(bool(check.faults) for check in checks)
    verdict = "every check holds" if not broken else f"{counted(broken, 'check')} failed"
    return replace(
        report,
        command="transform",
        verdict=Verdict.DIFFERS if broken else Verdict.HOLDS,
        sections=(*report.sections, _section(checks)),
        summary=(
            *report.summary[:1],
            f"Written: {folder}/ and {patch}; {verdict}.",
        ),
    )


def _section(checks: list[Check]) -> Section:
    findings = []
    for check in checks:
        faults = [f"{place}: {message}" if place else message for place, message in check.faults]
        findings.append(
            Finding(
                kind="failed" if faults else "holds",
                place=Place(check.name),
                message=f"FAILED for {check.holds}" if faults else check.holds,
                rows=(Row.of("faults", faults, Style.BAD),) if faults else (),
            )
        )
    return Section("Checks", tuple(findings))


def write_tree(
    tree: Tree, outcome: Outcome, folder: Path, patch: Path, *, left_out: Collection[str] = ()
) -> None:
    """Write the split tree and the patch, in place of what an earlier run left."""
    if folder.exists():
        shutil.rmtree(folder)
    after = outcome.changes.after()
    modes = {path: mode for path, mode in tree.entries().items() if mode in (REGULAR, EXECUTABLE)}
    kept = tree.read_many(path for path in modes if path not in after and path not in left_out)
    files = {path: Blob(data, modes[path]) for path, data in kept.items()}
    files.update({path: blob for path, blob in after.items() if blob is not None})
    for path, blob in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blob.data)
        if blob.mode == EXECUTABLE:
            target.chmod(0o755)
    patch.write_bytes(outcome.changes.diff())


def run_checks(plan: Plan, tree: Tree, outcome: Outcome, following: Tree | None) -> Iterator[Check]:
    """What must hold of the split tree, whatever the mover believes."""
    after = outcome.changes.after()
    yield _compiles(after)
    yield from _lints(tree, outcome)
    yield _old_home(plan, tree, outcome)
    if following is not None:
        yield _same_as_next(after, following)


def _compiles(after: Mapping[str, Blob | None]) -> Check:
    faults = []
    modules = [(p, b) for p, b in after.items() if b is not None and p.endswith(".py")]
    for path, blob in modules:
        try:
            compile(blob.data, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            faults.append((Place(path, error.lineno), str(error.msg)))
        except ValueError as error:  # a null byte, on the Pythons before 3.11.4
            faults.append((Place(path), str(error)))
    return Check("compiles", f"all {len(modules)} modules that changed", tuple(faults))


def _lints(tree: Tree, outcome: Outcome) -> Iterator[Check]:
    """Ruff on the changed files before and after: nothing undefined or unused may be new."""
    changed = {p: c for p, c in outcome.changes.items() if p.endswith(".py")}
    before = {p: c.before.data for p, c in changed.items() if c.before is not None}
    after = {p: c.after.data for p, c in changed.items() if c.after is not None}
    with tempfile.TemporaryDirectory() as scratch:
        old, new = lint(before, Path(scratch)), lint(after, Path(scratch))
    known = {(item.code, item.name) for item in old}
    for code, what in (("F821", "undefined name"), ("F401", "unused import")):
        faults = [
            (Place(item.path, item.line), item.message)
            for item in new
            if item.code == code and _is_new(item, known)
        ]
        yield Check(f"no new {what}", "Ruff, before and after", tuple(faults))


def _is_new(item: Lint, known: set[tuple[str, str]]) -> bool:
    """An `__init__` imports to export; that is no unused import."""
    exports = item.code == "F401" and item.path.endswith("__init__.py")
    return not exports and (item.code, item.name) not in known


def _old_home(plan: Plan, tree: Tree, outcome: Outcome) -> Check:
    """No file but the source itself imports a moved name from where it was."""
    moved = {name for destination in plan.destinations for name in destination.symbols}
    old = outcome.sources[0]
    last = old.module.rpartition(".")[2].encode()
    after = OverlayTree(tree, outcome.changes.after())
    python = [path for path in after.entries() if path.endswith(".py") and path != old.path]
    paths = after.search(re.compile(re.escape(last)), python)
    faults = []
    for path, data in sorted(after.read_many(paths).items()):
        package = path.rpartition("/")[0].replace("/", ".")
        package = package[package.find(old.module.partition(".")[0]) :]
        for node in _nodes(path, data):
            if isinstance(node, ast.ImportFrom) and (
                resolve_import(package, node.level, node.module) == old.module
            ):
                faults += [
                    (Place(path, node.lineno), f"imports {alias.name} from {old.module}")
                    for alias in node.names
                    if alias.name in moved
                ]
    holds = (
        f"no caller imports a moved name from {old.module} ({counted(len(paths), 'file')} name it)"
    )
    return Check("callers", holds, tuple(faults))


def _nodes(path: str, data: bytes) -> Iterator[ast.AST]:
    """The nodes of a file; none of one that does not parse: it imports nothing."""
    try:
        yield from ast.walk(parse(data, path))
    except Refusal:
        return


def _same_as_next(after: Mapping[str, Blob | None], following: Tree) -> Check:
    wanted = following.read_many(SAME_AS_NEXT)
    faults = []
    for path in SAME_AS_NEXT:
        blob = after.get(path)
        if blob is None or blob.data != wanted[path]:
            faults.append((Place(path), f"differs from sglang {AFTER.version}"))
    holds = f"{len(SAME_AS_NEXT)} files equal sglang {AFTER.version} byte for byte"
    return Check("next release", holds, tuple(faults))


if __name__ == "__main__":
    sys.exit(main())
