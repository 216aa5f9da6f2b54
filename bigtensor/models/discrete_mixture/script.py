"""Script of a discrete mixture's fit: one count of rows, or passes over large alphabets."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bigtensor.array_types import IntArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import DataError, IdentifiabilityError, ParameterError
from bigtensor.features.category_order import category_places, recoded
from bigtensor.features.column_order import content_order
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.script import Script, Solved, Step, in_memory
from bigtensor.models.discrete_mixture.alike_components import with_alike_merged
from bigtensor.models.discrete_mixture.choice import Choice, choose
from bigtensor.models.discrete_mixture.core import EXACT_SYMBOLS
from bigtensor.models.discrete_mixture.estimation import estimate
from bigtensor.models.discrete_mixture.expectation_maximisation import (
    MOST_COMPETING_ROWS,
    SMOOTHING,
    Estimated,
    Problem,
    em_iterations,
)
from bigtensor.models.discrete_mixture.independence import comparison_with_independence
from bigtensor.models.discrete_mixture.settings import PILOT_ROWS, DiscreteSettings, three_groups
from bigtensor.models.discrete_mixture.solution import DiscreteFit, DiscreteSolution
from bigtensor.models.discrete_mixture.verdict import FEW_ROWS, judged
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.code_counts import CodeCounts, CodeCountsResult
from bigtensor.statistics.codes.code_moments import (
    Groups,
    ProjectedSymbols,
    SketchedPairs,
    SymbolGroup,
)
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.row_sample import Sample


@dataclass(frozen=True, eq=False)
class DiscretePreparation:
    """Decisions before the sums over all rows.

    Attributes
    ----------
    settings : DiscreteSettings
        Resolved parameters of the fit.
    choice : Choice, optional
        From the pilot sample; None where all rows are counted, which choose then.
    groups : three SymbolGroup, optional
        As for ``choice``.
    start : DiscreteSolution, optional
        Mixture of the pilot sample that the passes start from, instead of a spectral solution.
    weight : float
        Of the pilot sample.
    rows : CodeCountsResult, optional
        All rows, where the driver holds them.
    places : tuple of (categories,) int64 arrays
        Place of every category by its content in the pilot sample, of every view.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    """

    settings: DiscreteSettings
    choice: Choice | None = None
    groups: Groups | None = None
    start: DiscreteSolution | None = None
    weight: float = 0.0
    rows: CodeCountsResult | None = None
    places: tuple[IntArray, ...] = ()
    diagnostics: dict[str, Any] = field(default_factory=dict)


_FEW_CATEGORIES = 10
"""A view of at most so many categories is never taken for ids, however few the rows are."""

STORED_CLASSES = (
    *(Populations, MergeTree),
    *(DiscreteFit, DiscreteSolution, DiscretePreparation, DiscreteSettings, Choice, SymbolGroup),
    *(CodeCounts, SketchedPairs, ProjectedSymbols, PosteriorSums, MixtureDensities, CodeTables),
)
"""Dataclasses that a saved discrete mixture, prepared or fitted, is made of."""


def prepare(settings: DiscreteSettings) -> Script:
    """Ask for a sample where the joint table is too large to count the rows in.

    In rounds no row is kept.
    """
    if settings.counted:
        return DiscretePreparation(settings)
    sample: Sample = yield pilot_pass(settings)
    rows = CodeCountsResult(
        np.asarray(sample.values, np.int32),
        sample.row_weights(),
        len(sample.values),
    )
    if settings.shape.rows <= PILOT_ROWS and not settings.shape.in_rounds:
        return DiscretePreparation(settings, rows=rows)
    return (yield from _prepared_from(rows, settings))


def refine(preparation: DiscretePreparation) -> Script:
    """Ask for the counts of all rows, or for the moments and posterior sums of large alphabets."""
    settings = preparation.settings
    if settings.counted:
        counts = yield Pass("counts", CodeCounts(settings.sizes))
        return (yield from _of_rows(counts, settings))
    if preparation.rows is not None:
        return (yield from _of_rows(preparation.rows, settings))
    choice, groups = preparation.choice, preparation.groups
    assert choice is not None
    assert groups is not None
    problem = _problem(groups, settings, preparation.weight, distinct_rows=0)
    conclude = partial(_concluded, settings, choice)
    problem = replace(problem, conclude=conclude, places=preparation.places)
    if preparation.start is None:
        estimated = yield from estimate(problem, choice.n_components, choice.ridge)
    else:
        smoothing = SMOOTHING if choice.ridge else 0.0
        method = settings.method if problem.is_spectral(choice.n_components) else "em"
        estimated = yield from em_iterations(
            preparation.start,
            problem,
            smoothing,
            problem.stopping(method),
            preparation.diagnostics,
        )
    return conclude(estimated)


def _of_rows(counts: CodeCountsResult, settings: DiscreteSettings) -> Generator[Step, None, Solved]:
    """Return the mixture of rows that the driver holds."""
    ordered = _ordered(counts, settings, sampled=False)
    rows, weight = ordered.rows, ordered.rows.total_weight()
    problem = ordered.problem()
    choice, estimated = yield from _initialised(rows, problem, ordered.settings)
    if problem.compares_initialisations and rows.rows > MOST_COMPETING_ROWS:
        smoothing = SMOOTHING if choice.ridge else 0.0
        script = em_iterations(
            estimated.solution, problem, smoothing, problem.stopping("em"), estimated.diagnostics
        )
        yield Step("EM iterations over all rows")
        estimated = in_memory(script, rows)
    comparison = comparison_with_independence(rows, estimated)
    estimated = replace(
        estimated,
        solution=ordered.in_data(estimated.solution),
        diagnostics={
            "distinct_rows": rows.rows,
            "equal_views": ordered.equal_views(),
            "views_of_ids": ordered.views_of_ids(),
            **({"independence": comparison} if comparison else {}),
            **estimated.diagnostics,
        },
        weight=weight,
    )
    return _concluded(settings, choice, estimated)


def _prepared_from(
    counts: CodeCountsResult, settings: DiscreteSettings
) -> Generator[Step, None, DiscretePreparation]:
    """Choose from a sample what its rows do not decide alone."""
    ordered = _ordered(counts, settings, sampled=True)
    rows, weight = ordered.rows, ordered.rows.total_weight()
    problem, groups = ordered.problem(), ordered.groups_in_data()
    if problem.compares_initialisations:
        # the passes are too few to make up for joint codes of several views
        choice, estimated = yield from _initialised(rows, problem, ordered.settings)
        kept = ("initialised", "random_initialisations")
        diagnostics = {
            key: estimated.diagnostics[key] for key in kept if key in estimated.diagnostics
        }
        start = ordered.in_data(estimated.solution)
        return DiscretePreparation(settings, choice, groups, start, weight, diagnostics=diagnostics)
    choice, first = (yield from _chosen(rows, problem, ordered.settings)), None
    if not problem.is_spectral(choice.n_components):
        first = ordered.in_data((yield from _estimated(rows, problem, choice)).solution)
    return DiscretePreparation(
        settings, choice, groups, first, weight, places=tuple(ordered.places)
    )


@dataclass(frozen=True, eq=False)
class _OrderedRows:
    """Distinct rows, views and categories in the order of their content.

    Held-out rows, initialisations and view groups follow these orders, so that they are the same
    for any order of the rows, any order of the views, and any codes of the categories.

    Attributes
    ----------
    rows : Block
        Distinct rows with views and codes in the order of their content.
    settings : DiscreteSettings
        Settings with the views in this order.
    order : list of int
        Position of every view in the data.
    places : list of (categories,) int64 arrays
        Code in `rows` of every category of the data, by the position of the view in the data. It
        is -1 for a category that does not occur.
    """

    rows: Block
    settings: DiscreteSettings
    order: list[int]
    places: list[IntArray]

    def problem(self) -> Problem:
        """Return the problem of these rows."""
        groups = _groups_of(self.rows, self.settings)
        return _problem(
            groups, self.settings, self.rows.total_weight(), distinct_rows=self.rows.rows
        )

    def groups_in_data(self) -> Groups:
        """Return the groups of views by their positions in the data."""
        first, second, third = (
            replace(group, columns=tuple(self.order[view] for view in group.columns))
            for group in _groups_of(self.rows, self.settings)
        )
        return first, second, third

    def equal_views(self) -> list[list[str]]:
        """Return the names of views that are equal but for the names of their categories.

        Returns
        -------
        list of list of str
            Two views or more each, in the order of the data. Views are left out in which fewer
            than `FEW_ROWS` rows have another category than the most frequent one: they may be
            equal by chance.
        """
        groups, weight = dict[bytes, list[str]](), self.rows.row_weights()
        for view in np.argsort(self.order).tolist():
            codes = self.rows.dense_values[:, view]
            _, first, code = np.unique(codes, return_index=True, return_inverse=True)
            if weight.sum() - np.bincount(code, weight).max() >= FEW_ROWS:
                # the first row of its category stands for every entry, whatever the codes
                name = self.settings.shape.views[view][0]
                groups.setdefault(first[code].tobytes(), []).append(name)
        return [names for names in groups.values() if len(names) > 1]

    def views_of_ids(self) -> list[str]:
        """Return the names of views with more than half as many categories as entries.

        Returns
        -------
        list of str
            In the order of the data. A view of at most ten categories is never one. Weights count
            entries.
        """
        codes = self.rows.dense_values
        entries, counts = self.rows.row_weights() @ (codes >= 0), codes.max(axis=0) + 1
        many = np.maximum(entries / 2, _FEW_CATEGORIES)
        return [
            self.settings.shape.views[view][0]
            for view in np.argsort(self.order).tolist()
            if counts[view] > many[view]
        ]

    def in_data(self, solution: DiscreteSolution) -> DiscreteSolution:
        """Return a mixture of views and categories in the order of the data."""
        return solution.of_views(np.argsort(self.order)).of_categories(self.places)


def _ordered(
    counts: CodeCountsResult, settings: DiscreteSettings, *, sampled: bool
) -> _OrderedRows:
    """Return the distinct rows of a positive weight, all in the order of their content.

    Categories that do not occur are left out, unless the rows are a sample of more rows.

    Raises
    ------
    DataError
        If no row has a positive weight.
    """
    kept = counts.weight > 0
    if not kept.any():
        raise DataError(
            "no row has a positive weight and no missing entry that leaves it out, so there is "
            "nothing to fit; check the weights and the missing entries"
        )
    weights = counts.weight[kept]
    # any negative code is a missing one
    codes = np.maximum(counts.codes[kept], -1)
    places = category_places(codes, settings.sizes, weights)
    codes = recoded(codes, places)
    if not sampled:
        # the last places are those of categories without a row
        occurring = codes.max(axis=0) + 1
        settings = settings.with_sizes(np.maximum(occurring, 1).tolist())
        places = [
            np.where(own < count, own, -1) for own, count in zip(places, occurring, strict=True)
        ]
    order = content_order(codes, list(settings.shape.slices.values()), weights)
    codes = codes[:, order]
    # first view first; of equal rows, the weights decide
    lines = np.lexsort((weights, *codes.T[::-1]))
    codes, own = codes[lines], settings.in_order(order)
    first = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]).any(axis=1)))
    weights = np.add.reduceat(weights[lines], first)
    rows = Block(codes[first], own.shape.slices, 0, len(first), weights)
    return _OrderedRows(rows, own, order, places)


def _initialised(
    rows: Block, problem: Problem, settings: DiscreteSettings
) -> Generator[Step, None, tuple[Choice, Estimated]]:
    """Return the choice and the estimate of rows, or of a part of many rows of grouped views."""
    if problem.compares_initialisations and rows.rows > MOST_COMPETING_ROWS:
        step = math.ceil(rows.rows / MOST_COMPETING_ROWS)
        part = replace(rows.keep(np.arange(rows.rows) % step == 0), index=None)
        weight = part.total_weight()
        rows, problem = (
            part,
            _problem(_groups_of(part, settings), settings, weight, distinct_rows=part.rows),
        )
    choice = yield from _chosen(rows, problem, settings)
    return choice, (yield from _estimated(rows, problem, choice))


def _estimated(rows: Block, problem: Problem, choice: Choice) -> Generator[Step, None, Estimated]:
    """Return the estimate of rows that the driver holds."""
    yield Step("estimating the mixture")
    return in_memory(estimate(problem, choice.n_components, choice.ridge), rows)


def _chosen(
    rows: Block, problem: Problem, settings: DiscreteSettings
) -> Generator[Step, None, Choice]:
    """Return the number of components and the ridge, from the rows where they were not given."""
    number = None if settings.n_components == "auto" else int(settings.n_components)
    most = settings.most_components
    return (yield from choose(rows, problem, number, most, settings.ridge))


def _groups_of(rows: Block, settings: DiscreteSettings) -> Groups:
    """Return three groups of the views of which several categories occur."""
    used = [
        view
        for view in range(len(settings.shape.views))
        if len({*np.unique(rows.dense_values[:, view]).tolist()} - {-1}) > 1
    ]
    return three_groups(settings.sizes, tuple(used), rows.total_weight())


def _problem(
    groups: Groups, settings: DiscreteSettings, weight: float, *, distinct_rows: int
) -> Problem:
    """Return the problem of rows that the driver holds, or of passes over data if it holds none.

    Raises
    ------
    IdentifiabilityError, ParameterError
        When the method cannot find so many components, or needs a joint table that is too large.
    """
    method, sizes = settings.method, [group.size for group in groups]
    if method in ("svd", "ex_literal") and max(sizes) > EXACT_SYMBOLS:
        raise ParameterError(
            f"the method {method!r} puts the views into three groups of at most {EXACT_SYMBOLS} "
            f"combinations of categories each, and a group of these data has {max(sizes):,}: use "
            "the method 'ex' or 'svd_joint'"
        )
    reference = method not in ("ex", "em")
    if reference and int(settings.n_components) > min(sizes):
        raise IdentifiabilityError(
            f"the method {method!r} puts the views into three groups, which have {sizes[0]}, "
            f"{sizes[1]} and {sizes[2]} combinations of categories, and finds at most "
            f"{min(sizes)} components; {settings.n_components} were asked for: use fewer "
            "components, or the method 'em'"
        )
    return Problem(
        settings.sizes,
        groups,
        weight,
        method,
        settings.max_iter,
        not distinct_rows,
        settings.n_starts,
        settings.random_state,
        settings.ridge == 0 and 0 < distinct_rows <= MOST_COMPETING_ROWS,
    )


def _concluded(settings: DiscreteSettings, choice: Choice, estimated: Estimated) -> Solved:
    """Return the fitted mixture with its diagnostics, and warn of its faults."""
    chosen, solution = settings.n_components == "auto", estimated.solution
    if chosen:
        solution = with_alike_merged(solution)
    merged = estimated.solution.n_components - solution.n_components
    diagnostics = {
        "method": settings.method,
        "n_components": solution.n_components,
        "ridge": choice.ridge,
        "parameters": solution.parameters,
        "mean_log_likelihood": estimated.likelihoods,
        **choice.diagnostics,
        **estimated.diagnostics,
        **({"merged_components": merged} if merged else {}),
    }
    return judged(
        DiscreteFit(solution, settings.shape.views, settings.shape.categories),
        estimated.weight,
        diagnostics,
        chosen=chosen,
    )
