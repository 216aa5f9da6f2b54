"""Parameters of sparse component analysis, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Option, Parameter, Whole

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
        "max_iter",
        2,
        Whole(0, MOST_PASSES),
        Option(
            ("--max-iter",),
            "Passes over all rows that encode them and solve for the columns again; 0 for the "
            "columns of the fourth cumulant.",
        ),
    ),
    Parameter(
        "gauss_newton_steps",
        2,
        Whole(0, MOST_PASSES),
        Option(
            ("--gauss-newton-steps",),
            "Most Gauss-Newton steps over all rows, without polish passes.",
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
