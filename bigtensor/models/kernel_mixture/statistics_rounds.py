"""A kernel mixture in rounds: prepare once, accumulate anywhere, merge, solve."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import replace
from typing import Any, Self, Unpack

from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from bigtensor._version import __version__
from bigtensor.errors import StatisticsError
from bigtensor.models.answers import is_plain
from bigtensor.models.base import (
    DataShape,
    LatentVariableModel,
    content_key,
    open_samples,
    shape_of,
)
from bigtensor.models.kernel_mixture.constant_features import with_left_out
from bigtensor.models.kernel_mixture.map_storage import found_under, named_under
from bigtensor.models.kernel_mixture.moments_solution import moments_solution
from bigtensor.models.kernel_mixture.parameters import (
    check_storable,
    kernel_functions,
    settings_of,
)
from bigtensor.models.kernel_mixture.pass_sizes import preparation_sizes
from bigtensor.models.kernel_mixture.populations import Populations
from bigtensor.models.kernel_mixture.preparation import Preparation
from bigtensor.models.kernel_mixture.prepared import PreparedMixture, solution_digest
from bigtensor.models.kernel_mixture.refinement import refined, spectral_start
from bigtensor.models.kernel_mixture.script import (
    KernelFit,
    clustered_components,
    finished,
    judge,
    preparation_passes,
    spectral_components,
)
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.kernel_mixture.verdict import moments_verdict
from bigtensor.models.parameters import check_integer, plain
from bigtensor.models.run_options import RunOptions
from bigtensor.models.statistics_file import Part, Statistics, joined, read_statistics
from bigtensor.statistics.base import Narrowing, Pass, State
from bigtensor.statistics.state_of import StateOf
from bigtensor.store import Contents

_PREPARED = "prepared_"
_STATISTICS = "statistics_"


class StatisticsRounds(LatentVariableModel):
    """The half of a kernel mixture whose sums outlive a pass."""

    n_components: int | str
    n_populations: int | str | None
    statistics_: Statistics
    _solution: KernelSolution
    _populations: Populations | None
    _prepared: PreparedMixture | None

    def prepare(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        rows: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Choose bandwidths, landmarks, directions and grids from pilot data, and keep no row.

        The prepared model can be saved and sent. What it was fitted with before is forgotten.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`: rows like those to come from all sites.
        sample_weight : (rows,) array-like, optional
            As for `fit`.
        rows : int, optional
            Rows expected in all; bandwidths shrink with them. The rows of ``X`` by default.
        **options
            As for `fit`: ``client``, ``scheduler``, ``workers``, ``memory_limit``, ``checkpoint``,
            ``listeners``.

        Returns
        -------
        self
        """
        samples = self._open(X, sample_weight)
        shape = shape_of(samples)
        if rows is not None:
            check_integer("rows", rows, 2)
        settings = replace(self._settings(shape), rows=int(rows or shape.rows))
        if is_plain(X):
            validate_data(self, X, skip_check_array=True)
        sizes = preparation_sizes(shape, settings)
        ran = self._run(samples, _prepared_components(settings, shape), sizes, **options)
        self._remember_features(X, samples, ran.views)
        preparation, start = ran.result
        self._forget_fit()
        self.diagnostics_ = dict(preparation.diagnostics)
        self._remember(samples, ran)
        functions = kernel_functions(self.kernels, self.views_.names)
        stored = PreparedMixture.stored(preparation, start, settings.rows, functions)
        self._prepared = replace(stored, diagnostics=self.diagnostics_)
        return self

    def accumulate(
        self, X: Any, sample_weight: Any = None, **options: Unpack[RunOptions]
    ) -> Statistics:
        """Sum what the next `solve` needs of these rows, in one pass over them.

        A prepared model asks for moments (after ``start="kmeans"`` for posterior sums), a solved
        one for the posterior sums that refine it.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            With the features of the pilot data.
        sample_weight : (rows,) array-like, optional
            As for `fit`.
        **options
            As for `fit`.

        Returns
        -------
        Statistics
            To be saved, sent, and merged with those of other rows.

        Raises
        ------
        StatisticsError
            When the model is not prepared.
        """
        prepared = self._require_prepared()
        solution = self._solution if self.__sklearn_is_fitted__() else prepared.start
        return self._accumulated(X, sample_weight, solution, options)

    def solve(self, statistics: Statistics | str | os.PathLike[str]) -> Self:
        """Find the components from statistics of a round.

        Moments give the spectral solution, posterior sums one refinement of the mixture that they
        were made with. The next `accumulate` is for the round after this.

        Parameters
        ----------
        statistics : Statistics or path
            Of all rows: merge those of parts first.

        Returns
        -------
        self

        Raises
        ------
        StatisticsError
            When the model is not prepared, or the statistics were made with another preparation
            or another mixture.
        """
        prepared = self._require_prepared()
        given = read_statistics(statistics)
        first = given.mixture == solution_digest(prepared.start)
        solution = self._require_own(given, prepared, first=first)
        pass_, _ = prepared.round(solution, co_posterior=self._wants_populations)
        sums = pass_.statistic.finalize(given.state)
        diagnostics = dict(prepared.diagnostics if first else self.diagnostics_)
        likelihoods = [] if first else list(diagnostics["mean_log_likelihood"])
        settings, preparation = self._settings_of(prepared), prepared.preparation
        if solution is None:
            spectral = spectral_components(sums, preparation, settings, diagnostics)
            mixture = spectral_start(spectral, preparation)
            solved = moments_solution(mixture, sums.weight, preparation)
            found = KernelFit(solved.ordered(solved.descending), None, diagnostics)
            verdict = moments_verdict(diagnostics["spectral"], len(solved.weights))
            diagnostics["verdict"] = verdict.as_diagnostics()
            verdict.warn(stacklevel=2)
            name = pass_.name
        else:
            solution = refined(sums, preparation)
            found = finished(solution, sums.co_posterior, settings, preparation, diagnostics)
            judge(found, solution.descending, sums.co_posterior, settings, given.rows)
            likelihoods.append(sums.log_likelihood / sums.weight)
            name = f"{pass_.name} {len(likelihoods)}"
        diagnostics["mean_log_likelihood"] = likelihoods
        self.diagnostics_ = plain(diagnostics | _description(given, name, diagnostics["passes"]))
        self._restore(found.arrays())
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        rows: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Add a batch of rows, and solve for all batches so far.

        The first call prepares the model from its batch, unless `prepare` was called before; so
        does the first call after `fit`, which keeps no sums that a batch could be added to. Every
        call adds to `statistics_`; the answer is that of `accumulate` and `solve` on all batches at
        once. A posterior pass would have to read all rows again: `accumulate` them and `solve`.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        y : ignored
        sample_weight : (rows,) array-like, optional
            As for `fit`.
        rows : int, optional
            Rows expected in all batches, for the first call; those of the first batch by default.
        **options
            As for `fit`.

        Returns
        -------
        self
        """
        if self._preparation_kept is None:
            self.prepare(X, sample_weight, rows=rows, **options)
        prepared = self._require_prepared()
        total = self._accumulated(X, sample_weight, prepared.start, options)
        if hasattr(self, "statistics_"):
            total = joined(self.statistics_, total)
        self.solve(total)
        self.statistics_ = total
        return self

    def _accumulated(
        self,
        X: Any,
        sample_weight: Any,
        solution: KernelSolution | None,
        options: RunOptions,
    ) -> Statistics:
        """Return the sums of the round that starts from these components."""
        prepared = self._require_prepared()
        samples = open_samples(self._open_again(X), weight=sample_weight)
        pass_, mixture = prepared.round(solution, co_posterior=self._wants_populations)
        kept = replace(pass_, statistic=StateOf(pass_.statistic))
        ran = self._one_pass(samples, kept, options)
        state: State = ran.result
        part = Part(
            data=samples.describe(),
            rows=int(state["rows"]),
            weight=float(state["weight"]),
            rows_left_out=ran.rows_left_out,
            version=__version__,
            digest=content_key(state),
        )
        name = type(self).__name__
        return Statistics(name, pass_.name, prepared.digest, mixture, state, (part,))

    def _require_own(
        self, given: Statistics, prepared: PreparedMixture, *, first: bool
    ) -> KernelSolution | None:
        """Return the components that statistics were made with, or raise a StatisticsError."""
        if given.model != type(self).__name__ or given.preparation != prepared.digest:
            raise StatisticsError(
                f"the statistics of {given.data} are for a {given.model} with the preparation "
                f"{given.preparation[:8]}, and this {type(self).__name__} has the preparation "
                f"{prepared.digest[:8]}; solve them with the prepared model that they were "
                "accumulated with"
            )
        if first:
            return prepared.start
        solution = self._solution if self.__sklearn_is_fitted__() else None
        if given.mixture != solution_digest(solution):
            raise StatisticsError(
                f"the statistics of {given.data} were made with the mixture {given.mixture[:8]}, "
                f"and this model has {solution_digest(solution)[:8] or 'none yet'}; solve them "
                "with the model that they were accumulated with"
            )
        return solution

    def _require_prepared(self) -> PreparedMixture:
        """Return the preparation, or raise a StatisticsError."""
        prepared = self._preparation_kept
        if prepared is None:
            raise StatisticsError(
                f"this {type(self).__name__} is not prepared, so that sums of different rows "
                "could not be added; call prepare(pilot) first, or load a prepared model"
            )
        return prepared

    def _require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit, with the way from a preparation to one."""
        if self._preparation_kept is not None and not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is prepared and has no components yet; call "
                "solve(accumulate(data)), partial_fit or fit"
            )
        super()._require_fitted()

    @property
    def _preparation_kept(self) -> PreparedMixture | None:
        """What `prepare` made, if it was called since the last fit."""
        return getattr(self, "_prepared", None)

    @property
    def _wants_populations(self) -> bool:
        """Whether posterior passes have to say what components share."""
        return self.n_populations is not None

    def _settings_of(self, prepared: PreparedMixture) -> Settings:
        """Return the settings that the preparation was made with."""
        left_out = prepared.diagnostics.get("constant_features", {})
        views = with_left_out(self.views_.features, left_out)
        return settings_of(self, DataShape(prepared.rows, views, "float64", False))

    def _settings(self, shape: DataShape) -> Settings:
        """Return what the preparation needs to know, after checking it against the data."""
        return settings_of(self, shape)

    def _forget_fit(self) -> None:
        """Remove what an earlier fit has left."""
        for name in ("weights_", "statistics_", "_solution", "_populations", "_prepared"):
            if hasattr(self, name):
                delattr(self, name)

    def _kept(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what is saved: the preparation, the statistics and the components there are."""
        check_storable(self.kernels)
        prepared = self._preparation_kept
        if prepared is None:
            return super()._kept()
        attrs: dict[str, Any] = {"prepared": prepared.attrs()}
        arrays = named_under(_PREPARED, prepared.arrays())
        if hasattr(self, "statistics_"):
            contents = self.statistics_.contents()
            attrs["statistics"] = contents.attrs
            arrays |= named_under(_STATISTICS, contents.arrays)
        return attrs, arrays | (self._fitted_arrays() if self.__sklearn_is_fitted__() else {})

    def _take_back(self, attrs: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Set what `_kept` had returned."""
        if "prepared" in attrs:
            stored = found_under(_PREPARED, arrays)
            views = self.views_.features
            self._prepared = PreparedMixture.from_contents(attrs["prepared"], stored, views, {})
        if "statistics" in attrs:
            contents = Contents("", attrs["statistics"], found_under(_STATISTICS, arrays))
            self.statistics_ = Statistics.from_contents(contents)
        return super()._take_back(attrs, arrays) if "weights" in arrays else self


def _prepared_components(
    settings: Settings, shape: DataShape
) -> Generator[Pass[Any] | Narrowing, Any, tuple[Preparation, KernelSolution | None]]:
    """Prepare, and start from the clusters of the sample where no moments are wanted."""
    # rounds go on with what was asked for: their later steps see no rows of the sample
    settings = replace(settings, if_dependent=None)
    sample, _, preparation = yield from preparation_passes(settings, shape)
    if preparation.groups is not None:
        return preparation, None
    start = clustered_components(sample, preparation)
    return preparation, start.ordered(start.descending)


def _description(given: Statistics, name: str, earlier: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the diagnostics of a model that was solved from statistics."""
    rows = given.rows + given.rows_left_out
    entry = {"name": name, "rows": rows, "parts": len(given.parts), "reused_parts": 0}
    return {
        "data": given.data,
        "rows": rows,
        "rows_left_out": given.rows_left_out,
        "passes": [*earlier, entry],
    }
