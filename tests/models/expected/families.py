"""Families of models with fits whose results are stored."""

from pathlib import Path

from tests.models.expected import discrete_models, kernel_mixture, measured_models

FAMILIES = {
    "kernel_mixture": kernel_mixture.FITS,
    **discrete_models.FAMILIES,
    **measured_models.FAMILIES,
}
"""Fits by family, a folder of `bigtensor.models`, and by name."""


def stored_path(family: str) -> Path:
    """Return the file with the stored results of a family."""
    return Path(__file__).with_name(f"{family}.json")
