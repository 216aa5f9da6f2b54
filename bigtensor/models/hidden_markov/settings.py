"""Resolved parameters of a hidden Markov model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.errors import (
    DataError,
    IdentifiabilityError,
    Message,
    ParameterError,
    Setting,
    ViewError,
)
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import NoEffect, ParameterValues, unused_parameter
from bigtensor.models.hidden_markov.declared_parameters import (
    EMISSIONS,
    GAUSSIAN,
    KERNEL,
    MEASURED,
    PARAMETERS,
    POISSON,
)
from bigtensor.models.kernel_mixture.declared_parameters import PARAMETERS as MIXTURE_PARAMETERS
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings as KernelSettings
from bigtensor.models.kernel_mixture.settings import settings_of as settings_of_mixture
from bigtensor.statistics.codes.triple_counts import WINDOW

MOST_CELLS = 2**22
"""Largest table of triples: 32 MiB of counts in every task, 160 categories."""

PILOT_ROWS = 20_000
"""Rows from which cells of Gaussian and Poisson emissions are made."""

FEWEST_CELLS, MOST_CELLS_OF_ROWS = 8, 64
"""Numbers of cells of measured rows, for few rows and for many."""

MOST_STEPS = 2**21
"""Rows up to which the iterations along whole sequences take seconds."""

SEQUENCE_ITERATIONS, MOST_SEQUENCE_ITERATIONS = 20, 200
"""Most EM iterations along sequences of `MOST_STEPS` rows and more, and of few rows.

Each reads the rows twice. Between the two, the iterations read as many rows as 20 of `MOST_STEPS`.
"""

LONG_ITERATIONS_OF_DENSITIES = 3
"""Iterations over more measured rows than `MOST_STEPS`: triples show cells and no densities."""

OTHER_INITIALISATIONS = 11
"""Random initialisations that compete along sequences with the one of triples."""

ROUNDS = ((12, 10), (5, 30), (3, 80))
"""Largest numbers of initialisations that go on, and their iterations so far after a round."""

MOST_COMPETING_STEPS = 2**17
"""Rows up to which initialisations compete along sequences."""

MOST_COMPARED_STEPS = 20_000
"""Rows up to which fits along sequences choose the number of states of Gaussian and Poisson
emissions.

Of more rows, triples of cells are enough to choose it, in less time.
"""

MOST_CHOSEN = 40
"""Largest number of states of categories that is looked at; triples support one a category."""

MOST_CHOSEN_OF_CELLS, CELLS_OF_CHOICE = 24, 36
"""Largest number of states of measured rows, and fewest cells whose triples choose their number."""


@dataclass(frozen=True)
class MarkovSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int
        Number of states, or the largest number to choose.
    chooses_states : bool
        True if the number of states is to be chosen.
    ridge : float
        Pseudo-count.
    max_iter : int
        Most EM iterations along whole sequences.
    random_state : int
        Seed of the model.
    densities : kernel_mixture.settings.KernelMixtureSettings, optional
        Settings of kernel emissions.
    emissions : str
        Kind of emissions.
    covariance_type : {"full", "diag"}
        Covariances of Gaussian emissions.
    """

    shape: DataShape
    n_components: int
    chooses_states: bool
    ridge: float
    max_iter: int
    random_state: int
    densities: KernelSettings | None = None
    emissions: str = "categorical"
    covariance_type: str = "full"

    @property
    def pilot_rows(self) -> int:
        """Rows of the pilot sample of Gaussian and Poisson emissions."""
        return PILOT_ROWS

    @property
    def competes(self) -> bool:
        """True if random initialisations compete along sequences."""
        kind = self.emissions != KERNEL
        return kind and self.max_iter > 0 and self.shape.most_rows <= MOST_COMPETING_STEPS

    @property
    def compares_fits(self) -> bool:
        """True if fits along sequences choose the number of states, and not held-out triples."""
        few = self.shape.most_rows <= MOST_COMPARED_STEPS
        return (
            few and self.chooses_states and self.competes and self.emissions in (GAUSSIAN, POISSON)
        )

    @property
    def cells(self) -> int:
        """Number of cells of measured rows: three a state at least, and more for more rows."""
        fewest = CELLS_OF_CHOICE if self.chooses_states else 3 * self.n_components
        usual = round(2 * self.shape.all_rows**0.25)
        return max(int(np.clip(usual, FEWEST_CELLS, MOST_CELLS_OF_ROWS)), fewest)

    @property
    def categories(self) -> tuple[str, ...]:
        """Names of the codes; empty for measured rows."""
        return self.shape.categories[0] if self.shape.categories else ()

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return len(self.categories)


def settings_of(parameters: ParameterValues, shape: DataShape) -> MarkovSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    DataError
        When the emissions do not go with the kind of the data.
    ViewError
        When there is more than one categorical feature.
    ParameterError, IdentifiabilityError
        When there are too many categories, or fewer than states.
    """
    densities = None
    if parameters.emissions in MEASURED:
        _check_measured(parameters, shape)
        if parameters.emissions == KERNEL:
            densities = _density_settings(parameters, shape)
    else:
        _check_categories(parameters, shape)
    return MarkovSettings(
        shape=shape,
        n_components=most_states(parameters, shape),
        chooses_states=parameters.n_components == "auto",
        ridge=0.0 if parameters.ridge is None else float(parameters.ridge),
        max_iter=_iterations(parameters, shape),
        random_state=parameters.random_state,
        densities=densities,
        emissions=parameters.emissions,
        covariance_type=parameters.covariance_type,
    )


def _check_categories(parameters: ParameterValues, shape: DataShape) -> None:
    """Raise unless the data are one feature of few enough categories for the states."""
    if not shape.categories:
        raise DataError(
            f"the values are {shape.dtype}, measured values, and a HiddenMarkovModel reads "
            "categories by default: use "
            + Setting("emissions", KERNEL, "gaussian", "poisson")
            + " for measurements or counts. If the values are categories, import their files with "
            "--codes (codes=True), or convert codes with .astype('int32')"
        )
    if len(shape.features) != 1:
        raise ViewError(
            "a HiddenMarkovModel reads one categorical feature a step, and the data have "
            f"{len(shape.features)}; choose one with "
            + Setting("views")
            + ", or make one feature of their combinations"
        )
    (categories,) = shape.categories
    if (len(categories) + 1) ** 3 > MOST_CELLS:
        raise ParameterError(
            f"the feature {shape.features[0]!r} has {len(categories):,} categories; a "
            f"HiddenMarkovModel counts triples of at most {round(MOST_CELLS ** (1 / 3)) - 1}: put "
            "rare categories together"
        )
    if parameters.n_components != "auto" and len(categories) < parameters.n_components:
        raise IdentifiabilityError(
            Setting("n_components", parameters.n_components)
            + f" states need at least as many categories, and the feature {shape.features[0]!r} "
            f"has {len(categories)}: use fewer states"
        )


def _check_measured(parameters: ParameterValues, shape: DataShape) -> None:
    """Raise unless the data are measured rows, and enough of them."""
    if shape.categories:
        raise DataError(
            f"the values are {shape.dtype}, codes of categories, and "
            + Setting("emissions", parameters.emissions)
            + " is for measured values: leave it out, or convert measurements with "
            ".astype('float32')"
        )
    if shape.rows < max(WINDOW, most_states(parameters, shape)):
        raise IdentifiabilityError(
            Setting("n_components", parameters.n_components)
            + " needs more rows; got "
            + Setting("n_samples", shape.rows)
        )


def _density_settings(parameters: ParameterValues, shape: DataShape) -> KernelSettings:
    """Return the settings of the densities of kernel emissions."""
    defaults = {parameter.name: parameter.default for parameter in MIXTURE_PARAMETERS}
    of_mixture = ParameterValues(
        **defaults, views=None, random_state=parameters.random_state
    ).changed(n_components=most_states(parameters, shape), init="kmeans", posterior_width=None)
    return settings_of_mixture(of_mixture, shape, least_views=1)


def most_states(parameters: ParameterValues, shape: DataShape) -> int:
    """Return the number of states, or the largest that may be chosen."""
    if parameters.n_components != "auto":
        return int(parameters.n_components)
    if shape.categories:
        return max(1, min(MOST_CHOSEN, len(shape.categories[0])))
    return max(1, min(MOST_CHOSEN_OF_CELLS, shape.rows // WINDOW))


def check_parameters(parameters: ParameterValues) -> None:
    """Raise a ParameterError for a parameter of a `HiddenMarkovModel` that is out of range."""
    if parameters.emissions == KERNEL and parameters.missing == "marginalise":
        raise ParameterError(
            Setting("missing", "marginalise")
            + " needs densities of the entries that a row has, and "
            + Setting("emissions", KERNEL)
            + " has densities of whole rows: use "
            + Setting("missing", "omit")
            + ", or "
            + Setting("emissions", GAUSSIAN)
        )


_NO_EFFECT = (
    NoEffect(("max_iter",), "refine", ("triples",), "which makes no iteration along sequences"),
    NoEffect(
        ("covariance_type",),
        "emissions",
        tuple(kind for kind in EMISSIONS if kind != GAUSSIAN),
        "which have no covariances",
    ),
)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)


def _iterations(parameters: ParameterValues, shape: DataShape) -> int:
    """Return the largest number of EM iterations along whole sequences."""
    of_rows = MOST_STEPS * SEQUENCE_ITERATIONS // max(1, shape.most_rows)
    usual = min(max(SEQUENCE_ITERATIONS, of_rows), MOST_SEQUENCE_ITERATIONS)
    most = usual if parameters.max_iter is None else int(parameters.max_iter)
    if shape.in_rounds and parameters.refine == "sequences":
        raise ParameterError(
            Setting("refine", "sequences")
            + " iterates along whole sequences, and a fit in rounds counts triples of rows alone, "
            "because messages along sequences would cross sites; leave it out, or use fit"
        )
    if shape.in_rounds:
        return 0
    if parameters.refine == "auto" and shape.most_rows > MOST_STEPS:
        return min(most, LONG_ITERATIONS_OF_DENSITIES) if parameters.emissions in MEASURED else 0
    if parameters.refine == "auto":
        return most
    return most if parameters.refine == "sequences" else 0
