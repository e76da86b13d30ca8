"""Files that are too long, too deep, or no text: a verdict in bounded time, never a crash."""

from __future__ import annotations

import os
import time

import pytest

from tests.effort import FULL
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH
from tests.verify.hostile.world import DIFFERED, HELD, TRAILER, UNJUDGED, World
from verify.reports.verify import PASS

# What takes quadratic time takes hours for it, or many minutes.
_SIZE = 1_000_000 if FULL else 250_000
IMPORT = b"from shop.orders import pay\n"


def commit(world: World, files: dict[str, str], odd: dict[bytes, bytes], message: str) -> str:
    """Commit files, some with names or contents that are no text."""
    for path, text in files.items():
        (world.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (world.repo / path).write_text(text)
    for name, data in odd.items():
        with open(os.fsencode(world.repo) + b"/" + name, "wb") as file:
            file.write(data)
    world.history.git("add", "--all")
    world.history.git("commit", "--quiet", "-m", message)
    return world.history.git("rev-parse", "HEAD")


ODD = {
    "a long line that imports": b"# shop.orders " + b"from x import orders " * (_SIZE // 20),
    "a long string": IMPORT + b"x = 'shop.orders.Money" + b"a" * _SIZE + b"'\n",
    "a long dotted string": IMPORT + b"x = 'shop.orders." + b"a.orders." * (_SIZE // 90) + b"'\n",
    "5,000 parentheses": IMPORT + b"x = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "5,000 signs": IMPORT + b"x = " + b"-" * 5000 + b"1\n",
    "5,000 attributes": IMPORT + b"x = pay" + b".a" * 5000 + b"\n",
    "5,000 operators": IMPORT + b"x = pay" + b" + 1" * 5000 + b"\n",
    "90 blocks": IMPORT + b"".join(b" " * n + b"if x:\n" for n in range(90)) + b" " * 90 + b"1\n",
    "a null byte": IMPORT + b"x = '\0'\n",
    "bytes that are no UTF-8": IMPORT + b"x = '\xff\xfe'\n",
    "a coding line that names no encoding of text": b"# coding: rot13\n" + IMPORT,
    "a coding line that names a transformation": b"# coding: hex\n" + IMPORT,
    "a coding line that nobody knows": b"# coding: evil\n" + IMPORT,
    "UTF-7, with code in a comment": b"# coding: utf-7\n" + IMPORT + b"# +AAo-evil()\n",
    "line ends of all kinds": IMPORT.replace(b"\n", b"\r") + b"x = 1\r\ny = '\x0b\x0c'\x0c\n",
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_beside_the_move(world: World, data: bytes) -> None:
    base = commit(world, {**BEFORE, PLAN_PATH: PLAN}, {b"odd.py": data}, "base")
    target = commit(world, {**AFTER, PLAN_PATH: PLAN}, {b"odd.py": data}, TRAILER)
    start = time.perf_counter()
    answer = world.chain(f"{base}..{target}")
    assert time.perf_counter() - start < 60
    (found,) = answer.data["commits"]
    assert (answer.code, found["verdict"]) in {(HELD, "proved"), (UNJUDGED, "not proved")}
    assert found["unjudged"] == (answer.code == UNJUDGED)


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_changed_by_the_move(world: World, data: bytes) -> None:
    """An odd file that comes with a move is never part of one."""
    base = commit(world, {**BEFORE, PLAN_PATH: PLAN}, {}, "base")
    target = commit(world, {**AFTER, PLAN_PATH: PLAN}, {b"odd.py": data}, TRAILER)
    start = time.perf_counter()
    verified, chained = world.verify(base, target), world.chain(f"{base}..{target}")
    certified = world.repot("certify", f"{base}..{target}")
    assert time.perf_counter() - start < 60
    assert (verified.code, chained.code) == (DIFFERED, DIFFERED)
    assert "odd.py" in verified.out
    assert certified.code in (DIFFERED, UNJUDGED), certified.out
    assert all(len(answer.out) < 20_000 for answer in (verified, chained, certified))


def test_thousands_of_equal_lines_are_compared_in_time(world: World) -> None:
    for text in ("\n", "f()\n"):
        base = commit(world, {**BEFORE, "more.py": text * 20_000 + "z = 0\n"}, {}, "base")
        changed = text * 9_000 + "evil()\n" + text * 11_005 + "z = 1\n"
        target = commit(world, {**AFTER, "more.py": changed}, {}, "target")
        start = time.perf_counter()
        answer = world.verify(base, target)
        assert time.perf_counter() - start < 60
        assert answer.code == DIFFERED
        assert "+ evil()" in answer.out
        world.history.git("reset", "--quiet", "--hard", base)
        (world.repo / "shop/money.py").unlink(missing_ok=True)


def test_lines_are_counted_as_git_counts_them(world: World) -> None:
    """A form feed or a separator of paragraphs shifts no line number of a report."""
    odd = "x = '\x0c\u2028\x85\x1c'\n"
    base = commit(world, {**BEFORE, "more.py": f"{odd}y = 1\n"}, {}, "base")
    target = commit(world, {**AFTER, "more.py": f"{odd}y = 2\n"}, {}, "target")
    answer = world.verify(base, target)
    assert [(h["path"], h["line"]) for h in answer.data["hunks"]] == [("more.py", 2)]


def test_paths_and_messages_that_are_no_text(world: World) -> None:
    odd = {b"\xff\xfe.txt": b"x = 1\n", b"new\nline.py": b"y = 1\n"}
    base = commit(world, {**BEFORE, PLAN_PATH: PLAN}, odd, "base")
    changed = {name: data + b"z = 1\n" for name, data in odd.items()}
    target = commit(world, {**AFTER, PLAN_PATH: PLAN}, changed, TRAILER)
    answers = world.judge(base, target)
    assert answers["verify"].code == answers["certify"].code == DIFFERED
    assert answers["verify"].last.startswith("RESIDUAL: ")
    for name in ("verify", "certify", "chain"):
        assert r"\xff\xfe.txt" in answers[name].out, name
        assert r"new\nline.py" in answers[name].out, name


def test_a_moved_file_whose_name_is_no_text_is_blamed(world: World) -> None:
    base = commit(world, BEFORE, {}, "base")
    files = {**AFTER}
    money = files.pop("shop/money.py").encode()
    target = commit(world, files, {b"shop/\xff\xe9.py": money}, "Split")
    answer = world.repot("blame", f"{base}..{target}")
    assert (answer.code, answer.data["traced"]) == (HELD, 5)


def test_a_message_that_is_no_text_still_claims(world: World) -> None:
    base = commit(world, {**BEFORE, PLAN_PATH: PLAN}, {}, "base")
    world.history.git("config", "i18n.commitEncoding", "latin-1")
    message = world.folder / "message"
    message.write_bytes(b"\xe9\xff " + PASS.encode() + b"\0\n\nMechanical-Move: plans/no.toml\n")
    target = commit(world, {**AFTER, PLAN_PATH: PLAN}, {}, "x")
    tree = world.history.git("rev-parse", f"{target}^{{tree}}")
    raw = b"tree %s\nparent %s\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\n" % (
        tree.encode(),
        base.encode(),
    )
    message.write_bytes(raw + message.read_bytes())
    forged = world.history.git("hash-object", "-t", "commit", "-w", "--literally", str(message))
    answer = world.chain(f"{base}..{forged}")
    assert (answer.code, answer.data["commits"][0]["verdict"]) == (DIFFERED, "faulty trailer")
