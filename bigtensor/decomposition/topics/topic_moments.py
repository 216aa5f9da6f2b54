"""Topics from moments of words in the span of a few columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.joint_diagonalisation import joint_diagonalisation
from bigtensor.decomposition.whitening import whiten
from bigtensor.errors import IdentifiabilityError

TWO_TOPICS = 2
"""Number of topics whose moments do not tell the concentration."""

_REACH = np.log(1e3)
"""Logarithm of the factor about the guess within which the concentration is looked for."""

_TRIALS = 25
"""Concentrations that are tried there."""

_LEAST_VALUE = 1e-100
"""Least eigenvalue of a term. Its square stays above zero if a document has no third moment."""

_SWEEPS = 4
"""Sweeps of rotations from the topics at the guess, for the sum of the prior alone.

On simulated words the estimate is the same with 4 and 12. Real words are no exact topics, so that
rotations hardly settle: moments of 50 topics of news took 2.9 s with 12 sweeps and 2.2 s with 6.
"""

_CLOSE = 1e-5
"""Error of the logarithm of the concentration."""


@dataclass(frozen=True, eq=False)
class WordMoments:
    """Raw moments of the words of documents in r coordinates.

    Attributes
    ----------
    mean : (r,) float64 array
        M1 contracted with columns.
    pair : (r, r) float64 array
        E2, two words of a document.
    triple : (r, r, r) float64 array
        E3, three words of a document.
    """

    mean: FloatArray
    pair: FloatArray
    triple: FloatArray

    def corrected(self, concentration: float) -> tuple[FloatArray, FloatArray]:
        """Return the moments whose components are topics (Anandkumar et al. 2014, Theorem 3.5).

        The pair moment is a sum over topics of ``alpha_i / (a0 (a0 + 1)) mu_i o mu_i`` and the
        triple moment of ``2 alpha_i / (a0 (a0 + 1) (a0 + 2)) mu_i o mu_i o mu_i``.

        Parameters
        ----------
        concentration : float
            a0, the sum of the parameters of the Dirichlet prior.
        """
        a0, mean = concentration, self.mean
        pair = self.pair - a0 / (a0 + 1) * np.outer(mean, mean)
        with_mean = self.pair[:, :, None] * mean
        placements = with_mean + with_mean.transpose(0, 2, 1) + with_mean.transpose(2, 0, 1)
        cube = mean[:, None, None] * mean[:, None] * mean
        triple = self.triple - a0 / (a0 + 2) * placements
        return pair, triple + 2 * a0**2 / ((a0 + 1) * (a0 + 2)) * cube


@dataclass(frozen=True, eq=False)
class TopicSolution:
    """Topics in r coordinates, and the prior of their shares.

    Attributes
    ----------
    topics : (r, k) float64 array
        Columns, in the coordinates of the moments; of any sign.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior, as the weights of the terms tell them.
    diagonality : float
        Share of the squared entries of the rotated tensor that is on its diagonal; one for moments
        of exactly k topics.
    """

    topics: FloatArray
    prior: FloatArray
    diagonality: float


def solve_topics(
    moments: WordMoments,
    n_topics: int,
    concentration: float,
    near: TopicSolution | None = None,
    *,
    max_sweeps: int = 30,
) -> TopicSolution:
    """Return the topics whose terms make up the corrected moments.

    Parameters
    ----------
    moments : WordMoments
        Raw moments of words in r coordinates.
    n_topics : int
        Number of topics k, at most r.
    concentration : float
        a0, the sum of the parameters of the Dirichlet prior.
    near : TopicSolution, optional
        Topics at another concentration, from which fewer rotations are left.
    max_sweeps : int, default 30
        Most sweeps of rotations.

    Notes
    -----
    The pair moment is whitened, and the whitened triple moment is diagonalised by rotations
    (Anandkumar et al. 2014, section 5.1).
    """
    a0 = concentration
    pair, triple = moments.corrected(a0)
    whitening = whiten(pair, n_topics)
    white = whitening.matrix
    core = np.einsum("abc,ai,bj,ck->ijk", triple, white, white, white, optimize=True)
    start = None if near is None else _rotation_near(white.T @ near.topics)
    decomposition = joint_diagonalisation(core, start=start, max_sweeps=max_sweeps)
    values = np.maximum(decomposition.eigenvalues, _LEAST_VALUE)
    topics = (a0 + 2) / 2 * values * (whitening.unwhitening @ decomposition.vectors)
    prior = 4 * a0 * (a0 + 1) / ((a0 + 2) ** 2 * values**2)
    squares = float(np.square(core).sum())
    return TopicSolution(topics, prior, float(np.square(values).sum()) / squares)


def estimated_concentration(moments: WordMoments, n_topics: int, guess: float = 1.0) -> float:
    """Return the concentration at which the parameters of the prior add up to it.

    Their sum is larger than a concentration that is too small, and smaller than one that is too
    large, until the pair moment loses its last eigenvalue: the first crossing is the answer.

    Parameters
    ----------
    moments : WordMoments
        Raw moments of words in r coordinates.
    n_topics : int
        Number of topics k, at most r.
    guess : float
        The answer is looked for within a factor of a thousand about it.

    Raises
    ------
    IdentifiabilityError
        When the sum crosses nowhere there, or there are two topics.

    Notes
    -----
    The shares of two topics lie on a segment, and have a mean, a variance and a skewness. These
    three do not determine its two ends and the two parameters of the prior: for every
    concentration there are two topics with the same moments.
    """
    if n_topics == TWO_TOPICS:
        raise IdentifiabilityError(
            "every concentration explains the moments of two topics: give the concentration"
        )
    # one initialisation for all: the sum is then a function of the concentration alone
    start = solve_topics(moments, n_topics, guess)

    def excess(log_concentration: float) -> float:
        """Return the logarithm of the ratio of the sum and the concentration."""
        concentration = float(np.exp(log_concentration))
        solution = solve_topics(moments, n_topics, concentration, start, max_sweeps=_SWEEPS)
        return float(np.log(solution.prior.sum()) - log_concentration)

    grid = np.log(guess) + np.linspace(-_REACH, _REACH, _TRIALS)
    below = excess(grid[0])
    for left, right in pairwise(grid):
        above = excess(right)
        if below > 0 >= above:
            return float(np.exp(brentq(excess, left, right, xtol=_CLOSE)))
        below = above
    raise IdentifiabilityError(
        f"no concentration from {np.exp(grid[0]):.2g} to {np.exp(grid[-1]):.2g} agrees with "
        f"the moments of {n_topics} topics: use fewer topics, or give the concentration"
    )


def _rotation_near(directions: FloatArray) -> FloatArray | None:
    """Return the orthonormal columns nearest to directions of any length, (k, k).

    Moments of a few documents may have topics that are zero or no numbers, hence no direction.
    """
    lengths = np.linalg.norm(directions, axis=0)
    if not (np.isfinite(lengths).all() and lengths.all()):
        return None
    left, _, right = np.linalg.svd(directions / lengths)
    return np.asarray(left @ right)
