"""The pages keep their promises: plans run as shown, tables are whole, links lead somewhere."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tests.documents import (
    PAGES,
    ROOT,
    Example,
    anchors,
    coded,
    commands,
    diff_sections,
    examples,
    fences,
    file_shown,
    is_printed,
    links,
    rows,
    sections,
)
from tests.series import Recorded
from tests.sharing import split_once
from tests.transforms.case import MemoryTree
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.callers import patches
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.formatters.registry import projects
from transforms.formatters.versions import known, order
from transforms.reading.load import parse_plan
from transforms.reading.schema import Reader
from transforms.result.changes import Blob
from transforms.source import imports
from verify import cli
from verify.release import transform
from verify.report.report import to_text

PLANS = ROOT / "docs" / "plans.md"
OPTIONS = {
    name: {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for name, command in typer.main.get_group(cli.app).commands.items()
}
EXAMPLES = [example for page in PAGES for example in examples(page)]


def parsed(package: str) -> list[ast.Module]:
    return [ast.parse(path.read_bytes()) for path in sorted((ROOT / package).rglob("*.py"))]


def strings(node: ast.expr) -> set[str]:
    """The strings that an expression may be: itself, or either side of a condition."""
    if isinstance(node, ast.IfExp):
        return strings(node.body) | strings(node.orelse)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    return set()


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def calls(node: ast.AST) -> Mapping[str, Sequence[ast.Call]]:
    """The calls in a module or function, by what is called, that are given an argument."""
    found: dict[str, list[ast.Call]] = defaultdict(list)
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and part.args:
            found[called(part)].append(part)
    return found


def first_arguments(trees: list[ast.Module], name: str) -> set[str]:
    """The strings that calls of `name` are given first: as they are, by a variable or a helper."""
    found: set[str] = set()
    called_in = {tree: calls(tree) for tree in trees}
    for tree in trees:
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            parameters = [item.arg for item in function.args.args if item.arg != "self"]
            for call in calls(function).get(name, ()):
                first = call.args[0]
                found |= strings(first)
                if not isinstance(first, ast.Name):
                    continue
                if first.id not in parameters:
                    for node in ast.walk(function):
                        if isinstance(node, ast.Assign) and first.id in map(
                            ast.unparse, node.targets
                        ):
                            found |= strings(node.value)
                    continue
                position = parameters.index(first.id)
                for other in [tree] if function.name.startswith("_") else trees:
                    for helped in called_in[other].get(function.name, ()):
                        found |= set().union(*map(strings, helped.args[position : position + 1]))
    return found


def documented(heading: str) -> dict[str, list[str]]:
    """The rows of a section's tables by their first cell."""
    text = sections(PLANS.read_text(encoding="utf-8"))[heading]
    return {coded(row[0]): row for row in rows(text)}


class TestExamples:
    @pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
    def test_does_what_the_page_shows(
        self,
        example: Example,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        plan = parse_plan(example.plan.encode(), example.id)
        if not example.tree:
            return
        tree = MemoryTree({path: Blob(text.encode()) for path, text in example.tree.items()})
        changes = apply(plan, tree).changes
        diff = diff_sections(changes.diff().decode())
        after = changes.after()
        for fence in example.shown:
            place = f"{example.page.name}:{fence.line}"
            if fence.language == "python":
                path, text = file_shown(fence)
                blob = after.get(path)
                assert (place, blob and blob.data.decode()) == (place, text)
            elif fence.language == "diff":
                for name, part in diff_sections(fence.text).items():
                    assert (place, diff.get(name)) == (place, part)
        for path, text in example.tree.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        (tmp_path / "split.toml").write_text(example.plan, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        for fence in (fence for fence in example.shown if fence.language == "console"):
            for command, wanted in commands(fence.text):
                cli.run(command.split()[1:])
                printed = capfd.readouterr()
                place = f"{example.page.name}:{fence.line}: {command}\n"
                output = printed.out + printed.err
                assert is_printed(wanted, output), f"{place}\n{output}"

    def test_there_are_examples_and_they_show_something(self) -> None:
        assert sum(bool(example.shown) for example in EXAMPLES) > 8


@pytest.fixture(scope="module")
def schema() -> dict[str, dict[str, dict[str, Any]]]:
    """What the reader of plans asks of each table, seen as it reads the examples."""
    seen: dict[str, dict[str, dict[str, Any]]] = {}

    def facts(reader: Reader, key: str) -> dict[str, Any]:
        table = str(reader._where[0]) if reader._where else ""
        return seen.setdefault(table, {}).setdefault(key, {})

    only, boolean, choice = Reader.only, Reader.boolean, Reader.choice

    def note_only(self: Reader, *keys: str) -> None:
        for key in keys:
            facts(self, key)
        only(self, *keys)

    def note_boolean(self: Reader, key: str, *, default: bool = False) -> bool:
        facts(self, key)["default"] = str(default).lower()
        return boolean(self, key, default=default)

    def note_choice(self: Reader, key: str, valid: Any, **default: Any) -> Any:
        facts(self, key)["choices"] = tuple(valid)
        if default.get("default") is not None:
            facts(self, key)["default"] = f'"{default["default"]}"'
        return choice(self, key, valid, **default)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "only", note_only)
        patch.setattr(Reader, "boolean", note_boolean)
        patch.setattr(Reader, "choice", note_choice)
        for example in EXAMPLES:
            parse_plan(example.plan.encode(), example.id)
    return seen


class TestSchema:
    TABLES = ("source", "destination", "move", "package", "shrink", "author", "accept")

    def heading(self, table: str) -> str:
        return f"`[[{table}]]`" if table else "Top level"

    def test_examples_use_every_table(self, schema: dict[str, Any]) -> None:
        assert set(schema) == {"", *self.TABLES}
        assert set(self.TABLES) <= set(schema[""])

    @pytest.mark.parametrize("table", ["", *TABLES], ids=["top level", *TABLES])
    def test_every_key_is_documented_with_its_values(
        self, table: str, schema: dict[str, dict[str, dict[str, Any]]]
    ) -> None:
        found = documented(self.heading(table))
        assert set(found) == set(schema[table])
        for key, facts in schema[table].items():
            _, _, default, meaning = found[key]
            for choice in facts.get("choices", ()):
                assert f'`"{choice}"`' in meaning, key
            if "default" in facts:
                assert default == f"`{facts['default']}`", key

    def test_every_anchor_in_the_page_of_plans_is_a_table(self) -> None:
        text = PLANS.read_text(encoding="utf-8")
        assert {"import_from", *self.TABLES} <= anchors(text)


@pytest.fixture(scope="module")
def mover() -> list[ast.Module]:
    return parsed("transforms")


class TestKinds:
    def test_every_refusal_is_documented(self, mover: list[ast.Module]) -> None:
        found = documented("Refusals")
        refused = first_arguments([*mover, *parsed("verify"), *parsed("repot")], "Refusal")
        assert refused - set(found) == set(), "docs/plans.md"
        assert set(found) == refused
        assert all(len(row) == 3 and all(row) for row in found.values())

    def test_the_skill_names_refusals_that_there_are(self) -> None:
        (skill,) = (ROOT / "skills").glob("*/SKILL.md")
        text = skill.read_text(encoding="utf-8")
        front = yaml.safe_load(text.split("---\n")[1])
        assert (set(front), front["name"]) == ({"name", "description"}, skill.parent.name)
        assert 100 < len(front["description"]) < 1024
        ids = {name for row in rows(text) for name in re.findall(r"`([a-z-]+)`", row[0])}
        assert len(ids) > 10
        assert ids <= set(documented("Refusals"))

    def test_every_note_is_documented(self, mover: list[ast.Module]) -> None:
        of_patches = {patches.ELSEWHERE, patches.SHARED}
        assert set(documented("Notes")) == first_arguments(mover, "Note") | of_patches

    def test_every_kind_of_edit_is_documented(self, mover: list[ast.Module]) -> None:
        sites = ast.parse(Path(imports.__file__).read_bytes())
        (kind,) = (
            node
            for node in ast.walk(sites)
            if isinstance(node, ast.FunctionDef) and node.name == "kind"
        )
        of_imports = {
            text
            for node in ast.walk(kind)
            if isinstance(node, ast.Return) and node.value
            for text in strings(node.value)
        }
        assert set(documented("Edits")) == first_arguments(mover, "Edit") | of_imports


class TestFormatters:
    def test_the_oldest_version_of_each_is_named(self) -> None:
        page = (ROOT / "docs" / "formatters.md").read_text(encoding="utf-8")
        stated = {row[0].partition(",")[0]: row[1] for row in rows(page)}
        for project in sorted(projects()):
            assert stated[project] == f"{min(known(project), key=order)} and newer"


@pytest.mark.parametrize(("name", "count"), [("judging.md", 6), ("reviewing.md", 2)])
def test_the_pages_of_the_judge_show_what_is_printed(
    name: str,
    count: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    history = History(tmp_path / "repo")
    fixed = {**AFTER, "till.py": AFTER["till.py"].replace("Money, pay)", "pay)")}
    steps = {
        "start": (BEFORE, "Sell things"),
        "plan": ({**BEFORE, PLAN_PATH: PLAN}, "Plan to give money a module of its own"),
        "move": ({**AFTER, PLAN_PATH: PLAN}, f"Move Money\n\nMechanical-Move: {PLAN_PATH}"),
        "fix": ({**fixed, PLAN_PATH: PLAN}, "Print less"),
    }
    for tag, (files, message) in steps.items():
        history.commit(files, message)
        history.git("tag", tag)
    history.git("checkout", "--quiet", "--detach", "plan")
    history.commit({**fixed, PLAN_PATH: PLAN}, "Move Money by hand")
    history.git("tag", "hand")
    monkeypatch.chdir(history.folder)
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    consoles = [fence for fence in fences(page) if fence.language == "console"]
    for fence in consoles:
        for command, wanted in commands(fence.text):
            arguments = command.split()[1:]
            cli.run([*arguments, "--jobs", "1"] if arguments[0] == "chain" else arguments)
            output = capfd.readouterr().out
            assert is_printed(wanted, output), f"{fence.line}: {command}\n{output}"
    assert len(consoles) == count


class TestReadme:
    @pytest.mark.registry
    def test_make_transform_prints_what_it_shows(
        self,
        tmp_path: Path,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        (shown,) = (
            wanted
            for fence in fences((ROOT / "README.md").read_text(encoding="utf-8"))
            if fence.language == "console"
            for command, wanted in commands(fence.text)
            if command == "make transform"
        )
        monkeypatch.chdir(ROOT)
        record = Recorded()
        try:
            series = to_text(transform.replay_series(record))
        except Refusal:  # a source archive, or a shallow clone
            series = shown.partition("\n\nrepot transform:")[0] + "\n"
        else:
            assert record.is_right, record.judged
        monkeypatch.chdir(tmp_path)
        split, _ = split_once(tmp_path_factory)
        monkeypatch.setattr(transform, "split_release", lambda: split)
        assert transform.main([]) == 0
        assert is_printed(shown, series + capfd.readouterr().out)


class TestPages:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
    def test_links_lead_somewhere(self, page: Path) -> None:
        for link in links(page.read_text(encoding="utf-8")):
            if re.match(r"https?://", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            if anchor:
                assert anchor in anchors(target.read_text(encoding="utf-8")), link

    @pytest.mark.parametrize(
        "name",
        ["author", "bundle", "certificate", "ci", "comparison", "engine", "index", "reviewing"],
    )
    def test_who_opens_it_is_shown_what_to_type(self, name: str) -> None:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        first = fences(text)[0]
        assert first.language in {"sh", "yaml", "console"}
        before = "".join(text.splitlines(keepends=True)[1 : first.line - 1])
        assert len(before.split()) < 50

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
    def test_every_command_and_option_exists(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        found = fences(text)
        shown = [fence.text for fence in found if fence.language in {"sh", "yaml"}]
        typed = (commands(fence.text) for fence in found if fence.language == "console")
        shown += [command for pairs in typed for command, _ in pairs]
        shown += re.findall(r"`([^`\n]+)`", text)
        for name, rest in re.findall(r"(?<![-./\w])repot ([a-z]+)\b([^#|\n]*)", "\n".join(shown)):
            assert name in OPTIONS, f"repot {name}"
            unknown = set(re.findall(r"(?<!\S)--[a-z][a-z-]+", rest)) - OPTIONS[name]
            assert not unknown, f"repot {name}{rest}"

    def test_every_page_is_linked_from_the_index_and_stands_in_the_site(self) -> None:
        pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
        index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
        assert pages == set(links(index))
        site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        listed = re.findall(r": (\w+\.md)$", site.partition("\nnav:\n")[2], re.MULTILINE)
        assert sorted(listed) == sorted({*pages, "index.md"})

    def test_every_page_is_linked_from_the_readme(self) -> None:
        linked = {
            (ROOT / link.partition("#")[0]).resolve()
            for link in links((ROOT / "README.md").read_text(encoding="utf-8"))
            if not link.startswith("http")
        }
        assert {page for page in PAGES if page.name != "README.md"} <= linked
