"""Outcomes made by hand: what a report is tested with, without a mover."""

from __future__ import annotations

from transforms.errors import Place
from transforms.result.changes import Blob, Change, ChangeSet
from transforms.result.outcome import (
    Authored,
    Caller,
    Destination,
    Edit,
    Note,
    Outcome,
    Phase,
    SourceChange,
)

CHANGES = ChangeSet(
    [
        Change("pkg/old.py", Blob(b"import os\nX = 1\nY = 2\n"), Blob(b"Y = 2\n")),
        Change("pkg/new.py", None, Blob(b"import os\n\nX = 1\n")),
        Change("app.py", Blob(b"from pkg.old import X\n"), Blob(b"from pkg.new import X\n")),
    ]
)

OUTCOME = Outcome(
    changes=CHANGES,
    sources=(SourceChange("pkg/old.py", "pkg.old", "kept", ("import os",), ()),),
    destinations=(
        Destination("pkg/new.py", "pkg.new", True, ("X",), ("logger",), ("import os",), 3),
    ),
    callers=(
        Caller(
            "app.py",
            (
                Edit("string", 9, '"pkg.old.X"', '"pkg.new.X"'),
                Edit("import", 1, "from pkg.old import X", "from pkg.new import X"),
            ),
        ),
    ),
    authored=(Authored("pkg/__init__.py", "file", tuple(f"line {n}" for n in range(1, 8))),),
    notes=(Note("dynamic import", Place("tool.py", 12), "import_module() takes a variable"),),
    formatted=("isort 7.0.0", "black 26.1.0"),
    formatter_edits={"pkg/new.py": ("black",)},
    phases=(Phase("search", 0.25), Phase("parse", 1.5)),
)

UNCHANGED = Outcome(ChangeSet(), (), (), (), (), (), ())
