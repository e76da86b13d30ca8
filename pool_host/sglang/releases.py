"""How the releases of SGLang that this was tested with keep slots: names, signatures, digests.

`tests/pool_host/sglang/test_releases.py` compares them with the releases themselves.
"""

from __future__ import annotations

from pool_host.sglang.family import Record

_NOTHING = "self"
_COUNT = "self -> int"
_ALLOC = "self, need_size: int -> Optional[torch.Tensor]"
_FREE = "self, indices: torch.Tensor -> int"

RECORDS: dict[str, Record] = {
    "0.5.13.post1": {
        "DeepSeekV4PagedHostPool.alloc": (_ALLOC, "65b1c8993f3e91c28a45a09aa639a012"),
        "DeepSeekV4PagedHostPool.available_size": (_NOTHING, "2b42733498f994ac109370b3b33f5543"),
        "DeepSeekV4PagedHostPool.clear": (_NOTHING, "7c7d113b897b9a7277e529a7fc62e25a"),
        "DeepSeekV4PagedHostPool.free": (_FREE, "e6bdfd42b7a411f7d845b4ed907bbd31"),
        "HostKVCache.alloc": (_ALLOC, "c2ca12e243abe15f69e0247780cdba9e"),
        "HostKVCache.available_size": (_NOTHING, "2b42733498f994ac109370b3b33f5543"),
        "HostKVCache.clear": (_NOTHING, "4151296b4b9393cbfcb20b192b3f2708"),
        "HostKVCache.free": (_FREE, "dc427b0dfcca0329cfba274800927fbc"),
        "LogicalHostPool.alloc": (_ALLOC, "f1e70fdb5c03b870092650095d17ee73"),
        "LogicalHostPool.available_size": (_NOTHING, "2b42733498f994ac109370b3b33f5543"),
        "LogicalHostPool.clear": (_NOTHING, "6f4160e46bb840b2804585bbd7ea4174"),
        "LogicalHostPool.free": (_FREE, "580f9dc8ab5076becde4740c85d15cf2"),
        "MambaPoolHost.alloc": (_ALLOC, "f3fa6c98c050591858b0bc688faf27ab"),
        "MambaPoolHost.available_size": (_NOTHING, "2b42733498f994ac109370b3b33f5543"),
        "MambaPoolHost.clear": (_NOTHING, "db165b54d7852c2f66870bada535de49"),
        "MambaPoolHost.free": (_FREE, "0e56795f0b8c7cf063a5900be52720ea"),
    },
    "0.5.18": {
        "DeepSeekV4PagedHostPool.alloc": (_ALLOC, "35024e9b4e7bec1955189ca54d83d3d8"),
        "DeepSeekV4PagedHostPool.available_size": (_NOTHING, "eec23727969881946d4fb053e8568c83"),
        "DeepSeekV4PagedHostPool.clear": (_NOTHING, "419bcfa5baca4b5b2207a082c3d137d4"),
        "DeepSeekV4PagedHostPool.free": (_FREE, "b5f359fc948b5100d0e66d77b0d87576"),
        "HostKVCache._merge_release_slots": (_NOTHING, "c7c6d06d2b7a052a7918b8771a3c0c21"),
        "HostKVCache.alloc": (_ALLOC, "199abd31ce8d7b060f94aba15e48dffd"),
        "HostKVCache.available_size": (_NOTHING, "eec23727969881946d4fb053e8568c83"),
        "HostKVCache.clear": (_NOTHING, "2f7247607c829b01e5aa73edd971a021"),
        "HostKVCache.free": (_FREE, "eb78333d2e64be5a55eddee34550dc71"),
        "HostKVCache.logical_page_size": (_COUNT, "da32128cd608c48c4c452b2f5e69d08b"),
        "HostKVCache.logical_size": (_COUNT, "5ef126761ce8aaa80a507e8800d47353"),
        "LogicalHostPool._merge_release_slots": (_NOTHING, "c7c6d06d2b7a052a7918b8771a3c0c21"),
        "LogicalHostPool.alloc": (_ALLOC, "84cba98f21df88d9ec1b5a59782f1f30"),
        "LogicalHostPool.available_size": (_NOTHING, "eec23727969881946d4fb053e8568c83"),
        "LogicalHostPool.clear": (_NOTHING, "acc27c59467938e7e8641479a6f7c126"),
        "LogicalHostPool.free": (_FREE, "de635c10f45584213b2a0393bef87a2b"),
        "MambaPoolHost.alloc": (_ALLOC, "1405279bf9bf612ceb3810af7be531aa"),
        "MambaPoolHost.available_size": (_NOTHING, "eec23727969881946d4fb053e8568c83"),
        "MambaPoolHost.clear": (_NOTHING, "c5248ec5e0ae7960f46cbcd660583593"),
        "MambaPoolHost.free": (_FREE, "b5f359fc948b5100d0e66d77b0d87576"),
    },
}
# A checkout has no release number: it is known by all the modules that host pools stand in.
REVISIONS = {"8ff9c2b227": "4469df366f3e3a537490ff41c26c247b"}
TESTED = (*RECORDS, *REVISIONS)
