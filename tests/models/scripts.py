"""What the tests ask of the script of a model."""

from bigtensor.engine.plan import PassSize
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.latent_variable_model import LatentVariableModel


def sizes_of(model: LatentVariableModel, shape: DataShape) -> list[PassSize]:
    """Return the sizes of the passes that a fit is planned with."""
    return [planned.size(shape.rows) for planned in model._planned_passes(shape)]
