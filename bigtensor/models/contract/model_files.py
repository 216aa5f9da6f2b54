"""Save a model or statistics in a file without pickle, and load them."""

from __future__ import annotations

import os
from dataclasses import is_dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.views import Views
from bigtensor.data.stores.layout import MATRIX
from bigtensor.data.values.import_record import ImportRecord
from bigtensor.engine.checkpoint import content_key
from bigtensor.errors import ModelFileError, ParameterError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.contract.parameters import plain
from bigtensor.models.contract.registry import MODELS, model_class
from bigtensor.models.contract.rounds import Rounds
from bigtensor.models.contract.statistics_file import KIND, Statistics
from bigtensor.store import Contents, Packed, pack, read_group, unpack


class SavedModel(Protocol):
    """A model that a file can hold."""

    n_features_in_: int
    views_: Views
    categories_: dict[str, tuple[str, ...]]
    diagnostics_: dict[str, Any]
    statistics_: Statistics
    matrix_: str | None
    import_record_: ImportRecord | None
    feature_dim_: str
    feature_names_in_: NDArray[np.object_]

    def parameters_of_fit(self) -> dict[str, Any]:
        """Return the parameters, with an integer seed."""


def in_stored_layout(solution: object, classes: tuple[type, ...]) -> Any:
    """Return a solution in the memory layout that it has after loading.

    Parameters
    ----------
    solution : dataclass
        Result of a fit.
    classes : tuple of type
        Dataclasses that it is made of.
    """
    return unpack(pack(solution, classes), classes)


def digest_of_arrays(solution: object, classes: tuple[type, ...]) -> str:
    """Return a digest of the numeric arrays of a solution.

    Names of classes and fields do not count, because a later version may change them and still
    load the model.

    Parameters
    ----------
    solution : dataclass
        Result of a fit.
    classes : tuple of type
        Dataclasses that it is made of.
    """
    arrays = pack(solution, classes).arrays.values()
    return content_key(sorted(content_key(one) for one in arrays if one.dtype.kind in "biufc"))


def model_contents(model: SavedModel, rounds: Rounds | None, classes: tuple[type, ...]) -> Contents:
    """Return the contents of a saved model: JSON and named arrays.

    Parameters
    ----------
    model : Estimator
        Prepared or fitted model.
    rounds : Rounds, optional
        Its rounds, if it is prepared.
    classes : tuple of type
        Dataclasses that preparation and solution are made of.

    Raises
    ------
    ParameterError
        When the model holds a callable, which no file can hold.
    """
    state = {
        "views": model.views_,
        "fitted": getattr(model, "solution_", None),
        "rounds": rounds,
        "statistics": getattr(model, "statistics_", None),
    }
    packed = pack(state, classes)
    unlisted = next((entry for entry in packed.objects if _is_unlisted(entry)), None)
    if unlisted is not None:
        raise ParameterError(
            f"a {type(model).__name__} cannot be saved, because its stored_classes lack "
            f"{type(unlisted).__name__}: add the class"
        )
    if packed.objects:
        raise ParameterError(
            f"a model with {packed.objects[0]!r} cannot be saved, because no file holds a "
            "callable; write the answers of the model, or use another kernel"
        )
    attrs = {
        "parameters": plain(model.parameters_of_fit()),
        "n_features_in": model.n_features_in_,
        "feature_names_in": plain(getattr(model, "feature_names_in_", [])),
        "categories": plain(getattr(model, "categories_", None)),
        MATRIX: model.matrix_,
        "import_record": None if model.import_record_ is None else model.import_record_.facts(),
        "feature_dim": model.feature_dim_,
        "diagnostics": model.diagnostics_,
        "state": packed.tree,
    }
    return Contents(type(model).__name__, attrs, packed.arrays)


def _is_unlisted(entry: Any) -> bool:
    """Return True for a dataclass that could be stored. A kernel of one's own is a callable."""
    return is_dataclass(entry) and not isinstance(entry, CustomKernel)


def restore_model(
    model: SavedModel, contents: Contents, classes: tuple[type, ...]
) -> tuple[Rounds | None, Any]:
    """Set the attributes of a saved model, and return its rounds and its solution.

    Parameters
    ----------
    model : Estimator
        New model with the parameters of the saved one.
    contents : Contents
        Contents of the saved model.
    classes : tuple of type
        Dataclasses that preparation and solution are made of.

    Returns
    -------
    rounds : Rounds, optional
        None unless the model was prepared.
    solution : dataclass, optional
        None if the model has no solution yet.
    """
    attrs = contents.attrs
    state = unpack(Packed(attrs["state"], contents.arrays), classes)
    model.views_ = state["views"]
    model.n_features_in_ = attrs["n_features_in"]
    if attrs["feature_names_in"]:
        model.feature_names_in_ = np.asarray(attrs["feature_names_in"], dtype=object)
    if attrs["categories"] is not None:
        model.categories_ = {
            name: tuple(categories) for name, categories in attrs["categories"].items()
        }
    model.matrix_ = attrs[MATRIX]
    model.import_record_ = ImportRecord.of_facts(attrs["import_record"])
    model.feature_dim_ = attrs["feature_dim"]
    model.diagnostics_ = attrs["diagnostics"]
    if state["statistics"] is not None:
        model.statistics_ = state["statistics"]
    return state["rounds"], state["fitted"]


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
            f"{', '.join([*MODELS, KIND])}. Load a model of your own with its class: "
            f"{contents.kind}.from_contents(bigtensor.store.read_group({os.fspath(where)!r}))"
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
