"""Parameters of a Gaussian mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Whole

COVARIANCE_TYPES = ("shared_spherical", "tied")

MOST_ITERATIONS = 10**6
"""Largest number of iterations with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        None,
        Whole(),
        Option(("--components", "-k"), "Number of components, which may exceed the features."),
        required=True,
        memory=("states", "workspaces"),
    ),
    Parameter(
        "covariance_type",
        "shared_spherical",
        Choice(COVARIANCE_TYPES),
        Option(
            ("--covariance",),
            "Covariance that all components share: one variance, or a full matrix (tied).",
        ),
    ),
    Parameter(
        "max_iter",
        10,
        Whole(1, MOST_ITERATIONS),
        Option(
            ("--max-iter",),
            "Most EM iterations over all rows, each a pass; they end when the likelihood settles.",
        ),
    ),
    Parameter(
        "pilot_rows",
        None,
        Whole(),
        Option(
            ("--pilot-rows",),
            "Rows of the sample in which the components are found; by default 200 a component, "
            "and at least 10,000.",
        ),
        memory=("driver",),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
