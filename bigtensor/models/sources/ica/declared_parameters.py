"""Parameters of an independent component analysis, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Whole

METHODS = ("auto", "whitened", "cumulant")

MOST_PASSES = 10**4
"""Largest number of passes with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        None,
        Whole(),
        Option(
            ("--components", "-k"),
            "Number of sources, which may exceed the features; by default the rank of the data.",
        ),
        memory=("states", "workspaces"),
    ),
    Parameter(
        "method",
        "auto",
        Choice(METHODS),
        Option(
            ("--method",),
            "'whitened' for data without noise and at most as many sources as features, "
            "'cumulant' for noise or more sources; 'auto' compares both on held-out rows.",
        ),
    ),
    Parameter(
        "max_iter",
        3,
        Whole(1, MOST_PASSES),
        Option(
            ("--max-iter",),
            "Most fixed-point iterations over all rows, of whitened sources.",
        ),
    ),
    Parameter(
        "gauss_newton_steps",
        2,
        Whole(0, MOST_PASSES),
        Option(
            ("--gauss-newton-steps",),
            "Most Gauss-Newton steps over all rows, of the fourth cumulant.",
        ),
    ),
    Parameter(
        "pilot_rows",
        None,
        Whole(),
        Option(
            ("--pilot-rows",),
            "Rows of the sample in which the sources are found first; by default 1,000 a source, "
            "and at least 20,000.",
        ),
        memory=("driver",),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
