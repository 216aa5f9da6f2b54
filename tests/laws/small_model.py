"""A model that is not of the package: mean and spread of every feature, in two passes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.parameters import ParameterValues, check_choice
from bigtensor.models.contract.script import Estimate, FitSteps, PlannedPass, Script, Solved
from bigtensor.models.words.description import ModelDescription
from bigtensor.statistics.base import Pass, RowFunction, RowOutput, SumStatistic, Workspace


def dense(block: Block) -> np.ndarray:
    """Return the rows of a block of any kind as dense numbers."""
    values = block.values[: block.rows]
    return (values.toarray() if hasattr(values, "toarray") else values).astype("f8")


@dataclass(frozen=True, eq=False)
class PowerSums(SumStatistic[dict[str, Any]]):
    """Weighted sums of powers of the distances from a point."""

    centre: np.ndarray
    power: int

    def state_arrays(self) -> Mapping[str, Any]:
        return {
            "sums": (self.centre.shape, "float64"),
            "weight": ((), "float64"),
        }

    def update(self, state: dict[str, Any], block: Block, work: Workspace) -> None:  # noqa: ARG002
        weight = np.ones(block.rows) if block.weight is None else block.weight[: block.rows]
        distance = dense(block) - self.centre
        state["sums"] += weight @ distance**self.power
        state["weight"] += weight.sum()

    def finalize(self, state: dict[str, Any]) -> dict[str, Any]:
        return state

    def work_nbytes(self, rows: int) -> int:
        return 4 * 8 * rows * self.centre.size


@dataclass(frozen=True, eq=False)
class Standardised(RowFunction):
    """Distances from the mean, in standard deviations."""

    mean: np.ndarray
    spread: np.ndarray

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        return (RowOutput("standardised", "float64", {"standard": self.mean.size}),)

    def evaluate(self, block: Block, out: Mapping[str, Any], work: Workspace) -> None:  # noqa: ARG002
        out["standardised"][:] = (dense(block) - self.mean) / self.spread

    def work_nbytes(self, rows: int) -> int:
        return 2 * 8 * rows * self.mean.size


@dataclass(frozen=True, eq=False)
class Origin:
    """What is fixed before the first full pass."""

    centre: np.ndarray
    diagnostics: dict[str, Any] = field(default_factory=dict)
    rows: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Moments:
    """What a fit finds; the spread is one before the second pass."""

    mean: np.ndarray
    spread: np.ndarray


def settings_of(parameters: ParameterValues, shape: DataShape) -> DataShape:
    return shape


def prepare(shape: DataShape) -> Script:
    first = yield Pass("origin", PowerSums(np.zeros(len(shape.features)), 1), ((0, 1),))
    return Origin(first["sums"])


def refine(preparation: Origin) -> Script:
    first = yield Pass("means", PowerSums(preparation.centre, 1))
    if not first["weight"] > 0:
        raise DataError("no row has a positive weight; give some rows one")
    mean = preparation.centre + first["sums"] / first["weight"]
    yield Estimate(lambda: Solved(Moments(mean, np.ones_like(mean)), {"spread": False}))
    second = yield Pass("spreads", PowerSums(mean, 2))
    variance = second["sums"] / second["weight"]
    spread = np.sqrt(np.where(variance > 0, variance, 1.0))
    return Solved(Moments(mean, spread), {"spread": True})


def planned_preparation(shape: DataShape) -> list[PlannedPass]:
    return [PlannedPass(Pass("origin", PowerSums(np.zeros(len(shape.features)), 1), ((0, 1),)))]


def planned_refinement(shape: DataShape) -> list[PlannedPass]:
    blank = np.zeros(len(shape.features))
    return [
        PlannedPass(Pass("means", PowerSums(blank, 1))),
        PlannedPass(Pass("spreads", PowerSums(blank, 2))),
    ]


class Description(ModelDescription):
    def outcome(self, model: Any) -> list[tuple[str, str]]:
        return [("spread", str(model.diagnostics_["spread"]))]


class Standardiser(Estimator):
    """Mean and standard deviation of every feature."""

    takes = Data(kinds={"measured", "codes", "counts"})
    steps = FitSteps(settings_of, prepare, refine, planned_preparation, planned_refinement)
    stored_classes = (Origin, Moments, PowerSums)
    description = Description()

    def __init__(
        self,
        views: Any = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: int | None = None,
    ) -> None:
        self.views, self.missing, self.weights = views, missing, weights
        self.sample_dim, self.random_state = sample_dim, random_state

    def transform(self, X: Any) -> Any:
        return self.row_output(X, "standardised")

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        for output in outputs:
            check_choice("outputs", output, ("standardised",))
        return Standardised(self.solution_.mean, self.solution_.spread)

    def set_fitted_attributes(self, solution: Moments) -> None:
        self.mean_ = solution.mean
