"""Ids of sequences as integers, which tasks that know nothing of each other give alike."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.values.plain_arrays import native

_HASH_NBYTES = 8
"""Bytes of a hash of a name: those of an int64."""


def integer_ids(ids: NDArray[Any]) -> NDArray[Any]:
    """Return integer ids as they are, and a hash in place of other ids, such as names.

    No list of all names is held: names of 10 million sequences have equal hashes with a
    probability of 3e-6, and only neighbours would then join.

    Parameters
    ----------
    ids : (rows,) array
        Integers or names. Equal neighbours are hashed once.

    Returns
    -------
    (rows,) integer array
        In native byte order.
    """
    if ids.dtype.kind in "iu" or not len(ids):
        return native(ids)
    first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    hashes = np.array([_hash(str(name)) for name in ids[first].tolist()], np.int64)
    return np.repeat(hashes, np.diff(first, append=len(ids)))


def _hash(name: str) -> int:
    """Return a hash that is the same in every process."""
    digest = hashlib.blake2b(name.encode(), digest_size=_HASH_NBYTES).digest()
    return int.from_bytes(digest, "little", signed=True)
