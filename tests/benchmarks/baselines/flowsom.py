"""FlowSOM: a self-organising map and metaclusters of its nodes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray


def flowsom_labels(values: NDArray[Any], n_clusters: int) -> NDArray[np.intp]:
    """Cluster with a 10 x 10 self-organising map and consensus metaclustering.

    The bare estimator, without the tables that the `FlowSOM` object computes afterwards.
    """
    with warnings.catch_warnings():
        # not this project's to mend
        warnings.simplefilter("ignore")
        from flowsom.models import FlowSOMEstimator

        # the metaclustering draws from NumPy's global generator
        np.random.seed(0)  # noqa: NPY002
        estimator = FlowSOMEstimator(n_clusters=n_clusters, xdim=10, ydim=10, seed=0)
        return np.asarray(estimator.fit_predict(values), np.intp)
