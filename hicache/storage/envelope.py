"""What is kept around a page's bytes, so that no other bytes are ever taken for them.

8 bytes    magic, with the version of this header
32 bytes   digest of the format
32 bytes   key of the page
8 bytes    length of the page, little endian
32 bytes   checksum (BLAKE2b) of all of the above and of the page
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

MAGIC = b"HiCache2"
HEADER_BYTES = len(MAGIC) + 32 + 32 + 8 + 32

_KEY = set("0123456789abcdef")


def is_key(name: str) -> bool:
    """Whether a name is that of a page: 64 hexadecimal digits."""
    return len(name) == 64 and set(name) <= _KEY


def check_key(key: str) -> str:
    """Give `key`. Raises `ValueError` unless it is a page's key."""
    if not is_key(key):
        raise ValueError(f"key: expected 64 hexadecimal digits, got {key!r}")
    return key


def header(key: str, digest: bytes, page: Sequence[bytes | memoryview]) -> bytes:
    """Give the header of a page, whose bytes are the stretches `page` one after another."""
    length = sum(map(len, page))
    head = MAGIC + digest + bytes.fromhex(key) + length.to_bytes(8, "little")
    return head + _checksum(head, page)


def encode(key: str, digest: bytes, page: bytes) -> bytes:
    """Give header and page."""
    return header(key, digest, [page]) + page


def fault_of(
    data: bytes | memoryview, key: str, digest: bytes, page: Sequence[bytes | memoryview] = ()
) -> str | None:
    """Say why bytes are not the page `key` in the format `digest`; None if they are.

    `data` is the header and the page, or its beginning; stretches of `page` follow it.
    """
    if len(data) < HEADER_BYTES:
        return f"cut off within its header, at {len(data)} bytes"
    head, given = bytes(data[: HEADER_BYTES - 32]), bytes(data[HEADER_BYTES - 32 : HEADER_BYTES])
    stretches = [memoryview(data)[HEADER_BYTES:], *page]
    found = sum(map(len, stretches))
    length = int.from_bytes(head[-8:], "little")
    faults = (
        (not head.startswith(MAGIC), "no page file of this version"),
        (head[8:40] != digest, "written in another format"),
        (head[40:72] != bytes.fromhex(key), f"page {head[40:72].hex()} under another name"),
        (length != found, f"{found} bytes of {length}"),
        (given != _checksum(head, stretches), "its checksum does not agree"),
    )
    return next((words for is_so, words in faults if is_so), None)


def _checksum(head: bytes, page: Sequence[bytes | memoryview]) -> bytes:
    digest = hashlib.blake2b(head, digest_size=32)
    for stretch in page:
        digest.update(stretch)
    return digest.digest()
