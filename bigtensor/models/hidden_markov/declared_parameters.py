"""Parameters of a hidden Markov model, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

KERNEL = "kernel"
"""Emissions that are densities of measured rows."""

GAUSSIAN, POISSON = "gaussian", "poisson"
"""Emissions that are Gaussian densities of measured rows, and Poisson probabilities of counts."""

EMISSIONS = ("categorical", KERNEL, GAUSSIAN, POISSON)

MEASURED = (KERNEL, GAUSSIAN, POISSON)
"""Emissions of measured rows."""

COVARIANCE_TYPES = ("full", "diag")

REFINEMENTS = ("auto", "triples", "sequences")

MOST_ITERATIONS = 10**6
"""Largest number of iterations with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        2,
        Whole(words=("auto",)),
        Option(("--components", "-k")),
        memory=("states", "workspaces"),
    ),
    Parameter("emissions", "categorical", Choice(EMISSIONS), Option(("--emissions",))),
    Parameter("covariance_type", "full", Choice(COVARIANCE_TYPES), Option(("--covariance-type",))),
    Parameter("refine", "auto", Choice(REFINEMENTS), Option(("--refine",)), in_rounds=False),
    Parameter("ridge", 2.0, Positive(), Option(("--ridge",), none="none"), optional=True),
    Parameter(
        "max_iter", None, Whole(0, MOST_ITERATIONS), Option(("--max-iter",)), in_rounds=False
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
