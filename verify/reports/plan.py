"""The report of `repot plan`: how many groups hang together, and how large each is."""

from __future__ import annotations

from transforms.errors import Place
from transforms.outline.text import Outline
from verify.report.report import Finding, Report, Row, Section, Verdict, counted


def planned(found: Outline, written: str | None) -> Report:
    """Report a first plan; `written` is the file that has it, if one does."""
    nodes = found.graph.nodes
    groups = tuple(
        Finding(
            "group",
            Place(found.path, nodes[group.members[0]].line),
            f"group {group.number}, {counted(group.lines, 'line')}"
            + (": alone it makes an import cycle" if group.makes_cycle else ""),
            (Row.of("", [name for number in group.members for name in nodes[number].names]),),
        )
        for group in found.groups
    )
    said = (f"Written: {written}. It moves nothing until you say what leaves.",) if written else ()
    return Report(
        command="plan",
        verdict=Verdict.HOLDS,
        headline=f"{found.name}, {counted(len(nodes), 'definition')}",
        sections=(Section("What hangs together", groups),) if groups else (),
        summary=(f"{counted(len(groups), 'group')}.", *said),
        data={
            "module": found.name,
            "path": found.path,
            "plan": found.text,
            "definitions": [
                {
                    "names": list(node.names),
                    "line": node.line,
                    "lines": node.lines,
                    "uses": [nodes[n].names[0] for n in sorted(found.graph.uses[node.number])],
                    "copies": sorted(found.graph.copied[node.number]),
                }
                for node in nodes
            ],
            "groups": [
                {
                    "symbols": [name for n in group.members for name in nodes[n].names],
                    "lines": group.lines,
                    "cycle": group.makes_cycle,
                    "needs": [nodes[n].names[0] for n in group.needs],
                    "needed_by": [nodes[n].names[0] for n in group.needed_by],
                }
                for group in found.groups
            ],
        },
    )
