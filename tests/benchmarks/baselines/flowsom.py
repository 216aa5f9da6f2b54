"""FlowSOM: a self-organising map and metaclusters of its nodes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def flowsom_labels(values: NDArray[Any], n_clusters: int, seed: int = 0) -> NDArray[np.intp]:
    """Cluster with a 10 x 10 self-organising map and consensus metaclustering.

    The bare estimator, without the tables that the `FlowSOM` object computes afterwards.
    """
    return flowsom_labels_of_counts(values, [n_clusters], seed)[n_clusters]


def flowsom_labels_of_counts(
    values: NDArray[Any], counts: Sequence[int], seed: int = 0
) -> dict[int, NDArray[np.intp]]:
    """Cluster into several numbers of clusters: metaclusters of one map, which has no number."""
    with warnings.catch_warnings():
        # not this project's to mend
        warnings.simplefilter("ignore")
        from flowsom.models import FlowSOMEstimator

        # the metaclustering draws from NumPy's global generator
        np.random.seed(seed)  # noqa: NPY002
        estimator = FlowSOMEstimator(n_clusters=counts[0], xdim=10, ydim=10, seed=seed)
        labels = {counts[0]: np.asarray(estimator.fit_predict(values), np.intp)}
        for count in counts[1:]:
            estimator.set_n_clusters(count)
            of_node = estimator.metacluster_model.fit_predict(estimator.codes)
            labels[count] = np.asarray(of_node[estimator.cluster_labels], np.intp)
    return labels
