"""Embeddings of further views, from their cross moments with a solved mixture."""

from collections.abc import Sequence

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError


def regress_embeddings(
    base_embeddings: Sequence[FloatArray],
    weights: FloatArray,
    cross_moments: Sequence[FloatArray],
) -> FloatArray:
    r"""Component means of a view that was not part of the decomposition.

    In the population :math:`S_{tv} = M_t\, \mathrm{diag}(\pi)\, M_v'` for every base group v;
    stacked over the groups this determines :math:`M_t` in the least squares sense, with the
    components in the order of the base embeddings.

    Parameters
    ----------
    base_embeddings : sequence of ndarrays of shape (q_v, k)
        Component means of the groups that were decomposed.
    weights : ndarray of shape (k,)
        Positive.
    cross_moments : sequence of ndarrays of shape (q_t, q_v)
        Uncentred cross moments of the view with every base group.

    Returns
    -------
    ndarray of shape (q_t, k)
        Not yet of mass one.

    Raises
    ------
    ParameterError
        If the shapes do not fit together, or a weight is not positive.
    """
    k = len(weights)
    expected = [(len(mean), k) for mean in base_embeddings]
    received = [mean.shape for mean in base_embeddings]
    columns = [moment.shape[1] for moment in cross_moments]
    rows = {moment.shape[0] for moment in cross_moments}
    if (
        expected != received
        or columns != [shape[0] for shape in received]
        or len(rows) != 1
        or not bool((np.asarray(weights) > 0).all())
    ):
        raise ParameterError(
            f"{k} positive weights need base embeddings (q_v, {k}) and as many cross moments "
            f"(q_t, q_v), got embeddings {received}, cross moments "
            f"{[moment.shape for moment in cross_moments]} and weights of at least "
            f"{min(weights, default=0):g}"
        )
    stacked = np.vstack(list(base_embeddings)) * weights
    solution = np.linalg.lstsq(stacked, np.hstack(list(cross_moments)).T, rcond=None)[0]
    return np.asarray(solution.T, dtype=np.float64)
