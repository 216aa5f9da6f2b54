"""Choice between whitened sources and the fourth cumulant, on halves of the pilot sample."""

from __future__ import annotations

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.gauss_newton import objective
from bigtensor.models.sources.whitened_sample import (
    WhitenedSample,
    embedded,
    freed_terms,
    rotation_terms,
    settled_rotation,
)

CLEAR_LOSS = -0.03
"""Gain below which one half of the sample is enough to tell that there is no noise."""


def noise_gain(sample: WhitenedSample, rotation: FloatArray) -> list[float]:
    r"""Return how much nearer oblique columns are to the cumulant of rows that were held out.

    Without noise, the columns of whitened rows are orthonormal, and to estimate them as such is
    more precise. Gaussian noise makes them oblique. Both kinds of columns are fitted to one half of
    the sample; the squared distance of each from the cumulant of the other half is known up to a
    number that they share.

    Parameters
    ----------
    sample : WhitenedSample
        Along all axes.
    rotation : (m, k) array
        Orthonormal columns of the sample along its first axes.

    Returns
    -------
    list of one or two floats
        For every half, the decrease of the distance relative to what the orthonormal columns
        explain. It is positive where there is noise; one that is clearly negative is the last.
    """
    gains = []
    for held_out in (0, 1):
        fitted, other = sample.part(1 - held_out, 2), sample.part(held_out, 2)
        contract, test = fitted.cumulant(), other.cumulant()
        of_half = settled_rotation(fitted.along(len(rotation)), rotation)
        columns = embedded(of_half, sample.n_axes)
        distances = [
            objective(terms, test(terms.factors))
            for terms in (rotation_terms(contract, columns), freed_terms(contract, columns))
        ]
        gains.append((distances[0] - distances[1]) / (abs(distances[0]) or 1.0))
        if gains[-1] <= CLEAR_LOSS:
            break
    return gains
