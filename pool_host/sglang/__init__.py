"""SGLang's own host pools, with slots that this package gives out.

`install()` makes every host pool of SGLang that is made from then on keep its slots as `pool_host`
does. Buffers, kernels, layouts and transfers stay SGLang's. Nothing of SGLang is imported before
it is called.

What its modules are for:

- `installation`: putting the slot keeping in, and taking it out again.
- `slot_keeping`: the methods and attributes that are put in the place of SGLang's.
- `family`: which classes keep slots, and with which code, read from SGLang's source.
- `releases`: the same of the releases that this was tested with.
"""

from pool_host.sglang.installation import AdapterError, install, uninstall
from pool_host.sglang.releases import TESTED

__all__ = ["TESTED", "AdapterError", "install", "uninstall"]
