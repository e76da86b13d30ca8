"""What a plan accepts: judgements that a person has made, used where they are needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from transforms.errors import Refusal
from transforms.reading.model import Accept, Plan
from transforms.reading.writer import quote


class Acceptable(Refusal):
    """A refusal that is a judgement: `module` and `symbol` are what an [[accept]] would name."""

    def __init__(self, refusal: Refusal, module: str, symbol: str) -> None:
        said = " ".join(f"`{line}`" for line in pasted(refusal.kind, module, symbol).split("\n"))
        super().__init__(
            refusal.kind,
            refusal.cause,
            next_step=f"{refusal.next_step} If you have looked and it holds all the same, let the "
            f"plan say so: {said}.",
            place=refusal.place,
        )
        self.module = module
        self.symbol = symbol


class Accepts:
    """The `[[accept]]` tables of a plan, and which of them something needed.

    `cycles`: whether anybody looks for import cycles.
    """

    def __init__(self, plan: Plan, *, cycles: bool = True) -> None:
        self.plan = plan
        self.cycles = cycles
        self.used: list[Accept] = []

    def refuse(self, refusal: Refusal, modules: Sequence[str], symbol: str = "") -> None:
        """Raise a refusal that is a judgement, unless the plan accepts it.

        `modules` are what the plan may name, dotted or by path; a message names the first.
        """
        if self.covers(refusal.kind, modules, symbol):
            return
        raise Acceptable(refusal, modules[0], symbol)

    def covers(self, kind: str, modules: Collection[str], symbol: str = "") -> bool:
        """Tell whether the plan accepts this, and note that it had to."""
        for item in self.plan.accepts:
            if item.kind == kind and item.symbol == symbol and str(item.module) in modules:
                if item not in self.used:
                    self.used.append(item)
                return True
        return False

    def refuse_unneeded(self, kinds: Collection[str]) -> None:
        """Raise if a table of these kinds was not needed: nobody shall take it for a reason."""
        for item in self.plan.accepts:
            if item.kind in kinds and item not in self.used:
                raise Refusal(
                    "accept-unneeded",
                    f"Nothing of the kind `{item.kind}` needs this [[accept]] of `{item.module}`.",
                    next_step="Drop the table, or name the module and the symbol that a message "
                    "names.",
                    place=self.plan.place(item.line),
                )


def pasted(kind: str, module: str, symbol: str = "") -> str:
    """Give the table that accepts something, but for the reason."""
    lines = ["[[accept]]", f"kind = {quote(kind)}", f"module = {quote(module)}"]
    if symbol:
        lines.append(f"symbol = {quote(symbol)}")
    return "\n".join([*lines, 'reason = "..."'])
