"""What a fitted kernel mixture knows of its components: densities, expectations, samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ViewError
from bigtensor.models.containers import labelled_like
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.parameters import check_integer, checked_function, checked_points


class KernelMixtureQueries:
    """The half of a kernel mixture that answers about components."""

    random_state: int | None
    views_: Any
    _solution: KernelSolution
    _require_fitted: Callable[[], None]

    def component_density(self, view: str, points: Any) -> Any:
        """Return the density of every component in one view, at given points.

        The densities are smoothed with the width of each component, and floored at one millionth
        of their maximum.

        Parameters
        ----------
        view : str
        points : (n,) or (n, d) array-like
            In the units of the data.

        Returns
        -------
        (n, k) float64 array
            One column a component; a DataArray when ``points`` is one.
        """
        self._require_view(view)
        values = checked_points(points, view, len(self.views_.as_mapping()[view]))
        return labelled_like(points, self._solution.density(view, values))

    def expectation(self, view: str, f: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
        """Return ``E[f(x) | h]`` of one view for every component, without smoothing.

        One-dimensional views take it from the histogram of every component, wider ones from the
        rows of the pilot sample with their posterior probabilities. A model that was solved from
        statistics keeps no rows: wider views then take it from the landmarks of their kernel, and
        one-dimensional ones, before a posterior pass, from the smoothed densities.

        Parameters
        ----------
        view : str
        f : callable
            Takes ``(n,)`` values of a one-dimensional view or ``(n, d)`` rows of a wider one, and
            returns ``(n,)`` or ``(n, m)`` numbers.

        Returns
        -------
        (k,) or (k, m) float64 array
        """
        self._require_view(view)
        return self._solution.expectation(view, checked_function(f))

    def sample(self, n_samples: int = 1, random_state: int | None = None) -> tuple[Any, Any]:
        """Draw rows from the fitted mixture.

        Parameters
        ----------
        n_samples : int
        random_state : int, optional
            None stands for the seed of the model.

        Returns
        -------
        X : (n_samples, features) float64 array
            Features in the order of the data of the fit, unless some were not used.
        label : (n_samples,) int32 array
        """
        self._require_fitted()
        check_integer("n_samples", n_samples, 1)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(0 if seed is None else seed)
        values, label = self._solution.draw(n_samples, rng)
        return values[:, np.argsort(self.views_.order)], label

    def _require_view(self, view: str) -> None:
        """Raise unless the model is fitted and has this view."""
        self._require_fitted()
        if view not in self.views_.names:
            raise ViewError(
                f"there is no view {view!r}; the model has {', '.join(self.views_.names)}"
            )
