"""From a file back to a model, or to statistics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bigtensor.errors import ModelFileError
from bigtensor.models.base import LatentVariableModel
from bigtensor.models.kernel_mixture import KernelMixture
from bigtensor.models.statistics_file import KIND, Statistics
from bigtensor.store import read_group

_MODELS: dict[str, type[LatentVariableModel]] = {"KernelMixture": KernelMixture}


def load(path: str | os.PathLike[str]) -> Any:
    """Load a saved model, or saved statistics.

    Parameters
    ----------
    path : path
        What ``model.save`` or ``statistics.save`` was given.

    Returns
    -------
    model or Statistics
        Of the class that was saved; the predictions of a model have the same bits.

    Raises
    ------
    ModelFileError
        When nothing was saved at ``path``, it is of a newer format, or an array is damaged.
    """
    contents = read_group(Path(path))
    if contents.kind == KIND:
        return Statistics.from_contents(contents)
    if contents.kind not in _MODELS:
        raise ModelFileError(
            f"{path} holds a {contents.kind!r}, which this version does not know; it knows "
            f"{', '.join([*_MODELS, KIND])}"
        )
    return _MODELS[contents.kind]._from_contents(contents)


def load_model(path: str | os.PathLike[str], *, fitted: bool = True) -> Any:
    """Load a saved model, and nothing else.

    Parameters
    ----------
    path : path
    fitted : bool, default True
        Whether it has to have components already.

    Raises
    ------
    ModelFileError
        When the file holds statistics, or a model that was only prepared.
    """
    model = load(path)
    if isinstance(model, Statistics):
        raise ModelFileError(
            f"{path} holds statistics and no model; 'solve' makes a model of them and of the "
            "prepared model that they were accumulated with"
        )
    if fitted and not model.__sklearn_is_fitted__():
        raise ModelFileError(
            f"{path} holds a model that is prepared and has no components yet; 'accumulate' "
            "statistics with it, and 'solve' them"
        )
    return model
