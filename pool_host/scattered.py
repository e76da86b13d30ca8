"""Choosing many pages where free ones lie scattered: all extents at once, a bit a page.

R(k), the places from which k free pages follow on one another, is R(k-1) & (R(k-1) >> 1): a few
passes over a bit a page. Of an extent of n pages R(k) has n - k + 1 places, so the sizes of R(1),
R(2), ... tell how many extents there are of each length, and how many pages are in them, without
looking at any extent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Extents of more pages than these are no matter of bits: they are few, and each is looked at.
_LONGEST, _MEAN = 16, 8
_WIDE = 1 << 15  # so many pages or more are kept in words: Python's own numbers are slower then
_KEPT = 1 << 18  # of fewer pages every R(k) is kept that was made: it is small, and may be wanted
_BLOCK = 1 << 13  # words that are handled at a time where something is made of them
_PLACES = [np.uint64(places) for places in range(65)]  # made once: NumPy takes as long for a shift
# Of so many pages one is wanted, or fewer: octets without any are passed over. For single bytes
# that are so rare NumPy's `nonzero` has a way that guesses, and mostly wrong.
_SPARSE, _MANY = 10, 1 << 14


class WideBits:
    """Bits in words of 64, the first lowest, with the operators of Python's whole numbers.

    There are as many bits after an operation as before it: those shifted out at either end are
    gone. Large temporary arrays cost more than what is done with them, so that here is one at most:
    what is made, where nothing is changed in place.
    """

    __slots__ = ("words",)

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.words = words

    def __rshift__(self, places: int) -> WideBits:
        """Shift by 1 to 63 places, to the lower ones."""
        old, words = self.words, self.words >> _PLACES[places]
        back = _PLACES[64 - places]
        if old.size <= _BLOCK:
            words[:-1] |= old[1:] << back
            return WideBits(words)
        for at in range(0, old.size - 1, _BLOCK):
            carried = old[at + 1 : at + 1 + _BLOCK] << back
            words[at : at + carried.size] |= carried
        return WideBits(words)

    def __lshift__(self, places: int) -> WideBits:
        """Shift by 1 to 63 places, to the higher ones."""
        old, words = self.words, self.words << _PLACES[places]
        back = _PLACES[64 - places]
        if old.size <= _BLOCK:
            words[1:] |= old[:-1] >> back
            return WideBits(words)
        for at in range(1, old.size, _BLOCK):
            carried = old[at - 1 : min(at - 1 + _BLOCK, old.size - 1)] >> back
            words[at : at + carried.size] |= carried
        return WideBits(words)

    def __iand__(self, other: WideBits) -> WideBits:
        self.words &= other.words
        return self

    def __ior__(self, other: WideBits) -> WideBits:
        self.words |= other.words
        return self

    def __xor__(self, other: WideBits) -> WideBits:
        return WideBits(self.words ^ other.words)

    def bit_count(self) -> int:
        """Give how many bits are set."""
        if self.words.size <= _BLOCK:
            return int(np.add.reduce(np.bitwise_count(self.words)))
        count = 0
        for at in range(0, self.words.size, _BLOCK):
            count += int(np.add.reduce(np.bitwise_count(self.words[at : at + _BLOCK])))
        return count


_Bits = TypeVar("_Bits", int, WideBits)


class Scattered(NamedTuple):
    """Pages that were chosen: in ascending order, in how many runs, of how many free extents."""

    pages: NDArray[np.int64]
    runs: int
    extents: int


def choose_scattered(flags: NDArray[np.uint8], free: int, wanted: int) -> Scattered | None:
    """Choose `wanted` of the pages whose flag is 0, which are `free`, in the fewest runs.

    The longest extents are chosen whole, until one holds the rest, which is the beginning of the
    shortest that holds it; of equal ones the last. None where extents are long: then there are few.
    """
    if flags.size < _WIDE:
        return _choose(_small_bits(flags), free, wanted, flags.size)
    return _choose(_wide_bits(flags), free, wanted, flags.size)


def _choose(bits: _Bits, free: int, wanted: int, pages: int) -> Scattered | None:
    """Choose among free pages, given as bits."""
    reach, next_reach = bits, _narrowed(bits)  # R(length), R(length + 1)
    sizes = [free, next_reach.bit_count()]  # of R(1), R(2), ...
    extents = sizes[0] - sizes[1]
    if free > _MEAN * extents:
        return None
    kept = [reach, next_reach] if pages < _KEPT else []
    length = 1  # extents that are longer are chosen whole, and of this length some
    while True:
        further = _narrowed(next_reach)
        sizes.append(further.bit_count())
        if kept:
            kept.append(further)
        longer = sizes[length] - sizes[length + 1]  # extents
        within = sizes[length] + length * longer  # pages in them
        if within < wanted:
            break
        length += 1
        if length > _LONGEST:
            return None
        reach, next_reach = next_reach, further
    whole, rest = divmod(wanted - within, length)
    runs = longer + whole + (rest > 0)
    chosen, single = _parted(reach, next_reach)
    least = pages  # the first page of the extents of that length that are chosen whole
    if whole:
        least = _last_but(single, whole - 1)
        chosen |= _from(single, least)
    chosen = _spread(chosen, length)
    if rest:
        holds = rest
        while not _count_of(sizes, holds):
            holds += 1
        limit = least if holds == length else pages
        if kept:
            start = _last_within(_parted(kept[holds - 1], kept[holds])[1], limit)
        else:
            start = _last_of_length(bits, holds, limit)
        chosen = _with_run(chosen, start, rest)
    return Scattered(_places(chosen, pages, wanted), runs, extents)


def _narrowed(bits: _Bits) -> _Bits:
    """Make R(k + 1) of R(k)."""
    narrowed = bits >> 1
    narrowed &= bits
    return narrowed


def _count_of(sizes: list[int], length: int) -> int:
    """Give how many extents have just that length; `sizes` are those of R(1), R(2), ..."""
    return sizes[length - 1] - 2 * sizes[length] + sizes[length + 1]


def _parted(reach: _Bits, next_reach: _Bits) -> tuple[_Bits, _Bits]:
    """Part R(length) into the places of extents that are longer, and of those of that length."""
    longer = next_reach << 1
    longer |= next_reach
    return longer, longer ^ reach


def _last_of_length(bits: _Bits, length: int, limit: int) -> int:
    """Give the first page of the last extent of just that length that begins before `limit`.

    There is one. It is looked for in the last words before the limit, and ever more of them.
    """
    window = 64  # words
    while True:
        first = max(0, limit // 64 + 2 - window)
        part = _part(bits, first, limit // 64 + 2)
        narrowed = part
        for _ in range(length - 1):
            narrowed = _narrowed(narrowed)
        _, single = _parted(narrowed, _narrowed(narrowed))
        last = _last_within(single, limit - first * 64)
        if last > 0 or not first:  # that at 0 might have begun before
            return first * 64 + last
        window *= 16


def _spread(bits: _Bits, length: int) -> _Bits:
    """Set the places up to `length - 1` behind each one that is set, too."""
    done = 1
    while done < length:
        step = min(done, length - done)
        shifted = bits << step
        shifted |= bits
        bits = shifted
        done += step
    return bits


# How bits are kept


def _small_bits(flags: NDArray[np.uint8]) -> int:
    taken = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
    return taken ^ ((1 << flags.size) - 1)


def _wide_bits(flags: NDArray[np.uint8]) -> WideBits:
    taken: NDArray[np.uint8] = np.full((flags.size + 63) // 64 * 8, 0xFF, dtype=np.uint8)
    packed = np.packbits(flags, bitorder="little")
    taken[: packed.size] = packed
    if flags.size % 8:  # what is past the last page is not free
        taken[packed.size - 1] |= 0xFF << flags.size % 8 & 0xFF
    return WideBits(~taken.view("<u8"))


def _words(bits: _Bits, pages: int) -> NDArray[np.uint64]:
    """Give the words of bits, not to be written to; there is at least one."""
    if isinstance(bits, WideBits):
        return bits.words
    return np.frombuffer(bits.to_bytes((pages + 64) // 64 * 8, "little"), dtype="<u8")


def _last_but(bits: _Bits, others: int) -> int:
    """Give the last place that is set but for so many that follow it."""
    if isinstance(bits, int):
        return _last_but_of_number(bits, others)
    words = bits.words
    counts = np.bitwise_count(words[::-1]).cumsum(dtype=np.int64)
    at = int(counts.searchsorted(others, side="right"))
    word = int(words[words.size - 1 - at])
    for _ in range(others - (int(counts[at - 1]) if at else 0)):
        word ^= 1 << word.bit_length() - 1
    return (words.size - 1 - at) * 64 + word.bit_length() - 1


def _last_but_of_number(bits: int, others: int) -> int:
    """Do so by halves: of each step only one is kept."""
    first, length = 0, bits.bit_length()
    while length > 1:
        half = length // 2
        upper = bits >> half
        count = upper.bit_count()
        if count > others:
            first, length, bits = first + half, length - half, upper
        else:
            others, length, bits = others - count, half, bits & (1 << half) - 1
    return first


def _part(bits: _Bits, begin: int, end: int) -> _Bits:
    """Give the bits of words from `begin` to before `end`."""
    if isinstance(bits, WideBits):
        return WideBits(bits.words[begin:end])
    return bits >> begin * 64 & (1 << (end - begin) * 64) - 1


def _last_within(bits: _Bits, limit: int) -> int:
    """Give the last place that is set and below `limit`, or -1."""
    if isinstance(bits, WideBits):
        words = bits.words[: limit // 64 + 1].copy()
        if words.size > limit // 64:
            words[-1] &= np.uint64((1 << limit % 64) - 1)
        filled = words.nonzero()[0]
        if not filled.size:
            return -1
        return int(filled[-1]) * 64 + int(words[filled[-1]]).bit_length() - 1
    return (bits & (1 << limit) - 1).bit_length() - 1


def _from(bits: _Bits, place: int) -> _Bits:
    """Keep the bits from a place on, of bits that nobody else has."""
    if isinstance(bits, WideBits):
        bits.words[: place // 64] = 0
        bits.words[place // 64] &= np.uint64((1 << 64) - (1 << place % 64))
        return bits
    return bits >> place << place


def _with_run(bits: _Bits, start: int, length: int) -> _Bits:
    """Set `length` bits from `start` on, too, no more than 64, of bits that nobody else has."""
    if isinstance(bits, WideBits):
        run = (1 << length) - 1 << start % 64
        bits.words[start // 64] |= np.uint64(run & (1 << 64) - 1)
        if run >> 64:
            bits.words[start // 64 + 1] |= np.uint64(run >> 64)
        return bits
    return bits | (1 << length) - 1 << start


def _places(bits: _Bits, pages: int, count: int) -> NDArray[np.int64]:
    """Give the places that are set, of which there are `count`, int64, in ascending order."""
    words = _words(bits, pages)
    is_sparse = count * _SPARSE < pages and pages >= _MANY
    find = _set_in_sparse if is_sparse else _set_in
    if words.size <= _BLOCK:
        return find(words.view(np.uint8))
    places = np.empty(count, dtype=np.int64)
    end = 0
    for at in range(0, words.size, _BLOCK):
        found = find(words[at : at + _BLOCK].view(np.uint8))
        begin, end = end, end + found.size
        np.add(found, at * 64, out=places[begin:end])
    return places


def _set_in(octets: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Give the places that are set in octets."""
    return np.unpackbits(octets, bitorder="little").view(np.bool_).nonzero()[0]


def _set_in_sparse(octets: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Give the places that are set in octets most of which are 0."""
    filled = (octets != 0).nonzero()[0]
    places = _set_in(octets.take(filled))
    filled -= np.arange(filled.size)  # how many octets were passed over before each
    filled <<= 3
    places += filled.take(places >> 3)
    return places
