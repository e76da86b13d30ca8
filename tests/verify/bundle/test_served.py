"""From a web server into a fresh clone, with nothing installed: the proof of the one-liner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.sharing import installed_uv
from tests.verify.bundle.rig import Done, World, finish, litter
from tests.verify.histories import AFTER, BEFORE, PLAN, History
from transforms.formatters.versions import needs

SETTINGS = """\
repos:
  - repo: https://github.com/PyCQA/isort
    rev: 7.0.0
    hooks: [{id: isort}]
  - repo: https://github.com/psf/black
    rev: 26.1.0
    hooks: [{id: black}]
"""
# `curl -sL URL`, where there is none.
GET = "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())"


class Quiet(SimpleHTTPRequestHandler):
    """A file server without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def served(world: World) -> Iterator[str]:
    """The address of the bundle on a web server that lives as long as the test."""
    handler = partial(Quiet, directory=str(world.folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/{world.file.name}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def fresh(world: World) -> World:
    """A world whose clone is one that git made, not the one where the work was done."""
    folder = world.folder / "fresh"
    subprocess.run(
        ["git", "clone", "--quiet", world.clone.folder.as_uri(), str(folder)], check=True
    )
    world.clone = History(folder)
    return world


def piped(
    world: World, url: str, *arguments: str, python: str = sys.executable, offline: bool = False
) -> Done:
    """Type `python3 <(curl -sL URL)` in the clone; `offline` lets nothing but the URL through."""
    get = f"curl -sL {url}"
    if shutil.which("curl") is None:
        get = f"{sys.executable} -I -c '{GET}' {url}"
    nowhere = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}
    more = dict.fromkeys(nowhere, "http://127.0.0.1:9") if offline else {}
    more["no_proxy"] = more["NO_PROXY"] = "127.0.0.1"
    command = f"{python} <({get}) {' '.join(arguments)}"
    return finish(["bash", "-c", command], world.clone.folder, world.variables(more))


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@needs_bash
def test_piped_in_where_the_environment_is_there(fresh: World, served: str) -> None:
    fresh.warm()
    litter(fresh.clone.folder, fresh.folder / "mark")
    done = piped(fresh, served, offline=True)
    assert done.passes, done
    assert not (fresh.folder / "mark").exists()


@needs_bash
def test_piped_in_with_an_empty_cache_and_no_network(fresh: World, served: str) -> None:
    done = piped(fresh, served, "--find-links", str(fresh.folder), offline=True)
    assert done.code == 2
    assert "Needed once" in done.err
    assert piped(fresh, served, "--certify-only", offline=True).code == 0


@needs_bash
@pytest.mark.registry
@pytest.mark.thorough
def test_piped_into_a_fresh_clone_then_again_offline(
    fresh: World, served: str, interpreters: dict[str, str]
) -> None:
    """With an empty cache and no Repot, then without index: every interpreter, or (outside of CI)
    the oldest, which installs most.
    """
    versions = sorted(interpreters, key=lambda version: int(version.removeprefix("3.")))
    for version in versions if "CI" in os.environ else versions[:1]:
        python = interpreters[version]
        bare = [python] if python != sys.executable else [getattr(sys, "_base_executable", python)]
        first = piped(fresh, served, python=bare[0])
        assert first.passes, (version, first)
        assert "making an environment" in first.err
        second = piped(fresh, served, python=bare[0], offline=True)
        assert second.passes, (version, second)
        assert second.err == ""
        assert second.out == first.out


@needs_bash
@pytest.mark.registry
@pytest.mark.thorough
def test_the_repositorys_formatters_come_from_the_same_index_by_hash(
    world: World, served: str
) -> None:
    hooks = {".pre-commit-config.yaml": SETTINGS}
    world.base = world.clone.commit({**BEFORE, **hooks}, "Format")
    world.target = world.clone.commit({**AFTER, **hooks}, "Move Money")
    needed = [*needs("isort", "7.0.0").items(), *needs("black", "26.1.0").items()]
    world.installs = tuple(sorted({" ".join(pair) for pair in needed}))
    plan = PLAN.replace('formatters = "none"', 'formatters = "repository"')
    assert plan != PLAN
    world.file.write_bytes(world.bundle(plan))
    world.warm()
    done = piped(world, served)
    assert "RESIDUAL: " in done.out or done.passes, done
    assert "installing isort 7.0.0" in done.err
    again = piped(world, served, offline=True)
    assert (again.code, again.out, again.err) == (done.code, done.out, "")


@pytest.mark.registry
@pytest.mark.thorough
def test_uv_runs_it(fresh: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`uv run FILE.py`: its environment of no dependencies serves as well as any Python."""
    uv = shutil.which("uv") or installed_uv(tmp_path_factory)
    litter(fresh.clone.folder, fresh.folder / "mark")
    done = finish(
        [uv, "run", "--offline", "--quiet", str(fresh.file)],
        fresh.clone.folder,
        {**fresh.variables(), "UV_PYTHON": os.path.realpath(sys.executable)},
    )
    assert done.passes, done
    assert not (fresh.folder / "mark").exists()


def test_the_script_knows_nothing_of_where_it_lies(written: World) -> None:
    moved = written.folder / "elsewhere" / Path("a name with blanks.py")
    moved.parent.mkdir()
    written.file.rename(moved)
    assert written.run("--certify-only", file=moved).code == 0
