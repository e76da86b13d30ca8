"""A small decoder with random weights: greedy, deterministic, and the same however it is cached.

Rows are computed one at a time, in float64. A matrix product over many rows may round each row in
another way than one over few; then what is computed after a long cached prefix could differ in its
last bits from what is computed without. One row at a time has one shape, so a token's keys and
values are the same, bit for bit, whether it came first, last or alone.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from hicache.device_pools import DSATokenToKVPool, KVCache, MHATokenToKVPool, MLATokenToKVPool

_INDEX_DIM = 128  # what the indexer's keys are quantized by, so the least they can have
_Pool = TypeVar("_Pool", bound=KVCache)
Cached = tuple[torch.Tensor, ...]  # tensors whose first dimension is the token


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Sizes of a decoder; `seed` decides its weights, `attention` is `mha`, `mla` or `dsa`."""

    attention: str = "mha"
    layers: int = 3
    hidden: int = 32
    heads: int = 2
    head_dim: int = 16
    v_head_dim: int = 16
    rope_dim: int = 8
    chosen: int = 24
    vocabulary: int = 256
    seed: int = 2

    @property
    def name(self) -> str:
        """A name that differs for other weights or another architecture."""
        digest = hashlib.blake2b(repr(self).encode(), digest_size=4)
        return f"random-{self.attention}-{digest.hexdigest()}"


class Attention(ABC):
    """One layer's attention. Reads and writes its rows in a device pool; `layer_id` is global."""

    def __init__(self, layer_id: int) -> None:
        self.layer_id = layer_id

    @abstractmethod
    def write(self, rows: list[torch.Tensor], pool: KVCache, slots: torch.Tensor) -> None:
        """Cache what `rows` (each of shape (hidden,)) contribute, in `slots`."""

    @abstractmethod
    def read(self, pool: KVCache, slots: torch.Tensor) -> Cached:
        """Give what lies at `slots` as float64, waiting for the layer if it is loading."""

    @abstractmethod
    def attend(self, row: torch.Tensor, cached: Cached) -> torch.Tensor:
        """Give the attention of one row (hidden,) over what is cached: (hidden,)."""


class MultiHeadAttention(Attention):
    """Keys (head_num, head_dim) and values (head_num, v_head_dim) a token."""

    def __init__(self, config: DecoderConfig, layer_id: int, weights: torch.Generator) -> None:
        super().__init__(layer_id)
        self._heads = config.heads
        wide, wide_v = config.heads * config.head_dim, config.heads * config.v_head_dim
        self._query = _matrix(config.hidden, wide, weights)
        self._key = _matrix(config.hidden, wide, weights)
        self._value = _matrix(config.hidden, wide_v, weights)
        self._out = _matrix(wide_v, config.hidden, weights)

    def write(self, rows: list[torch.Tensor], pool: KVCache, slots: torch.Tensor) -> None:
        """Cache keys and values of `rows`."""
        pool = _as(MHATokenToKVPool, pool)
        keys = torch.stack([row @ self._key for row in rows]).unflatten(1, (self._heads, -1))
        values = torch.stack([row @ self._value for row in rows]).unflatten(1, (self._heads, -1))
        pool.set_kv_buffer(self.layer_id, slots, keys, values)

    def read(self, pool: KVCache, slots: torch.Tensor) -> Cached:
        """Give keys (tokens, head_num, head_dim) and values (..., v_head_dim) as float64."""
        pool = _as(MHATokenToKVPool, pool)
        keys, values = pool.get_key_buffer(self.layer_id), pool.get_value_buffer(self.layer_id)
        return keys[slots].double(), values[slots].double()

    def attend(self, row: torch.Tensor, cached: Cached) -> torch.Tensor:
        """Give the attention of one row (hidden,) over keys and values that `read` gave."""
        keys, values = cached
        query = (row @ self._query).unflatten(0, (self._heads, -1))
        scores = torch.einsum("hd,thd->ht", query, keys) / math.sqrt(query.shape[1])
        mixed = torch.einsum("ht,thd->hd", scores.softmax(dim=1), values)
        return mixed.flatten() @ self._out


class LatentAttention(Attention):
    """One row of a latent and a rotary part a token, for all heads."""

    def __init__(self, config: DecoderConfig, layer_id: int, weights: torch.Generator) -> None:
        super().__init__(layer_id)
        rank, rope = config.v_head_dim, config.rope_dim
        self._heads, self._rank = config.heads, rank
        self._query = _matrix(config.hidden, config.heads * (rank + rope), weights)
        self._latent = _matrix(config.hidden, rank + rope, weights)
        self._out = _matrix(config.heads * rank, config.hidden, weights)

    def write(self, rows: list[torch.Tensor], pool: KVCache, slots: torch.Tensor) -> None:
        """Cache the latent rows of `rows`."""
        pool = _as(MLATokenToKVPool, pool)
        latent = torch.stack([row @ self._latent for row in rows])
        pool.set_kv_buffer(self.layer_id, slots, latent.unsqueeze(1))

    def read(self, pool: KVCache, slots: torch.Tensor) -> Cached:
        """Give rows (tokens, kv_cache_dim) as float64."""
        pool = _as(MLATokenToKVPool, pool)
        return (pool.get_key_buffer(self.layer_id)[slots].double().squeeze(1),)

    def attend(self, row: torch.Tensor, cached: Cached) -> torch.Tensor:
        """Give the attention of one row (hidden,) over rows that `read` gave, for all heads."""
        (rows,) = cached
        query = (row @ self._query).unflatten(0, (self._heads, -1))
        scores = torch.einsum("hd,td->ht", query, rows) / math.sqrt(query.shape[1])
        mixed = torch.einsum("ht,td->hd", scores.softmax(dim=1), rows[:, : self._rank])
        return mixed.flatten() @ self._out


class SparseAttention(LatentAttention):
    """Latent attention over the few tokens whose index keys match best."""

    def __init__(self, config: DecoderConfig, layer_id: int, weights: torch.Generator) -> None:
        super().__init__(config, layer_id, weights)
        self._chosen = config.chosen
        self._index_key = _matrix(config.hidden, _INDEX_DIM, weights)
        self._index_query = _matrix(config.hidden, _INDEX_DIM, weights)

    def write(self, rows: list[torch.Tensor], pool: KVCache, slots: torch.Tensor) -> None:
        """Cache the latent rows of `rows`, and their index keys."""
        super().write(rows, pool, slots)
        keys = torch.stack([row @ self._index_key for row in rows])
        _as(DSATokenToKVPool, pool).set_index_k(self.layer_id, slots, keys)

    def read(self, pool: KVCache, slots: torch.Tensor) -> Cached:
        """Give rows (tokens, kv_cache_dim) and index keys (tokens, index_head_dim)."""
        index = _as(DSATokenToKVPool, pool).get_index_k(self.layer_id, slots)
        return (*super().read(pool, slots), index.double())

    def attend(self, row: torch.Tensor, cached: Cached) -> torch.Tensor:
        """Attend over the rows of the chosen tokens."""
        rows, index = cached
        scores = index @ (row @ self._index_query)
        chosen = scores.topk(min(self._chosen, len(scores))).indices.sort().values
        return super().attend(row, (rows[chosen],))


class Decoder:
    """Layers of attention and a feed-forward part each, between an embedding and a head."""

    def __init__(self, config: DecoderConfig) -> None:
        kinds: dict[str, type[MultiHeadAttention | LatentAttention]] = {
            "mha": MultiHeadAttention,
            "mla": LatentAttention,
            "dsa": SparseAttention,
        }
        if config.attention not in kinds:
            raise ValueError(f"attention: expected mha, mla or dsa, got {config.attention!r}")
        self.config = config
        weights = torch.Generator().manual_seed(config.seed)
        wide = 4 * config.hidden
        # Not scaled down as the others are: then tokens, not places, say most of a row.
        unscaled = math.sqrt(config.vocabulary)
        self._embedding = _matrix(config.vocabulary, config.hidden, weights) * unscaled
        self._head = _matrix(config.hidden, config.vocabulary, weights)
        self._attention = [
            kinds[config.attention](config, layer, weights) for layer in range(config.layers)
        ]
        self._up = [_matrix(config.hidden, wide, weights) for _ in range(config.layers)]
        self._down = [_matrix(wide, config.hidden, weights) for _ in range(config.layers)]

    def device_pool(
        self, size: int, page_size: int, dtype: torch.dtype
    ) -> MHATokenToKVPool | MLATokenToKVPool:
        """Make the device pool that this decoder needs, on the CPU."""
        config = self.config
        if config.attention != "mha":
            kind = DSATokenToKVPool if config.attention == "dsa" else MLATokenToKVPool
            return kind(size, page_size, dtype, config.v_head_dim, config.rope_dim, config.layers)
        return MHATokenToKVPool(
            size,
            page_size,
            dtype,
            config.heads,
            config.head_dim,
            config.layers,
            v_head_dim=config.v_head_dim,
        )

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], pool: KVCache, slots: torch.Tensor) -> int:
        """Compute `tokens`, the last of a sequence whose cache is at `slots`; give the next token.

        `slots` has a slot for every token of the sequence. Those of `tokens`, its last, are
        written; the others are read, layer by layer.
        """
        before = slots.numel() - len(tokens)
        rows = [
            self._embedding[token] + _position(before + number, self.config.hidden)
            for number, token in enumerate(tokens)
        ]
        for attention, up, down in zip(self._attention, self._up, self._down, strict=True):
            normal = [_normalized(row) for row in rows]
            attention.write(normal, pool, slots[before:])
            cached = attention.read(pool, slots)
            for number, row in enumerate(rows):
                seen = tuple(part[: before + number + 1] for part in cached)
                mixed = attention.attend(normal[number], seen)
                middle = row + mixed
                rows[number] = middle + torch.relu(_normalized(middle) @ up) @ down
        logits = _normalized(rows[-1]) @ self._head
        return int(logits.argmax())


def _as(kind: type[_Pool], pool: KVCache) -> _Pool:
    if not isinstance(pool, kind):
        raise TypeError(f"pool: expected a {kind.__name__}, got a {type(pool).__name__}")
    return pool


def _matrix(rows: int, columns: int, weights: torch.Generator) -> torch.Tensor:
    values = torch.randn(rows, columns, generator=weights, dtype=torch.float64)
    return values / math.sqrt(rows)


def _position(place: int, hidden: int) -> torch.Tensor:
    """Give what tells a row its place: sines and cosines of falling frequency, (hidden,)."""
    frequencies = torch.exp(torch.arange(0, hidden, 2, dtype=torch.float64) * (-9.0 / hidden))
    angles = place * frequencies
    return torch.cat([angles.sin(), angles.cos()]) / math.sqrt(hidden)


def _normalized(row: torch.Tensor) -> torch.Tensor:
    return row / row.square().mean().sqrt().clamp_min(1e-12)
