"""Independent seeds for every purpose, from the one seed of a fit."""

import numpy as np


def purpose_sequence(random_state: int, purpose: str | tuple[int, ...]) -> np.random.SeedSequence:
    """Return the seed sequence of a purpose, independent of the sequences of all other purposes.

    No draw for one purpose shifts the draws for another one.

    Parameters
    ----------
    random_state : int
        Seed, at least 0.
    purpose : str or tuple of int
        Name of the purpose, or numbers such as a purpose and a block of rows.
    """
    key = tuple(purpose.encode()) if isinstance(purpose, str) else purpose
    return np.random.SeedSequence(random_state, spawn_key=key)


def purpose_seed(random_state: int, purpose: str) -> int:
    """Return the 32-bit seed of a purpose, as in `purpose_sequence`."""
    return int(purpose_sequence(random_state, purpose).generate_state(1)[0])
