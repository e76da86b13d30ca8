"""No one-fault copy of a move is certified: of small moves here, and of real ones where at hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import pytest

from tests.effort import FULL
from tests.verify.certificate import samples
from tests.verify.certificate.histories import SERIES, load
from tests.verify.certificate.trees import Tree, files
from tests.verify.mutants.faults import KINDS, Mutant, mutants, proof
from verify import certificate
from verify.certificate import CERTIFIED, Files, certify, resolve, source

PKG = {
    "pkg/__init__.py": "",
    "pkg/lib.py": "def aid(x):\n    return x\n\n\ndef wrap(f):\n    return f\n",
}
INTO = '''\
"""Where code goes."""

from __future__ import annotations

from pkg.lib import aid

FACTOR = 3


def there(x: int, *, scale: float = 1.5) -> list[int]:
    """What was there before."""
    if x > FACTOR and not scale:
        raise ValueError(f"{x} is too much")
    return [aid(n) + FACTOR for n in range(x)]
'''
GOES = '''\
@wrap
class Goes(Exception):
    """It goes."""

    level = -1

    @property
    def name(self) -> str:
        return "name" + str(self.level)  # as text

    async def wait(self, times: int = 0b11) -> bool:
        for n in range(times):
            try:
                await self.once(n, times)
            except (OSError, ValueError):
                continue
            finally:
                self.level += 1
        return times is None or times == 2
'''
STAYS = "def stays(x):\n    return Goes, there(x), lib.aid(x)\n"
WHOLE = "from __future__ import annotations\n\nfrom pkg import lib\nfrom pkg.into import there\n"
SMALL: dict[str, tuple[Tree, Tree]] = {
    "a module is split": (samples.BEFORE, samples.AFTER),
    "code goes into a module that exists": (
        {
            **PKG,
            "pkg/into.py": INTO,
            "pkg/whole.py": f"{WHOLE}from pkg.lib import wrap\n\n\n{GOES}\n\n{STAYS}",
            "pkg/user.py": "import pkg.whole\n\n\n"
            "def use():\n    return pkg.whole.Goes, pkg.whole.stays\n",
        },
        {
            **PKG,
            "pkg/into.py": INTO.replace("import aid", "import aid, wrap") + f"\n\n{GOES}",
            "pkg/whole.py": f"{WHOLE.replace('import there', 'import Goes, there')}\n\n{STAYS}",
            "pkg/user.py": "import pkg.into\nimport pkg.whole\n\n\n"
            "def use():\n    return pkg.into.Goes, pkg.whole.stays\n",
        },
    ),
    "a module becomes a package": (
        {
            **PKG,
            "pkg/both.py": f"from pkg.lib import aid, wrap\n\n\n{GOES}\n\n"
            "def stays(x):\n    return Goes, aid(x)\n",
        },
        {
            **PKG,
            "pkg/both/__init__.py": "from pkg.both.goes import Goes\n"
            "from pkg.both.stays import stays\n\n"
            '__all__ = ["Goes", "stays"]\n',
            "pkg/both/goes.py": f"from pkg.lib import wrap\n\n\n{GOES}",
            "pkg/both/stays.py": "from pkg.both.goes import Goes\nfrom pkg.lib import aid\n\n\n"
            "def stays(x):\n    return Goes, aid(x)\n",
        },
    ),
}


def faulty(base: Files, target: Files, each: int, chance: random.Random) -> list[Mutant]:
    """Give mutants of every changed file, in an order that `chance` decides."""
    found: list[Mutant] = []
    for path in sorted(target):
        if path.endswith(".py") and base.get(path) != target[path]:
            found.extend(mutants(path, target[path][0].decode(), chance, each))
    chance.shuffle(found)
    return found


def spread(found: list[Mutant], number: int) -> Iterator[Mutant]:
    """Choose mutants so that every kind has its share."""
    most = -(-number // len(KINDS))
    seen: Counter[str] = Counter()
    for mutant in found:
        seen[mutant.kind] += 1
        if seen[mutant.kind] <= most:
            yield mutant


def put(target: Files, mutant: Mutant) -> Files:
    return {**target, mutant.path: (mutant.text.encode(), target[mutant.path][1])}


@pytest.mark.parametrize("move", SMALL)
def test_no_mutant_of_a_small_move_is_certified(move: str) -> None:
    before, after = SMALL[move]
    base, target = files(before), files(after)
    assert certify(base, target).verdict == CERTIFIED
    kinds: Counter[str] = Counter()
    moves = []
    each = 4 if FULL else 2
    for mutant in faulty(base, target, each, random.Random(move)):  # noqa: S311 - chance, no secret
        kinds[mutant.kind] += 1
        if certify(base, put(target, mutant)).verdict == CERTIFIED:
            why = proof(before, after, mutant)
            assert why, mutant
            moves.append(why)
    assert len(kinds) >= 20
    assert len(moves) <= 2, moves


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 50


def test_a_mutant_that_is_a_move_is_proved_so() -> None:
    base, target = files(samples.BEFORE), files(samples.AFTER)
    line = "logger = logging.getLogger(__name__)\n"
    text = samples.AFTER["pkg/mono.py"].replace(line, "", 1)
    mutant = Mutant("statement dropped", "pkg/mono.py", 10, line, "", text, line)
    assert proof(samples.BEFORE, samples.AFTER, mutant)
    assert certify(base, put(target, mutant)).verdict == CERTIFIED


SHARES = {"27273": 260, "2/N": 180, "3/N": 420, "5/N": 180, "1/N": 60, "8/N": 60, "9/N": 60}


@pytest.mark.history
@pytest.mark.parametrize("step", SHARES)
def test_no_mutant_of_a_real_move_is_certified(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = lru_cache(maxsize=None)(source.parse)  # the same files are judged again and again
    for module in (certificate, resolve, certificate.reach):
        monkeypatch.setattr(module, "parse", kept)
    base, target, rest = load(step)
    plain = certify(base, target, rest)
    assert plain.verdict == SERIES[step].verdict
    found = faulty(base, target, 3, random.Random(step))  # noqa: S311 - chance, not secrecy
    chosen = list(spread(found, SHARES[step]))
    assert len({mutant.kind for mutant in chosen}) >= 20
    for mutant in chosen:
        again = certify(base, put(target, mutant), rest)
        assert again.verdict != CERTIFIED, mutant
        assert again.unknowns or set(again.residuals) - set(plain.residuals), mutant
