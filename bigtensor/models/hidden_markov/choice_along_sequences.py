"""Number of states of Gaussian and Poisson emissions, by fits along the sequences of few rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.models.contract.script import Step
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.hidden_markov.state_choice import FEWEST_WINDOWS, PATIENCE
from bigtensor.models.pilot.number_search import NumberSearch

CRITERION = (
    "largest gain of the order of the rows, less the penalty of the Bayesian information "
    "criterion (BIC), of the numbers of states with a better BIC than fewer states"
)


@dataclass(frozen=True, eq=False)
class SequenceFit:
    """Fit of one number of states along the sequences.

    Attributes
    ----------
    fit : MarkovFit
        The most likely of all initialisations, after its last iteration.
    likelihoods : list of float
        Mean log-likelihood of a row before every iteration, in nats.
    triple_likelihoods : list of float
        Mean log-likelihood of a triple before every iteration of the initialisation, in nats.
    diagnostics : dict
        Numbers of the initialisations and of the gain of the order.
    """

    fit: MarkovFit
    likelihoods: list[float]
    triple_likelihoods: list[float]
    diagnostics: Mapping[str, Any]

    @property
    def gain_of_order(self) -> float:
        """Gain of the order of the rows less the gain of chance, in nats."""
        figures = self.diagnostics
        return float(figures.get("gain_of_order", 0.0) - figures.get("gain_of_chance", 0.0))

    def bic(self, weight: float) -> float:
        """Return the Bayesian information criterion for rows of some total weight."""
        return self.fit.parameters * float(np.log(weight)) - 2 * weight * self.likelihoods[-1]


def best_along_sequences(
    fit_of: Callable[[int], Generator[Any, Any, SequenceFit]],
    most: int,
    triples: float,
    weight: float,
) -> Generator[Any, Any, SequenceFit]:
    """Fit 1, 2, ... states, and return the fit that explains most of the order of the rows.

    The gain of the order compares a model with the same emissions in any order. BIC alone has too
    many states where a state is not Gaussian: of 2,000 independent rows of Student's t with five
    degrees of freedom, it prefers two states in five of five samples, and of gamma distributed rows
    three in five. The order alone has too many where an emission has many parameters: two in two of
    five samples of 150 independent normal rows of two features, and five and six in two samples of
    5,000 rows of eight features in four states. A number of states is therefore compared by its
    order only if its BIC is better than with fewer states.

    Parameters
    ----------
    fit_of : callable
        Takes a number of states and asks for the passes of its fit.
    most : int
        Largest number of states.
    triples : float
        Weight of the triples of rows. Of fewer than `FEWEST_WINDOWS`, one state is fitted.
    weight : float
        Sum of the weights of the rows.
    """
    if triples < FEWEST_WINDOWS:
        only = yield from fit_of(1)
        reason = f"{triples:,.0f} triples of rows are too few to compare numbers of states"
        few = {"criterion": CRITERION, "reason": reason}
        return replace(only, diagnostics={**only.diagnostics, "state_choice": few})
    search, fits = NumberSearch(PATIENCE), list[SequenceFit]()
    while len(fits) < most and not search.ended:
        yield Step("choosing the number of states", len(fits) + 1, most)
        fits.append((yield from fit_of(len(fits) + 1)))
        is_better = fits[-1].bic(weight) <= min(own.bic(weight) for own in fits)
        search.means.append(fits[-1].gain_of_order if is_better else -np.inf)
    best = fits[search.best]
    choice = {
        "criterion": CRITERION,
        "tried": len(fits),
        "gain": {str(k + 1): own.gain_of_order for k, own in enumerate(fits)},
        "bic": {str(k + 1): own.bic(weight) for k, own in enumerate(fits)},
        "ended_at_largest": not search.ended and search.best == most - 1,
    }
    return replace(best, diagnostics={**best.diagnostics, "state_choice": choice})
