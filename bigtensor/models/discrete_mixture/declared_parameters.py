"""Parameters of a discrete mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

METHODS = ("ex", "ex_literal", "svd", "svd_joint", "std", "em")

MOST_ITERATIONS = 10**6
"""Largest number of iterations or initialisations with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        "auto",
        Whole(words=("auto",)),
        Option(
            ("--components", "-k"),
            "Number of components; 'auto' chooses it by the likelihood of held-out rows.",
        ),
        memory=("states", "workspaces"),
    ),
    Parameter(
        "method",
        "ex",
        Choice(METHODS),
        Option(
            ("--method",),
            "Initialisation of the EM iterations: the exterior point method, spectral solutions as "
            "they are (svd, svd_joint, std), or random starts (em).",
        ),
    ),
    Parameter(
        "ridge",
        "cross-validation",
        Positive(words=("cross-validation",)),
        Option(
            ("--ridge",),
            "Pseudo-counts that draw the components towards each other; chosen by the likelihood "
            "of held-out rows by default.",
            none="none",
        ),
        optional=True,
    ),
    Parameter(
        "max_iter",
        None,
        Whole(0, MOST_ITERATIONS),
        Option(("--max-iter",), "Most EM iterations after the initialisation."),
    ),
    Parameter(
        "n_starts",
        10,
        Whole(1, MOST_ITERATIONS),
        Option(
            ("--starts",),
            "Random initialisations of method 'em', and of 'ex' with more than three views.",
        ),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
