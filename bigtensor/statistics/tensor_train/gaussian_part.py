"""Gaussian mixture beside tensor trains, in the same coordinates and with the same queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, ndtr

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.statistics.tensor_train.located_rows import LocatedRows

_LOG_TWO_PI = float(np.log(2 * np.pi))

_TILE = 2**19
"""Rows times components whose log joint densities are in memory at once."""

_NEGLIGIBLE = 1e-12
"""Weight of a component in a row below which it is left out of masses and means."""

_PAIRS = 1024
"""Rows and components whose means are computed at once."""


@dataclass(frozen=True, eq=False)
class GaussianPart:
    """Gaussian components of measured variables, with probabilities of atoms and categories.

    Given a component, entries on atoms and of categorical variables are independent, and the other
    ones are jointly Gaussian. An entry on an atom has no coordinate: the Gaussian distribution is
    that of the entries beside it.

    Attributes
    ----------
    measured : (m,) int64 array
        Measured variables.
    log_weights : (k,) float64 array
        Logarithms of the mixing weights.
    means : (k, m) float64 array
        Of the coordinates.
    covariances : (k, m, m) or (1, m, m) float64 array
        Of the coordinates, of every component or of all.
    log_tables : (points + 1, k) float64 array
        At every point of the modes, the logarithm of the probability of an atom or category, or of
        no atom. Zero of missing entries.
    """

    measured: IntArray
    log_weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    log_tables: FloatArray

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_weights)

    def log_densities(self, rows: LocatedRows) -> FloatArray:
        """Return the log-densities of rows by their coordinates, (n,)."""
        out = np.empty(len(rows.point))
        for begin in range(0, len(out), self.tile_rows):
            tile = slice(begin, begin + self.tile_rows)
            out[tile] = logsumexp(self.log_joint(rows.take(tile)), axis=1)
        return out

    @property
    def tile_rows(self) -> int:
        """Number of rows whose log-densities are computed at once."""
        return max(1, _TILE // self.n_components)

    def log_joint(self, rows: LocatedRows) -> FloatArray:
        """Return the logarithms of weights times densities of the components, (n, k)."""
        joint = np.tile(self.log_weights, (len(rows.point), 1))
        for point in rows.point.T:
            joint += self.log_tables[point]
        for used, present in self._patterns(rows):
            joint[used] += self._log_normal(rows.values[np.ix_(used, present)], present)
        return joint

    def conditional(self, rows: LocatedRows, variable: int, missing: int) -> ConditionalNormals:
        """Return the distribution of one variable given the other entries of every row.

        Parameters
        ----------
        rows : LocatedRows
            Rows at their points, of which the variable is not looked at.
        variable : int
            Position of the variable.
        missing : int
            Point of its missing entries.
        """
        others = rows.without(variable, missing)
        joint = self.log_joint(others)
        n, k = joint.shape
        means, deviations = np.zeros((n, k)), np.ones((n, k))
        if variable in self.measured:
            for used, present in self._patterns(others):
                centres, variances = self._regressed(
                    others.values[np.ix_(used, present)], present, variable
                )
                means[used], deviations[used] = centres, np.sqrt(variances)
        log_evidence = logsumexp(joint, axis=1)
        return ConditionalNormals(
            log_evidence, np.exp(joint - log_evidence[:, None]), means, deviations
        )

    def conditional_on(
        self, row: LocatedRows, removed: IntArray, kept_points: IntArray
    ) -> GaussianPart:
        """Return the distribution of the other variables given a row.

        Parameters
        ----------
        row : LocatedRows
            One row, whose variables that are summed over are missing.
        removed : (r,) int64 array
            Variables that are given or summed over.
        kept_points : (q,) int64 array
            Points of the other variables, and the last one of all.
        """
        joint = self.log_joint(row)[0]
        ((_, present),) = self._patterns(row)
        kept = np.setdiff1d(self.measured, removed)
        at, of_row = (np.searchsorted(self.measured, columns) for columns in (kept, present))
        means = self.means[:, at]
        covariances = self.covariances[:, at[:, None], at]
        if len(present):
            between = self.covariances[:, of_row[:, None], at]
            slopes = np.linalg.solve(self.covariances[:, of_row[:, None], of_row], between)
            offset = row.values[0, present] - self.means[:, of_row]
            means = means + (offset[:, None] @ slopes)[:, 0]
            covariances = covariances - np.einsum("kia,kib->kab", between, slopes)
            covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
        others = np.delete(np.arange(row.point.shape[1]), removed)
        return GaussianPart(
            np.searchsorted(others, kept),
            joint - logsumexp(joint),
            means,
            covariances,
            self.log_tables[kept_points],
        )

    def in_order(self, variables: IntArray, points: IntArray) -> GaussianPart:
        """Return the distribution of all variables in another order.

        Parameters
        ----------
        variables : (d,) int64 array
            Position of every variable in the present order.
        points : (q,) int64 array
            Points of these variables, and the last one of all.
        """
        columns = np.flatnonzero(np.isin(variables, self.measured))
        at = np.searchsorted(self.measured, variables[columns])
        return GaussianPart(
            columns,
            self.log_weights,
            self.means[:, at],
            self.covariances[:, at[:, None], at],
            self.log_tables[points],
        )

    def draw(
        self,
        first: IntArray,
        counts: IntArray,
        n_samples: int,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, IntArray]:
        """Draw coordinates of measured variables and points of all, (n, d) each.

        Parameters
        ----------
        first : (d + 1,) int64 array
            First point of every variable.
        counts : (d,) int64 array
            Numbers of nodes, zero of categorical variables. Points below are no atoms.
        n_samples : int
            Number of rows.
        rng : Generator
            Source of random numbers.
        """
        d = len(first) - 1
        component = rng.choice(self.n_components, n_samples, p=np.exp(self.log_weights))
        covariances = np.broadcast_to(
            self.covariances, (self.n_components, *self.covariances.shape[1:])
        )
        coordinates, points = np.zeros((n_samples, d)), np.zeros((n_samples, d), np.int64)
        for k in np.unique(component):
            rows = np.flatnonzero(component == k)
            normal = rng.standard_normal((len(rows), len(self.measured)))
            root = np.linalg.cholesky(covariances[k])
            coordinates[np.ix_(rows, self.measured)] = self.means[k] + normal @ root.T
            for j in range(d):
                # one outcome for all nodes, one for every atom or category
                begin = max(int(counts[j]) - 1, 0)
                tables = self.log_tables[first[j] + begin : first[j + 1] - 1, k]
                steps = np.cumsum(np.exp(tables))
                drawn = np.searchsorted(steps, rng.random(len(rows)) * steps[-1], side="right")
                points[rows, j] = begin + np.minimum(drawn, len(steps) - 1)
        return coordinates, points

    @cached_property
    def _roots(self) -> FloatArray:
        """Inverse Cholesky factors of the covariances, (k, m, m)."""
        return _inverse_roots(self.covariances)

    def _patterns(self, rows: LocatedRows) -> Iterator[tuple[NDArray[np.intp], IntArray]]:
        """Yield rows with coordinates of the same variables, and these variables."""
        has_value = ~np.isnan(rows.values[:, self.measured])
        if has_value.all():
            yield np.arange(len(has_value)), self.measured
            return
        patterns, of_row = np.unique(has_value, axis=0, return_inverse=True)
        of_row = of_row.ravel()  # NumPy 2.0 gives a column
        order = np.argsort(of_row, kind="stable")
        bounds = np.searchsorted(of_row[order], np.arange(len(patterns) + 1))
        for number, pattern in enumerate(patterns):
            yield order[bounds[number] : bounds[number + 1]], self.measured[pattern]

    def _log_normal(self, values: FloatArray, present: IntArray) -> FloatArray:
        """Return the logarithms of Gaussian densities of some variables, (n, k)."""
        at = np.searchsorted(self.measured, present)
        roots = self._roots
        if len(at) < len(self.measured):
            roots = _inverse_roots(self.covariances[:, at[:, None], at])
        logs = np.empty((len(values), self.n_components))
        of_root = np.array_split(np.arange(self.n_components), len(roots))
        for root, components in zip(roots, of_root, strict=True):
            centres = self.means[np.ix_(components, at)] @ root.T
            # no BLAS: the bits of a row depend on no other row
            whitened = np.einsum("ni,ji->nj", values, root)
            squares = cdist(whitened, centres, "sqeuclidean")
            logs[:, components] = np.log(np.diag(root)).sum() - 0.5 * squares
        logs -= 0.5 * len(at) * _LOG_TWO_PI
        return logs

    def _regressed(
        self, values: FloatArray, present: IntArray, variable: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return means (n, k) and variances (k,) or (1,) of one variable given others."""
        at, target = (np.searchsorted(self.measured, one) for one in (present, variable))
        variances = self.covariances[:, target, target].copy()
        between = self.covariances[:, at, target]
        slopes = np.linalg.solve(self.covariances[:, at[:, None], at], between[:, :, None])[..., 0]
        constants = self.means[:, target] - (self.means[:, at] * slopes).sum(axis=1)
        means = np.einsum("ni,ki->nk", values, slopes) + constants
        variances -= np.einsum("ki,ki->k", between, slopes)
        return means, np.maximum(variances, np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class ConditionalNormals:
    """Mixture of normal distributions of one coordinate, row by row.

    Attributes
    ----------
    log_evidence : (n,) float64 array
        Logarithm of the density of the other entries.
    weights : (n, k) float64 array
        Probabilities of the components given the other entries.
    means, deviations : (n, k) float64 arrays
        Of the coordinate, unless it is on an atom.
    """

    log_evidence: FloatArray
    weights: FloatArray
    means: FloatArray
    deviations: FloatArray

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and components that have a weight there, (p,) each."""
        rows, components = np.nonzero(self.weights > _NEGLIGIBLE)
        return rows, components

    def mass_below(self, place: FloatArray | float) -> FloatArray:
        """Return the probability of coordinates below a place, (n,)."""
        rows, _ = pairs = self._pairs
        places = np.broadcast_to(np.asarray(place, np.float64), len(self.means))
        standard = (places[rows] - self.means[pairs]) / self.deviations[pairs]
        return self._summed(ndtr(standard))

    def means_of(self, places: FloatArray, values: FloatArray) -> FloatArray:
        """Return weights times means of a function of the coordinate, summed, (n,).

        Parameters
        ----------
        places : (t,) float64 array
            Coordinates, ascending, between which the function is linear, and outside them.
        values : (t,) float64 array
            Values of the function.
        """
        slopes = np.diff(values) / np.diff(places)
        rows, components = self._pairs
        means = np.empty(len(rows))
        for begin in range(0, len(rows), _PAIRS):
            tile = slice(begin, begin + _PAIRS)
            pairs = rows[tile], components[tile]
            mean, deviation = self.means[pairs], self.deviations[pairs]
            standard = (places[1:-1] - mean[:, None]) / deviation[:, None]
            heights = np.exp(-0.5 * np.square(standard)) / np.sqrt(2 * np.pi)
            # mean excess of a coordinate over every place where the slope changes
            excess = deviation[:, None] * (heights - standard * ndtr(-standard))
            means[tile] = values[0] + slopes[0] * (mean - places[0]) + excess @ np.diff(slopes)
        return self._summed(means)

    def _summed(self, of_pairs: FloatArray) -> FloatArray:
        """Return weights times numbers of pairs, summed by row, (n,)."""
        rows, _ = pairs = self._pairs
        return np.asarray(
            np.bincount(rows, self.weights[pairs] * of_pairs, len(self.means)), np.float64
        )

    def scaled(self, factors: FloatArray) -> ConditionalNormals:
        """Return the mixture with weights times factors, (n, k) or (n, 1)."""
        return ConditionalNormals(
            self.log_evidence, self.weights * factors, self.means, self.deviations
        )


def _inverse_roots(covariances: FloatArray) -> FloatArray:
    """Return lower triangular matrices that whiten, (k, m, m)."""
    if not covariances.shape[1]:
        return covariances
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariances)))
