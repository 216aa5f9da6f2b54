"""AnnData objects and models: answers into an object, a model into ``uns`` and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor._version import __version__
from bigtensor.array_types import IndexArray
from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.anndata.files import element_name
from bigtensor.data.exporters.anndata import (
    COLOURS,
    CONFIDENCE,
    LABEL,
    LOG_DENSITY,
    MODEL,
    PROBABILITY,
    USED,
)
from bigtensor.data.exporters.label_colours import label_colours
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.anndata_source import is_anndata
from bigtensor.data.stores.layout import MATRIX
from bigtensor.errors import ModelFileError, OutputError, ParameterError, Setting, ViewError
from bigtensor.models.contract.model_files import from_contents
from bigtensor.models.contract.opening_for_answers import in_matrix_of_fit, open_for_answers
from bigtensor.models.contract.row_answers import answers_in_memory
from bigtensor.store import FORMAT_VERSION, Contents, check_format

if TYPE_CHECKING:
    from anndata import AnnData

    from bigtensor.models.contract.estimator import Estimator

TOPIC_SHARES = "X_bigtensor_topics"
TOPICS = "bigtensor_topics"
"""Names of elements that a topic model writes."""

_LABELS = (
    *(("obs", LABEL), ("obs", CONFIDENCE), ("obs", LOG_DENSITY)),
    *(("obsm", PROBABILITY), ("uns", COLOURS)),
)

Elements = dict[tuple[str, str], Any]
"""Elements of AnnData by part, such as ``obsm``, and key."""


def annotate(
    adata: AnnData,
    model: Estimator,
    *,
    layer: str | None = None,
    obsm: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write the answers of a model and the model itself into an AnnData object.

    Of a mixture or a hidden Markov model these are the elements of an export to a file:
    ``obs["bigtensor_label"]`` (categorical by name, of states by number; missing for rows left
    out), ``obs["bigtensor_confidence"]`` (float32, the probability of the label),
    ``obs["bigtensor_log_density"]`` (float32, of mixtures that have one),
    ``obsm["X_bigtensor_proba"]`` ((n_obs, k) float32), and ``uns["bigtensor_label_colors"]``, the
    colours of the categories that scanpy uses. Of a topic model they are
    ``obsm["X_bigtensor_topics"]``, the shares ((n_obs, k) float64), and
    ``varm["bigtensor_topics"]``, the probabilities of the words ((n_vars, k) float64, zero of words
    that the fit did not use). Both write ``var["bigtensor_used"]`` (bool) and ``uns["bigtensor"]``.
    Nothing is written into ``var`` and ``varm`` for a model of an entry of `obsm`, because its
    features are no variables of the object. If the object is backed by a file, the file does not
    change. `bigtensor.data.exporters.anndata.write_answers_to_anndata` writes into the file.

    Parameters
    ----------
    adata : AnnData
        X dense, sparse, lazy or backed. Features are found by ``var_names`` where those of the fit
        had names.
    model : fitted mixture, hidden Markov model or topic model
        Model that was fitted to the features of the object. The sequences of a hidden Markov model
        are in ``obs["sequence"]``. Without that column all rows are one sequence.
    layer, obsm : str, optional
        Layer or entry of ``obsm`` to answer for. By default the matrix that the model was fitted
        to, and X if it was fitted to other data than AnnData.
    overwrite : bool, default False
        Replace answers that are there.

    Raises
    ------
    OutputError
        When there are answers already.
    DataError, ViewError
        When the matrix is absent, cannot be used, or lacks features of the fit.
    ParameterError
        When `adata` is no AnnData object, both `layer` and `obsm` are given, or the model gives
        neither labels nor topic shares.
    """
    _require_object(adata)
    makes_shares = hasattr(model, "topics_")
    if not makes_shares:
        _require_labels(model)
    answers = (("obsm", TOPIC_SHARES), ("varm", TOPICS)) if makes_shares else _LABELS
    places = (*answers, ("var", USED), ("uns", MODEL))
    present = [f"{part}[{key!r}]" for part, key in places if key in getattr(adata, part)]
    if present and not overwrite:
        raise OutputError(
            f"the object has {', '.join(present)} already; give " + Setting("overwrite", True)
        )
    is_chosen = element_name(layer, obsm) != "X"
    samples = open_samples(
        adata if is_chosen else in_matrix_of_fit(model, adata), layer=layer, obsm=obsm
    )
    matrix = samples.matrix or "X"
    try:
        elements = _shares(model, samples) if makes_shares else _labels(model, samples)
    except ViewError as error:
        raise ViewError(
            error.message
            + "; if the model was fitted to a layer or to an entry of obsm, name it with "
            + Setting("layer")
            + " or "
            + Setting("obsm")
        ) from error
    elements["var", USED] = _columns(model, samples.features) >= 0
    elements["uns", MODEL] = model_record(model.to_contents(), matrix)
    for part, key in places:
        entries = getattr(adata, part)
        is_of_var = part in ("var", "varm")
        if (part, key) in elements and not (is_of_var and matrix.startswith("obsm/")):
            entries[key] = elements[part, key]
        elif key in entries:
            del entries[key]


def _require_object(adata: object) -> None:
    """Refuse the path of a file, and what else is no AnnData object."""
    if not is_anndata(adata):
        raise ParameterError(
            f"expected an AnnData object, got {type(adata).__name__}; read a file with "
            "anndata.read_h5ad, or write answers into the file with 'bigtensor export'"
        )


def _require_labels(model: Estimator) -> None:
    """Refuse a model without labels of rows, and name its answers and a place for them."""
    name = type(model).__name__
    if not hasattr(model, "description"):
        raise ParameterError(
            f"annotate keeps a model in the object, and {name} cannot be kept; write the classes "
            "or labels that its method predict returns into obs yourself"
        )
    model.require_fitted()
    outputs = model.description.row_outputs(model)
    if "label" not in outputs:
        part = "obs" if outputs == ("log_density",) else "obsm"
        raise ParameterError(
            f"{name} gives {' and '.join(outputs)} for every row and no labels, and annotate "
            f"writes labels or topic shares; write the answers into {part} yourself, or to a store "
            "with model.write"
        )


def _labels(model: Estimator, samples: Samples) -> Elements:
    """Return labels, their probabilities and colours, and the log-densities of a mixture."""
    answers = _answers(model, samples, model.description.row_outputs(model, probabilities=True))
    label, probability = answers["label"], answers["probability"]
    # states have no names
    names = [*map(str, getattr(model, "population_names_", range(probability.shape[1])))]
    categorical = optional_module("pandas", "tables").Categorical
    elements: Elements = {
        ("obs", LABEL): categorical.from_codes(label, categories=names),
        ("obs", CONFIDENCE): probability.max(axis=1).astype(np.float32),
        ("obsm", PROBABILITY): probability,
        ("uns", COLOURS): np.array(label_colours(len(names)), dtype=object),
    }
    if "log_density" in answers:
        elements["obs", LOG_DENSITY] = answers["log_density"].astype(np.float32)
    return elements


def _shares(model: Estimator, samples: Samples) -> Elements:
    """Return shares and words of a topic model."""
    (output,) = model.description.row_outputs(model)
    shares = _answers(model, samples, (output,))[output]
    columns = _columns(model, samples.features)
    words = np.zeros((len(columns), shares.shape[1]))
    words[columns >= 0] = model.topics_.T[columns[columns >= 0]]
    return {("obsm", TOPIC_SHARES): shares, ("varm", TOPICS): words}


def _answers(
    model: Estimator, samples: Samples, outputs: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    """Return answers for every row, from one evaluation of the rows."""
    model.require_fitted()
    rows = open_for_answers(model, samples)
    return answers_in_memory(model, rows, model.row_function(outputs))


def _columns(model: Estimator, features: Sequence[str]) -> IndexArray:
    """Return the place of every feature in the views, by name or by position; -1 for none."""
    named = hasattr(model, "feature_names_in_")
    members = model.views_.feature_names if named else model.views_.order
    place = {member: number for number, member in enumerate(members)}
    return np.array(
        [place.get(name if named else column, -1) for column, name in enumerate(features)], np.intp
    )


def from_anndata(adata: AnnData, *, layer: str | None = None, obsm: str | None = None) -> Any:
    """Return the model that is kept in an AnnData object.

    Parameters
    ----------
    adata : AnnData
        Also one that is backed by a file: X is not read.
    layer, obsm : str, optional
        Layer or entry of ``obsm`` that the model must belong to. By default the model of any matrix
        is returned.

    Returns
    -------
    model
        Of the class that was kept; its predictions have the same bits. Its answers for AnnData read
        the matrix that it belongs to.

    See Also
    --------
    bigtensor.open_samples : Open X, a layer or an entry of ``obsm`` as data.

    Raises
    ------
    ModelFileError
        When there is none, it belongs to another matrix than `layer` or `obsm`, it is of a newer
        format, or an array is damaged.
    ParameterError
        When `adata` is no AnnData object, or both `layer` and `obsm` are given.
    """
    _require_object(adata)
    if MODEL not in adata.uns:
        raise ModelFileError(
            f"uns of the AnnData object has no {MODEL!r}; bigtensor.annotate or 'bigtensor export' "
            "puts a model there"
        )
    expected = element_name(layer, obsm)
    contents, matrix = _contents_of_record(adata.uns[MODEL])
    if (layer, obsm) != (None, None) and matrix != expected:
        raise ModelFileError(
            f"the model in uns[{MODEL!r}] belongs to {matrix or 'an unknown matrix'}, not to "
            f"{expected}; annotate the object with a model of {expected}, or leave "
            + Setting("layer" if obsm is None else "obsm")
            + " out"
        )
    model = from_contents(contents, f"uns[{MODEL!r}]")
    model.matrix_ = matrix or model.matrix_
    return model


def model_record(contents: Contents, matrix: str | None = None) -> dict[str, Any]:
    """Return a saved model as ``uns`` holds it.

    Parameters
    ----------
    contents : Contents
        From `bigtensor.store.read_group`.
    matrix : str, optional
        Matrix of the object that the model belongs to, such as ``layers/counts``. By default the
        one of the fit, if the model was fitted to AnnData.

    Returns
    -------
    dict
        ``description``: JSON of the format version, the kind of model, its parameters and
        diagnostics, the matrix, and a digest; ``arrays``: the fitted arrays by name.
    """
    description = {
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "kind": contents.kind,
        "contents": contents.attrs,
        "matrix": matrix or contents.attrs.get(MATRIX),
        "digest": _digest(contents.attrs, contents.arrays),
    }
    return {"description": json.dumps(description), "arrays": dict(contents.arrays)}


def _contents_of_record(record: Mapping[str, Any]) -> tuple[Contents, str | None]:
    """Return what a record holds, after checking it, and the matrix that it names, if any."""
    try:
        description = json.loads(record["description"])
        version = int(description["format_version"])
        kind, attrs, digest = (description[key] for key in ("kind", "contents", "digest"))
        arrays = {str(name): np.asarray(array) for name, array in record["arrays"].items()}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(
            f"uns[{MODEL!r}] is not a model ({type(error).__name__}: {error}); annotate again"
        ) from error
    check_format(f"uns[{MODEL!r}]", version, description.get("version"))
    if _digest(attrs, arrays) != digest:
        raise ModelFileError(
            f"the model in uns[{MODEL!r}] is damaged: it is not what was written; annotate again"
        )
    contents = Contents(kind, attrs, arrays, str(description.get("version")))
    return contents, description.get("matrix")


def _digest(attrs: object, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the digest of a model, whatever the order of its names."""
    digest = hashlib.sha256(json.dumps(attrs, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
