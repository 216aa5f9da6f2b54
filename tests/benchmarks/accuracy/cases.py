"""The kinds of data sets, the methods compared on them, and the bars that these are held to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bigtensor.data.simulate import kernel_mixture
from tests.benchmarks.accuracy.methods import (
    BASELINES,
    EM,
    KMEANS_ONCE,
    LABELLED,
    OURS,
    SPECTRAL,
    SPECTRAL_SIX,
)
from tests.benchmarks.accuracy.truth import Truth


@dataclass(frozen=True)
class Bar:
    """A bound on the ratio of the errors of two methods, over the data sets of one kind."""

    method: str
    reference: str
    bound: float
    over_sets: Literal["mean", "largest"] = "mean"
    at_most: bool = True

    def holds(self, value: float) -> bool:
        """Whether a measured value keeps within the bound."""
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self) -> str:
        sign = "<=" if self.at_most else ">="
        return f"{self.over_sets} x {self.reference} {sign} {self.bound:g}"


@dataclass(frozen=True)
class Case:
    """Data sets of one kind, the methods that are compared on them, and the bars.

    Data set r of k components has the seed ``first_seed + seed_step * r + k``.
    """

    name: str
    family: Literal["gaussian", "gamma"]
    components: tuple[int, ...]
    rows: int
    bars: tuple[Bar, ...] = ()
    methods: tuple[str, ...] = OURS + BASELINES
    separation: float = 4.0
    seed_step: int = 1000
    first_seed: int = 0

    @property
    def key(self) -> str:
        """What the case is asked for by, such as ``B1``."""
        return self.name.split()[0]

    def data_sets(self, k: int, sets: int) -> Iterator[Truth]:
        """Yield so many data sets of k components, or as many as the case has."""
        for repeat in range(sets):
            seed = self.first_seed + self.seed_step * repeat + k
            yield Truth.of(
                kernel_mixture(self.rows, k, self.family, self.separation, random_state=seed)
            )


SIZES = (2, 3, 4, 8)

# A million rows are for the methods that read them a block at a time.
SCALABLE = (*OURS, LABELLED)

CASES = (
    Case(
        "B1 gaussian, 10,000 rows",
        "gaussian",
        SIZES,
        10_000,
        (Bar(SPECTRAL, LABELLED, 1.10), Bar(SPECTRAL, EM, 3.2)),
    ),
    Case(
        "B2 gamma, 10,000 rows",
        "gamma",
        SIZES,
        10_000,
        (Bar(SPECTRAL, LABELLED, 1.10), Bar(SPECTRAL, EM, 0.60)),
    ),
    Case("B3 gamma, 1,000 rows", "gamma", SIZES, 1_000, (Bar(SPECTRAL, EM, 0.80),)),
    Case(
        "B4 gaussian, Fisher ratio 1.5, 20,000 rows",
        "gaussian",
        (4,),
        20_000,
        (
            Bar(SPECTRAL, LABELLED, 1.20),
            # the spectral densities themselves are not a mixture of rows, k-means clusters are:
            # one pass after clusters is as far as two after the spectral start
            Bar(KMEANS_ONCE, LABELLED, 1.4, at_most=False),
        ),
        (*OURS, KMEANS_ONCE, *BASELINES),
        separation=1.5,
        seed_step=100,
    ),
    Case(
        "B5 gaussian, 500 rows",
        "gaussian",
        (8,),
        500,
        (
            Bar(SPECTRAL_SIX, LABELLED, 1.5, "largest"),
            Bar(SPECTRAL, LABELLED, 1.5, "largest"),
        ),
        (*OURS, SPECTRAL_SIX, *BASELINES),
        seed_step=77,
    ),
    Case(
        "B6 gaussian, 1,000,000 rows",
        "gaussian",
        (4,),
        1_000_000,
        (Bar(SPECTRAL, LABELLED, 1.05),),
        SCALABLE,
        first_seed=7,
    ),
    Case(
        "B6 gaussian, Fisher ratio 1.5, 1,000,000 rows",
        "gaussian",
        (4,),
        1_000_000,
        (Bar(SPECTRAL, LABELLED, 1.20),),
        SCALABLE,
        separation=1.5,
        first_seed=7,
    ),
)
