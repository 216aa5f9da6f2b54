"""From a file back to a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bigtensor.errors import ModelFileError
from bigtensor.models.base import LatentVariableModel
from bigtensor.models.kernel_mixture import KernelMixture
from bigtensor.store import read_group

_MODELS: dict[str, type[LatentVariableModel]] = {"KernelMixture": KernelMixture}


def load(path: str | os.PathLike[str]) -> Any:
    """Load a saved model.

    Parameters
    ----------
    path : path
        What ``model.save`` was given.

    Returns
    -------
    model
        Of the class that was saved; its predictions have the same bits.

    Raises
    ------
    ModelFileError
        When there is no model at ``path``, it is of a newer format, or an array is damaged.
    """
    contents = read_group(Path(path))
    if contents.kind not in _MODELS:
        raise ModelFileError(
            f"{path} holds a {contents.kind!r}, which this version does not know; it knows "
            f"{', '.join(_MODELS)}"
        )
    return _MODELS[contents.kind]._from_contents(contents)
