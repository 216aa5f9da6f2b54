"""Checks of moments before their decomposition."""

from collections.abc import Sequence

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.mixture_candidates import DECOMPOSITIONS
from bigtensor.decomposition.multiview.subspaces import Subspaces
from bigtensor.errors import IdentifiabilityError, ParameterError, Setting

# Expressing a triple moment in one view divides twice by a cross moment, which turns a rounding
# error of 1 eps into eps / (relative singular value)^2: at the square root of eps nothing is left.
# Sampling noise, of relative size n^(-1/2), is far above this for any number of rows.
RANK_CUT = float(np.sqrt(np.finfo(np.float64).eps))


def check_arguments(
    moments: AugmentedMoments, n_components: int, masses: Sequence[FloatArray], method: str
) -> None:
    """Raise unless the arguments of a solve fit together.

    The arguments are those of `solve_multiview_mixture`.

    Raises
    ------
    ParameterError
        If an argument is out of range or of the wrong shape.
    IdentifiabilityError
        If a group has fewer features than there are components.
    """
    features = [size - 1 for size in moments.triple.shape]
    if method not in DECOMPOSITIONS:
        raise ParameterError(f"method must be 'jacobi' or 'power', got {method!r}")
    if n_components < 1:
        raise ParameterError(Setting("n_components") + f" must be at least 1, got {n_components}")
    if [np.shape(mass) for mass in masses] != [(size,) for size in features]:
        raise ParameterError(
            f"masses of shapes {[(size,) for size in features]} are needed, got "
            f"{[np.shape(mass) for mass in masses]}"
        )
    if min(features) < n_components:
        raise IdentifiabilityError(
            f"the three groups of views have {features[0]}, {features[1]} and {features[2]} "
            f"features, which support at most {min(features)} components, but {n_components} were "
            "asked for: use fewer components, or more landmarks or directions"
        )


def check_rank(subspaces: Subspaces, n_components: int) -> None:
    """Raise where the moments between groups have a smaller rank than there are components.

    Parameters
    ----------
    subspaces : Subspaces
        Of `n_components` directions.
    n_components : int
        Number of components k.

    Raises
    ------
    IdentifiabilityError
    """
    ranks = [
        int(np.count_nonzero(values[:n_components] > RANK_CUT * values[0]))
        for values in subspaces.singular_values
    ]
    weakest = int(np.argmin(ranks))
    if ranks[weakest] == 0:
        raise IdentifiabilityError(
            f"the cross moments of group {weakest} with the other two groups of views are zero, so "
            "that no number of components fits: its features have vanished, as kernels do whose "
            "bandwidth is far narrower than the distances between rows. Use a larger bandwidth, "
            "such as " + Setting("bandwidth", 4) + ", or views of fewer features"
        )
    if ranks[weakest] < n_components:
        leading = ", ".join(
            f"{value:.3g}" for value in subspaces.singular_values[weakest][:n_components]
        )
        raise IdentifiabilityError(
            f"the moments support {ranks[weakest]} component{'s' * (ranks[weakest] != 1)}, but "
            f"{n_components} were asked for: the cross moments of group {weakest} with the other "
            f"two have the singular values {leading}. Use "
            + Setting("n_components", ranks[weakest])
            + " or fewer, or give the views of that group more distinct values or finer features"
        )
