"""Tasks of Dask workers, told apart from the process of the user."""

import sys


def distributed_is_loaded() -> bool:
    """Return True if a client or a worker may be in this process; to import it takes .2 s."""
    return "distributed.client" in sys.modules


def in_task() -> bool:
    """Return True inside a task of a Dask worker."""
    distributed = sys.modules.get("distributed")
    if distributed is None or not distributed_is_loaded():
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True
