"""Load a model, or statistics, from a file."""

from __future__ import annotations

import os
from typing import Any

from bigtensor.errors import ModelFileError
from bigtensor.models.contract.registry import MODELS, model_class
from bigtensor.models.contract.statistics_file import KIND, Statistics
from bigtensor.store import Contents, read_group


def load(path: str | os.PathLike[str]) -> Any:
    """Load a saved model, or saved statistics.

    Parameters
    ----------
    path : path or URL
        Path of a saved model or of saved statistics.

    Returns
    -------
    model or Statistics
        Object of the class that was saved. The predictions of a model have the same bits.

    Raises
    ------
    ModelFileError
        When nothing was saved at ``path``, it is of a newer format, or an array is damaged.
    """
    return from_contents(read_group(os.fspath(path)), path)


def from_contents(contents: Contents, where: str | os.PathLike[str]) -> Any:
    """Return the model or the statistics of these contents.

    Parameters
    ----------
    contents : Contents
        Contents of a saved model.
    where : path or str
        Names the contents in messages.

    Raises
    ------
    ModelFileError
        When this version does not know their kind, or cannot use them.
    """
    if contents.kind == KIND:
        return Statistics.from_contents(contents)
    if contents.kind not in MODELS:
        raise ModelFileError(
            f"{where} holds a {contents.kind!r}, which this version does not know; it knows "
            f"{', '.join([*MODELS, KIND])}"
        )
    return model_class(contents.kind).from_contents(contents)


def load_model(path: str | os.PathLike[str], *, fitted: bool = True) -> Any:
    """Load a saved model, and refuse saved statistics.

    Parameters
    ----------
    path : path
        A saved model.
    fitted : bool, default True
        If True, refuse a model that was only prepared.

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
