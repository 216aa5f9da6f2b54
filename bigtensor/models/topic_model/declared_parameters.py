"""Parameters of a topic model, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Option, Parameter, Positive, Whole

MOST_PASSES = 10**4
"""Largest number of passes with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        10,
        Whole(least=2, words=("auto",)),
        Option(
            ("--components", "-k"),
            "Number of topics; 'auto' takes as many as pairs of words tell apart, at most 50.",
        ),
        memory=("states", "workspaces", "driver"),
    ),
    Parameter(
        "doc_concentration",
        "auto",
        Positive(words=("auto",)),
        Option(
            ("--doc-concentration",),
            "Sum of the parameters of the Dirichlet prior of shares: small where a document has "
            "few topics. 'auto' estimates it.",
        ),
    ),
    Parameter(
        "topic_concentration",
        0.1,
        Positive(),
        Option(
            ("--topic-concentration",),
            "Pseudo-count that every word has in every topic when the topics are polished.",
        ),
    ),
    Parameter(
        "power_passes",
        1,
        Whole(least=0, most=MOST_PASSES),
        Option(("--power-passes",), "Passes that turn the sketch of pairs of words to topics."),
    ),
    Parameter(
        "max_iter",
        None,
        Whole(least=0, most=MOST_PASSES),
        Option(
            ("--max-iter",),
            "Passes of expectation maximisation. By default as many as improve the prediction of "
            "held-out documents, at most 12.",
        ),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
