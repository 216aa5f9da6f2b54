"""Data of a fit, opened once: with the settings for them, and with the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from bigtensor.data.rows.samples import Samples
from bigtensor.engine.plan import Plan, make_plan
from bigtensor.engine.runtime import Processes
from bigtensor.errors import (
    BigtensorWarning,
    ParameterError,
    SequenceWarning,
    Setting,
    WeightWarning,
    warn,
)
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.script import PlannedMethod, PlannedPass


@dataclass(frozen=True, eq=False)
class OpenedFit:
    """Data of a fit with their settings and plan, before a row is read.

    `Estimator.open` makes it. ``fit`` takes it in place of the data, and makes no other plan.

    Attributes
    ----------
    data : object
        The data as they were given.
    parameters : dict
        Parameters of the model, as JSON holds them.
    samples : Samples
        The data as they are read.
    shape : DataShape
        Size, names and types of the data.
    settings : object
        Parameters of the model, resolved for the data.
    seed : int
        Seed that a RandomState or Generator has drawn, or that was given.
    passes : tuple of PlannedPass
        Upper bounds of the passes.
    methods : tuple of PlannedMethod
        Methods of the fit, where there are several to choose from.
    smaller : mapping of str to tuple of Setting
        Parameters that make parts of the memory smaller, for advice.
    plan : Plan, optional
        Bytes to read and memory to hold. None until the workers are chosen.
    """

    data: Any
    parameters: dict[str, Any]
    samples: Samples
    shape: DataShape
    settings: Any
    seed: int
    passes: tuple[PlannedPass, ...]
    methods: tuple[PlannedMethod, ...]
    smaller: Mapping[str, tuple[Setting, ...]]
    plan: Plan | None = None

    def require_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise a ParameterError unless the data were opened with these parameters.

        Parameters
        ----------
        parameters : dict
            Parameters of a model, as JSON holds them.
        """
        if parameters != self.parameters:
            raise ParameterError(
                "the data were opened for other parameters than those of the model now; open them "
                "again"
            )

    def plan_on(self, processes: Processes, *, checkpoint: bool) -> Plan:
        """Return the plan if it was made, and make it for these processes otherwise.

        Parameters
        ----------
        processes : Processes
            Processes that the passes run on.
        checkpoint : bool
            True if finished parts are stored, which wait in memory for that.
        """
        if self.plan is not None:
            return self.plan
        rows = self.samples.rows
        return make_plan(
            self.samples,
            [planned.size(rows) for planned in self.passes],
            processes,
            [method.cost(rows) for method in self.methods],
            self.smaller,
            checkpoint=checkpoint,
        )


def warn_of_coordinates(
    data: object, sample_dim: str, takes: Data, sample_weight: object, sequence: object
) -> None:
    """Warn of coordinates of a DataArray that look like weights or sequences, and are not used.

    Parameters
    ----------
    data : object
        Data of a fit, as the caller gives them.
    sample_dim : str
        Name of the sample dimension.
    takes : Data
        Data that the model takes.
    sample_weight, sequence : object
        Weights and sequences as the caller gives them, or None.

    Warns
    -----
    WeightWarning
        If there are numbers ``weight`` along the rows.
    SequenceWarning
        If there are integers or names ``sequence`` along the rows, for a model of rows in order.
    """
    if not isinstance(data, xr.DataArray):
        return
    unused: list[tuple[str, str, str, type[BigtensorWarning]]] = []
    if sample_weight is None:
        unused.append(("weight", "sample_weight", "biuf", WeightWarning))
    if sequence is None and takes.in_order:
        unused.append(("sequence", "sequence", "iuOUST", SequenceWarning))
    for name, setting, kinds, category in unused:
        coordinate = data.coords.get(name)
        if coordinate is None or name in data.xindexes:
            continue
        if coordinate.dims == (sample_dim,) and coordinate.dtype.kind in kinds:
            warn(
                f"the DataArray has a coordinate {name!r}, which is not used because it may mean "
                f"something else; if it holds the {name} of every row, give "
                f"{setting}=data[{name!r}]. Remove it with .drop_vars({name!r}) to end this "
                "warning",
                category,
            )


def shape_of(samples: Samples) -> DataShape:
    """Return the size, names and types of the samples.

    Parameters
    ----------
    samples : Samples
        Opened data.
    """
    named = samples.categories
    return DataShape(
        samples.rows,
        samples.views.features,
        str(samples.dtype),
        samples.has_weight,
        samples.effective_rows,
        samples.weights_repeat_rows,
        samples.has_common_units,
        tuple(name for names in samples.left_out.values() for name in names),
        tuple(named[feature] for feature in samples.views.feature_names) if named else (),
        () if samples.groups is None else tuple(samples.groups.labels.tolist()),
    )
