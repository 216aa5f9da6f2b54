"""AnnData objects and models: answers into an object, a model into ``uns`` and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor._version import __version__
from bigtensor.data.exporters.anndata import LABEL, MODEL, PROBABILITY, USED
from bigtensor.data.importers.source import optional_module
from bigtensor.data.opening import open_samples
from bigtensor.errors import ModelFileError, OutputError, Setting
from bigtensor.models.loading import from_contents
from bigtensor.store import FORMAT_VERSION, Contents, check_format


def annotate(adata: Any, model: Any, *, overwrite: bool = False) -> None:
    """Write labels, posteriors and the model into an AnnData object.

    The same elements as an export to a file: ``obs["bigtensor_label"]`` (categorical; missing for
    rows left out), ``obsm["X_bigtensor_proba"]`` ((n_obs, k) float32), ``var["bigtensor_used"]``
    (bool) and ``uns["bigtensor"]``. Of an object that is backed by a file only the object changes:
    `bigtensor.data.exporters.anndata.write_answers_to_anndata` writes into the file.

    Parameters
    ----------
    adata : AnnData
        X dense, sparse, lazy or backed. Features are found by ``var_names`` where those of the fit
        had names.
    model : fitted mixture
    overwrite : bool, default False
        Replace answers that are there.

    Raises
    ------
    OutputError
        When there are answers already.
    DataError
        When X cannot be used, or lacks features of the fit.
    """
    places = {"obs": LABEL, "obsm": PROBABILITY, "var": USED, "uns": MODEL}
    present = [f"{part}[{key!r}]" for part, key in places.items() if key in getattr(adata, part)]
    if present and not overwrite:
        raise OutputError(
            f"the object has {', '.join(present)} already; give " + Setting("overwrite", True)
        )
    samples = open_samples(adata)
    answers = model._evaluate_together(samples, ("label", "probability"))
    label, probability = answers["label"], answers["probability"]
    record = model_record(model.to_contents())
    names = [str(h) for h in range(probability.shape[1])]
    categorical = optional_module("pandas", "tables").Categorical
    adata.obs[LABEL] = categorical.from_codes(label, categories=names)
    adata.obsm[PROBABILITY] = probability
    adata.var[USED] = _used(model, samples.features)
    adata.uns[MODEL] = record


def _used(model: Any, features: Sequence[str]) -> list[bool]:
    """Return which features are in a view: by name as the model finds them, or by position."""
    named = hasattr(model, "feature_names_in_")
    members = model.views_.as_mapping().values() if named else model.views_.columns
    wanted = {member for view in members for member in view}
    return [(name if named else column) in wanted for column, name in enumerate(features)]


def from_anndata(adata: Any) -> Any:
    """Return the model that is kept in an AnnData object.

    Parameters
    ----------
    adata : AnnData
        Also one that is backed by a file: X is not read.

    Returns
    -------
    model
        Of the class that was kept; its predictions have the same bits.

    Raises
    ------
    ModelFileError
        When there is none, it is of a newer format, or an array is damaged.
    """
    if MODEL not in adata.uns:
        raise ModelFileError(
            f"uns of the AnnData object has no {MODEL!r}; bigtensor.annotate or 'bigtensor export' "
            "puts a model there"
        )
    return from_contents(_contents_of_record(adata.uns[MODEL]), f"uns[{MODEL!r}]")


def model_record(contents: Contents) -> dict[str, Any]:
    """Return a saved model as ``uns`` holds it.

    Parameters
    ----------
    contents : Contents
        From `bigtensor.store.read_group`.

    Returns
    -------
    dict
        ``description``: JSON of the format version, the kind of model, its parameters and
        diagnostics, and a digest; ``arrays``: the fitted arrays by name.
    """
    description = {
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "kind": contents.kind,
        "contents": contents.attrs,
        "digest": _digest(contents.attrs, contents.arrays),
    }
    return {"description": json.dumps(description), "arrays": dict(contents.arrays)}


def _contents_of_record(record: Any) -> Contents:
    """Return what a record holds, after checking it."""
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
    return Contents(kind, attrs, arrays)


def _digest(attrs: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the digest of a model, whatever the order of its names."""
    digest = hashlib.sha256(json.dumps(attrs, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
