"""A repository's formatters run as Repot's table has them, and as the base configures them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.transforms.formatters.trees import PRE_COMMIT, append, hooks, stand_ins
from tests.verify.histories import AFTER, BEFORE, PLAN_PATH
from tests.verify.histories import PLAN as UNFORMATTED
from tests.verify.hostile.world import DIFFERED, TRAILER, UNJUDGED, World
from verify.reports.verify import PASS

PLAN = UNFORMATTED.replace('formatters = "none"\n', "")
TOUCHED = ("shop/orders.py", "shop/money.py", "till.py")
Install = Callable[..., None]


@pytest.fixture
def install(world: World, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Let programs be stand-ins; a program that has none may not be asked for."""
    world.plan.write_text(PLAN)
    return stand_ins(world.folder, monkeypatch)


def commits(world: World, files: Mapping[str, str], made: str = "") -> tuple[str, str]:
    """Commit the move with further files; `made` is what the formatters add to what it touches."""
    after = {path: text + made if path in TOUCHED else text for path, text in AFTER.items()}
    base = world.history.commit({**BEFORE, PLAN_PATH: PLAN, **files})
    return base, world.history.commit({**after, PLAN_PATH: PLAN, **files}, TRAILER)


def test_packages_of_the_tree_are_not_run(world: World, install: Install) -> None:
    install(isort=append("# isort\n"), black=append("# black\n"))
    evil = world.python_trap()
    names = (
        "black.py", "isort/__init__.py", "isort/main.py", "ruff/__main__.py", "click.py", "json.py",
        "sitecustomize.py", "usercustomize.py", "encodings/__init__.py", "pathlib.py",
        "shop/black.py", "shop/sitecustomize.py", "drive.py", "conftest.py", "setup.py",
    )  # fmt: skip
    files = {PRE_COMMIT: hooks("isort", "black"), "x.pth": f"import os; {evil}"}
    files |= dict.fromkeys(names, evil)
    base = world.history.commit({**BEFORE, PLAN_PATH: PLAN, **files})
    after = {path: f"{AFTER[path]}# isort\n# black\n" for path in TOUCHED}
    lines = after["till.py"].splitlines(keepends=True)  # a stand-in for isort sorts nothing
    after["till.py"] = "".join([lines[1], lines[0], *lines[2:]])
    target = world.history.commit({**AFTER, **after, PLAN_PATH: PLAN, **files}, TRAILER)
    answers = world.judge(base, target)
    assert answers["verify"].last == PASS, answers["verify"].out + answers["verify"].err
    assert answers["chain"].data["commits"][0]["verdict"] == "proved", answers["chain"].out
    assert not world.canary.exists()


BLACK, ISORT = "[tool.black]\n", "[tool.isort]\n"
REFUSED: dict[str, tuple[str, dict[str, str]]] = {
    "ruff that extends a file outside": (
        "ruff, args: [--fix]", {"ruff.toml": "extend = '../../evil.toml'\n"}
    ),
    "ruff that extends a person's file": (
        "ruff, args: [--fix]", {"ruff.toml": "extend = '~/evil.toml'\n"}
    ),
    "ruff with a cache outside": (
        "ruff, args: [--fix]", {"ruff.toml": "cache-dir = '/CANARY'\n[lint]\nselect = ['I']\n"}
    ),
    "ruff told its cache": ("ruff, args: [--fix, --cache-dir=/CANARY]", {}),
    "ruff told to write elsewhere": ("ruff, args: [--fix, --output-file=/CANARY]", {}),
    "ruff told a configuration outside": ("ruff, args: [--fix, --config=../evil.toml]", {}),
    "ruff told to add suppressions": ("ruff, args: [--fix, --add-noqa]", {}),
    "ruff told to read from standard input": ("ruff, args: [--fix, --stdin-filename=x]", {}),
    "black with plugins": ("black", {"pyproject.toml": f"{BLACK}plugins = ['evil']\n"}),
    "black that runs code": ("black", {"pyproject.toml": f"{BLACK}code = 'x'\n"}),
    "black told a configuration outside": ("black, args: [--config=/CANARY]", {}),
    "black told code": ("black, args: [-c, x]", {}),
    "isort with a plugin that formats": (
        "isort", {"pyproject.toml": f"{ISORT}formatter = 'evil'\n"}
    ),
    "isort with a profile of another package": (
        "isort", {"pyproject.toml": f"{ISORT}profile = 'evil'\n"}
    ),
    "isort with an order of another package": (
        "isort", {"pyproject.toml": f"{ISORT}sort_order = 'evil'\n"}
    ),
    "isort told settings outside": ("isort, args: [--settings-path=/CANARY]", {}),
    "a file for its output": ("isort, args: [--stdout]", {}),
    "additional dependencies": ("black, additional_dependencies: [evil==1.0]", {}),
    "another entry point": ("black, entry: ./evil", {}),
    "another language": ("black, language: system", {}),
}  # fmt: skip


@pytest.mark.parametrize(("hook", "files"), REFUSED.values(), ids=REFUSED)
def test_refused_is(world: World, install: Install, hook: str, files: dict[str, str]) -> None:
    install()  # nothing may be asked for

    def here(text: str) -> str:
        return text.replace("/CANARY", str(world.canary))

    written = {PRE_COMMIT: hooks(here(hook)), **{path: here(text) for path, text in files.items()}}
    base, target = commits(world, written)
    answer = world.verify(base, target)
    assert (answer.code, answer.refusal) == (UNJUDGED, "formatter-configuration"), answer.out
    chained = world.chain(f"{base}..{target}")
    assert (chained.code, chained.data["commits"][0]["verdict"]) == (UNJUDGED, "not proved")
    assert not world.canary.exists()


@pytest.mark.parametrize("cache", [".repot", "deep/.repot"])
def test_a_cache_in_the_repository_is_not_believed(
    world: World, install: Install, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    install()
    base, target = commits(world, {PRE_COMMIT: hooks("black"), "deep/x": ""})
    monkeypatch.chdir(world.repo)
    for place in (cache, str(world.repo / cache)):
        monkeypatch.setenv("REPOT_CACHE", place)
        assert world.verify(base, target).refusal == "formatter-cache"
        assert world.repot("chain", f"{base}..{target}", "--jobs=1").code == UNJUDGED
        assert not (world.repo / cache).exists()


def test_a_version_that_is_not_in_the_table_is_refused(world: World, install: Install) -> None:
    install()
    base, target = commits(world, {PRE_COMMIT: hooks("black").replace("26.1.0", "99.1.0")})
    assert world.verify(base, target).refusal == "formatter-version"


def test_hooks_that_the_change_brings_do_not_count(world: World, install: Install) -> None:
    install()
    base, _ = commits(world, {})
    brought = hooks("black, additional_dependencies: [evil]", "isort")
    target = world.history.commit({**AFTER, PLAN_PATH: PLAN, PRE_COMMIT: brought}, TRAILER)
    answer = world.verify(base, target)
    assert answer.code == DIFFERED
    assert {hunk["path"] for hunk in answer.data["hunks"]} == {PRE_COMMIT}


def test_a_version_that_the_change_chooses_does_not_count(world: World, install: Install) -> None:
    install(black=append("# black of the base\n"))
    base, _ = commits(world, {PRE_COMMIT: hooks("black")})
    after = {
        path: text + "# black of the base\n" for path, text in AFTER.items() if path in TOUCHED
    }
    chosen = hooks("black").replace("26.1.0", "99.1.0")
    target = world.history.commit({**AFTER, **after, PLAN_PATH: PLAN, PRE_COMMIT: chosen}, TRAILER)
    answer = world.verify(base, target)
    assert answer.code == DIFFERED
    assert {hunk["path"] for hunk in answer.data["hunks"]} == {PRE_COMMIT}


IS_CONFIGURED = """
import os
mark = b"# configured\\n" if os.path.exists("pyproject.toml") else b"# plain\\n"
if mark not in path.read_bytes(): path.write_bytes(path.read_bytes() + mark)
"""


def test_configuration_that_the_change_brings_does_not_count(
    world: World, install: Install
) -> None:
    install(black=IS_CONFIGURED)
    base, _ = commits(world, {PRE_COMMIT: hooks("black")})
    after = {path: text + "# plain\n" for path, text in AFTER.items() if path in TOUCHED}
    files = {PRE_COMMIT: hooks("black"), "pyproject.toml": "[tool.black]\nline-length = 9\n"}
    target = world.history.commit({**AFTER, **after, PLAN_PATH: PLAN, **files}, TRAILER)
    answer = world.verify(base, target)
    assert {hunk["path"] for hunk in answer.data["hunks"]} == {"pyproject.toml"}


def test_configuration_that_the_plan_authors_does_not_count(world: World, install: Install) -> None:
    install(black=IS_CONFIGURED)
    text = "[tool.black]\nline-length = 9\n"
    world.plan.write_text(f"{PLAN}\n[[author]]\npath = 'pyproject.toml'\ntext = '''\n{text}'''\n")
    base = world.history.commit({**BEFORE, PRE_COMMIT: hooks("black")})
    after = {path: text + "# plain\n" for path, text in AFTER.items() if path in TOUCHED}
    files = {PRE_COMMIT: hooks("black"), "pyproject.toml": text}
    answer = world.verify(base, world.history.commit({**AFTER, **after, **files}))
    assert answer.last == PASS, answer.out + answer.err
    assert answer.data["authored_lines"] == 2


@pytest.mark.parametrize("leads_to", ["/etc/passwd", "../../outside.toml", "pyproject.toml"])
def test_configuration_behind_a_link(world: World, install: Install, leads_to: str) -> None:
    install(black=append("# black\n"))
    (world.folder / "outside.toml").write_text("[tool.black]\nline-length = 9\n")
    world.history.commit({**BEFORE, PRE_COMMIT: hooks("black")})
    (world.repo / "pyproject.toml").symlink_to(leads_to)
    world.history.git("add", "--all")
    world.history.git("commit", "--quiet", "-m", "link")
    base = world.history.git("rev-parse", "HEAD")
    for path in TOUCHED:
        (world.repo / path).write_text(AFTER[path] + "# black\n")
    world.history.git("add", "--all")
    world.history.git("commit", "--quiet", "-m", "move")
    answer = world.verify(base, "HEAD")
    if leads_to == "pyproject.toml":  # to itself: no configuration
        assert answer.last == PASS, answer.out + answer.err
    else:
        assert (answer.code, answer.refusal) == (UNJUDGED, "formatter-configuration")
    assert "root:" not in answer.out + answer.err


def test_hooks_behind_a_link_are_none(world: World, install: Install) -> None:
    install()
    (world.folder / "outside.yaml").write_text(hooks("black"))
    world.history.commit({**BEFORE, "inside.yaml": hooks("black")})
    (world.repo / PRE_COMMIT).symlink_to("inside.yaml")
    world.history.git("add", "--all")
    world.history.git("commit", "--quiet", "-m", "link")
    base = world.history.git("rev-parse", "HEAD")
    for path in TOUCHED:
        (world.repo / path).write_text(AFTER[path])
    world.history.git("add", "--all")
    world.history.git("commit", "--quiet", "-m", "move")
    assert world.verify(base, "HEAD").last == PASS
