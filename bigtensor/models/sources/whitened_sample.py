"""Sources of a pilot sample: fixed-point iterations on whitened rows, terms of the cumulant."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.discovery import DiscoverySettings, Initialisations
from bigtensor.decomposition.sample_tensors.gauss_newton import descended
from bigtensor.decomposition.sample_tensors.joint_least_squares import (
    joint_sweeps,
    least_squares_weights,
)
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms
from bigtensor.decomposition.sources.independent_components import (
    PrincipalAxes,
    mean_turn,
    symmetric_orthogonalisation,
)
from bigtensor.models.contract.script import Step
from bigtensor.models.moment_tensors.sample_tensor import (
    Correction,
    SampleTensor,
    discover_terms,
    nearest,
)
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.sources.contrast_sums import ContrastSums, ContrastSumsResult
from bigtensor.statistics.within_reach import Reach

ORDERS = (4,)

UPDATES = 20
"""Power updates from random columns."""

COSINE = 0.6
"""Absolute cosine above which the ends of two initialisations are one term."""

_CUMULANT_UPDATES = 10
_FEW_UPDATES = 10
_FIXED_POINT_UPDATES = 200
_NEAR = 0.02
_SETTLED = 1e-4
"""Mean sine of a turn, before one of several initialisations is chosen and after."""

_MOST_FALL = 0.5
"""Fall of the contrast at the end of a step, relative to its first rise, that is too steep."""

_SHORTER = 0.4
"""Factor of a step that is too long.

Half of a reflection is singular: rounding would decide where it leads.
"""

_ROWS_A_START = 10_000
_ROWS_A_SOURCE = 200
"""Rows in which initialisations are compared: at least, and for every source."""

GAUSSIAN_DEVIATION = 0.3535
"""Standard deviation of y tanh(y) + tanh(y)^2 of a Gaussian y, once its variance is made one."""

_INITIALISATIONS = 3
_SAME = 0.01
"""Difference of the non-Gaussianity of two initialisations, relative, that is none."""

_SWEEPS = 3
_LEAST_WEIGHT = 1e-12
_LARGEST_OF_ROTATION = 1.7
"""Largest non-Gaussianity of Gaussian rows along rotated axes, in standard deviations, over the
root of the number of axes.

Chosen on Gaussian rows of 2, 4 and 10 axes and judged on 3, 6, 20 and 50: about nine in ten largest
values are below. With 3 + sqrt(k) in its place, the verdict called four uniform sources of 150 rows
Gaussian for 11 of 12 sets whose mixing was right, and missed Gaussian sources among 50.
"""

_HEAVY = 2.0
"""Weight of a term of heavy tails."""

_LARGEST_OF_SPHERE = 1.8
"""Largest value on the unit sphere of a Gaussian symmetric tensor of order four, over the root of
the number of axes.

The limit for many axes is 1.79 (Auffinger, Ben Arous and Černý, *Random matrices and complexity of
spin glasses*, 2013).
"""

_UNLIKE = 2.0
"""Ratio of the weights of two nearly parallel terms above which one may follow the error of the
other. Ratios of right ones were at most 1.5; 5 in place of 2 misses sources of simulated EEG."""

_BEYOND_LARGEST = 1.5
"""Standard deviations of a fourth cumulant beyond the largest one of Gaussian rows.

Chosen on Gaussian rows of ten sizes, 100 to 100,000 rows of 2 to 100 features, and judged on ten
others of at most 10,000 rows: no sample had any source. With 3, the cumulant loses 11 of 122
sources of mixings of real sources.
"""


def gaussian_part(covariance: FloatArray) -> Correction:
    """Return the contraction of the fourth moment of centred Gaussian rows of a covariance."""

    def contract(factors: Factors) -> Factors:
        (columns,) = factors
        spread = covariance @ columns
        return (3 * spread * (columns * spread).sum(axis=0),)

    return contract


@dataclass(frozen=True, eq=False)
class WhitenedSample:
    """Rows of a sample along principal axes: their mean is zero, their covariance the identity.

    Attributes
    ----------
    block : Block
        Of q features.
    axes : PrincipalAxes
        Principal axes, along which the rows were whitened.
    mean : (d,) float64 array
        Of the rows before.
    """

    block: Block
    axes: PrincipalAxes
    mean: FloatArray
    # copies share it, and are used by one thread
    _work: Workspace = field(default_factory=Workspace, repr=False)

    @classmethod
    def of_block(
        cls, block: Block, axes: PrincipalAxes, mean: FloatArray, dtype: str
    ) -> WhitenedSample:
        """Whiten rows.

        Parameters
        ----------
        block : Block
            Rows to whiten.
        axes : PrincipalAxes
            Principal axes of the rows.
        mean : (d,) float64 array
            Mean of the rows, which is subtracted.
        dtype : str
            Of the whitened rows.
        """
        values = (block.dense_values[: block.rows] - mean) @ axes.whitening
        whole = {"sample": slice(0, values.shape[1])}
        return cls(replace(block, values=values.astype(dtype), slices=whole), axes, mean)

    @property
    def n_axes(self) -> int:
        """Number of axes q."""
        return int(self.block.dense_values.shape[1])

    def contrast(self, rotation: FloatArray) -> ContrastSumsResult:
        """Return the sums of the fixed-point iteration.

        Parameters
        ----------
        rotation : (q, k) array
            Orthonormal columns.
        """
        point = np.zeros(self.n_axes)
        statistic = ContrastSums(rotation, point, str(self.block.dense_values.dtype))
        return sum_in_memory(statistic, self.block, self._work)

    def cumulant(self) -> Contract:
        """Return the contraction of the fourth cumulant, about the mean of these rows."""
        q = self.n_axes
        moments = sum_in_memory(Covariances(((0, q),), np.zeros(q)), self.block)
        tensor = SampleTensor(
            ((0, q),),
            ORDERS,
            (moments.mean,),
            np.zeros(1),
            Reach.unbounded(((0, q),)),
            str(self.block.dense_values.dtype),
            (np.ones(q),),
        )
        return tensor.contract_in_memory(self.block, gaussian_part(moments.covariance))

    def part(self, which: int, parts: int) -> WhitenedSample:
        """Return every second, or third, ... row.

        Parameters
        ----------
        which : int
            From 0.
        parts : int
            Number of parts; 1 stands for all rows.
        """
        if parts == 1:
            return self
        return replace(self, block=self.block.keep(np.arange(self.block.rows) % parts == which))

    def along(self, n_axes: int) -> WhitenedSample:
        """Return the rows along the first axes alone, on which their variance is largest."""
        if n_axes == self.n_axes:
            return self
        values = np.ascontiguousarray(self.block.dense_values[:, :n_axes])
        whole = {"sample": slice(0, n_axes)}
        return replace(self, block=replace(self.block, values=values, slices=whole))


def independent_rotation(
    sample: WhitenedSample, n_components: int, random_state: int
) -> FloatArray:
    """Return the orthonormal columns whose sources are farthest from Gaussian ones.

    From several random initialisations, orthogonal updates of the fourth cumulant lead near the
    solution, and the fixed-point iteration with tanh to it. It finds sources of lighter and of
    heavier tails.

    Parameters
    ----------
    sample : WhitenedSample
        Whitened rows.
    n_components : int
        At most the number of axes.
    random_state : int
        Seed of the random initialisations.
    """
    random = np.random.default_rng([random_state, 11])
    enough = max(_ROWS_A_START, _ROWS_A_SOURCE * n_components)
    thinned = sample.part(0, max(1, sample.block.rows // enough))
    contract = thinned.cumulant()
    ends: list[tuple[float, FloatArray]] = []

    while not _agreed(ends):
        start = random.standard_normal((sample.n_axes, n_components))
        rotation = symmetric_orthogonalisation(start)
        rotation = _near_rotation(contract, rotation)
        rotation = settled_rotation(thinned, rotation, _FEW_UPDATES, _NEAR)
        sums = thinned.contrast(rotation)
        distance = float(np.square(non_gaussianity(rotation, sums)).sum())
        ends.append((distance, rotation))
    return settled_rotation(sample, max(ends, key=lambda entry: entry[0])[1])


def _agreed(ends: list[tuple[float, FloatArray]]) -> bool:
    """Return True if the best solution was found twice, or initialisations are used up."""
    if len(ends) == _INITIALISATIONS:
        return True
    best = max((distance for distance, _ in ends), default=np.inf)
    return sum(distance >= (1 - _SAME) * best for distance, _ in ends) > 1


def embedded(rotation: FloatArray, n_axes: int) -> FloatArray:
    """Return columns along the first axes as columns along all axes.

    Parameters
    ----------
    rotation : (m, k) array
        Columns along the first m axes.
    n_axes : int
        At least m.
    """
    columns = np.zeros((n_axes, rotation.shape[1]))
    columns[: len(rotation)] = rotation
    return columns


def settled_rotation(
    sample: WhitenedSample,
    rotation: FloatArray,
    most: int = _FIXED_POINT_UPDATES,
    still: float = _SETTLED,
) -> FloatArray:
    """Return a rotation after fixed-point iterations with tanh, shortened where they overshoot.

    An update leads in a direction in which the contrast rises. Where it falls at the end of the
    step, more steeply than it rose, the step is too long and is shortened: whole updates oscillate
    where sources depend on each other.

    Parameters
    ----------
    sample : WhitenedSample
        Whitened rows.
    rotation : (q, k) array
        Orthonormal columns near the solution.
    most : int
        Largest number of sums over the rows.
    still : float
        Mean sine of the turn by a whole update that is the last.
    """
    columns = target = trial = rotation
    signs, step, rise = np.ones(rotation.shape[1]), 1.0, 0.0
    for _ in range(most):
        sums = sample.contrast(trial)
        if _rise(trial, signs * sums.rows_by_tanh, target - columns) >= -_MOST_FALL * rise:
            update = tanh_update(trial, sums)
            signs = np.where((trial * update).sum(axis=0) < 0, -1.0, 1.0)
            columns, step = trial, 1.0
            target = symmetric_orthogonalisation(signs * update)
            rise = _rise(columns, signs * sums.rows_by_tanh, target - columns)
            if mean_turn(columns, target) <= still:
                return target
        else:
            step *= _SHORTER
        trial = symmetric_orthogonalisation(columns + step * (target - columns))
    return columns


def _rise(rotation: FloatArray, gradient: FloatArray, direction: FloatArray) -> float:
    """Return the slope of the contrast in a direction that keeps the columns orthonormal."""
    turned = rotation.T @ direction
    tangent = direction - rotation @ (turned + turned.T) / 2
    return float((gradient * tangent).sum())


def tanh_update(rotation: FloatArray, sums: ContrastSumsResult) -> FloatArray:
    """Return the columns of the fixed-point iteration before they are made orthonormal.

    Parameters
    ----------
    rotation : (q, k) array
        Orthonormal columns of the sources.
    sums : ContrastSumsResult
        Of whitened rows.
    """
    return sums.rows_by_tanh - rotation * sums.slope


def non_gaussianity(rotation: FloatArray, sums: ContrastSumsResult) -> FloatArray:
    """Return the mean of y tanh(y) less the mean slope of tanh: zero of a Gaussian source.

    Parameters
    ----------
    rotation : (q, k) array
        Orthonormal columns of the sources.
    sums : ContrastSumsResult
        Of whitened rows.
    """
    return np.asarray((rotation * sums.rows_by_tanh).sum(axis=0) - sums.slope)


def gaussian_sources(distances: FloatArray, rows: float) -> int:
    """Return the number of sources that are Gaussian within the noise.

    The rotation looks for the largest distances, which are larger the more directions there are.

    Parameters
    ----------
    distances : (k,) array
        Mean of y tanh(y) less the mean slope of tanh.
    rows : float
        Number of independent rows.
    """
    deviations = _LARGEST_OF_ROTATION * np.sqrt(len(distances))
    most = deviations * GAUSSIAN_DEVIATION / np.sqrt(rows)
    return int(np.count_nonzero(np.abs(distances) <= most))


def _near_rotation(contract: Contract, rotation: FloatArray) -> FloatArray:
    """Return orthonormal columns after updates of the fourth cumulant."""
    for _ in range(_CUMULANT_UPDATES):
        updated = symmetric_orthogonalisation(contract((rotation,))[0])
        turn = mean_turn(rotation, updated)
        rotation = updated
        if turn <= _NEAR:
            break
    return rotation


def rotation_terms(contract: Contract, rotation: FloatArray) -> Terms:
    """Return the terms of the cumulant along orthonormal columns.

    Parameters
    ----------
    contract : callable
        Contraction of the fourth cumulant with columns.
    rotation : (q, k) array
        Orthonormal columns.
    """
    terms = Terms(np.ones(rotation.shape[1]), (rotation,), ORDERS)
    weights = least_squares_weights(terms, contract(terms.factors))
    return replace(terms, weights=np.where(weights == 0, _LEAST_WEIGHT, weights))


def standing_out(terms: Terms, rows: float) -> Terms:
    """Return the terms that are heavier than Gaussian noise makes them.

    The fourth cumulant of n Gaussian values has the variance 24 / n. The search looks for the
    largest one, which grows with the root of the number of axes. In few rows, the longest rows make
    it larger still. Sources with heavy tails make it up to twice as large. Weights of nearly
    parallel terms cancel each other, so that the cumulant along a column has to stand out as well
    as its weight.

    Parameters
    ----------
    terms : Terms
        Along principal axes.
    rows : float
        Number of independent rows.
    """
    (columns,) = terms.factors
    along = (columns.T @ columns) ** 4 @ terms.weights
    sizes = np.minimum(np.abs(terms.weights), np.abs(along))
    axes = len(columns)
    deviations = _LARGEST_OF_SPHERE * np.sqrt(axes) + _BEYOND_LARGEST
    noise = deviations * np.sqrt(24 / rows) + axes**2 / rows
    tails = 1 + float(np.clip(along.max(initial=0.0) / _HEAVY, 0.0, 1.0))
    return terms.take(sizes > tails * noise)


def random_initialisations(n_axes: int, random_state: int) -> Initialisations:
    """Return initialisations that are random columns."""
    random = np.random.default_rng([random_state, 13])
    return lambda n_starts: (random.standard_normal((n_axes, n_starts)),)


def freed_terms(contract: Contract, rotation: FloatArray) -> Terms:
    """Return the terms near orthonormal columns, which need not be orthogonal.

    Noise makes the columns of whitened rows oblique. Sweeps of least squares lead to them from
    farther away than Gauss-Newton steps alone.

    Parameters
    ----------
    contract : callable
        Contraction of the fourth cumulant with columns.
    rotation : (q, k) array
        Orthonormal columns near the terms.
    """
    swept = joint_sweeps(contract, rotation_terms(contract, rotation), _SWEEPS)
    return descended(contract, swept)


def cumulant_terms(
    sample: WhitenedSample, n_components: int, rotation: FloatArray | None, random_state: int
) -> Generator[Step, None, Terms]:
    """Find the terms of the fourth cumulant of a sample.

    Parameters
    ----------
    sample : WhitenedSample
        Whitened rows.
    n_components : int
        Largest number of terms.
    rotation : (q, k) array, optional
        Orthonormal columns near which there may be terms.
    random_state : int
        Seed of the random initialisations.
    """
    contract = sample.cumulant()
    starts = random_initialisations(sample.n_axes, random_state)
    search = DiscoverySettings(n_components, UPDATES, COSINE)
    none = Terms.empty((sample.n_axes,), ORDERS)
    discovery = yield from discover_terms(contract, starts, none, search)
    candidates = [discovery.terms]
    if rotation is not None:
        candidates.append(freed_terms(contract, rotation))
    candidates = [terms for terms in candidates if not share_a_source(terms)] or candidates
    return candidates[nearest(contract, candidates)]


def share_a_source(terms: Terms) -> bool:
    """Return True if two terms are nearly parallel although there are more axes than terms.

    The sampling error of a source of heavy tails is larger than the cumulant of lighter sources.
    Nearly parallel terms of unlike weights follow it, in the place of other sources. Two sources
    with nearly parallel columns may have terms of like weights.

    Parameters
    ----------
    terms : Terms
        Of whitened rows. In 60 fits of fewer sources than features, terms that lost a source had
        cosines of .69 and more, all others of .39 and less.
    """
    (columns,) = terms.factors
    if len(columns) <= terms.n_terms:
        return False
    cosines = np.abs(columns.T @ columns) - np.eye(terms.n_terms)
    first, second = (terms.weights[of_pair] for of_pair in np.nonzero(cosines > COSINE))
    sizes = np.abs(first), np.abs(second)
    unlike = (first * second < 0) | (np.maximum(*sizes) > _UNLIKE * np.minimum(*sizes))
    return bool(unlike.any())
