"""Variance-stabilising transforms of cytometry values, each with its exact inverse.

They act on values of the linear scale, after compensation. Scatter and time channels carry no
dye; :func:`is_untransformed` names the channels that importers leave linear unless told otherwise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bigtensor.array_types import FloatArray
from bigtensor.data.importers.channels.channel_names import role_by_name
from bigtensor.errors import ParameterError, Setting

_NEWTON_STEPS = 60
"""Bound of the Newton steps of one value, which end when a step is a rounding error."""


class Transform(Protocol):
    """A strictly increasing function of one value, applied to each element."""

    def __call__(self, values: ArrayLike) -> FloatArray:
        """Transform values of the linear scale."""
        ...

    def inverse(self, values: ArrayLike) -> FloatArray:
        """Return transformed values to the linear scale."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the name and the parameters, as JSON can hold them."""
        ...


@dataclass(frozen=True)
class Linear:
    """The identity.

    Parameters
    ----------
    earlier : mapping of str to object, optional
        Name and parameters of the transform that an earlier import has applied to the values.
    """

    earlier: Mapping[str, Any] | None = field(default=None, hash=False)

    def __call__(self, values: ArrayLike) -> FloatArray:
        """Return a float copy of the values.

        Parameters
        ----------
        values : array-like
            Values of the linear scale.
        """
        return np.array(values, dtype=np.float64)

    def inverse(self, values: ArrayLike) -> FloatArray:
        """Return a float copy of the values.

        Parameters
        ----------
        values : array-like
            Transformed values.
        """
        return np.array(values, dtype=np.float64)

    def parameters(self) -> dict[str, Any]:
        """Return the name, or the record of the earlier transform."""
        return dict(self.earlier or {"name": "none"})


@dataclass(frozen=True)
class Arcsinh:
    """``arcsinh(x / cofactor)``, linear around 0 and logarithmic far from it.

    Parameters
    ----------
    cofactor : float or tuple of float
        Width of the linear part, in units of the linear scale: one for all features, or one a
        feature (the last axis). Usual values are 5 for mass cytometry and 150 for fluorescence
        (Bendall et al. 2011).

    Raises
    ------
    ParameterError
        If a cofactor is not positive and finite.
    """

    cofactor: float | tuple[float, ...]

    def __post_init__(self) -> None:
        factors = np.atleast_1d(np.asarray(self.cofactor, dtype=np.float64))
        if not factors.size or not np.all((factors > 0) & np.isfinite(factors)):
            raise ParameterError(
                Setting("cofactor") + f" must be positive and finite, not {self.cofactor}"
            )

    def __call__(self, values: ArrayLike) -> FloatArray:
        """Transform values of the linear scale.

        Parameters
        ----------
        values : array-like of shape (..., features)
            Values of the linear scale.

        Returns
        -------
        ndarray of float64, of the same shape
            ``arcsinh(values / cofactor)``.
        """
        linear = np.asarray(values, dtype=np.float64)
        result: FloatArray = np.arcsinh(linear / np.asarray(self.cofactor))
        return result

    def inverse(self, values: ArrayLike) -> FloatArray:
        """Return transformed values to the linear scale.

        Parameters
        ----------
        values : array-like of shape (..., features)
            Transformed values.

        Returns
        -------
        ndarray of float64, of the same shape
            ``cofactor * sinh(values)``.
        """
        transformed = np.asarray(values, dtype=np.float64)
        result: FloatArray = np.sinh(transformed) * np.asarray(self.cofactor)
        return result

    def parameters(self) -> dict[str, Any]:
        """Return the name and the cofactor."""
        single = isinstance(self.cofactor, (int, float))
        cofactor = self.cofactor if single else [float(c) for c in np.asarray(self.cofactor)]
        return {"name": "arcsinh", "cofactor": cofactor}


@dataclass(frozen=True)
class Logicle:
    r"""The logicle scale of Parks et al. 2006, in the parameters of Moore & Parks 2012.

    The transform is the inverse of the biexponential
    :math:`B(y) = a e^{by} - c e^{-dy} + f` with :math:`b = (M + A) \ln 10`, :math:`w = W/(M+A)`,
    :math:`x_1 = A/(M+A) + w`, :math:`B(x_1) = 0`, :math:`B''(x_1) = 0`, :math:`B(1) = T` and
    :math:`2 \ln(d/b) + w (b + d) = 0`; below :math:`x_1` it is continued by reflection,
    :math:`B(x_1 - u) = -B(x_1 + u)`. As in Gating-ML 2.0, `T` is mapped to 1 and most data to
    [0, 1].

    Parameters
    ----------
    T : float, default 262144
        Top of the scale, on the linear scale.
    W : float, default 0.5
        Width of the linear part, in decades; within 0 to M / 2.
    M : float, default 4.5
        Width of the whole scale, in decades.
    A : float, default 0
        Additional negative decades; within -W to M - 2 W.

    Raises
    ------
    ParameterError
        If a parameter is out of its range.
    """

    T: float = 262144.0
    W: float = 0.5
    M: float = 4.5
    A: float = 0.0

    def __post_init__(self) -> None:
        if not (self.T > 0 and self.M > 0 and math.isfinite(self.T) and math.isfinite(self.M)):
            raise ParameterError(f"logicle needs positive T and M; got T={self.T}, M={self.M}")
        if not 0 <= self.W <= self.M / 2:
            raise ParameterError(f"logicle needs 0 <= W <= M / 2; got W={self.W}, M={self.M}")
        if not -self.W <= self.A <= self.M - 2 * self.W:
            raise ParameterError(
                f"logicle needs -W <= A <= M - 2 W; got A={self.A}, W={self.W}, M={self.M}"
            )

    @cached_property
    def _curve(self) -> tuple[float, float, float, float, float]:
        """Return b, d, x1 and the weights P, Q of B(x1 + u) = P expm1(bu) - Q expm1(-du)."""
        decades = self.M + self.A
        b, w = decades * math.log(10), self.W / decades
        x1 = self.A / decades + w
        d = _second_rate(b, w)
        ratio = (b / d) ** 2
        top = 1 - x1
        P = self.T / (math.expm1(b * top) - ratio * math.expm1(-d * top))
        return b, d, x1, P, ratio * P

    def __call__(self, values: ArrayLike) -> FloatArray:
        """Transform values of the linear scale.

        Parameters
        ----------
        values : array-like
            Values of the linear scale.

        Returns
        -------
        ndarray of float64, of the same shape
            NaN and infinities are handed through.
        """
        b, d, x1, P, Q = self._curve
        linear = np.asarray(values, dtype=np.float64)
        size = np.abs(np.where(np.isfinite(linear), linear, 0.0))
        # P expm1(bu) alone reaches the value later than B does, so Newton's steps on the convex
        # B come down from the right and never overshoot.
        u = np.log1p(size / P) / b
        for _ in range(_NEWTON_STEPS):
            rising, falling = np.expm1(b * u), np.expm1(-d * u)
            step = (P * rising - Q * falling - size) / (
                P * b * (rising + 1) + Q * d * (falling + 1)
            )
            u -= step
            if np.all(np.abs(step) <= 1e-15 * (1 + u)):
                break
        u = x1 + np.copysign(u, linear)
        return np.where(np.isfinite(linear), u, linear)

    def inverse(self, values: ArrayLike) -> FloatArray:
        """Return transformed values to the linear scale.

        Parameters
        ----------
        values : array-like
            Transformed values.

        Returns
        -------
        ndarray of float64, of the same shape
            Values of the biexponential function.
        """
        b, d, x1, P, Q = self._curve
        u = np.asarray(values, dtype=np.float64) - x1
        distance = np.abs(u)
        return np.copysign(P * np.expm1(b * distance) - Q * np.expm1(-d * distance), u)

    def parameters(self) -> dict[str, Any]:
        """Return the name and T, W, M, A."""
        return {"name": "logicle", "T": self.T, "W": self.W, "M": self.M, "A": self.A}


def _second_rate(b: float, w: float) -> float:
    """Solve 2 ln(d / b) + w (b + d) = 0 for d in (0, b], by bisection to the last bit."""
    low, high = 0.0, b
    while low < (middle := (low + high) / 2) < high:
        if 2 * math.log(middle / b) + w * (b + middle) > 0:
            high = middle
        else:
            low = middle
    return high


def is_untransformed(channel: str) -> bool:
    """Return True if a channel stays linear by default.

    Parameters
    ----------
    channel : str
        A channel's name.

    Returns
    -------
    bool
        True for channels that measure no light of a dye: scatter, time, counts of events, and
        lengths and widths of pulses, see
        :func:`~bigtensor.data.importers.channels.channel_names.role_by_name`.
    """
    return role_by_name(channel).linear
