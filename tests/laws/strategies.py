"""Small instances of every statistic, with rows that suit them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.tensor_train.cores import (
    NonnegativeTrain,
    branch_tables,
    node_tables,
)
from bigtensor.decomposition.tensor_train.structure import chain
from bigtensor.features.bumps import bumps_on
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.margins.adaptive_kernel import AdaptiveKernel
from bigtensor.features.margins.normal_scores import NormalScores
from bigtensor.features.modes import Modes, Nodes, Symbols
from bigtensor.statistics.base import Statistic, SumStatistic
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.co_posterior import CoPosteriorSums
from bigtensor.statistics.densities.group_likelihood import GroupLikelihood
from bigtensor.statistics.densities.group_sums import GroupSums
from bigtensor.statistics.densities.log_likelihood import LogLikelihood
from bigtensor.statistics.densities.population_histograms import PopulationHistograms
from bigtensor.statistics.densities.posterior_means import PosteriorMeans
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.folds import OfFold
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from bigtensor.statistics.gaussian.label_means import LabelMeans
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, OwnCovarianceDensities
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.moments.projected_moment import ProjectedMoment
from bigtensor.statistics.moments.tensor_contractions import TensorContractions
from bigtensor.statistics.moments.triple_moments import TripleMoments
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.score_sums import ScoreSums
from bigtensor.statistics.sources.contrast_sums import ContrastSums
from bigtensor.statistics.sources.mapped_rows import MappedRows
from bigtensor.statistics.sources.sparse_code_sums import SparseCodeSums
from bigtensor.statistics.sources.sparse_codes import SparseCoder
from bigtensor.statistics.state_of import StateOf
from bigtensor.statistics.tensor_train.located_rows import RowLocator
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain
from bigtensor.statistics.tensor_train.train_counts import TrainCounts
from bigtensor.statistics.validity import Checked
from bigtensor.statistics.within_reach import Reach, WithinReach

SLICES = {"a": slice(0, 1), "b": slice(1, 2), "wide": slice(2, 4)}
N_FEATURES = 4
N_GROUPS = 3
K = 3


def nystroem(offset, seed, q=3, p=6, d=1, dtype="float64"):
    """Return a small map whose landmarks and centre follow the offset of the data."""
    rng = default_rng(seed)
    landmarks = rng.integers(-3, 4, (p, d)).astype(float)
    return Nystroem(
        landmarks + offset,
        GaussianKernel(np.full(d, 1.5)),
        np.full(d, offset),
        rng.normal(size=(p, q)),
        dtype,
    )


def mixture(offset, dtype="float64"):
    rng = default_rng(5)
    tables = TabulatedDensities(
        (0, 1),
        np.array([-4.0, -3.0]) + offset,
        np.array([0.25, 0.125]),
        rng.normal(size=(2, 33, K)),
        dtype,
    )
    feature_map = nystroem(offset, 3, d=2, dtype=dtype)
    wide = EmbeddedDensities("wide", feature_map, rng.normal(size=(3, K)), np.full(K, 1e-4))
    return MixtureDensities(np.array([0.5, 0.3, 0.2]), tables, (wide,))


def posterior_sums(offset, dtype="float64"):
    shared = mixture(offset, dtype)
    return PosteriorSums(shared, {"wide": shared.embedded[0].feature_map})


def posterior_sums_other_map(offset):
    return PosteriorSums(mixture(offset), {"wide": nystroem(offset, 9, q=2, d=2)})


def posterior_sums_tables_only(offset):
    return PosteriorSums(replace(mixture(offset), embedded=()))


def posterior_sums_with_co_posterior(offset, dtype="float64"):
    return replace(posterior_sums(offset, dtype), co_posterior=True, products=True)


def co_posterior_sums(offset):
    return CoPosteriorSums(mixture(offset))


def group_sums(offset, dtype="float64"):
    return GroupSums(ClassDensities(mixture(offset, dtype)), N_GROUPS)


def group_sums_of_populations(offset):
    return GroupSums(ClassDensities(mixture(offset), np.array([1, 0, 1])), N_GROUPS)


def population_histograms(offset, dtype="float64"):
    classes = ClassDensities(mixture(offset, dtype), np.array([1, 0, 1]))
    low, step = np.array([offset - 2, offset - 1.0]), np.array([0.3, 0.5])
    return PopulationHistograms(classes, 1, (0, 1), low, step, 12, N_GROUPS)


def group_likelihood(offset, dtype="float64"):
    # one group is skipped, and one has a weight of zero
    weights = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 0.0], [0.6, 0.4, 0.0]])
    return GroupLikelihood(ClassDensities(mixture(offset, dtype)), weights)


def first_two_powers(offset, rows):
    return np.hstack([rows - offset, (rows - offset) ** 2])


def posterior_means(offset, dtype="float64"):
    return PosteriorMeans(mixture(offset, dtype), "wide", partial(first_two_powers, offset), 4)


def gaussian(offset, covariance, dtype="float64"):
    # the mean of the means, which sums are taken about, is a float32 number at any offset
    means = default_rng(6).integers(-512, 513, (K, N_FEATURES)) / 128 + offset
    return GaussianDensities(np.array([0.5, 0.25, 0.25]), means, covariance, dtype)


def own_covariance_sums(covariance_type):
    def sums(offset, dtype="float64"):
        root = np.random.default_rng(4).normal(size=(N_FEATURES, N_FEATURES))
        full = np.eye(N_FEATURES) + root @ root.T
        covariances = {
            "full": np.stack([full, np.eye(N_FEATURES), 2 * full]),
            "diag": np.ones((3, N_FEATURES)) + np.arange(3)[:, None],
            "spherical": np.array([1.0, 2.0, 0.5]),
        }[covariance_type]
        means = np.random.default_rng(5).normal(size=(3, N_FEATURES))
        scaling = np.linalg.inv(np.linalg.cholesky(full)).T if covariance_type == "full" else None
        frame = Frame(
            np.full(N_FEATURES, offset), np.ones(N_FEATURES) if scaling is None else scaling
        )
        weights = np.array([0.5, 0.25, 0.25])
        return OwnCovarianceSums(OwnCovarianceDensities(weights, means, covariances, frame, dtype))

    return sums


def gaussian_sums(offset, dtype="float64"):
    return GaussianPosteriorSums(gaussian(offset, np.array([1.0, 1.0, 2.0, 2.0]), dtype))


def gaussian_sums_of_a_full_covariance(offset, dtype="float64"):
    root = default_rng(7).normal(size=(N_FEATURES, N_FEATURES))
    return GaussianPosteriorSums(gaussian(offset, np.eye(N_FEATURES) + root @ root.T, dtype))


def contrast_sums(offset, dtype="float64"):
    unmixing = default_rng(8).normal(size=(N_FEATURES, K)) / 4
    return ContrastSums(unmixing, np.full(N_FEATURES, offset), dtype)


def sparse_code_sums(offset, dtype="float64"):
    # fewer columns than features leave something of every row; else the residual is all rounding
    dictionary = default_rng(9).normal(size=(N_FEATURES, K))
    dictionary /= np.linalg.norm(dictionary, axis=0)
    origin, scales = np.full(N_FEATURES, offset), np.linspace(1, 2, N_FEATURES)
    return SparseCodeSums(SparseCoder(dictionary, origin, scales, 0.3, dtype))


def train_counts(offset, hold_out=0, structure=chain):
    symbols = Symbols(np.array([-1.0, 0, 1]) + offset)
    modes = Modes((*(Nodes(-3, 0.5, 13, 1.0) for _ in range(3)), symbols))
    bumps = [bumps_on(mode, (0.7, 1.5)) for mode in modes.modes]
    rng, trains = default_rng(3), []
    for _ in range(2):
        nodes = structure(rng.permutation(N_FEATURES))
        cores = []
        for number, (j, child, _) in enumerate(nodes):
            before, after = 1 if number == 0 else K, 1 if child < 0 else K
            middle = K if j < 0 else len(bumps[j])
            drawn = rng.dirichlet(np.ones(middle * after), before)
            cores.append(drawn.reshape(before, middle, after))
        train = NonnegativeTrain(nodes, tuple(cores))
        points = node_tables(train, bumps, modes.first)
        trains.append(TabulatedTrain(nodes, points, branch_tables(train)))
    measured, ones = np.arange(3), np.ones(3)
    scores = NormalScores.of_kernels(
        [AdaptiveKernel.of_sample(column, 0.3, 0.0) for column in rng.normal(size=(3, 50))]
    )
    coordinates = Coordinates(measured, offset * ones, 2 * ones, scores, None, 0 * ones)
    rows = RowLocator(coordinates, modes.locator())
    shares = np.array([0.4, 0.6])
    return TrainCounts(rows, tuple(trains), shares, hold_out, 7)


def triple_moments(offset):
    groups = [
        GroupMap((name,), (nystroem(offset, seed, d=s.stop - s.start),))
        for seed, (name, s) in enumerate(SLICES.items())
    ]
    return TripleMoments(tuple(groups))


def references(offset):
    return tuple(np.full(s.stop - s.start, offset) for s in SLICES.values())


COLUMNS = tuple((s.start, s.stop) for s in SLICES.values())


def tensor_contractions(offset, dtype="float64"):
    rng = default_rng(2)
    factors = tuple(rng.normal(size=(s.stop - s.start, K)) for s in SLICES.values())
    constants = rng.normal(size=(len(SLICES), K))
    return TensorContractions(COLUMNS, (1, 1, 2), references(offset), factors, constants, dtype)


def projected_moment(offset, dtype="float64"):
    rng = default_rng(4)
    factors = tuple(rng.normal(size=(s.stop - s.start, 3)) for s in list(SLICES.values())[:3])
    offsets = tuple(rng.normal(size=3) for _ in factors)
    return ProjectedMoment(COLUMNS[:3], references(offset)[:3], factors, offsets, dtype)


def covariances(offset, dtype="float64"):
    return Covariances(COLUMNS, np.full(N_FEATURES, offset), dtype)


def within_reach(offset):
    points = references(offset)
    reach = Reach(COLUMNS, points, tuple(np.full_like(point, 0.5) for point in points), (3.0,) * 3)
    return WithinReach(covariances(offset), reach)


def mapped_rows(offset):
    features = GroupMap(("rows",), (nystroem(offset, 7, d=N_FEATURES),))
    return MappedRows(Covariances(((0, 3),), np.zeros(3)), features)


def row_sample(offset):
    return RowSample(7, N_FEATURES, "float64", random_state=3, has_weight=True)


@dataclass(frozen=True)
class Case:
    """One statistic and what is true of it.

    ``build(offset)`` makes the statistic for data that lie around ``offset``. Its state does not
    depend on the offset unless ``independent_of_offset`` is False, as where rows are kept. States
    agree to ``rtol`` of their largest entries. A statistic that holds a callable is not
    ``in_checkpoints``. Values of rows are at least ``lowest``, above the offset, and less than
    ``highest``: a statistic that refuses negative values has ``lowest=0``.
    """

    name: str
    build: Callable[[float], Statistic]
    independent_of_offset: bool = True
    bad_rows: bool = False
    rtol: float = 1e-10
    in_checkpoints: bool = True
    lowest: int = -5
    highest: int = 5

    @property
    def is_sum(self):
        return isinstance(self.build(0.0), SumStatistic)


def in_float32(build, **settings):
    """Return the case of a statistic whose posterior probabilities are float32."""
    name = f"{build.__name__}_in_float32"
    return Case(name, partial(build, dtype="float32"), rtol=1e-5, **settings)


CASES = [
    Case("row_sample", row_sample, independent_of_offset=False),
    Case("triple_moments", triple_moments),
    Case("tensor_contractions", tensor_contractions),
    Case("covariances", covariances),
    Case("projected_moment", projected_moment),
    in_float32(projected_moment),
    in_float32(tensor_contractions),
    in_float32(covariances),
    Case("within_reach", within_reach),
    Case("mapped_rows", mapped_rows),
    Case("label_means", lambda offset: LabelMeans(2, np.full(N_FEATURES, offset))),
    Case("posterior_sums", posterior_sums),
    Case("posterior_sums_other_map", posterior_sums_other_map),
    Case("posterior_sums_tables_only", posterior_sums_tables_only),
    Case("posterior_sums_with_co_posterior", posterior_sums_with_co_posterior),
    Case("co_posterior_sums", co_posterior_sums),
    Case("group_sums", group_sums),
    Case("group_sums_of_populations", group_sums_of_populations),
    Case("population_histograms", population_histograms),
    Case("group_likelihood", group_likelihood),
    Case("posterior_means", posterior_means, in_checkpoints=False),
    Case("gaussian_sums", gaussian_sums),
    Case("gaussian_sums_of_a_full_covariance", gaussian_sums_of_a_full_covariance),
    Case("contrast_sums", contrast_sums),
    Case("sparse_code_sums", sparse_code_sums),
    Case("train_counts", train_counts),
    in_float32(contrast_sums),
    in_float32(gaussian_sums),
    *(Case(f"{kind}_sums", own_covariance_sums(kind)) for kind in ("full", "diag", "spherical")),
    in_float32(gaussian_sums_of_a_full_covariance),
    in_float32(posterior_sums_with_co_posterior),
    in_float32(group_sums),
    in_float32(population_histograms),
    in_float32(group_likelihood),
    in_float32(posterior_means, in_checkpoints=False),
    Case("checked_likelihood", lambda offset: Checked(group_likelihood(offset)), bad_rows=True),
    Case("checked_groups", lambda offset: Checked(group_sums(offset)), bad_rows=True),
    Case("checked", lambda offset: Checked(posterior_sums(offset)), bad_rows=True),
    Case(
        "checked_sample",
        lambda offset: Checked(row_sample(offset)),
        independent_of_offset=False,
        bad_rows=True,
    ),
    Case("state_of", lambda offset: StateOf(triple_moments(offset))),
    Case("log_likelihood", lambda offset: LogLikelihood(mixture(offset))),
    Case(
        "score_sums",
        lambda offset: ScoreSums(Responsibilities(mixture(offset), ("log_density",))),
    ),
    Case("gaussian_likelihood", lambda offset: LogLikelihood(gaussian_sums(offset).mixture)),
    Case("inside_fold", lambda offset: OfFold(posterior_sums(offset), 3, 1, inside=True)),
    Case(
        "outside_fold",
        lambda offset: OfFold(triple_moments(offset), 3, 1, inside=False, random_state=4),
    ),
    Case(
        "together",
        lambda offset: Together.named(moments=triple_moments(offset), sample=row_sample(offset)),
        independent_of_offset=False,
    ),
    Case(
        "checked_together_folded",
        lambda offset: Checked(
            Together.named(
                fold=OfFold(triple_moments(offset), 2, 0, inside=True), sums=posterior_sums(offset)
            )
        ),
        bad_rows=True,
    ),
]


def make_rows(case, seed, n, weighted, offset, start=0):
    """Return a block of rows on a lattice, so that adding the offset is exact."""
    rng = default_rng(seed)
    first, last = case.lowest * 1024, case.highest * 1024
    values = rng.integers(first, last, (n, N_FEATURES)) / 1024 + offset
    if case.bad_rows and n:
        for _ in range(3):
            values[rng.integers(n), rng.integers(N_FEATURES)] = rng.choice([np.nan, np.inf])
    values.flags.writeable = False
    weight = None
    if weighted:
        weight = rng.integers(0, 8, n) / 4.0
        weight.flags.writeable = False
    # a group, or none, that goes with the row: rows move, are repeated and are offset
    group = (np.nan_to_num(values[:, 0], posinf=0.0) * 1024 % (N_GROUPS + 1)).astype(int) - 1
    return Block(values, SLICES, start, n, weight, group=group)


@st.composite
def rows_of(draw, case, max_rows=40):
    return make_rows(
        case,
        draw(st.integers(0, 2**20), label="seed"),
        draw(st.integers(0, max_rows), label="rows"),
        draw(st.booleans(), label="weighted"),
        draw(st.sampled_from([0.0, 1e4]), label="offset"),
        draw(st.sampled_from([0, 1001, 2**40]), label="start"),
    )


def cuts(n):
    """Return a strategy for ascending borders of blocks, from 0 to ``n``; some blocks are empty."""
    inner = st.lists(st.integers(0, n), max_size=6).map(sorted)
    return inner.map(lambda borders: [0, *borders, n])


def canonical(state):
    """Return a state with the rows of samples in the order of their index."""
    ordered = dict(state)
    for name in state:
        prefix = name.removesuffix("index")
        if name.endswith("index") and prefix + "key" in state:
            order = np.argsort(state[name])
            for part in ("key", "index", "values", "weight"):
                ordered[prefix + part] = state[prefix + part][order]
    return ordered
