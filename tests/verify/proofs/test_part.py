"""The part of a large tree that the second kernel sees is enough to tell what breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tests.effort import FULL
from tests.verify.kernel.trees import Case, cases, files
from verify import certificate as first
from verify import kernel
from verify.certificate import Held
from verify.kernel import Certificate
from verify.kernel.verdict import BREAKS, NOT_READ, OPEN
from verify.proofs import adapter, part
from verify.proofs.adapter import MOST

LARGE = files({"filler/__init__.py": "", "filler/part.py": "X = 1\n" + "#" * MOST})
# What no file tells that names the change: links, bytes, texts that say it otherwise, and worlds in
# which something is not installed.
APART = (
    "around_modules: pytest ini usefixtures",
    "around_modules: pytest doctest namespace",
    "by_text: table",
    "outside_python: a link",
    "tables: a pickle stands in bytes",
    "tables: a table in JSON",
    "data_files:",
    "scripts: a package that is run as a folder",
    "near_misses: an import that acts is dropped",
    "worlds:",
)
ALL = [case for case in cases() if not case.name.startswith(APART)]
SOME = ALL if FULL else ALL[::12]


def seen(case: Case, rest: kernel.Files = LARGE) -> Certificate:
    """Judge the part of a case that stands in a tree with much else."""
    base, target = files(case.base), files(case.target)
    same = {path for path, file in base.items() if target.get(path) == file}
    looked = part.part(_without(base, same), _without(target, same), _beside(base, same, rest))
    assert looked is not None
    ours, theirs = _without(base, same), _without(target, same)
    return looked.judge(ours, theirs)


def _without(side: kernel.Files, paths: Iterable[str]) -> kernel.Files:
    apart = set(paths)
    return {path: file for path, file in side.items() if path not in apart}


def _beside(base: kernel.Files, same: Iterable[str], rest: kernel.Files) -> Held:
    return Held({**rest, **{path: base[path] for path in same}})


@pytest.mark.parametrize("case", [c for c in SOME if not c.certified], ids=lambda c: c.name)
def test_what_breaks_or_is_open_in_the_whole_is_so_in_a_part(case: Case) -> None:
    whole = kernel.certify(files(case.base), files(case.target))
    if whole.of(NOT_READ, BREAKS, OPEN):  # else the first kernel is asked for text
        assert seen(case).of(NOT_READ, BREAKS, OPEN)


@pytest.mark.parametrize("case", [c for c in SOME if c.certified], ids=lambda c: c.name)
def test_an_honest_move_breaks_and_opens_nothing_in_a_part(case: Case) -> None:
    assert seen(case).of(NOT_READ, BREAKS, OPEN) == ()


def test_what_is_open_in_a_part_is_open_in_the_whole() -> None:
    user = "from a import K\n\n\ndef f():\n    return K.__module__\n"
    base = files({"a.py": "class K:\n    pass\n\n\nX = 1\n", "u.py": user})
    target = files(
        {"a.py": "from b import K\n\nX = 1\n", "b.py": "class K:\n    pass\n", "u.py": user}
    )
    before, after = {**LARGE, **base}, {**LARGE, **target}
    assert first.certify(before, after).verdict == first.CERTIFIED
    found = adapter.certify(before, after)
    assert (found.verdict, found.of(OPEN)[0].place.path) == (kernel.UNKNOWN, "u.py")


def test_what_is_built_from_another_language_is_no_missing_module() -> None:
    base = {
        "p/__init__.py": "",
        "p/_fast.pyx": "def fast(): pass\n",
        "p/a.py": "from p._fast import fast\n\n\ndef one():\n    return 1\n",
    }
    target = {
        **base,
        "p/a.py": "from p._fast import fast\n",
        "p/b.py": "def one():\n    return 1\n",
    }
    assert seen(Case("", True, base, target)).verdict == kernel.CERTIFIED


def test_data_is_not_read_to_find_words_in_it() -> None:
    rest = Unread(files({**BASE, "shop/logo.png": "A", "shop/table.csv": "A"}))
    changed = {"shop/a.py": files(BASE)["shop/a.py"]}
    moved = {path: files(AFTER)[path] for path in ("shop/a.py", "shop/b.py")}
    looked = part.part(changed, moved, rest)
    assert looked is not None
    assert "shop/table.csv" in looked.rest.paths()


class Unread(Held):
    """Shared files, of which pictures are not here."""

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        assert not any(path.endswith(".png") for path in wanted)
        return super().read_many(wanted)


MADE = "from far.maker import made, Plain\n\n\nclass A(Plain):\n    X = made()\n"
BASE = {
    "shop/__init__.py": "",
    "shop/a.py": f"{MADE}\n\nY = 1\n",
    "shop/user.py": "from shop.a import A, Y\n\nprint(A.X, Y)\n",
}
AFTER = {
    **BASE,
    "shop/a.py": "from shop.b import A\n\nY = 1\n",
    "shop/b.py": MADE,
}
FAR = files(
    {
        "far/__init__.py": "",
        "far/maker.py": "def made():\n    return []\n\n\nclass Plain:\n    pass\n" + "#" * MOST,
    }
)


def test_what_comes_from_a_file_that_is_not_read_is_the_same_on_both_sides() -> None:
    assert seen(Case("", True, BASE, AFTER), FAR).of(BREAKS) == ()
    other = {**AFTER, "shop/b.py": AFTER["shop/b.py"].replace("made()", "made(1)")}
    assert seen(Case("", False, BASE, other), FAR).of(BREAKS)


def test_no_file_of_the_tree_can_pass_for_one_that_is_not_read() -> None:
    for name in ("<blank>.x", "__blank__.x"):
        text = (
            "import importlib\n\ntry:\n"
            f"    importlib.import_module({name!r})\n"
            "except ImportError:\n    print({})\n"
        )
        before, after = (files({"m.py": text.replace("{}", one)}) for one in ("1", "2"))
        assert kernel.certify(before, after).verdict != kernel.CERTIFIED


def test_the_first_kernel_and_the_part_are_told_together() -> None:
    broken = {**AFTER, "shop/a.py": "Y = 1\n"}
    base, target = files(BASE), files(broken)
    rest = Held({**FAR, **files({p: BASE[p] for p in ("shop/user.py", "shop/__init__.py")})})
    changed = {"shop/a.py", "shop/b.py"}
    found = adapter.certify(
        {path: file for path, file in base.items() if path in changed},
        {path: file for path, file in target.items() if path in changed},
        rest,
    )
    assert found.judge.endswith("has looked at the change and at 3 of 4 other files.")
    places = [place for finding in found.of(BREAKS) for place in finding.places]
    assert len(places) == len({(place.path, place.line) for place in places})


def test_a_change_that_takes_all_the_room_is_left_to_the_first() -> None:
    base = files({"m.py": "#" * MOST + "\nX = 1\n"})
    target = files({"m.py": "#" * MOST + "\nX = 2\n"})
    assert part.part(base, target, Held({})) is None
    assert adapter.certify(base, target, Held({})).judge == adapter.WHY_FIRST


def test_who_loads_first_in_a_cycle_may_hang_on_what_is_not_read() -> None:
    """`p.far` loads `p.data` first: else `p.web` asks `p.cookies` for what it does not have yet."""
    dump = "from p import data\n\n\ndef dump():\n    return data\n"
    quoted = "def quote():\n    return 1\n"
    base = {
        "p/__init__.py": "import p.far\nfrom p.web import dump\n",
        "p/data.py": "from p.web import quote\n\nQUOTE = quote\n",
        "p/web.py": f"{quoted}\n\n{dump}",
    }
    target = {
        **base,
        "p/__init__.py": "import p.far\nfrom p.cookies import dump\n",
        "p/web.py": f"from p.cookies import dump\n\n\n{quoted}",
        "p/cookies.py": dump,
    }
    far = files({"p/far.py": "import p.data\n" + "#" * MOST})
    assert seen(Case("", True, base, target), far).of(BREAKS) == ()
    near = seen(Case("", False, base, target), files({"p/far.py": ""}))
    assert any("raises ImportError" in found.why for found in near.of(BREAKS))
