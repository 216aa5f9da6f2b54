"""The integral of a kernel around its landmarks, in one or two coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, Setting

ACCURACY = 1e-4
"""Relative error of an integral, as judged by halving the spacing and by the ends of the range."""

_SMALLEST, _LARGEST = 1e-9, 1e7
"""Range of the radius, in spans of the landmarks."""

_FIRST_RADII, _FIRST_ANGLES = 128, 16
"""Nodes of the first rule: on the logarithm of the radius, and in every quadrant."""

_DOUBLINGS = {1: 7, 2: 3}
"""How often the rule is refined at most, by the number of coordinates."""


def integrate_around(
    evaluate: Callable[[FloatArray, FloatArray], FloatArray], landmarks: FloatArray
) -> FloatArray:
    """Return ``int k(x, l) dx`` for every landmark, in polar coordinates around it.

    The radius is ``exp(t)`` with equally spaced t, so that no length of the kernel has to be known:
    from 1e-9 to 1e7 spans of the landmarks. The angle has a Gauss-Legendre rule in every quadrant,
    so that corners of the kernel at the landmark and along the axes cost nothing. The rule is
    refined until no integral changes by more than `ACCURACY` of the integral of ``|k|``. Smooth
    kernels are then right to about the square of it; kernels with other corners, such as compact
    ones, to about it.

    Parameters
    ----------
    evaluate : callable
        ``(n, d), (1, d) -> (n, 1)``.
    landmarks : (p, d) float64 array
        With d one or two.

    Returns
    -------
    (p,) float64 array
        Integral of the kernel at every landmark.

    Raises
    ------
    DataError
        When an integral has no end within the range of radii, or does not settle.

    References
    ----------
    Takahasi and Mori (1974), "Double exponential formulas for numerical integration", on variable
    transformations before the trapezoidal rule.
    """
    d = landmarks.shape[1]
    span = np.ptp(landmarks, axis=0)
    # where all landmarks agree on an axis, it says nothing of its length
    span = np.where(span > 0, span, span.max() or 1.0)
    mass, _ = _polar_rule(evaluate, landmarks, span, 1)
    for doubling in range(1, _DOUBLINGS[d] + 1):
        previous = mass
        mass, size = _polar_rule(evaluate, landmarks, span, 2**doubling)
        change = np.abs(mass - previous) / size
        if change.max() <= ACCURACY:
            return mass
    worst = landmarks[int(np.argmax(change))].tolist()
    raise DataError(
        f"the integral of the kernel around the landmark {worst} did not settle to a relative "
        f"accuracy of {ACCURACY:g}; give its masses, or "
        + Setting("mass", "one")
        + " when it has mass one everywhere"
    )


def _polar_rule(
    evaluate: Callable[[FloatArray, FloatArray], FloatArray],
    landmarks: FloatArray,
    span: FloatArray,
    refinement: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the integrals of k and of ``|k|`` around every landmark."""
    logarithms, step = np.linspace(
        np.log(_SMALLEST), np.log(_LARGEST), refinement * _FIRST_RADII, retstep=True
    )
    radii = np.exp(logarithms)
    directions, angles = _directions(len(span), refinement)
    offsets = (radii[:, None, None] * directions * span).reshape(-1, len(span))
    weights = float(step) * span.prod() * radii[:, None] ** len(span) * angles
    # the outermost factor of ten on either side
    ends = np.abs(logarithms - logarithms.mean()) > logarithms[-1] - logarithms.mean() - np.log(10)
    mass, size = np.empty(len(landmarks)), np.empty(len(landmarks))
    for place, landmark in enumerate(landmarks):
        values = evaluate(landmark + offsets, landmark[None]).reshape(weights.shape) * weights
        absolute = np.abs(values).sum(axis=1)
        mass[place], size[place] = values.sum(), absolute.sum()
        if not absolute[ends].sum() <= ACCURACY * size[place] or size[place] == 0:
            raise DataError(
                f"the kernel has no integral around the landmark {landmark.tolist()} that shows "
                f"between {_SMALLEST:g} and {_LARGEST:g} times the span of the landmarks; give its "
                "masses, or " + Setting("mass", "one") + " when it has mass one everywhere"
            )
    return mass, size


def _directions(d: int, refinement: int) -> tuple[FloatArray, FloatArray]:
    """Return unit vectors ``(m, d)`` and their weights ``(m,)``: both sides, or the circle."""
    if d == 1:
        return np.array([[-1.0], [1.0]]), np.ones(2)
    nodes, weights = np.polynomial.legendre.leggauss(refinement * _FIRST_ANGLES)
    quarter = 0.25 * np.pi
    angles = np.concatenate([(nodes + 1 + 2 * quadrant) * quarter for quadrant in range(4)])
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.tile(weights * quarter, 4)
