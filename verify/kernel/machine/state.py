"""What a run has done so far, and the paths that it may take.

Everything that a run changes is an entry in some dictionary, and each change is logged, so that a
path can be taken back. A symbol is a question that nobody can answer here: whether an outside
module is there, what an outside call gives. A statement that asks one is run once for each answer,
and the paths join again behind it: what differs becomes a `Choice`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from verify.kernel.machine.units import FILL, LOAD, OUTSIDE, Death, Event, Frame, Logged
from verify.kernel.machine.values import (
    UNBOUND,
    Choice,
    Class,
    Key,
    Made,
    Module,
    Space,
    Unknown,
    Value,
    key,
)

MOST_PATHS = 16  # through one statement
MOST_STEPS = 400_000  # of one run; a loop of a program that never ends would not end here either
_ABSENT: Any = UNBOUND
Answers = dict[Key, bool]


NOTHING_LEFT: tuple[str, frozenset[str]] = ("", frozenset())


class Raised(Exception):
    """The program raises. `error` is the name of the type, `outside` what it wants from there.

    `value` is what is raised, if that is an object or a class of the tree.
    """

    def __init__(
        self, error: str, about: str = "", outside: str = "", value: Value | None = None
    ) -> None:
        super().__init__(error, about)
        self.value = value
        self.error = error
        self.about = about
        self.outside = outside


class TooMuchError(Exception):
    """The run takes too many steps."""


@dataclass
class Path:
    """One way through a statement: what it hangs on, and what it does."""

    answers: Answers
    changes: dict[tuple[int, str], tuple[dict[str, Any], str, Any]]
    trace: list[Event]
    failure: Raised | None
    deaths: list[Death]


class State:
    """The changes of a run, and its events."""

    def __init__(self) -> None:
        self.modules: dict[str, Any] = {}
        self.trace: list[Event] = []
        self.deaths: list[Death] = []
        self.log: list[Logged] = []
        self.frame = Frame("", 0, 0)  # what is being loaded; the first is the entry itself
        self.answers: Answers = {}
        self.given: Answers = {}  # what holds for all that is left of a run
        self._asked: list[Key] | None = None  # None where no path is being explored
        self.tries = 0  # how many `try` are around what runs
        self.probing = False  # a body is read: both branches of a condition are run, one by one
        self.left = NOTHING_LEFT  # how those begin that are not, and which are nevertheless
        self.prefix = ""  # how the names must begin that are taken of a module's
        self.idle: object = None  # a call that is a statement: nobody has what it gives
        self.steps = 0
        self.most_steps = MOST_STEPS
        self.site: Hashable = None
        self.counts: dict[Hashable, int] = defaultdict(int)
        self.at: list[tuple[str, int]] = [("", 0)]
        self._born: dict[int, tuple[int, dict[str, Any], Frame]] = {}  # spaces, and who made them
        self._spaces = 0
        self._new: list[int] = []  # spaces of the present entry
        self.sees: dict[Key, set[Hashable]] = defaultdict(set)  # what is read, by which statement
        self.changes: dict[Key, set[Hashable]] = defaultdict(set)  # what is changed, by which

    # --- changes ---

    def put(self, space: dict[str, Any], name: str, value: Any) -> None:
        """Bind a name in a space."""
        holder = self._born.get(id(space))
        if holder is None or holder[2] is not self.frame:
            self.reached(space, name)
        self.log.append((space, name, space.get(name, _ABSENT)))
        space[name] = value

    def remove(self, space: dict[str, Any], name: str) -> None:
        """Unbind a name."""
        if name in space:
            self.reached(space, name)
            self.log.append((space, name, space[name]))
            del space[name]

    def reached(self, space: dict[str, Any], name: str) -> None:
        """Note that a change reaches a space which the module that is loading has not made."""

    def stain(self) -> None:
        """Note that what is loading depends on more than what it loads itself."""
        self.frame.low = 0

    def rebind(self, space: dict[str, Any], name: str, value: Any) -> None:
        """Bind a name that is the machine's own affair, or that was bound before on some path."""
        self.log.append((space, name, space.get(name, _ABSENT)))
        if value is _ABSENT:
            space.pop(name, None)
        else:
            space[name] = value

    def space(self, names: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make a space of names."""
        made = {} if names is None else names
        self._spaces += 1
        self._born[id(made)] = self._spaces, made, self.frame
        self._new.append(id(made))
        return made

    def undo(self, mark: int) -> None:
        """Take back all changes since the log had some length."""
        while len(self.log) > mark:
            space, name, old = self.log.pop()
            if old is _ABSENT:
                space.pop(name, None)
            else:
                space[name] = old

    def event(self, *what: Key) -> None:
        """Note what is done beyond binding names."""
        self.trace.append(Event(what, *self.at[-1]))

    def make(self) -> Made:
        """Name an object that the present statement makes."""
        self.counts[self.site] += 1
        return self.site, self.counts[self.site]

    def step(self) -> None:
        """Count a step."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise TooMuchError

    # --- paths ---

    def ask(self, symbol: Key, default: bool = True) -> bool:
        """Answer a question that cannot be decided: the same answer throughout a path."""
        if symbol in self.given:
            return self.given[symbol]
        if symbol in self.answers:
            return self.answers[symbol]
        if self._asked is not None:
            self._asked.append(symbol)
        self.answers[symbol] = default
        return default

    def pick(self, value: Value) -> Value:
        """Give what a value is on this path."""
        while isinstance(value, Choice):
            value = value.yes if self.ask(value.symbol) else value.no
        return value

    def paths(self, action: Callable[[], None]) -> None:
        """Do something once for each answer to what it asks, and join the paths behind it."""
        if self.probing:
            action()
            return
        outer, asked_before, born = self.answers, self._asked, self._spaces
        done = self._explore(action, outer)
        self.answers, self._asked = outer, asked_before
        failed = [path for path in done if path.failure]
        if len(done) == 1:
            self._apply(done[0])
            if done[0].failure:
                raise done[0].failure
        elif not done or (failed and self.tries):
            self._sequential(action) if not done else action()
        elif len(failed) == len(done):
            self._apply(done[0])
            raise failed[0].failure or Raised("Exception")
        else:
            for path in failed:
                self._die(path)
            self._join([path for path in done if not path.failure], born)

    def _explore(self, action: Callable[[], None], outer: Answers) -> list[Path]:
        """Run all paths and take each back. Gives none where there are too many."""
        done: list[Path] = []
        pending: list[Answers] = [{}]
        while pending:
            forced = pending.pop()
            if len(done) >= MOST_PATHS:
                return []
            self.answers, self._asked = {**outer, **forced}, []
            log, trace, deaths = len(self.log), len(self.trace), len(self.deaths)
            failure = None
            try:
                action()
            except Raised as error:
                failure = error
            asked = self._asked
            found = {**forced, **{symbol: self.answers[symbol] for symbol in asked}}
            path = Path(found, {}, self.trace[trace:], failure, self.deaths[deaths:])
            if not found:
                return [path]  # nothing was asked: what was done stays as it is
            for space, name, _ in self.log[log:]:
                path.changes[id(space), name] = space, name, space.get(name, _ABSENT)
            self.undo(log)
            del self.trace[trace:]
            done.append(path)
            for index, symbol in enumerate(asked):
                before = {other: found[other] for other in asked[:index]}
                pending.append({**forced, **before, symbol: not found[symbol]})
        return done

    def _apply(self, path: Path) -> None:
        for space, name, value in path.changes.values():
            self.rebind(space, name, value)
        if path.answers:
            self.trace += path.trace

    def _sequential(self, action: Callable[[], None]) -> None:
        """Run something with so many paths that they are not told apart."""
        self.probing = True
        self.event("many paths", self.site)
        try:
            action()
        finally:
            self.probing = False

    def _die(self, path: Path) -> None:
        failure = path.failure
        if failure is None:
            return
        answers = {**self.answers, **path.answers}
        told = frozenset(answers.items())
        found = Death(told, failure.error, failure.about, failure.outside, *self.at[-1])
        self.deaths.append(found)
        if len(answers) == 1:
            [(symbol, answer)] = answers.items()
            self.given[symbol] = not answer

    def _join(self, done: list[Path], born: int) -> None:
        self._join_traces(done)
        places = {where: change[:2] for path in done for where, change in path.changes.items()}
        for where, (space, name) in places.items():
            old = space.get(name, _ABSENT)
            values = [path.changes[where][2] if where in path.changes else old for path in done]
            owners = [index for index, path in enumerate(done) if where in path.changes]
            if self._born.get(id(space), (-1,))[0] > born and len(owners) < len(done):
                values = [values[owners[0]]] * len(done)  # it exists on these paths only
            self.rebind(space, name, self._merged(values, [path.answers for path in done]))

    def _join_traces(self, done: list[Path]) -> None:
        loads = (event for path in done for event in path.trace if event.what[0] == LOAD)
        self.trace += dict.fromkeys(loads)
        self.trace += [event for event in done[0].trace if event.what[0] == OUTSIDE]
        acting = [[e for e in path.trace if e.acts or e.what[0] == FILL] for path in done]
        traces = [tuple(event.what for event in events) for events in acting]
        if all(trace == traces[0] for trace in traces):
            self.trace += acting[0]
            return
        if all(event.what[0] == FILL for events in acting for event in events):
            self._join_fills(done, acting)
            return
        taken = [e for events in acting for e in events if id(e) in self.frame.taken]
        if taken:
            self.blurred(done, taken)
        told = frozenset(
            (frozenset(path.answers.items()), trace)
            for path, trace in zip(done, traces, strict=True)
            if trace
        )
        first = next(events[0] for events in acting if events)
        self.trace.append(Event(("paths", told), first.path, first.line))

    def blurred(self, done: list[Path], events: list[Event]) -> None:
        """Note that what units below do is no longer told apart: it is a part of what joins."""
        self.stain()

    def _join_fills(self, done: list[Path], acting: list[list[Event]]) -> None:
        """Join what only fills objects that the module has made: each is told by itself."""
        for made in dict.fromkeys(event.what[1] for events in acting for event in events):
            own = [[event for event in events if event.what[1] == made] for events in acting]
            told = frozenset(
                (frozenset(path.answers.items()), tuple(event.what for event in events))
                for path, events in zip(done, own, strict=True)
                if events
            )
            first = next(events[0] for events in own if events)
            self.trace.append(Event((FILL, made, ("paths", told)), first.path, first.line))

    def _merged(self, values: list[Any], answers: list[Answers]) -> Any:
        first = values[0]
        if all(value is first for value in values):
            return first
        modules = [value for value in values if isinstance(value, Module)]
        if modules:
            self._merge_modules(values, answers)
            return modules[0]
        classes = [value for value in values if isinstance(value, Class)]
        if len(classes) == len(values) and len({key(value) for value in classes}) == 1:
            self._merge_spaces(classes[0].attributes, [c.attributes for c in classes], answers)
            return first
        if not all(isinstance(value, Value) for value in values):
            return next((v for v in values if v is not _ABSENT), first)
        return merge([*zip(answers, values, strict=True)])

    def _merge_modules(self, values: list[Any], answers: list[Answers]) -> None:
        """Make one module of what it is on several paths."""
        spaces = [value.names if isinstance(value, Module) else {} for value in values]
        kept = next(value for value in values if isinstance(value, Module))
        self._merge_spaces(kept.names, spaces, answers)

    def _merge_spaces(self, kept: Space, spaces: list[Space], answers: list[Answers]) -> None:
        """Make one space of what it is on several paths."""
        for name in dict.fromkeys(name for space in spaces for name in space):
            found = [space.get(name, UNBOUND) for space in spaces]
            if len({key(value) for value in found}) > 1:
                self.rebind(kept, name, merge([*zip(answers, found, strict=True)]))


def merge(options: list[tuple[Answers, Value]]) -> Value:
    """Make one value of what it is under different answers, the same whatever their order."""
    flat = [part for answers, value in options for part in _flat(answers, value)]
    keys = {key(value): value for _, value in flat}
    if len(keys) == 1:
        return flat[0][1]
    symbols = sorted({symbol for answers, _ in flat for symbol in answers}, key=repr)
    if len(flat) > MOST_PATHS or len(symbols) > MOST_PATHS:
        return Unknown(("many", frozenset(keys)))
    return _decide(flat, symbols)


def _flat(answers: Answers, value: Value) -> list[tuple[Answers, Value]]:
    if not isinstance(value, Choice):
        return [(answers, value)]
    found = []
    for answer, inner in ((True, value.yes), (False, value.no)):
        if answers.get(value.symbol, answer) == answer:
            found += _flat({**answers, value.symbol: answer}, inner)
    return found


def _decide(options: list[tuple[Answers, Value]], symbols: list[Key]) -> Value:
    if len({key(value) for _, value in options}) <= 1 or not symbols:
        return options[0][1] if options else UNBOUND
    # What every path was asked comes first: else a path that has ended would leave its trace.
    symbol = next((s for s in symbols if all(s in known for known, _ in options)), symbols[0])
    rest = [other for other in symbols if other != symbol]
    yes = [o for o in options if o[0].get(symbol, True)]
    no = [o for o in options if not o[0].get(symbol, False)]
    if not yes or not no:
        return _decide(options, rest)
    one, two = _decide(yes, rest), _decide(no, rest)
    return one if key(one) == key(two) else Choice(symbol, one, two)
