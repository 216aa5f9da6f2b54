"""What the tests ask of the script of a model."""

from typing import Any

from bigtensor.engine.plan import PassSize
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.estimator import Estimator


def settings_of(model: Estimator, shape: DataShape) -> Any:
    """Return the parameters of a model, resolved for data of this shape."""
    return model.steps.settings_of(model.parameter_values(), shape)


def sizes_of(model: Estimator, shape: DataShape) -> list[PassSize]:
    """Return the sizes of the passes that a fit is planned with."""
    settings, steps = settings_of(model, shape), model.steps
    planned = [*steps.planned_preparation(settings), *steps.planned_refinement(settings)]
    return [entry.size(shape.rows) for entry in planned]
