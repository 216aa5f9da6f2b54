"""Warning of iterations that have not settled, under the names of this package and scikit-learn."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning as ScikitLearnConvergenceWarning

from bigtensor.errors import RefinementWarning


class ConvergenceWarning(RefinementWarning, ScikitLearnConvergenceWarning):  # type: ignore[misc]
    """Iterations stopped before they settled: code that catches scikit-learn's catches it too."""
