"""What a release publishes: this history's own moves and public ones, proved, with sums."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from pathlib import Path

import pytest

from tests.verify.bundle.rig import World
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify.bundle import releases
from verify.bundle.build import Subject, build
from verify.bundle.check import check
from verify.bundle.engine import ROOT, engine_digest
from verify.bundle.releases import Published, own, public, publish, published
from verify.history.ranges import open_range

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


@pytest.fixture
def claimed(tmp_path: Path) -> tuple[History, Subject]:
    """A history that plans a move, makes it, and goes on."""
    history = History(tmp_path / "repo")
    base = history.commit({**BEFORE, PLAN_PATH: PLAN}, "Plan")
    target = history.commit({**AFTER, PLAN_PATH: PLAN}, f"Move\n\nMechanical-Move: {PLAN_PATH}")
    history.commit({**AFTER, PLAN_PATH: "# done\n"}, "More")
    return history, Subject(PLAN, base, target)


def test_the_own_series_is_found_by_its_trailers(claimed: tuple[History, Subject]) -> None:
    history, subject = claimed
    assert list(own(history.folder)) == [("repot-split", subject)]


def test_each_is_written_with_its_sum(claimed: tuple[History, Subject], tmp_path: Path) -> None:
    history, subject = claimed
    out = tmp_path / "out"
    publish([("repot-split", subject)], {"repot": history.folder}, out)
    assert {path.name for path in out.iterdir()} == {"repot-split.py", "SHA256SUMS", "ENGINE"}
    data = (out / "repot-split.py").read_bytes()
    assert data == build(subject)
    assert check(out / "repot-split.py").is_ours
    digest = hashlib.sha256(data).hexdigest()
    assert (out / "SHA256SUMS").read_text() == f"{digest}  repot-split.py\n"
    assert (out / "ENGINE").read_text().startswith(f"{engine_digest()}  ")


def test_one_that_would_not_pass_stops_the_release(world: World, tmp_path: Path) -> None:
    subject = Subject(PLAN.replace('["Money"]', '["pay"]'), world.base, world.target)
    with pytest.raises(Refusal, match="does not reproduce"):
        publish([("repot-split", subject)], {"repot": world.clone.folder}, tmp_path / "out")
    assert not (tmp_path / "out" / "SHA256SUMS").exists()


def test_every_public_plan_is_published_once() -> None:
    plans = {path.name for path in (ROOT / "transforms" / "plans" / "sglang").glob("*.toml")}
    assert sorted(item.plan for item in published()) == sorted(f"sglang/{name}" for name in plans)
    assert len({item.target for item in published()}) == len(plans)
    assert next(name for name, _ in public()) == "sglang-27273"
    for item in published():
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+", item.url)
        assert item.depth >= 2  # a target without its parent cannot be replayed


def test_what_is_listed_is_fetched_into_a_repository_of_its_own(
    claimed: tuple[History, Subject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, subject = claimed
    history.git("config", "uploadpack.allowAnySHA1InWant", "true")
    url = history.folder.as_uri()
    listed = [Published("sglang/1.toml", url, subject.base, subject.target, 2)]
    monkeypatch.setattr(releases, "published", lambda: listed)
    assert releases.main(["fetch", str(tmp_path / "clone.git")]) == 0
    base, target = open_range(tmp_path / "clone.git", subject.base, subject.target)
    assert (base.commit, target.commit) == (subject.base, subject.target)
    assert base.repository.is_shallow()
    assert releases.main([]) == 2


@pytest.mark.history
def test_the_public_ones_name_commits_that_are_there() -> None:
    folder = Path(os.environ["REPOT_HISTORIES"])
    for item in published():
        owner, project = item.url.rsplit("/", 2)[1:]
        history = History.__new__(History)
        history.folder = folder / f"{owner}-{project}.git"
        count = history.git("rev-list", "--count", f"{item.base}..{item.target}")
        assert int(count) < item.depth
        assert history.git("merge-base", item.base, item.target) == item.base


@pytest.mark.history
@pytest.mark.thorough
@pytest.mark.registry
def test_the_public_ones_would_pass(tmp_path: Path) -> None:
    clones = {
        "https://github.com/alphabetc1/sglang": "alphabetc1-sglang.git",
        "https://github.com/bytedance-iaas/sglang": "bytedance-iaas-sglang.git",
    }
    folder = Path(os.environ["REPOT_HISTORIES"])
    urls = [item.url for item in published()]
    for url, clone in clones.items():
        subjects = [pair for pair, its in zip(public(), urls, strict=True) if its == url]
        publish(subjects, {"sglang": folder / clone}, tmp_path / clone)
    assert len(list(tmp_path.rglob("*.py"))) == len(urls)


class TestWorkflow:
    TEXT = WORKFLOW.read_text(encoding="utf-8")

    def test_runs_on_a_tag_and_writes_only_where_it_must(self) -> None:
        assert 'tags: ["v*"]' in self.TEXT
        assert "pull_request" not in self.TEXT
        assert self.TEXT.count("contents: write") == 1

    def test_reads_events_through_variables_alone(self) -> None:
        scripts = re.findall(r"run: (\|\n(?: {10}.*\n)+|.*\n)", self.TEXT)
        assert len(scripts) == 5
        assert all("${{" not in script for script in scripts)

    def test_names_commands_that_are_there(self) -> None:
        for module in re.findall(r"python -m (verify[\w.]+)", self.TEXT):
            ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_bytes())
