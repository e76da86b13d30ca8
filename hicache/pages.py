"""Pages: which slots they hold, which slots are whole pages, and what a page's content is called.

A slot is a row of a pool. Page `p` is the slots `p * page_size` to `(p + 1) * page_size - 1`.

A page's key is 64 hexadecimal digits: 48 that name its content and all that is before it, and the
first 16 of the key of the page that it follows. So whoever has nothing but keys, as a folder of
files has, can tell which pages are of no use without which.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import torch


def page_slots(pages: Sequence[int], page_size: int) -> torch.Tensor:
    """Give the slots of `pages` in order: int64, shape (len(pages) * page_size,), on the CPU."""
    starts = torch.tensor(pages, dtype=torch.int64) * page_size
    return (starts[:, None] + torch.arange(page_size)).flatten()


def pages_of(slots: torch.Tensor, page_size: int, argument: str) -> list[int]:
    """Give the pages that `slots` are, in order.

    Raises `ValueError`, naming `argument`, unless `slots` is an int64 vector of whole pages, each
    of consecutive slots, none twice.
    """
    if slots.dtype != torch.int64 or slots.dim() != 1:
        raise ValueError(
            f"{argument}: expected an int64 vector of slots, "
            f"got {slots.dtype} of shape {tuple(slots.shape)}"
        )
    if slots.numel() % page_size:
        raise ValueError(
            f"{argument}: expected whole pages of {page_size} slots, got {slots.numel()} slots"
        )
    rows = slots.cpu().view(-1, page_size)
    starts = rows[:, 0]
    whole = starts % page_size == 0
    if not bool(whole.all() and (rows == starts[:, None] + torch.arange(page_size)).all()):
        raise ValueError(f"{argument}: expected each page as its {page_size} consecutive slots")
    pages: list[int] = (starts // page_size).tolist()
    if len(set(pages)) != len(pages):
        raise ValueError(f"{argument}: expected each page once, got {pages}")
    return pages


def page_tokens(tokens: Sequence[int], page_size: int) -> list[tuple[int, ...]]:
    """Part `tokens` into whole pages; what does not fill a page is left out."""
    whole = len(tokens) - len(tokens) % page_size
    return [tuple(tokens[start : start + page_size]) for start in range(0, whole, page_size)]


_TAG = 16  # digits of a key by which another says that it follows it
_NO_TAG = "0" * _TAG


def root_key(extra_key: str | None) -> str:
    """Give what the first page follows: "", or for an `extra_key` a key that no page has.

    An `extra_key` is whatever makes the same tokens mean something else, such as the name of a
    LoRA adapter or a tenant's salt. Pages of one are never found under another, or under none.
    """
    if not extra_key:
        return ""
    text = extra_key.encode("utf-8", "surrogatepass")
    return _NO_TAG + hashlib.blake2b(text, digest_size=24, person=b"extra key").hexdigest()


def page_key(parent: str, tokens: Sequence[int]) -> str:
    """Name a page by its content: its tokens and, through `parent`'s key, all tokens before it.

    `parent` is what `root_key` gives for the first page. The key is 64 hexadecimal digits and the
    same on every machine.
    """
    content = struct.pack(f"<{len(tokens)}q", *tokens)
    before = bytes.fromhex(parent or _NO_TAG * 4)
    own = hashlib.blake2b(before + content, digest_size=24, person=b"page").hexdigest()
    return own + (parent or _NO_TAG)[:_TAG]


def tag(key: str) -> str:
    """Give the digits by which pages that follow `key` name it."""
    return key[:_TAG]


def parent_tag(key: str) -> str | None:
    """Give the `tag` of the page that `key` follows, None if it is the first of a prefix."""
    return None if key[-_TAG:] == _NO_TAG else key[-_TAG:]


def page_keys(tokens: Sequence[int], page_size: int, parent: str = "") -> tuple[str, ...]:
    """Give the keys of the whole pages of `tokens`, which follow the page named `parent`."""
    keys = []
    for page in page_tokens(tokens, page_size):
        parent = page_key(parent, page)
        keys.append(parent)
    return tuple(keys)
