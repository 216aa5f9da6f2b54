"""Search for a number of components or states: upwards, by scores of held-out data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class NumberSearch:
    """Ascending numbers are scored until some in a row are no better than the best.

    Attributes
    ----------
    patience : int
        Numbers without a better mean score after which the search ends.
    means : list of float
        Mean score of every number that was tried, the smallest number first. More is better.
    """

    patience: int
    means: list[float] = field(default_factory=list)

    @property
    def best(self) -> int:
        """Place of the largest mean score."""
        return int(np.argmax(self.means))

    @property
    def ended(self) -> bool:
        """True if no number of the last few is better than those before."""
        return bool(self.means) and len(self.means) - 1 - self.best >= self.patience

    def fewest_as_good(self, loss_and_error: Callable[[int], tuple[float, float]]) -> int:
        """Return the place of the first number that is as good as the best, up to an error.

        After the rule of one standard error of Breiman, Friedman, Olshen and Stone (1984),
        "Classification and Regression Trees", 3.4.3.

        Parameters
        ----------
        loss_and_error : callable
            Takes the place of a number. Returns by how much its mean score is less than the best,
            and the loss that is allowed: the standard error of the difference.
        """
        for place in range(self.best):
            loss, error = loss_and_error(place)
            if loss <= error:
                return place
        return self.best
