"""What hangs together in a module, and what cycle each cut would make.

What uses each other in a circle cannot be parted. A helper goes with its user, unless it is the
larger of the two: with its only one, or with the one that all its other users use as well. A table
goes with what it lists, and small constants with each other. Nothing else is joined: which groups
share a module is for a person. No step closes a circle between groups.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from transforms.outline.graph import Graph

_SMALL = 3  # lines of a constant
_MOST_USERS = 40  # of a helper that goes with one of them


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that would move together, in the order of the module.

    `needs` are the nodes outside that it uses, `needed_by` those outside that use it; `stays_need`
    are its nodes that statements use which cannot leave. `with_groups` are the other groups that it
    uses, near or far: moved with them, or after them, it needs nothing from its old home.
    """

    number: int
    members: tuple[int, ...]
    lines: int
    needs: tuple[int, ...]
    needed_by: tuple[int, ...]
    stays_need: tuple[int, ...]
    with_groups: tuple[int, ...]
    is_constants: bool = False

    @property
    def makes_cycle(self) -> bool:
        """Whether, moved alone, it imports from its old home, which has to import it back."""
        return bool(self.needs) and bool(self.needed_by or self.stays_need)


def groups_of(graph: Graph) -> tuple[Group, ...]:
    """Form the groups, numbered from 1 in the order of the module."""
    part, constants = _with_constants(graph, _with_helpers(graph, _circles(graph)))
    members: dict[int, list[int]] = defaultdict(list)
    for number, home in enumerate(part):
        if not graph.nodes[number].is_copied:
            members[home].append(number)
    homes = sorted(members, key=lambda home: members[home][0])
    numbers = {home: index for index, home in enumerate(homes, 1)}
    below = {home: _homes(graph, part, members[home]) - {home} for home in homes}
    users = _users(graph)
    return tuple(
        replace(
            _group(graph, numbers, members[home], _reached(below, home), users),
            is_constants=home == constants,
        )
        for home in homes
    )


def _users(graph: Graph) -> dict[int, set[int]]:
    users: dict[int, set[int]] = defaultdict(set)
    for number, used in graph.uses.items():
        for other in used:
            users[other].add(number)
    return users


def _group(
    graph: Graph,
    numbers: dict[int, int],
    members: list[int],
    reached: set[int],
    users: dict[int, set[int]],
) -> Group:
    inside = set(members)
    needs = {other for number in members for other in graph.uses[number]} - inside
    needed_by = {other for number in members for other in users[number]} - inside
    home = next(home for home, index in numbers.items() if home in inside)
    return Group(
        numbers[home],
        tuple(members),
        sum(graph.nodes[number].lines for number in members),
        tuple(sorted(needs)),
        tuple(sorted(needed_by)),
        tuple(sorted(inside & graph.needed)),
        tuple(sorted(numbers[other] for other in reached)),
    )


def _homes(graph: Graph, part: list[int], members: Iterable[int]) -> set[int]:
    return {part[other] for number in members for other in graph.uses[number]}


def _reached(below: dict[int, set[int]], home: int) -> set[int]:
    found: set[int] = set()
    waiting = [home]
    while waiting:
        for other in below[waiting.pop()] - found - {home}:
            found.add(other)
            waiting.append(other)
    return found


class _Joining:
    """Parts that are joined to others, one after the other."""

    def __init__(self, graph: Graph, part: list[int]) -> None:
        self.graph, self.part = graph, part
        self.size: dict[int, int] = defaultdict(int)
        self.is_table: dict[int, bool] = defaultdict(lambda: True)
        self.users: dict[int, set[int]] = {home: set() for home in part}
        self.uses: dict[int, set[int]] = {home: set() for home in part}
        self.joined: dict[int, int] = {}
        for number, home in enumerate(part):
            self.size[home] += graph.nodes[number].lines
            self.is_table[home] &= not graph.nodes[number].is_definition
        for number, used in graph.uses.items():
            for other in used:
                if part[number] != part[other]:
                    self.users[part[other]].add(part[number])
                    self.uses[part[number]].add(part[other])

    def now(self, homes: Iterable[int]) -> set[int]:
        """Where parts are by now."""
        return {self.home(home) for home in homes}

    def home(self, home: int) -> int:
        while home in self.joined:
            home = self.joined[home]
        return home

    def host(self, home: int) -> int | None:
        """The user with which a part goes, if there is one."""
        users = self.now(self.users[home]) - {home}
        if not 0 < len(users) <= _MOST_USERS:
            return None
        for user in sorted(users):
            fits = self.size[home] <= self.size[user] or (len(users) == 1 and self.is_table[user])
            if fits and all(user in self.now(self.uses[other]) for other in users - {user}):
                return user
        return None

    def join(self, home: int, user: int) -> None:
        self.joined[home] = user
        self.size[user] += self.size[home]
        self.is_table[user] &= self.is_table[home]
        self.users[user] |= self.users[home]
        self.uses[user] |= self.uses[home]


def _with_helpers(graph: Graph, part: list[int]) -> list[int]:
    """Join helpers to their users, until none is left to be joined."""
    joining = _Joining(graph, part)
    pinned = {part[number] for number in graph.needed}
    changed = True
    while changed:
        changed = False
        for home in sorted(joining.users):
            if home in joining.joined or home in pinned:
                continue
            user = joining.host(home)
            if user is not None:
                joining.join(home, user)
                changed = True
    return _numbered([joining.home(home) for home in part])


def _numbered(part: list[int]) -> list[int]:
    """Name each part by its first node."""
    first: dict[int, int] = {}
    for number, home in enumerate(part):
        first.setdefault(home, number)
    return [first[home] for home in part]


def _with_constants(graph: Graph, part: list[int]) -> tuple[list[int], int | None]:
    """Join small things that use nothing: constants and flags, each too little for a module."""
    size = Counter(part)
    small = {
        node.number
        for node in graph.nodes
        if size[part[node.number]] == 1
        and not (node.is_definition or node.is_copied or graph.uses[node.number])
        and node.lines <= _SMALL
    }
    if not small:
        return part, None
    home = min(small)
    return [home if number in small else old for number, old in enumerate(part)], home


def _circles(graph: Graph) -> list[int]:
    """By node the first node of its circle (Tarjan 1972, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    part = list(range(len(graph.nodes)))
    stack: list[int] = []
    on_stack: set[int] = set()
    for start in range(len(graph.nodes)):
        if start in order:
            continue
        work = [(start, iter(sorted(graph.uses[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            number, coming = work[-1]
            other = next(coming, None)
            if other is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == order[number]:
                    _close(number, stack, on_stack, part)
            elif other not in order:
                order[other] = low[other] = len(order)
                stack.append(other)
                on_stack.add(other)
                work.append((other, iter(sorted(graph.uses[other]))))
            elif other in on_stack:
                low[number] = min(low[number], order[other])
    return part


def _close(number: int, stack: list[int], on_stack: set[int], part: list[int]) -> None:
    circle = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        circle.append(member)
        if member == number:
            break
    for member in circle:
        part[member] = min(circle)
