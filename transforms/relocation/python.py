"""One Python file of the tree: its imports of what moves, and every use of the names they bind.

The file may move itself: then what it imports relatively is spelled from its new place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.imports.statement import ImportedName
from transforms.relocation.around import Around
from transforms.result.outcome import Edit, Note
from transforms.scopes.types import Binding, Reference, Scope
from transforms.source.imports import Site
from transforms.source.literals import annotation_spans
from transforms.tree.names import relative_name, resolve_import, respelled_relative

_Sent = tuple[str, ImportedName]  # the module that a name is taken from, and how it is written

_OWN_PLACE = frozenset({"__file__", "__path__", "__spec__"})


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A name that an import binds to the module `module`; the statement imports `imported`."""

    site: Site
    name: ImportedName
    binding: Binding
    module: str
    imported: str

    @property
    def is_root(self) -> bool:
        """Whether `import a.b` binds `a`, so that `a.b` is how the module is spelled."""
        return not self.site.is_from and self.name.asname is None


class PythonFile:
    """Rewrites one file. `dotted` and `package` are its own before and after the move."""

    def __init__(
        self, around: Around, document: Document, dotted: str, package: str, *, is_foreign: bool
    ) -> None:
        self.around, self.document, self.dotted = around, document, dotted
        self.package, self.is_foreign = package, is_foreign
        self.targets = around.targets
        self.module = document.module
        self.editor = document.editor
        self.edits: list[Edit] = []
        self.notes: list[Note] = []
        self._locals: dict[Site, dict[ImportedName, ImportedName]] = {}
        self._spans: set[tuple[int, int]] = set()

    def rewrite(self) -> None:
        """Record every edit of imports and of what they bind in the document."""
        handles = list(self.handles())
        sites = [site for site in self._sites() if site.is_from]
        sent = {
            site: {name: self._sent(site, name) for name in site.names}
            for site in sites
            if site.target
        }
        for site in self._sites():
            first = site.names[0].name
            if not site.is_from and self.targets.renamed(first) != first:
                self.editor.coming[site] = self.targets.renamed(first)
        for site, names in sent.items():
            targets = {target for target, _ in names.values()}
            if len(targets) == 1 and targets.isdisjoint({site.target, ""}):
                self.editor.coming[site] = self._spell(site, *targets)
        for site in sites:
            if site in sent:
                self._from_import(site, sent[site])
            else:
                self._climb(site)
        groups: dict[tuple[Scope, str], list[Handle]] = {}
        for handle in handles:
            groups.setdefault((handle.binding.scope, handle.binding.name), []).append(handle)
        for group in groups.values():
            self._uses(group)

    def _sites(self) -> list[Site]:
        return [site for site in self.editor.sites if not (site.is_relative and self.is_foreign)]

    # `from module import name`

    def _from_import(self, site: Site, sent: Mapping[ImportedName, _Sent]) -> None:
        kept = [name for name, (target, _) in sent.items() if target == site.target]
        away = {name: to for name, to in sent.items() if name not in kept}
        for name in kept:
            self._replace(site, name, sent[name][1])
        if away:
            self._send(site, away, alone=not kept)
        if kept or not away:
            self._rebase(site)

    def _climb(self, site: Site) -> None:
        """An import from above the top, which fails, still climbs above it from the new place."""
        node = site.node
        deeper = _depth(self.package) - _depth(self.document.package)
        if deeper and isinstance(node, ast.ImportFrom) and node.level:
            self.editor.respell(site, "." * max(1, node.level + deeper) + (node.module or ""))

    def _rebase(self, site: Site) -> None:
        """What is imported relatively is where it was; the file is elsewhere."""
        if not site.is_relative or self.package == self.document.package:
            return
        node = site.node
        assert isinstance(node, ast.ImportFrom)  # noqa: S101 - only these are relative
        spelled = respelled_relative(
            self.document.package, self.package, node.level, node.module, site.target or ""
        )
        if spelled != "." * node.level + (node.module or ""):
            self.editor.respell(site, spelled)
            self._log(site, f"from {spelled} import ...")

    def _sent(self, site: Site, name: ImportedName) -> _Sent:
        """The module that a name is imported from after the move, and how it is written."""
        target = site.target or ""
        full = f"{target}.{name.name}" if target else name.name
        new = self.targets.modules.get(full)
        if new is None or name.name == "*" or not self.around.is_module(full):
            return self.targets.renamed(target), name
        parent, _, last = new.rpartition(".")
        asname = name.asname
        if asname is None and last != name.name and not self._may_rename(site, name, last):
            asname = name.name
        if asname == last and name.asname != name.name:
            asname = None  # `as` says nothing any more
        return parent, ImportedName(last, asname)

    def _send(self, site: Site, away: Mapping[ImportedName, _Sent], *, alone: bool) -> None:
        """Let names be imported from elsewhere; a statement that loses all changes its module."""
        targets = list(dict.fromkeys(target for target, _ in away.values()))
        if alone and targets == [target for target in targets if self._reads_so(site, target)]:
            for name, (_, new) in away.items():
                self._replace(site, name, new)  # all moved together: the dots mean the new place
            return
        stays = self._taking(site, targets) if alone else None
        if stays:
            self.editor.rename(site, stays, self._spell(site, stays))
        for name, (target, new) in away.items():
            if stays and target == stays:
                self._replace(site, name, new)
                continue
            self.editor.remove(site, name)
            if target:
                self.editor.add(site, target, self._spell(site, target), new, site)
            else:
                bound = new.asname if new.asname != new.name else None
                self.editor.add_plain(site, ImportedName(new.name, bound))
        for target in targets:
            names = ", ".join(str(new) for to, new in away.values() if to == target)
            spelled = self._spell(site, target) if target else ""
            self._log(site, f"from {spelled} import {names}" if target else f"import {names}")

    def _reads_so(self, site: Site, target: str) -> bool:
        """Whether the statement, as it is written, imports from `target` in the new place."""
        node = site.node
        written = "." * getattr(node, "level", 0) + (getattr(node, "module", None) or "")
        return site.is_relative and self._spell(site, target) == written

    def _taking(self, site: Site, targets: Sequence[str]) -> str | None:
        """The module that the statement takes as it stands: one that no other imports from yet."""
        if site.is_star or self.editor.gains(site):
            return targets[0] or None
        for target in targets:
            existing = self.editor.existing(site, target) if target else site
            if existing is None or self.targets.renamed(existing.target or "") != target:
                return target
        if len(targets) == 1 and targets[0] and existing is not site:
            there = existing.target if existing is not None else None
            if there == site.target:
                return targets[0]
        return None

    def _spell(self, site: Site, target: str) -> str:
        """Relative where the statement was relative, if the two share a package."""
        return (relative_name(self.package, target) or target) if site.is_relative else target

    def _replace(self, site: Site, old: ImportedName, new: ImportedName) -> None:
        if old != new:
            self.editor.replace(site, old, new)

    def _may_rename(self, site: Site, name: ImportedName, last: str) -> bool:
        """Whether what the name binds may be called `last` throughout the file."""
        chosen = self._locals.setdefault(site, {})
        if name in chosen:
            return chosen[name].name == last
        binding = self._binding(site, name)
        may = (
            binding is not None
            and len(binding.scope.bindings[binding.name]) == 1
            and self._is_free(last)
            and not self.around.is_read(self.dotted.rpartition(".")[2], name.name)
            and name.name not in {listed for listed, _ in self.document.symbols.all_names}
            and all(self._is_exact(ref) for ref in self.references(binding))
        )
        chosen[name] = ImportedName(last if may else name.name)
        return may

    def _binding(self, site: Site, name: ImportedName) -> Binding | None:
        for alias, other in zip(site.node.names, site.names, strict=True):
            if other == name:
                return self._bindings().get(alias)
        return None

    def _is_free(self, name: str) -> bool:
        scopes = self.module.scopes
        return not any(name in scope.bindings for scope in scopes.scopes) and not any(
            reference.name == name for reference in scopes.references
        )

    def references(self, binding: Binding) -> list[Reference]:
        """Where what a binding binds is used."""
        return self.module.scopes.of(binding.scope, binding.name)

    @staticmethod
    def _is_exact(reference: Reference) -> bool:
        return reference.exact and reference.annotation in ("", "evaluated", "postponed")

    # What imports bind, and where it is used

    def _bindings(self) -> dict[ast.AST, Binding]:
        return {
            binding.node: binding
            for scope in self.module.scopes.scopes
            for bindings in scope.bindings.values()
            for binding in bindings
            if isinstance(binding.node, ast.alias)
        }

    def handles(self) -> Iterator[Handle]:
        """Every name through which the file reaches a module that moves."""
        above = self.targets.above
        wanted = []
        for site in self._sites():
            if site.is_star or (site.is_from and site.target is None):
                continue
            for alias, name in zip(site.node.names, site.names, strict=True):
                imported = f"{site.target}.{name.name}" if site.target else name.name
                is_root = name.asname is None and not site.is_from
                module = imported.partition(".")[0] if is_root else imported
                if module in above and (not site.is_from or self.around.is_module(imported)):
                    wanted.append((alias, site, name, module, imported))
        bindings = self._bindings() if wanted else {}
        for alias, site, name, module, imported in wanted:
            if alias in bindings:
                yield Handle(site, name, bindings[alias], module, imported)

    def _uses(self, handles: Sequence[Handle]) -> None:
        """Rewrite what is spelled behind one bound name, and the imports that give it."""
        first = handles[0]
        if self._keep_by_alias(handles):
            return
        needed: dict[str, None] = {}
        rest: list[Reference] = []
        local = self._local_name(first)
        for reference in self.references(first.binding):
            chain = [*first.module.split("."), *reference.attributes]
            depth = self.depth(first, reference)
            self._note_place(first, reference, depth or 0)
            if depth is None:
                rest.append(reference)
                if local is not None:
                    self._write(reference, 0, local)
                continue
            self._refuse_ambiguous(handles, reference)
            self._refuse_unready(first, reference, depth)
            old = ".".join(chain[: len(first.module.split(".")) + depth])
            new = self.targets.modules[old]
            spelled = self._spelled(first, new, local)
            if spelled is None:
                needed[new] = None
                spelled = new if first.is_root else self._bring(first, new, reference)
            elif first.is_root:
                needed[new] = None
            self._write(reference, depth, spelled)
        self._plain_imports(handles, list(needed) if first.is_root else [], rest)

    def _note_place(self, handle: Handle, reference: Reference, depth: int) -> None:
        """Note a file that asks where a module lies which lies elsewhere then."""
        asked = reference.attributes[depth : depth + 1]
        module = ".".join([handle.module, *reference.attributes[:depth]])
        if asked and asked[0] in _OWN_PLACE and module in self.targets.renames:
            line = getattr(reference.node, "lineno", 1)
            message = f"`{asked[0]}` of `{module}` is another one then."
            self.notes.append(Note("own module", self.module.place(line), message))

    def _keep_by_alias(self, handles: Sequence[Handle]) -> bool:
        """Import a top module under its old name where the file has another use for either name."""
        first = handles[0]
        if not first.is_root:
            return False
        exchanged = [handle for handle in handles if handle.imported in self.targets.renames]
        tops = {self.targets.renames[item.imported].partition(".")[0] for item in exchanged}
        taken = sorted(top for top in tops - {first.module} if not self._is_package_or_free(top))
        is_plain = all("." not in handle.imported for handle in exchanged)
        if not exchanged or not (taken or (is_plain and self._other_binding(handles))):
            return False
        if not is_plain:
            raise Refusal(
                "clash",
                f"`{taken[0]}` already has a meaning in this file, and the import of "
                f"`{self.targets.renames[exchanged[0].imported]}` would bind it.",
                next_step="Rename it first, or list the file under `leave`.",
                place=self.module.place(exchanged[0].site.line),
            )
        for handle in exchanged:
            new = self.targets.renames[handle.imported]
            self._exchange(handle, ImportedName(new, first.module))
        return True

    def _is_package_or_free(self, top: str) -> bool:
        """Whether a name has no other meaning in the file than the top package of that name."""
        scopes = self.module.scopes
        bindings = [item for scope in scopes.scopes for item in scope.bindings.get(top, ())]
        if bindings:
            return all(_binds_same(b, top) or self._is_the_module(b, top) for b in bindings)
        return not any(reference.name == top for reference in scopes.references)

    def _is_the_module(self, binding: Binding, top: str) -> bool:
        """Whether a `from` import binds the module that will be called `top`."""
        alias, statement = binding.node, binding.statement
        if not isinstance(alias, ast.alias) or not isinstance(statement, ast.ImportFrom):
            return False
        target = resolve_import(self.document.package, statement.level, statement.module)
        full = f"{target}.{alias.name}"
        return self.targets.renamed(full) == top and self.around.is_module(full)

    def _refuse_unready(self, handle: Handle, reference: Reference, depth: int) -> None:
        """A package is no attribute of the one above it before its `__init__` has run."""
        chain = [*handle.module.split("."), *reference.attributes[:depth]]
        old = ".".join(chain)
        inside = self.targets.modules[old].startswith(self.package + ".")
        is_init = self.document.path.rpartition("/")[2] == "__init__.py" and "." in self.package
        if not (handle.is_root and is_init and inside) or reference.deferred:
            return
        if not old.startswith(self.document.package + "."):
            raise Refusal(
                "cycle",
                f"`{self.targets.modules[old]}` cannot be reached by its whole name here: "
                f"`{self.package}` is still being loaded.",
                next_step=f"Write `from . import` for `{old}` first, or choose another package.",
                place=self.module.place(getattr(reference.node, "lineno", 1)),
            )

    def depth(self, handle: Handle, reference: Reference) -> int | None:
        """How many attributes spell the innermost moved module that a use reaches."""
        start = len(handle.module.split("."))
        chain = [*handle.module.split("."), *reference.attributes]
        for length in range(len(chain), start - 1, -1):
            dotted = ".".join(chain[:length])
            if dotted in self.targets.renames:
                if length == start and not handle.is_root:
                    return None  # the name itself means the module, whatever that is called
                return length - start
        return None

    def _local_name(self, handle: Handle) -> str | None:
        """The new name for what a `from` import binds; None where it stays."""
        if not handle.site.is_from or handle.name.asname is not None:
            return None
        chosen = self._locals.get(handle.site, {}).get(handle.name)
        return None if chosen is None or chosen.name == handle.name.name else chosen.name

    def _spelled(self, handle: Handle, new: str, local: str | None) -> str | None:
        """How a module is spelled through a bound name after the move; None if it is not."""
        if handle.is_root:
            return new
        module = self.targets.renamed(handle.module)
        if (new + ".").startswith(module + "."):
            return (local or handle.binding.name) + new[len(module) :]
        return None

    def _bring(self, handle: Handle, new: str, reference: Reference) -> str:
        """Import a module beside a handle through which it is no longer reached."""
        parent, _, last = new.rpartition(".")
        if not self._is_free(last):
            raise Refusal(
                "clash",
                f"`{last}` already has a meaning in this file, and `{new}` has to be imported.",
                next_step="Rename it first, or list the file under `leave`.",
                place=self.module.place(getattr(reference.node, "lineno", 1)),
            )
        if parent:
            spelled = self._spell(handle.site, parent)
            self.editor.add(handle.site, parent, spelled, ImportedName(last), None)
        else:
            self.editor.add_plain(handle.site, ImportedName(last))
        return last

    def _refuse_ambiguous(self, handles: Sequence[Handle], reference: Reference) -> None:
        """The name must mean this module wherever it is used."""
        first = handles[0]
        other = self._other_binding(handles)
        if other is None and all(handle.module == first.module for handle in handles):
            return
        raise Refusal(
            "ambiguous-name",
            f"`{first.binding.name}` is bound in several ways (also on line "
            f"{getattr(other, 'lineno', 0)}), so what it reaches here cannot be told.",
            next_step="Give the module a name of its own, or list the file under `leave`.",
            place=self.module.place(getattr(reference.node, "lineno", 1)),
        )

    @staticmethod
    def _other_binding(handles: Sequence[Handle]) -> ast.AST | None:
        """What else binds the name that these imports bind."""
        first = handles[0]
        known = {handle.binding.node for handle in handles}
        for binding in first.binding.scope.bindings[first.binding.name]:
            if binding.node in known or binding.kind in ("delete", "bare annotation"):
                continue
            if not _binds_same(binding, first.module):
                return binding.node
        return None

    # `import module`

    def _plain_imports(
        self, handles: Sequence[Handle], needed: Sequence[str], rest: Sequence[Reference]
    ) -> None:
        """Exchange modules in plain imports, and add what uses need that no import gives."""
        plain = [handle for handle in handles if not handle.site.is_from]
        gone = False
        for handle in plain:
            new = self.targets.renamed(handle.name.name)
            if new == handle.name.name:
                continue
            self._exchange(handle, ImportedName(new, handle.name.asname))
            gone = gone or handle.is_root
        roots = [handle for handle in plain if handle.is_root]
        if not roots:
            return
        given = [self.targets.renamed(handle.name.name) for handle in roots]
        wanted = list(needed)
        if gone:
            wanted += [self._loaded_by(roots[0].module, reference) for reference in rest]
        for module in wanted:
            if not any((other + ".").startswith(module + ".") for other in given):
                if any(self._is_implicit(module, other, handles) for other in given):
                    continue
                self.editor.add_plain(roots[0].site, ImportedName(module))
                given.append(module)

    def _is_implicit(self, module: str, other: str, handles: Sequence[Handle]) -> bool:
        """Whether a module was reached without an import of its own before, and still is."""
        olds = self.targets.came_from.get(module, [])
        explicit = {handle.imported for handle in handles}
        lies = any((name + ".").startswith(old + ".") for old in olds for name in explicit)
        return not lies and other.partition(".")[0] == module.partition(".")[0]

    def _loaded_by(self, root: str, reference: Reference) -> str:
        """The longest module of the tree that a use which stays spells."""
        chain = [root, *reference.attributes]
        while len(chain) > 1 and self.around.names.path_of(".".join(chain)) is None:
            chain.pop()
        return ".".join(chain)

    def _exchange(self, handle: Handle, new: ImportedName) -> None:
        self.editor.replace(handle.site, handle.name, new)
        self._log(handle.site, f"import {new}")

    # How a use is written

    def _write(self, reference: Reference, depth: int, spelled: str) -> None:
        for start, end in self._places(reference, depth):
            if (start, end) in self._spans or self.module.text[start:end] == spelled:
                continue
            self._spans.add((start, end))
            before = "".join(self.module.text[start:end].split())
            self.document.edits.replace(start, end, spelled)
            line = self.module.line_of(start)
            self.edits.append(Edit("qualified name", line, before, spelled))

    def _places(self, reference: Reference, depth: int) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        if reference.annotation in ("string", "type comment"):
            places = annotation_spans(self.module, reference, depth)
        elif reference.exact:
            node = reference.attribute_nodes[depth - 1] if depth else reference.node
            places = [self.module.span(node)] if isinstance(node, ast.expr) else []
        if not places:
            raise Refusal(
                "inexact-position",
                f"`{reference.name}` stands inside a string, and where exactly cannot be told.",
                next_step="Write the string plainly, or take the name out of it.",
                place=self.module.place(getattr(reference.node, "lineno", 1)),
            )
        return places

    def _log(self, site: Site, after: str) -> None:
        before = " ".join(self.module.text[site.start : site.end].split())
        self.edits.append(Edit(site.kind, site.line, before, after))

    @property
    def rewritten(self) -> set[tuple[int, int]]:
        """Spans of uses that are rewritten."""
        return self._spans


def _depth(package: str) -> int:
    return len(package.split(".")) if package else 0


def _binds_same(binding: Binding, module: str) -> bool:
    """Whether a plain import of another submodule binds the same package."""
    alias = binding.node
    return (
        isinstance(alias, ast.alias)
        and isinstance(binding.statement, ast.Import)
        and (alias.name if alias.asname else alias.name.partition(".")[0]) == module
    )
