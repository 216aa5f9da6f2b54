"""Parameters of a topic model, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Option, Parameter, Positive, Whole

MOST_PASSES = 10**4
"""Largest number of passes with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        10,
        Whole(least=2, words=("auto",)),
        Option(("--components", "-k")),
        memory=("states", "workspaces", "driver"),
    ),
    Parameter(
        "doc_concentration", "auto", Positive(words=("auto",)), Option(("--doc-concentration",))
    ),
    Parameter("topic_concentration", 0.1, Positive(), Option(("--topic-concentration",))),
    Parameter("power_passes", 1, Whole(least=0, most=MOST_PASSES), Option(("--power-passes",))),
    Parameter("max_iter", None, Whole(least=0, most=MOST_PASSES), Option(("--max-iter",))),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
