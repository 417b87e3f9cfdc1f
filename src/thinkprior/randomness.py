"""Named random streams.

Every random draw comes from the stream of a name, such as (campaign, arm, seed, step, purpose), so
no draw depends on how many came before it: a resumed run, another job order or another number of
cores gives the same numbers.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream_seed(*name: str | int) -> int:
    """Seed of a named stream: 63 bits of a SHA-256 over the parts and their types."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in name)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(*name: str | int) -> np.random.Generator:
    """NumPy generator of a named stream."""
    return np.random.Generator(np.random.PCG64(stream_seed(*name)))
