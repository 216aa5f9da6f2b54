"""Choice between whitened sources and the fourth cumulant, on halves of the pilot sample."""

from __future__ import annotations

import numpy as np

from bigtensor.decomposition.sample_tensors.gauss_newton import objective
from bigtensor.decomposition.solution import FloatArray
from bigtensor.models.ica.whitened_sample import (
    WhitenedSample,
    freed_terms,
    independent_rotation,
    rotation_terms,
)


def noise_gain(sample: WhitenedSample, n_components: int, random_state: int) -> list[float]:
    r"""Return how much nearer oblique columns are to the cumulant of rows that were held out.

    Without noise, the columns of whitened rows are orthonormal, and to estimate them as such is
    more precise. Gaussian noise makes them oblique. Both kinds of columns are fitted to one half of
    the sample; the squared distance of each from the cumulant of the other half is known up to a
    number that they share.

    Parameters
    ----------
    sample : WhitenedSample
        Along all axes.
    n_components : int
    random_state : int

    Returns
    -------
    list of two floats
        For every half, the decrease of the distance relative to what the orthonormal columns
        explain. Both are positive where there is noise.
    """
    gains = []
    for held_out in (0, 1):
        fitted, other = sample.half(1 - held_out), sample.half(held_out)
        rotation = independent_rotation(fitted.along(n_components), n_components, random_state)
        contract, test = fitted.cumulant(), other.cumulant()
        columns = embedded(rotation, sample.n_axes)
        distances = [
            objective(terms, test(terms.factors))
            for terms in (rotation_terms(contract, columns), freed_terms(contract, columns))
        ]
        gains.append((distances[0] - distances[1]) / (abs(distances[0]) or 1.0))
    return gains


def embedded(rotation: FloatArray, n_axes: int) -> FloatArray:
    """Return columns along the first axes as columns along all axes.

    Parameters
    ----------
    rotation : (m, k) array
    n_axes : int
        At least m.
    """
    columns = np.zeros((n_axes, rotation.shape[1]))
    columns[: len(rotation)] = rotation
    return columns
