"""What a fitted kernel mixture knows of its components: densities, expectations, samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ParameterError, ViewError
from bigtensor.features.kernels import Kernel
from bigtensor.models.containers import labelled_like
from bigtensor.models.kernel_mixture.kernel_expansion import KernelExpansion
from bigtensor.models.kernel_mixture.populations import Populations
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.parameters import check_integer, checked_function, checked_points
from bigtensor.models.run_options import RunOptions
from bigtensor.statistics.conditional_means import ConditionalMeans
from bigtensor.statistics.posterior_means import PosteriorMeans, ViewFunction


class KernelMixtureQueries:
    """The half of a kernel mixture that answers about components."""

    random_state: int | None
    views_: Any
    _solution: KernelSolution
    _populations: Populations | None
    _require_fitted: Callable[[], None]
    _evaluate: Callable[..., Any]
    _sum: Callable[..., Any]

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

    def expectation(
        self,
        view: str,
        f: Callable[[NDArray[Any]], NDArray[Any]],
        X: Any = None,
        **options: Unpack[RunOptions],
    ) -> NDArray[np.float64]:
        """Return ``E[f(x) | h]`` of one view for every component, without smoothing.

        Without data, views of one measured feature take it from the histogram of every component,
        others from the rows of the pilot sample with their posterior probabilities; of a
        `KernelExpansion` with the kernel of an embedded view from the mean embeddings. A model that
        was solved from statistics keeps no rows: other views then take it from the landmarks of
        their kernel, and views of one feature, before a posterior pass, from smoothed densities.
        With data it is the mean over all their rows by posterior probability, in one pass.

        None of these is the integral of f times the reported density, which is smoothed.

        Parameters
        ----------
        view : str
        f : callable
            Takes ``(n,)`` values of a view of one feature or ``(n, d)`` rows of a wider one, and
            returns ``(n,)`` or ``(n, m)`` numbers.
        X : path, xarray, dask array or array-like, optional
            Rows to average over.
        **options
            As for `fit`, without ``checkpoint``; with data only.

        Returns
        -------
        (k,) or (k, m) float64 array

        Raises
        ------
        ViewError
            When there is no such view.
        ParameterError
            When f returns another shape, or with a checkpoint.
        """
        self._require_view(view)
        function = _checked(f)
        if X is None:
            return self._solution.expectation(view, function)
        if options.get("checkpoint") is not None:
            raise ParameterError(
                "an expectation keeps no checkpoint, which could not tell one function from "
                "another; it is one pass: leave checkpoint out"
            )
        shaped = _of_rows(function)
        example = np.asarray(function(self._solution.example(view)))
        statistic = PosteriorMeans(
            self._solution.mixture(), view, shaped, math.prod(example.shape[1:])
        )
        means: NDArray[np.float64] = self._sum(X, "expectation", statistic, options)
        return means.reshape(-1, *example.shape[1:])

    def predict_view(
        self, X: Any, view: str, f: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    ) -> Any:
        """Return what is expected in one view of every row, given its other views.

        ``sum_h P(h | other views) E[f(x) | h]`` (Song et al. 2014, sec. 2), with the expectations
        of `expectation`.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`. The features of the view may be missing from labelled data, and may hold
            anything, such as NaN, in plain arrays and data frames.
        view : str
        f : callable, optional
            As for `expectation`; by default the values of the view themselves.

        Returns
        -------
        (rows, m) float64 array, DataArray or dask array
            The kind of container that ``X`` is, with the dimension ``value``.
        """
        self._require_view(view)
        if len(self.views_.names) < 2:
            raise ViewError("a model of one view has no other view to predict it from")
        means = self._solution.expectation(view, _checked(f or _identity))
        function = ConditionalMeans(
            self._solution.without(view).mixture(), means.reshape(len(means), -1)
        )
        return self._evaluate(X, "expectation", function, frozenset({view}))

    def view_kernel(self, view: str) -> Kernel:
        """Return the kernel of the densities of an embedded view.

        Raises
        ------
        ViewError
            When the densities of the view are smoothed histograms, or it is one of categories.
        """
        self._require_view(view)
        return self._solution.kernel(view)

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
            At the level of `predict`.
        """
        self._require_fitted()
        check_integer("n_samples", n_samples, 1)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(0 if seed is None else seed)
        values, label = self._solution.draw(n_samples, rng)
        if self._populations is not None:
            label = self._populations.of_component[label].astype(np.int32)
        return values[:, np.argsort(self.views_.order)], label

    def _require_view(self, view: str) -> None:
        """Raise unless the model is fitted and has this view."""
        self._require_fitted()
        if view not in self.views_.names:
            raise ViewError(
                f"there is no view {view!r}; the model has {', '.join(self.views_.names)}"
            )


def _identity(values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of a view."""
    return values


def _checked(f: Callable[[NDArray[Any]], NDArray[Any]]) -> ViewFunction:
    """Return a function that checks its shape, which that of a sum of kernels needs not."""
    return f if isinstance(f, KernelExpansion) else checked_function(f)


def _of_rows(function: ViewFunction) -> ViewFunction:
    """Give a function of a view's values the rows of a block."""

    def of_rows(rows: NDArray[Any]) -> NDArray[Any]:
        return function(rows[:, 0] if rows.shape[1] == 1 else rows)

    return of_rows
