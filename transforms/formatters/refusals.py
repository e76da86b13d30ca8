"""How this package refuses: always with the way out, `--formatters none`."""

from __future__ import annotations

from transforms.errors import Place, Refusal

WITHOUT = "pass `--formatters none` to leave the files as the move writes them."


def bad_configuration(cause: str, place: Place, *, remedy: str = "") -> Refusal:
    """A configuration that cannot be followed: not readable, or it asks for what is not done."""
    step = f"{remedy}, or {WITHOUT}" if remedy else f"Change it, or {WITHOUT}"
    return Refusal("formatter-configuration", cause, next_step=step, place=place)


def unknown_version(cause: str, place: Place, *, remedy: str) -> Refusal:
    """A version that is not in the table of versions."""
    step = f"{remedy}, name a newer table with `--formatters-table FILE`, or {WITHOUT}"
    return Refusal("formatter-version", cause, next_step=step, place=place)


def unavailable(cause: str) -> Refusal:
    """A formatter that is not installed and could not be."""
    return Refusal(
        "formatter-unavailable",
        cause,
        next_step=f"Run once with the package index in reach, or {WITHOUT}",
    )


def not_to_be_installed(label: str) -> Refusal:
    """A formatter that is not installed, where the user has said that nothing is to be."""
    return Refusal(
        "formatter-unavailable",
        f"{label} is not installed, and nothing may be (REPOT_OFFLINE=1).",
        next_step=f"Run `repot apply PLAN` once without that, which installs it, or {WITHOUT}",
    )


def failed(cause: str, place: Place | None) -> Refusal:
    """A formatter that ran and did not succeed."""
    return Refusal(
        "formatter-failed",
        cause,
        next_step=f"Run it by hand on that file to see more, or {WITHOUT}",
        place=place,
    )
