"""Parameters of the model, none of which the command line sets."""

PARAMETERS = ()
