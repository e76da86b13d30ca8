"""Small repositories with one move in them, made anew for each test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.transforms.checkouts import head, init, run_git

PLAN_PATH = "plans/split.toml"
PLAN = """\
format = 1
formatters = "none"

[[source]]
module = "shop.orders"

[[destination]]
module = "shop.money"
symbols = ["Money"]
"""
BEFORE = {
    "shop/__init__.py": "",
    "shop/orders.py": (
        "import decimal\n\n\nclass Money:\n    cent = decimal.Decimal(1)\n\n\n"
        "def pay():\n    return 'paid'\n"
    ),
    "till.py": "from shop.orders import Money, pay\n\nprint(Money, pay)\n",
}
AFTER = {
    **BEFORE,
    "shop/orders.py": "def pay():\n    return 'paid'\n",
    "shop/money.py": "import decimal\n\n\nclass Money:\n    cent = decimal.Decimal(1)\n",
    "till.py": "from shop.money import Money\nfrom shop.orders import pay\n\nprint(Money, pay)\n",
}


class History:
    """A repository under construction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        init(folder)

    def git(self, *arguments: str) -> str:
        """Run git here."""
        return run_git(self.folder, *arguments).decode("utf-8", "surrogateescape").strip()

    def commit(self, files: Mapping[str, str], message: str = "change") -> str:
        """Commit exactly these files; gives the commit's id."""
        # Where there is no index, git tracks nothing, and need not be asked.
        known = (self.folder / ".git").is_file() or (self.folder / ".git" / "index").exists()
        for path in self.git("ls-files", "-z").split("\0") if known else ():
            if path and path not in files:
                (self.folder / path).unlink()
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return head(self.folder)
