"""Hidden Markov model of categorical symbols: its parameters, and its triples as a mixture."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.discrete.discrete_core import (
    DiscreteCore,
    DiscreteFactors,
    distributions,
    inverse_scale,
)
from bigtensor.decomposition.discrete.simplex import nearest_distributions, simplex_least_squares
from bigtensor.descending_order import descending_order
from bigtensor.errors import ParameterError


@dataclass(frozen=True, eq=False)
class MarkovParameters:
    """Parameters of a hidden Markov model of one categorical symbol a step.

    Attributes
    ----------
    window_start : ndarray of shape (k,)
        Distribution of the state at the first step of a window of three. Over windows of a long
        sequence this is an average of all steps, and not the initial distribution.
    transition : ndarray of shape (k, k)
        Row i holds the probabilities of the next state after state i.
    emission : ndarray of shape (k, n)
        Row i holds the probabilities of the symbols in state i. Entries of all three may be
        negative before :meth:`clipped`.

    Raises
    ------
    ParameterError
        If the shapes do not belong together.
    """

    window_start: FloatArray
    transition: FloatArray
    emission: FloatArray

    def __post_init__(self) -> None:
        k = self.window_start.size
        if (self.window_start.shape, self.transition.shape) != ((k,), (k, k)) or (
            self.emission.shape[:-1] != (k,)
        ):
            raise ParameterError(
                "a window start of shape (k,), transitions (k, k) and emissions (k, n) are needed, "
                f"got {self.window_start.shape}, {self.transition.shape} and {self.emission.shape}"
            )

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.window_start)

    @property
    def n_symbols(self) -> int:
        """Number of symbols."""
        return int(self.emission.shape[1])

    @property
    def occupancy(self) -> FloatArray:
        """Distribution of the state at the middle step of a window."""
        return self.window_start @ self.transition

    @property
    def negative_mass(self) -> float:
        """Sum of the magnitudes of all negative entries."""
        arrays = (self.window_start, self.transition, self.emission)
        return float(sum(np.maximum(-array, 0.0).sum() for array in arrays))

    def by_occupancy(self) -> "MarkovParameters":
        """Parameters with the states by descending share of the middle steps."""
        order = descending_order(self.occupancy)
        return MarkovParameters(
            self.window_start[order], self.transition[np.ix_(order, order)], self.emission[order]
        )

    def clipped(self, floor: float = 0.0) -> "MarkovParameters":
        """Nearest valid parameters by clipping: entries reach a floor, distributions sum to one.

        Parameters
        ----------
        floor : float
            Smallest probability of a state or a symbol.

        Returns
        -------
        MarkovParameters
            A distribution without a positive entry becomes uniform.

        Raises
        ------
        ParameterError
            If the floor is negative, or larger than the probability of uniform states or symbols.
        """
        return MarkovParameters(
            distributions(self.window_start[:, None], floor)[:, 0],
            distributions(self.transition.T, floor).T,
            distributions(self.emission.T, floor).T,
        )

    def factors(self) -> DiscreteFactors:
        """Mixture of the three symbols of a window, given its middle state.

        Returns
        -------
        DiscreteFactors
            Weights are the occupancy. A state that is never in the middle has the first symbols
            of all windows.
        """
        weights = self.occupancy
        before = self.window_start[:, None] * self.transition
        first = self.emission.T @ before
        has_weight = weights != 0
        overall = np.broadcast_to((self.window_start @ self.emission)[:, None], first.shape)
        return DiscreteFactors(
            weights,
            (
                np.where(has_weight, first / np.where(has_weight, weights, 1.0), overall),
                np.ascontiguousarray(self.emission.T),
                np.ascontiguousarray((self.transition @ self.emission).T),
            ),
        )

    def triple_probabilities(self, triples: npt.NDArray[np.integer]) -> FloatArray:
        """Probabilities of windows of three symbols, without the table of all of them.

        Parameters
        ----------
        triples : integer ndarray of shape (m, 3)
            Symbols from 0; a negative one is missing and summed over.

        Returns
        -------
        ndarray of shape (m,)
            Takes memory of three arrays of shape (m, k).
        """
        factors = self.factors()
        first, second, third = (
            _with_missing(table)[np.where(symbols < 0, len(table), symbols)]
            for table, symbols in zip(factors.probabilities, triples.T, strict=True)
        )
        probabilities: FloatArray = np.einsum(
            "mh,mh,mh,h->m", first, second, third, factors.weights, optimize=False
        )
        return probabilities


def markov_from_factors(factors: DiscreteFactors, core: DiscreteCore) -> MarkovParameters:
    """Parameters of a hidden Markov model from the mixture of its triples.

    Emissions are the probabilities of the second view. Transitions and start are mixtures of
    emissions that come nearest to the third view and to the marginal of the first, in scaled
    coordinates and over the simplex: inverse matrices would blow up the errors of emissions that
    resemble each other.

    Parameters
    ----------
    factors : DiscreteFactors
        Of the three symbols of a window, given the middle state; entries may be negative.
    core : DiscreteCore
        With one scale for all views.

    Returns
    -------
    MarkovParameters
        Valid; states in the order of the components.
    """
    emission = nearest_distributions(factors.probabilities[1])
    inverse = inverse_scale(core.scales[1])[:, None]
    targets = np.column_stack([factors.probabilities[2], core.marginals[0]])
    solutions = simplex_least_squares(emission * inverse, targets * inverse)
    return MarkovParameters(
        solutions[:, -1].copy(),
        np.ascontiguousarray(solutions[:, :-1].T),
        np.ascontiguousarray(emission.T),
    )


def _with_missing(table: FloatArray) -> FloatArray:
    """Table of symbols with a line for missing ones, which say nothing."""
    return np.vstack([table, np.ones((1, table.shape[1]))])
