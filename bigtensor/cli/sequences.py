"""Option that names the sequence of every row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from bigtensor.data.rows.samples import Samples
    from bigtensor.models.contract.estimator import Estimator

Function = TypeVar("Function", bound=Callable[..., Any])


def sequence_option(function: Function) -> Function:
    """Add ``--sequence``."""
    return click.option(
        "--sequence",
        metavar="VARIABLE",
        help="The variable of the rows, or column of obs, that says which sequence a row is of, in "
        "place of the variable 'sequence'; for models of sequences.",
    )(function)


def in_order(cells: str, sequence: str | None, model: Estimator) -> str | Samples:
    """Return data whose rows are in the sequences that a variable names.

    Parameters
    ----------
    cells : str
        Path or URL.
    sequence : str, optional
        From ``--sequence``.
    model : Estimator
        Model that will read the data.

    Raises
    ------
    click.UsageError
        When the model reads rows without an order.
    """
    if sequence is None:
        return cells
    from bigtensor.data.opening import open_samples
    from bigtensor.models.answers.sequence_model import SequenceModel
    from bigtensor.models.contract.opening_for_answers import in_matrix_of_fit

    if not isinstance(model, SequenceModel):
        raise click.UsageError(
            f"--sequence is for models of sequences, and a {type(model).__name__} reads rows "
            "without an order; leave it out"
        )
    rows = in_matrix_of_fit(model, cells)
    return open_samples(rows, sample_dim=model.sample_dim, sequence=sequence)
